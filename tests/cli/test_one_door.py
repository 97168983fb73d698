"""One door: the same request gives the same blocks by ``build``, by ``chat``, by ``demo`` and by the library."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli import main
from innkeeper.cli.prompt.assets import AssetFiles
from innkeeper.cli.talk import answering
from innkeeper.cli.talk.conversation import TerminalChat
from innkeeper.cli.talk.demo import demo_request
from innkeeper.content.chat import ChatLog
from innkeeper.content.files.loading import load_chat
from innkeeper.conversation.conversation import Conversation
from innkeeper.inference.client.model_handle import ModelHandle
from innkeeper.prompt import BuildRequest, Plan
from innkeeper.taverns import build
from innkeeper.tokens import default_counter
from tests.cli.fakes import FakeModel
from tests.shared import ROOT

EXAMPLES = ROOT / "examples"
FILES = [str(EXAMPLES / name) for name in ("wenna.png", "ansel.persona.json", "larks.lorebook.json")]
SETTLED = ["--now", "2026-10-06T19:05:00+00:00", "--seed", "7", "--reserve", "100"]
MESSAGE = "Is the reef safe tonight, Wenna?"


@pytest.fixture
def chat_file(tmp_path: Path) -> Path:
    """A chat that is longer than the smaller windows."""
    said = load_chat(EXAMPLES / "wenna.chat.jsonl")
    chat = ChatLog(header=dict(said.header or {}), messages=said.messages * 8)
    path = tmp_path / "long.jsonl"
    path.write_bytes(chat.to_jsonl())
    return path


def run(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints."""
    assert main(words) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("tavern", ["silly", "vibe", "smart"])
@pytest.mark.parametrize("window", ["1200", "1600", "8000"])
def test_build_and_chat_send_the_same(
    tavern: str, window: str, chat_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a model is sent in a chat is what ``build`` prints for the same files, message and window; it fits the window."""
    asked = [*FILES, "--tavern", tavern, "--context-window", window, *SETTLED]
    built = json.loads(run(["build", *asked, "--chat", str(chat_file), "--message", MESSAGE, "--messages"], capsys))
    model = FakeModel()
    monkeypatch.setattr(answering, "open_model", lambda *_: ModelHandle(model, "m"))
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{MESSAGE}\n"))
    run(["chat", *asked, "--chat", str(chat_file)], capsys)
    assert model.asked[0]["messages"] == built
    assert sum(default_counter().count(message["content"]) + 4 for message in built) + 3 + 100 <= int(window)


def facts(plan: Plan) -> dict[str, Any]:
    """All of a plan but what it was asked."""
    return {name: value for name, value in plan.to_dict().items() if name != "request"}


def test_demo_builds_as_everybody_does() -> None:
    """The demo's request has one plan: by the library, by a conversation, and by the same files read as a command reads them."""
    request, files = demo_request()
    assets = AssetFiles.of([str(EXAMPLES / name) for name in files], {})
    named = ("message", "now", "seed", "options", "tavern", "context_window", "reserved_tokens")
    again = assets.request({name: getattr(request, name) for name in named})
    plans = [build(request), build(again), build(BuildRequest.from_json(request.to_json()))]
    chat = load_chat(EXAMPLES / "wenna.chat.jsonl")
    plans.append(
        TerminalChat(Conversation(base=request, chat=chat), ModelHandle(FakeModel(), "m")).preview(request.message)
    )
    assert all(facts(plan) == facts(plans[0]) for plan in plans)
