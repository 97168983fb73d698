"""The doors at which a turn can be asked for, each driven with a golden turn: a message, and an answer in pieces."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from starlette.testclient import TestClient

from innkeeper.cli.app.root import main
from innkeeper.inference.fake import Answer, EchoServer, FakeReply
from innkeeper.inference.routing.models import RouteModels
from innkeeper.inference.routing.route import Routes
from innkeeper.prompt import BuildRequest
from innkeeper.service import Settings, create_app
from innkeeper.service.inspector.access import Access
from innkeeper.service.inspector.surface import Inspector
from innkeeper.service.inspector.talking import InspectorTalk
from tests.shared import ROOT

CASES: Final = Path(__file__).parent / "turns"
EXAMPLES: Final = ROOT / "examples"
PROFILE: Final = """\
character = "wenna.png"
persona = "ansel.persona.json"
route = "house"
context_window = 8192
reserve = 200
seed = 7
now = "2026-01-15T12:00:00+00:00"
"""
USAGE: Final = {"prompt_tokens": 90, "completion_tokens": 10, "total_tokens": 100}
NOW: Final = "2026-01-15T12:00:00+00:00"


class GoldenTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message, the answer of a model in pieces, and what every door makes of it.

    ``profile`` are more lines of the profile, ``scripts`` its regex scripts. ``shown`` are the pieces that a door which
    streams shows, ``kept`` is the message.
    """

    message: str
    answer: tuple[str, ...]
    shown: tuple[str, ...]
    kept: str
    profile: tuple[str, ...] = ()
    scripts: tuple[Mapping[str, Any], ...] = ()


class Seen(msgspec.Struct, frozen=True):
    """What a door made of an answer: the message, the pieces where it streams, and the body that the provider got."""

    kept: str
    shown: tuple[str, ...] | None
    sent: Mapping[str, Any]


def golden_turns() -> dict[str, GoldenTurn]:
    """The cases by their names."""
    return {path.stem: msgspec.json.decode(path.read_bytes(), type=GoldenTurn) for path in sorted(CASES.glob("*.json"))}


def write_profile(folder: Path, turn: GoldenTurn) -> None:
    """Write the profile of a case with its card and persona."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in ("wenna.png", "ansel.persona.json"):
        (folder / file).write_bytes((EXAMPLES / file).read_bytes())
    scripts = [f"{{{', '.join(f'{key} = {json.dumps(value)}' for key, value in one.items())}}}" for one in turn.scripts]
    lines = (f"settings.regex = [{', '.join(scripts)}]",) if scripts else ()
    (folder / "profile.toml").write_text("\n".join([PROFILE, *turn.profile, *lines, ""]), "utf-8")


class Script:
    """What the fake provider answers: ``pieces``, each an event of its own, or all of them in one body."""

    def __init__(self) -> None:
        self.pieces: tuple[str, ...] = ()

    def reply(self, request: Mapping[str, Any]) -> Any:
        """The answer to a request."""
        if not request.get("stream"):
            return FakeReply(content="".join(self.pieces), usage=USAGE)
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": request["model"]}
        choices: list[Any] = [{"index": 0, "delta": {"content": piece}} for piece in self.pieces]
        choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
        chunks: list[Any] = [{**head, "choices": [choice]} for choice in choices]
        chunks.append({**head, "choices": [], "usage": USAGE})
        lines = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        return Answer(lines.encode(), headers={"content-type": "text/event-stream"})


class Inn:
    """A service with a profile for each case, in front of a fake provider; and the terminal before the same provider."""

    def __init__(self, folder: Path, script: Script, provider: EchoServer, client: TestClient) -> None:
        self.folder, self.script, self.provider, self.client = folder, script, provider, client

    def ask(self, door: str, name: str, turn: GoldenTurn, monkeypatch: pytest.MonkeyPatch) -> Seen:
        """Take a turn at a door."""
        self.script.pieces = turn.answer
        kept, shown = DOORS[door](self, name, turn, monkeypatch)
        return Seen(kept, shown, self.provider.requests[-1].body)

    def events(self, path: str, body: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """The events of a streamed reply."""
        reply = self.client.post(path, json=body)
        assert reply.status_code == 200, reply.text
        return events_of(reply.text)


def events_of(text: str) -> list[tuple[str, Any]]:
    """The events of a stream: their names, and their data where that is JSON."""
    events = []
    for block in filter(None, text.split("\n\n")):
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        if fields["data"] != "[DONE]":
            events.append((fields.get("event", ""), json.loads(fields["data"])))
    return events


@contextmanager
def opened_inn(folder: Path, turns: Mapping[str, GoldenTurn]) -> Iterator[Inn]:
    """The service and its provider, while the block lasts."""
    for name, turn in turns.items():
        write_profile(folder / "profiles" / name, turn)
    script = Script()
    with EchoServer(*[script.reply] * 10_000) as provider:
        settings = Settings(profiles=(folder / "profiles",), database=str(folder / "library.db"), workers=1)
        routes = RouteModels(Routes.read((f"house={provider.base_url}:big",)))
        with TestClient(create_app(settings, models=routes), base_url="http://127.0.0.1") as client:
            yield Inn(folder, script, provider, client)


Result = tuple[str, tuple[str, ...] | None]
Door = Callable[[Inn, str, GoldenTurn, pytest.MonkeyPatch], Result]


def terminal(inn: Inn, name: str, turn: GoldenTurn, monkeypatch: pytest.MonkeyPatch) -> Result:
    """``innkeeper ask``: what it prints, and what its log keeps."""
    from innkeeper.cli.talk.log import TalkLog

    printed: list[str] = []
    monkeypatch.setattr(import_module("innkeeper.cli.talk.commands"), "_write", printed.append)
    monkeypatch.setenv("INNKEEPER_HOME", str(inn.folder / "home" / name))
    monkeypatch.setenv("INNKEEPER_LOGGING", "on")
    model = ("--model", "big", "--base-url", inn.provider.base_url)
    assert main(["ask", "--profile", str(inn.folder / "profiles" / name), turn.message, *model]) == 0
    log = TalkLog()
    messages = [json.loads(line) for line in log.state().messages.splitlines()]
    assert messages[-1]["mes"] == log.line().reply
    return str(messages[-1]["mes"]), tuple(printed)


def completion(inn: Inn, name: str, turn: GoldenTurn, _: pytest.MonkeyPatch) -> Result:
    """The profile behind OpenAI's surface, as a whole."""
    body = {"model": name, "messages": [{"role": "user", "content": turn.message}]}
    reply = inn.client.post("/v1/chat/completions", json=body)
    assert reply.status_code == 200, reply.text
    return reply.json()["choices"][0]["message"]["content"], None


def completion_stream(inn: Inn, name: str, turn: GoldenTurn, _: pytest.MonkeyPatch) -> Result:
    """The profile behind OpenAI's surface, as a stream."""
    body = {"model": name, "messages": [{"role": "user", "content": turn.message}], "stream": True}
    events = [data for _, data in inn.events("/v1/chat/completions", body)]
    deltas = [event["choices"][0]["delta"].get("content") for event in events if event["choices"]]
    return "".join(filter(None, deltas)), tuple(filter(None, deltas))


def conversation(path: str) -> Door:
    """A turn of a stored conversation that the profile answers, as a whole."""

    def asked(inn: Inn, name: str, turn: GoldenTurn, _: pytest.MonkeyPatch) -> Result:
        reply = inn.client.post(path, json={"message": turn.message, "profile": name})
        assert reply.status_code == 200, reply.text
        body = reply.json()
        rows = inn.client.get(f"/v1/conversations/{body['conversation_id']}/messages").json()["data"]
        assert rows[-1]["content"] == body["response"]
        return body["response"], None

    return asked


def inspector(inn: Inn, name: str, turn: GoldenTurn, _: pytest.MonkeyPatch) -> Result:
    """The inspector's talk, over the profile's files and its settings."""
    from innkeeper.taverns.profiles import open_profile
    from tests.service.inspector.opened import Browser, session_of

    folder = inn.folder / "profiles" / name
    profile = open_profile(folder)
    own = {"settings": profile.request.settings, "options": profile.request.options}
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    files["own.request.json"] = BuildRequest.of(own).to_json()
    settings = {"context_window": 8192, "reserve": 200, "seed": 7, "tavern": profile.request.tavern, "now": NOW}
    models = RouteModels(Routes.read((f"house={inn.provider.base_url}:big",)))
    talk = InspectorTalk(models, "house")
    with Browser(Inspector(session_of(files, settings=settings), Access(), talk)) as browser:
        reply = browser.post("/v1/inspector/talk", json={"message": turn.message})
    assert reply.status_code == 200, reply.text
    events = events_of(reply.text)
    shown = tuple(data["text"] for event, data in events if event == "delta")
    return str(dict(events)["end"]["message"]), shown


DOORS: Final[Mapping[str, Door]] = {
    "terminal": terminal,
    "completion": completion,
    "completion-stream": completion_stream,
    "chat": conversation("/v1/chat"),
    "roleplay": conversation("/v1/roleplay"),
    "inspector": inspector,
}
