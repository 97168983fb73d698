"""``innkeeper chat``: from files to a conversation: greetings, windows, files that go on."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli.app.root import main
from innkeeper.cli.talk import answering
from innkeeper.inference.client.model_handle import ModelHandle
from innkeeper.tokens import default_counter
from tests.cli.fakes import FakeModel
from tests.shared import ROOT
from tests.taverns.silly.install.folders import RECORDED

EXAMPLES = ROOT / "examples"
CARD = str(EXAMPLES / "wenna.png")
PERSONA = str(EXAMPLES / "ansel.persona.json")


class Room:
    """Runs the command with a stand-in for the model, and lines by a pipe."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys
        self.model = FakeModel()
        self.opened: list[tuple[Any, ...]] = []
        self.window: int | None = 4096
        monkeypatch.setattr(answering, "open_model", self.open_model)

    def open_model(self, *asked: Any) -> ModelHandle:
        self.opened.append(asked)
        return ModelHandle(self.model, "small", self.window, default_counter())

    def run(self, *words: str, lines: tuple[str, ...] = (), code: int = 0) -> str:
        self.monkeypatch.setattr("sys.stdin", io.StringIO("".join(line + "\n" for line in lines)))
        assert main(["chat", *words]) == code
        return self.capsys.readouterr().out


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Room:
    """A room with a model that says anything."""
    return Room(monkeypatch, capsys)


def test_from_card_to_reply(room: Room) -> None:
    """The character greets the user by name, macros expanded, and answers; the model is let go at the end."""
    out = room.run(CARD, PERSONA, lines=("Hello",))
    assert "Come in, Ansel, and wipe your boots" in out
    assert "{{" not in out
    assert "Wenna Carrow: Reply 1." in out
    assert room.model.closed
    sent = room.model.asked[0]
    assert sent["model"] == "small"
    assert sent["max_tokens" if "max_tokens" in sent else "max_completion_tokens"] == 256
    assert any("Hello" in message["content"] for message in sent["messages"])


def test_answers_are_judged(room: Room) -> None:
    """An answer that tells of a minor in a romance ends in an error."""
    room.model.lines = ["Mia is fourteen, and a romantic evening begins."]
    room.run(CARD, PERSONA, lines=("Hello",), code=65)


def test_greetings(room: Room) -> None:
    """A greeting is chosen by its number, or leafed through."""
    assert "The lamp room smells of hot glass" in room.run(CARD, "--greeting", "1")
    assert "Below the gallery the fog moves" in room.run(CARD, lines=("/swipe 3",))


def test_greeting_that_is_not_there(room: Room, capsys: pytest.CaptureFixture[str]) -> None:
    """A greeting that the card does not have is wrong usage."""
    room.run(CARD, "--greeting", "9", code=2)


def test_file_goes_on(room: Room, tmp_path: Path) -> None:
    """A chat that is kept in a file goes on where it was, without another greeting."""
    path = tmp_path / "c.jsonl"
    room.run(CARD, PERSONA, "--chat", str(path), lines=("One",))
    before = path.read_bytes()
    out = room.run(CARD, PERSONA, "--chat", str(path), lines=("Two",))
    assert path.read_bytes().startswith(before)
    messages = [json.loads(line) for line in path.read_text("utf-8").splitlines()[1:]]
    assert [(m["name"], m["mes"]) for m in messages[1:]] == [
        ("Ansel", "One"),
        ("Wenna Carrow", "Reply 1."),
        ("Ansel", "Two"),
        ("Wenna Carrow", "Reply 2."),
    ]
    assert out.count("Come in, Ansel") == 1
    assert f"saved in {path}" in out


def test_examples_chat(room: Room, tmp_path: Path) -> None:
    """SillyTavern's own chat files go on, too; their messages stay as they are, the header has what it would store."""
    path = tmp_path / "c.jsonl"
    path.write_bytes((EXAMPLES / "wenna.chat.jsonl").read_bytes())
    header, *before = path.read_bytes().splitlines()
    room.run(CARD, PERSONA, "--chat", str(path), lines=("Is the reef safe?",))
    after = path.read_bytes().splitlines()
    assert after[1 : len(before) + 1] == before
    assert len(after) == 6
    stored = b',"timedWorldInfo":{"sticky":{},"cooldown":{}},"lastInContextMessageId":0}}'
    assert after[0] == header.removesuffix(b"}}") + stored


def test_a_chat_among_the_files_goes_on(room: Room, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A chat needs no option: it is told by its content, goes on and is kept in its file; a second one is refused."""
    path = tmp_path / "evening.jsonl"
    path.write_bytes((EXAMPLES / "wenna.chat.jsonl").read_bytes())
    before = len(path.read_text("utf-8").splitlines())
    room.run(CARD, PERSONA, str(path), lines=("And tonight?",))
    sent = [message["content"] for message in room.model.asked[0]["messages"]]
    assert "And tonight?" in sent[-1] + sent[-2]
    assert sum(1 for line in path.read_text("utf-8").splitlines()[1:before] if json.loads(line)["mes"] in sent) > 1
    assert len(path.read_text("utf-8").splitlines()) == before + 2
    capsys.readouterr()
    room.run(CARD, str(path), "--chat", str(tmp_path / "other.jsonl"), code=2)


def test_a_sillytavern_folder(room: Room, tmp_path: Path) -> None:
    """A chat of an install goes on here; the folder stays as it is, and what is saved has what SillyTavern would store."""
    before = {path: path.read_bytes() for path in RECORDED.rglob("*") if path.is_file()}
    path = tmp_path / "kept.jsonl"
    words = ("--sillytavern", str(RECORDED), "--character", "Mira", "--chat", "Short")
    out = room.run(*words, lines=("Is the cellar dry?", f"/save {path}"))
    assert "Mira: Reply 1." in out
    assert {path: path.read_bytes() for path in RECORDED.rglob("*") if path.is_file()} == before
    header, *messages = map(json.loads, path.read_text("utf-8").splitlines())
    assert [message["mes"] for message in messages[2:]] == ["Is the cellar dry?", "Reply 1."]
    assert "Mira's cellar.0" in header["chat_metadata"]["timedWorldInfo"]["sticky"]
    assert "Ilse is a sailor in the ford's town." in [m["content"] for m in room.model.asked[0]["messages"]]


def test_a_new_chat_of_a_folder(room: Room) -> None:
    """Where there is no chat yet it begins with the greeting, by the persona that is tied to the card."""
    assert "Whoa! Is that Tom?" in room.run("--sillytavern", str(RECORDED), "--character", "Bram", lines=("Yes.",))


def test_list_cannot_grow(room: Room, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A chat that is one JSON list is not touched."""
    path = tmp_path / "c.json"
    path.write_text('[{"role": "user", "content": "Hello"}]')
    room.run(CARD, "--chat", str(path), code=2)
    assert path.read_text() == '[{"role": "user", "content": "Hello"}]'


def test_window(room: Room) -> None:
    """The window is the model's unless another is given; old messages are left out, the newest never."""
    lines = tuple(f"Message number {n} " + "and so on " * 30 for n in range(12))
    room.window = 1400
    room.run(CARD, "--reserve", "64", lines=(*lines, "/plan"))
    for asked in room.model.asked:
        total = sum(default_counter().count(message["content"]) + 4 for message in asked["messages"]) + 3
        assert total + 64 <= 1400
    texts = [message["content"] for message in room.model.asked[-1]["messages"]]
    assert any("Message number 11" in text for text in texts)
    assert not any("Message number 0 " in text for text in texts)


def test_prompt_too_large(room: Room) -> None:
    """Where not even the newest message fits, the turn is refused with the figures, and the chat goes on."""
    out = room.run(CARD, "--context-window", "150", "--reserve", "64", lines=("Hello", "/help"), code=65)
    assert "exceeded limit" in out
    assert "/quit" in out
    assert room.model.asked == []


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ((), ("local", None, None, None)),
        (("--model", "local:mine", "--context-window", "2000"), ("local:mine", None, 2000, None)),
        (("--model", "gpt-4o", "--base-url", "http://localhost:1"), ("gpt-4o", "http://localhost:1", None, None)),
        (("--model", "openai:gpt-4o"), ("gpt-4o", "https://api.openai.com", None, None)),
    ],
)
def test_who_is_asked(room: Room, words: tuple[str, ...], asked: tuple[Any, ...]) -> None:
    """Model and address reach whoever seats the model."""
    room.run(CARD, *words)
    assert room.opened == [asked]


def test_without_a_card(room: Room) -> None:
    """There can be a chat without a character; nobody greets."""
    out = room.run("--tavern", "vibe", lines=("Hello",))
    assert "Assistant: Reply 1." in out


def test_seat_taken(room: Room, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Without weights the error is the command that brings them."""
    monkeypatch.undo()
    monkeypatch.setenv("INNKEEPER_HOME", "/nonexistent")
    monkeypatch.setattr("innkeeper.inference.local.weights._packaged", lambda _known: None)
    assert main(["chat", CARD]) == 69
    assert "innkeeper models install smollm2" in capsys.readouterr().err


@pytest.mark.parametrize(("line", "code"), [("/plan", 0), ("/nobody", 2), ("/swipe first", 2)])
def test_failures_by_pipe(room: Room, line: str, code: int) -> None:
    """Where nobody sits at a terminal, the first failure decides the exit code; what follows is still done."""
    assert "Reply 1." in room.run(CARD, lines=(line, "Hello"), code=code)


def test_windows_below_nothing(room: Room) -> None:
    """A negative window is wrong usage."""
    room.run(CARD, "--context-window", "-5", code=2)


def second_card(folder: Path) -> str:
    """Another card."""
    path = folder / "bram.json"
    data = {"name": "Bram", "description": "A ferryman.", "first_mes": "Evening.", "extensions": {"talkativeness": "0"}}
    path.write_text(json.dumps({"spec": "chara_card_v2", "spec_version": "2.0", "data": data}))
    return str(path)


def test_a_group(room: Room, tmp_path: Path) -> None:
    """Two cards are a group: both greet, who is spoken to replies under the own name, and one can be let speak."""
    path = tmp_path / "c.jsonl"
    out = room.run(
        CARD, second_card(tmp_path), "--chat", str(path), lines=("Bram, are you there?", "/turn wenna", "/turn")
    )
    assert "Bram: Evening." in out
    assert "Bram: Reply 1." in out
    assert "Wenna Carrow: Reply" in out
    assert "here are Wenna Carrow, Bram; the last to speak was Wenna Carrow" in out
    names = [json.loads(line)["name"] for line in path.read_text("utf-8").splitlines()[1:]]
    assert names[:4] == ["Wenna Carrow", "Bram", "User", "Bram"]
    assert names[-1] == "Wenna Carrow"


def test_all_of_a_group_reply(room: Room, tmp_path: Path) -> None:
    """Who is spoken to replies, one after the other; each one's card is in the own prompt."""
    out = room.run(
        CARD, second_card(tmp_path), lines=("Bram and Wenna, what do you say?", "/retry", "/turn nobody"), code=2
    )
    assert "Bram: Reply 1." in out
    assert "Wenna Carrow: Reply 2." in out
    sent = ["\n".join(m["content"] for m in asked["messages"]) for asked in room.model.asked]
    assert "A ferryman." in sent[0]
    assert "A ferryman." not in sent[1]
    assert "unknown member of the group 'nobody'" in out


def test_other_commands_take_one_card(room: Room, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A prompt has one card: a second one is refused, not dropped."""
    assert main(["build", CARD, second_card(tmp_path), "--message", "Hi"]) == 2
    assert "second character" in capsys.readouterr().err


def test_continue(room: Room) -> None:
    """A reply grows by what comes, with a space where neither has one."""
    room.model.lines = ["The bell", "rings.", " Twice.", ", then not."]
    room.run(CARD, lines=("Hello", "/continue", "/continue", "/continue", "Go on"))
    texts = [message["content"] for message in room.model.asked[-1]["messages"]]
    assert "The bell rings. Twice., then not." in texts


def test_impersonate(room: Room) -> None:
    """What the model writes in the user's place waits, and is said when it is sent; it can be another text by then."""
    room.model.lines = ["I am cold.", "Come in.", "And you?", "Sit."]
    out = room.run(CARD, PERSONA, lines=("/impersonate", "/send", "/impersonate", "/send No."))
    assert "Ansel? I am cold." in out
    assert "Wenna Carrow: Come in." in out
    texts = [message["content"] for message in room.model.asked[-1]["messages"]]
    assert "I am cold." in texts
    assert "No." in texts
    assert "And you?" not in texts


def test_note_is_in_the_prompt(room: Room) -> None:
    """An author's note that is set in the chat is in the next prompt."""
    room.run(CARD, lines=("/note Speak of the tide.", "Hello"))
    assert any("Speak of the tide." in message["content"] for message in room.model.asked[-1]["messages"])
