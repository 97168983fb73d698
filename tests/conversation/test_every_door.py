"""Two turns of one chat with the same card and the same answers, taken at each door."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from starlette.testclient import TestClient

from innkeeper.cli.app.root import main
from innkeeper.cli.talk.log import TalkLog
from innkeeper.content.chat import ChatLog
from innkeeper.content.chat_message import ChatMessage
from innkeeper.inference.fake import EchoServer
from innkeeper.inference.routing.models import RouteModels
from innkeeper.inference.routing.route import Routes
from innkeeper.service import Settings, create_app
from innkeeper.service.inspector.access import Access
from innkeeper.service.inspector.surface import Inspector
from innkeeper.service.inspector.talking import InspectorTalk
from tests.conversation.doors import GoldenTurn, Script, events_of, write_profile
from tests.service.inspector.opened import BASE, session_of

ASKED: Final = ("Is the reef safe tonight?", "And at low water?")
ANSWERS: Final = (("Wenna", " Carrow: The reef ", "is safe. ", "\n"), ("\nWenna Carrow:", " Never at low ", "water."))
KEPT: Final = ("The reef is safe.", "Never at low water.")
TURN: Final = GoldenTurn(message="", answer=(), shown=(), kept="", profile=("greeting = false",))
LOGGED: Final = ("route", "model", "finish_reason", "input_tokens", "output_tokens", "cost")


class Taken(msgspec.Struct, frozen=True):
    """A turn that was taken: what was kept and sent, and the line of the log, where the door has one."""

    kept: str
    sent: Mapping[str, Any]
    line: Mapping[str, Any]


class House:
    """A provider, a service with a profile and a price, and an inspector over the profile's files."""

    def __init__(self, folder: Path, provider: EchoServer, script: Script, client: TestClient) -> None:
        self.folder, self.provider, self.script, self.client = folder, provider, script, client
        self.names = ("chat",)

    def take(self, door: str, turn: int, before: str, caplog: pytest.LogCaptureFixture) -> tuple[str, Taken]:
        """Take a turn; ``before`` is what the door gave for the one before, by which its conversation goes on."""
        self.script.pieces = ANSWERS[turn]
        caplog.clear()
        kept, later = getattr(self, door)(turn, before)
        lines = [record.__dict__["call"] for record in caplog.records if "call" in record.__dict__]
        line: Mapping[str, Any] = next((one for one in lines if "route" in one), {})
        sent = self.provider.requests[-1].body
        body = {name: value for name, value in sent.items() if not name.startswith("stream")}
        return later, Taken(kept, body, {name: line.get(name) for name in LOGGED if line})

    def terminal(self, turn: int, _: str) -> tuple[str, str]:
        """``innkeeper ask``, and ``ask -c``."""
        begun = ("-c",) if turn else ("--profile", str(self.folder / "wenna"))
        model = ("--model", "big", "--base-url", self.provider.base_url)
        assert main(["ask", *begun, ASKED[turn], *model]) == 0
        messages = TalkLog().state().messages.splitlines()
        return json.loads(messages[-1])["mes"], ""

    def completion(self, turn: int, before: str) -> tuple[str, str]:
        """The profile as a model, whole."""
        return self._completed(turn, before, stream=False)

    def stream(self, turn: int, before: str) -> tuple[str, str]:
        """The profile as a model, streamed."""
        return self._completed(turn, before, stream=True)

    def _completed(self, turn: int, before: str, *, stream: bool) -> tuple[str, str]:
        earlier = [{"role": "user", "content": ASKED[0]}, {"role": "assistant", "content": before}] if turn else []
        messages = [*earlier, {"role": "user", "content": ASKED[turn]}]
        body = {"model": "wenna", "messages": messages, "stream": stream}
        reply = self.client.post("/v1/chat/completions", json=body)
        assert reply.status_code == 200, reply.text
        if stream:
            choices = [choice for _, data in events_of(reply.text) for choice in data["choices"]]
            kept = "".join(choice["delta"].get("content") or "" for choice in choices)
        else:
            kept = reply.json()["choices"][0]["message"]["content"]
        return kept, kept

    def chat(self, turn: int, before: str) -> tuple[str, str]:
        """A stored conversation."""
        return self._stored("/v1/chat", turn, before)

    def roleplay(self, turn: int, before: str) -> tuple[str, str]:
        """A stored conversation, at its other path."""
        return self._stored("/v1/roleplay", turn, before)

    def _stored(self, path: str, turn: int, before: str) -> tuple[str, str]:
        known = {"conversation_id": before} if turn else {}
        reply = self.client.post(path, json={"message": ASKED[turn], "profile": "wenna", **known})
        assert reply.status_code == 200, reply.text
        return reply.json()["response"], reply.json()["conversation_id"]

    def inspector(self, turn: int, before: str) -> tuple[str, str]:
        """The inspector, over the profile's files and the chat so far."""
        if turn:
            asked = ChatMessage.create("user", ASKED[0], name="Ansel")
            answered = ChatMessage.create("assistant", before, name="Wenna Carrow")
            header = {"user_name": "Ansel", "character_name": "Wenna Carrow"}
            chat = ChatLog(header=header, messages=(asked, answered))
            reply = self.client.post("/v1/inspector/files?name=evening.jsonl", content=chat.to_jsonl())
            assert reply.status_code == 200, reply.text
        reply = self.client.post("/v1/inspector/talk", json={"message": ASKED[turn]})
        assert reply.status_code == 200, reply.text
        kept = dict(events_of(reply.text))["end"]["message"]
        return kept, kept


DOORS: Final = ("completion", "stream", "chat", "roleplay", "inspector", "terminal")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """All doors at once."""
    folder, script = tmp_path_factory.mktemp("house"), Script()
    write_profile(folder / "wenna", TURN)
    with EchoServer(*[script.reply] * 100) as provider:
        models = RouteModels(Routes.read((f"house={provider.base_url}:big",)))
        files = {path.name: path.read_bytes() for path in (folder / "wenna").iterdir()}
        inspector = Inspector(session_of(files), Access(), InspectorTalk(models, "house"))
        database = str(folder / "library.db")
        settings = Settings(profiles=(folder / "wenna",), database=database, workers=1, prices=("house=1000,2000",))
        app = create_app(settings, models=models, inspector=inspector)
        with TestClient(app, base_url=BASE, headers={"origin": BASE}) as client:
            client.get(f"/inspector/?token={inspector.access.new_token()}")
            yield House(folder, provider, script, client)


def test_every_door_takes_the_same_turns(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """The provider gets the same bytes, the same message is kept, it costs the same, and the log has the same line."""
    caplog.set_level(logging.INFO, logger="innkeeper.service")
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path))
    monkeypatch.setenv("INNKEEPER_LOGGING", "on")
    taken: dict[str, list[Taken]] = {}
    for door in DOORS:
        before = ""
        for turn in range(2):
            before, one = house.take(door, turn, before, caplog)
            taken.setdefault(door, []).append(one)
    first = taken["completion"]
    for door, turns in taken.items():
        assert [turn.kept for turn in turns] == list(KEPT), door
        assert [json.dumps(turn.sent) for turn in turns] == [json.dumps(turn.sent) for turn in first], door
        if door != "terminal":
            assert [turn.line for turn in turns] == [turn.line for turn in first], door
    line = TalkLog().line()
    assert (line.reply, line.ended) == (KEPT[1], first[1].line["finish_reason"])
    assert line.usage["prompt_tokens"] == first[1].line["input_tokens"]
    assert line.usage["completion_tokens"] == first[1].line["output_tokens"]
