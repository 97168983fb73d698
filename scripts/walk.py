"""Print the walk of one history message, from `innkeeper build` to the body of the request: modules, calls and shapes.

``python scripts/walk.py [TAVERN]`` builds a chat of three messages from files, once to import everything and once more with
other texts under a profiler. It prints each module that runs, in the order in which it is first entered, with a star where the
second message passes: one of the module's functions takes or returns it, in whatever shape. Then every type that carried it.
Imports do not count. ``python scripts/walk.py service`` does the same with a streamed chat completion, from the request that
the service reads to the last event that it writes; the provider runs in a thread of its own and does not count.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import httpx
import msgspec

import innkeeper
from innkeeper.cli import main
from innkeeper.inference.fake import EchoServer
from innkeeper.inference.routing.models import RouteModels
from innkeeper.inference.routing.route import Routes
from innkeeper.service import create_app

SOURCE = Path(innkeeper.__file__).parent
DEEP = 4
"""How many levels of a value are searched for the text."""


class Walk:
    """What a profiler sees: modules in the order of entry, calls, changes of module, and shapes that hold ``marker``."""

    def __init__(self, marker: str) -> None:
        self.marker = marker
        self.calls: Counter[str] = Counter()
        self.functions: set[tuple[str, str]] = set()
        self.changes = 0
        self.shapes: dict[str, str] = {}
        self.passed: set[str] = set()
        self._last = ""

    def __call__(self, frame: FrameType, event: str, result: Any) -> None:
        """Profile one event."""
        if event not in {"call", "return"} or frame.f_code.co_name == "<module>":
            return
        module = frame.f_globals.get("__name__", "")
        if not module.startswith("innkeeper.") or not frame.f_code.co_filename.startswith(str(SOURCE)):
            return
        values = [result] if event == "return" else [frame.f_locals[name] for name in arguments_of(frame)]
        if module not in self.passed and any(self._holds(value, DEEP) for value in values):
            self.passed.add(module)
        if event == "return":
            self._look(result, module, DEEP)
            return
        self.calls[module] += 1
        self.functions.add((module, frame.f_code.co_qualname))
        self.changes += module != self._last
        self._last = module

    def _holds(self, value: Any, levels: int) -> bool:
        if isinstance(value, str):
            return self.marker in value
        if not levels:
            return False
        items: Any = ()
        if isinstance(value, dict):
            items = value.values()
        elif isinstance(value, msgspec.Struct):
            items = [getattr(value, field) for field in value.__struct_fields__]
        elif isinstance(value, (list, tuple)):
            items = value[:8]
        return any(self._holds(item, levels - 1) for item in items)

    def _look(self, value: Any, module: str, levels: int) -> None:
        name = type(value).__name__
        if name in self.shapes or not levels:
            return
        if isinstance(value, dict):
            items: Any = value.values()
        elif isinstance(value, msgspec.Struct):
            items = [getattr(value, field) for field in value.__struct_fields__]
        elif isinstance(value, (list, tuple)):
            for item in value[:8]:
                self._look(item, module, levels - 1)
            return
        else:
            return
        texts = [item for item in items if isinstance(item, str)]
        if any(self.marker in text for text in texts) and not any(text.startswith(("{", "[")) for text in texts):
            self.shapes[name] = module
        for item in items:
            self._look(item, module, levels - 1)


def arguments_of(frame: FrameType) -> tuple[str, ...]:
    """The names of a call's arguments, without ``self``: an object that holds a message is not given one."""
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return tuple(name for name in names if name != "self" and name in frame.f_locals)


def files(folder: Path, word: str) -> list[str]:
    """A card and a chat of three messages that say ``word``, and the command's arguments for them."""
    card = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Ann", "description": f"{word} smith"}}
    lines = [
        {"user_name": "Bob", "character_name": "Ann", "chat_metadata": {}},
        *(
            {"name": name, "is_user": name == "Bob", "mes": f"{word} {name} {place}"}
            for place, name in enumerate(("Ann", "Bob", "Ann"))
        ),
    ]
    (folder / "card.json").write_text(json.dumps(card))
    (folder / "chat.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return [str(folder / "card.json"), str(folder / "chat.jsonl")]


def run(word: str, tavern: str) -> None:
    """Build once, for the OpenAI dialect, and throw the output away."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as out:
        words = [
            "build",
            *files(Path(folder), word),
            "--message",
            f"{word}?",
            "--tavern",
            tavern,
            "--dialect",
            "openai",
        ]
        code = main([*words, "--model", "gpt-4o"])
    if code or word not in out.getvalue():
        raise SystemExit(f"the build failed with {code}")


async def service_walk(provider: str) -> Walk:
    """The walk of a streamed chat completion through the service to a provider at this address."""
    models = RouteModels(Routes.read(("model=echo:gpt-4o",), addresses={"echo": provider}))
    app = create_app(models=models)
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        await stream(client, "first")
        seen = Walk("second")
        sys.setprofile(seen)
        try:
            await stream(client, "second")
        finally:
            sys.setprofile(None)
    return seen


async def stream(client: httpx.AsyncClient, word: str) -> None:
    """Ask the service for a streamed answer that repeats a word."""
    body = {"model": "model", "stream": True, "messages": [{"role": "user", "content": word}]}
    response = await client.post("/v1/chat/completions", json=body)
    if word not in response.text:
        raise SystemExit(f"the service answered {response.status_code}: {response.text}")


def walk(tavern: str) -> Walk:
    """The walk of a message through a tavern, or of a chat completion through the ``service``."""
    if tavern == "service":
        with EchoServer(*[lambda request: f"You said {request['messages'][-1]['content']}."] * 2) as provider:
            return asyncio.run(service_walk(provider.base_url))
    run("first", tavern)
    seen = Walk("second Bob 1")
    sys.setprofile(seen)
    try:
        run("second", tavern)
    finally:
        sys.setprofile(None)
    return seen


if __name__ == "__main__":
    seen = walk(sys.argv[1] if len(sys.argv) > 1 else "silly")
    for module, calls in seen.calls.items():
        print(f"{calls:6} {'*' if module in seen.passed else ' '} {module.removeprefix('innkeeper.')}")
    figures = len(seen.calls), len(seen.functions), sum(seen.calls.values()), seen.changes
    print(f"{len(seen.passed)} modules pass the message")
    print("{} modules run, {} functions, {} calls, {} changes of module".format(*figures))
    print(f"{len(seen.shapes)} shapes: " + ", ".join(f"{name} ({module})" for name, module in seen.shapes.items()))
