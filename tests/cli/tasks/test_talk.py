"""Chats and suggestions as commands: in this process over a database, with a card of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli import main
from innkeeper.cli.tasks.talk import card_character
from innkeeper.inference.fake import EchoServer
from tests.service.tasks.served import entered

CARD = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {
        "name": "Mira",
        "description": "{{char}} rows {{user}} across. {{ CHAR }} is patient.",
        "personality": "calm",
        "scenario": "A ferry at dusk.",
        "first_mes": "Come aboard, {{user}}.",
        "mes_example": "<START>\n{{char}}: Aye.\n<START>\n{{char}}: Mind the step, {{user}}.",
    },
}


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def card(tmp_path: Path) -> Path:
    """A character card."""
    path = tmp_path / "mira.json"
    path.write_text(json.dumps(CARD))
    return path


def run(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    """What a command answers as JSON."""
    assert main([*words, "--json"]) == code
    said = capsys.readouterr()
    return json.loads(said.out or said.err)


def test_a_conversation_with_a_card(capsys: pytest.CaptureFixture[str], tmp_path: Path, card: Path) -> None:
    """A card is stored once; the conversation goes on by its id; what is to be remembered is; a turn is answered once."""
    with EchoServer("Rain.", "Aye.", "Mira: Across.") as server:
        place = ("--database", str(entered(tmp_path / "library.db", server)))
        first = run(capsys, "roleplay-chat", "--card", str(card), "--kickoff", *place)
        talk = ("--conversation", first["conversation_id"], *place)
        assert main(["fn", "roleplay-chat", "Hello", *talk, "--remember", "Fears water.", "--message-id", "1"]) == 0
        said = capsys.readouterr()
        assert said.out == "Aye.\n"
        assert f"conversation: {first['conversation_id']}" in said.err
        assert run(capsys, "roleplay-chat", "Hello", *talk, "--message-id", "1")["replayed"]
        third = run(capsys, "playground-chat", "Where to?", *talk, "--card", str(card))
        assert (third["response"], third["template_meta"]["character_name"]) == ("Across.", "Mira")
        sent = [message["content"] for message in server.requests[2].body["messages"]]
    assert any("Fears water." in text for text in sent)
    assert sent[-4:] == ["Rain.", "Hello", "Aye.", "Where to?"]
    missing = run(capsys, "roleplay-chat", "Hello", "--conversation", "nowhere", *place, code=2)
    assert missing["error"]["kind"] == "not_found"


def test_a_card_as_a_character(card: Path) -> None:
    """Its texts are the columns of a character, with names in place of what stands for them."""
    assert card_character(card) == {
        "name": "Mira",
        "description": "Mira rows User across. Mira is patient.",
        "persona": "calm",
        "backstory": "A ferry at dusk.",
        "first_message": "Come aboard, User.",
        "voice_examples": ["Mira: Aye.", "Mira: Mind the step, User."],
    }


def test_suggestions(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """They are printed under their names, or as JSON."""
    answer = json.dumps({"suggestedTraits": ["calm", "dry", "stubborn"]})
    with EchoServer(answer, answer) as server:
        place = ("--database", str(entered(tmp_path / "library.db", server)))
        words = ("fn", "character-suggestions", "Mira", "--type", "traits", "--trait", "patient", *place)
        assert main([*words]) == 0
        assert capsys.readouterr().out == "suggestedTraits:\n- calm\n- dry\n- stubborn\n"
        assert run(capsys, *words)["suggestedTraits"] == ["calm", "dry", "stubborn"]
