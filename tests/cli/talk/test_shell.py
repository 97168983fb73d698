"""The chat in a terminal: lines in, replies out, by a pipe and on a real terminal; nothing ends it but the user."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from innkeeper.cli.app.screen import Screen
from innkeeper.cli.talk.conversation import TerminalChat
from innkeeper.cli.talk.shell import COMMANDS, RECENT, Shell, offered
from innkeeper.content.chat import ChatLog
from innkeeper.content.chat_message import ChatMessage
from innkeeper.conversation.conversation import Conversation
from innkeeper.conversation.store import ChatFile
from innkeeper.dialects import DIALECTS
from innkeeper.inference.client.model_handle import ModelHandle
from innkeeper.lore import Reason, Verdict
from innkeeper.prompt import Block, BuildRequest, Message, Plan, Ports, ProviderError
from tests.cli.fakes import FakeModel

BASE = BuildRequest(character={"name": "Wenna"}, user={"name": "Ansel"}, reserved_tokens=50, context_window=1000)


class Lore:
    """Decisions about two entries."""

    verdicts = (
        Verdict("Skerrow", 3, "The Bell Reef", Reason.KEY, {"key": "reef", "place": "message 1", "loop": 1}),
        Verdict("Skerrow", 6, "Alderman", Reason.NO_MATCH, {"searched": "4 messages", "keys": "'gull'"}),
    )


def build(request: BuildRequest, ports: Ports) -> Plan:
    """A plan of the chat."""
    said = (*request.history, *([Message("user", request.message)] if request.message else []))
    blocks = (
        Block(role="system", content="Be Wenna.", slot="main"),
        *(Block.of_message(m, slot="history") for m in said),
    )
    return Plan(blocks=blocks, request=request, model="m", tavern="silly", lore=Lore(), dialects=DIALECTS)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Pipe lines into a shell and get what it writes."""

    def piped(
        *lines: str, speaker: FakeModel | None = None, chat: ChatLog | None = None, path: Path | None = None
    ) -> str:
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(line + "\n" for line in lines)))
        out = io.StringIO()
        talk = TerminalChat(
            Conversation(base=BASE, chat=chat or ChatLog(header={})),
            ModelHandle(speaker or FakeModel("Tea first."), "m"),
            build,
            store=None if path is None else ChatFile(path),
        )
        Shell(talk, screen=Screen(out)).run()
        return out.getvalue()

    return piped


def test_a_turn_by_pipe(run: Callable[..., str]) -> None:
    """A piped line is echoed under the user's name and answered under the character's."""
    out = run("Hello")
    assert "Ansel> Hello\nWenna: Tea first.\n" in out
    assert "\x1b" not in out


def test_end_of_input_and_quit(run: Callable[..., str]) -> None:
    """The end of the input and ``/quit`` leave; nothing after ``/quit`` is read."""
    speaker = FakeModel()
    run(speaker=speaker)
    run("/quit", "Hello", speaker=speaker)
    assert speaker.asked == []


def test_last_line_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A last line that has no line end is a message like others."""
    speaker = FakeModel()
    monkeypatch.setattr(sys, "stdin", io.StringIO("Hello"))
    Shell(
        TerminalChat(Conversation(base=BASE, chat=ChatLog()), ModelHandle(speaker, "m"), build),
        screen=Screen(io.StringIO()),
    ).run()
    assert speaker.said() == ["Hello"]


def test_empty_lines_are_nothing(run: Callable[..., str]) -> None:
    """Empty lines are no messages."""
    speaker = FakeModel()
    run("", "   ", "Hello", speaker=speaker)
    assert speaker.said() == ["Hello"]


def test_slashes(run: Callable[..., str]) -> None:
    """Two slashes begin a message that begins with one; an unknown command is not sent, and near ones are offered."""
    speaker = FakeModel()
    out = run("//me bows", "/swpe", speaker=speaker)
    assert speaker.said() == ["/me bows"]
    assert "unknown command '/swpe'" in out
    assert "did you mean '/swipe'?" in out


def test_plan(run: Callable[..., str]) -> None:
    """``/plan`` shows the last prompt; with a text, the one that it would get, and sends nothing."""
    speaker = FakeModel()
    out = run("Hello", "/plan", "/plan and now?", speaker=speaker)
    first, second = out.split("Ansel> /plan and now?")
    assert "main" in first
    assert "used" in first
    assert "and now?" in second
    assert speaker.said() == ["Hello"]


def test_why(run: Callable[..., str]) -> None:
    """``/why`` says why entries are in or out, all of them or one, and where a message's text came from."""
    out = run("Hello", "/why", "/why alderman", "/why 2", "/why 1", "/why nothing like it")
    assert "in  The Bell Reef [Skerrow]: fired by 'reef' in message 1 (pass 1)" in out
    assert "out: Alderman [Skerrow]: no key matched in 4 messages: 'gull'" in out
    assert "keys: 'gull'" in out
    assert "history" in out.split("Ansel> /why 2")[1].split("Ansel>")[0]
    assert "message 1: system, main" in out
    assert "unknown lorebook entry, book or message 'nothing like it'" in out


def test_retry_and_swipe(run: Callable[..., str], tmp_path: Path) -> None:
    """``/retry`` replaces, ``/swipe`` adds, ``/swipe N`` leafs; what is no number is refused."""
    speaker = FakeModel("One.", "Two.", "Three.")
    out = run(
        "Hello", "/retry", "/swipe", "/swipe 1", "/swipe 9", "/swipe x", speaker=speaker, path=tmp_path / "c.jsonl"
    )
    assert out.count("Wenna: Two.") == 2
    assert "Wenna: Three." in out
    assert "no alternative 9" in out
    assert "an alternative is a number" in out


def test_greetings_are_leafed_through(run: Callable[..., str]) -> None:
    """While only the greeting is there, ``/swipe`` shows the next one and asks nobody."""
    greeting = ChatMessage.create("assistant", "a", name="Wenna").replace(swipes=("a", "b"), swipe_id=0)
    speaker = FakeModel()
    out = run("/swipe", "/swipe", "/swipe", chat=ChatLog(messages=(greeting,)), speaker=speaker)
    assert out.count("Wenna: a") == 2
    assert out.count("Wenna: b") == 2
    assert speaker.asked == []


def test_save(run: Callable[..., str], tmp_path: Path) -> None:
    """``/save FILE`` writes the chat and keeps it there; a chat that was never saved is told of at the end."""
    out = run("Hello", "/save", f"/save {tmp_path / 'c.jsonl'}", "/save", "More")
    assert "the chat has no file yet" in out
    assert out.count(f"saved in {tmp_path / 'c.jsonl'}") == 3
    assert len((tmp_path / "c.jsonl").read_text().splitlines()) == 5
    assert "was not saved" in run("Hello")


def test_help_has_all(run: Callable[..., str]) -> None:
    """``/help`` lists every command."""
    out = run("/help")
    assert all(command.usage in out for command in COMMANDS.values())


@pytest.mark.parametrize(
    ("trouble", "says"),
    [(ProviderError("the provider is down"), "the provider is down"), (KeyboardInterrupt(), "/retry asks again")],
)
def test_trouble_does_not_end_it(run: Callable[..., str], trouble: BaseException, says: str) -> None:
    """An error, and Ctrl-C, end a turn and nothing else."""
    speaker = FakeModel(trouble, "Yes.")
    out = run("Hello", "/retry", speaker=speaker)
    assert says in out
    assert "Wenna: Yes." in out


def test_silent_model(run: Callable[..., str]) -> None:
    """A reply without a word is said to be one."""
    assert "the model said nothing" in run("Hello", speaker=FakeModel(""))


def test_texts_cannot_drive_the_terminal(run: Callable[..., str]) -> None:
    """Neither a reply, nor a chat, nor a lorebook can send control characters or markup to the terminal."""
    evil = "\x1b[2J\x07 [bold red]x[/] \u202egnp"
    chat = ChatLog(messages=(ChatMessage.create("assistant", evil, name=evil),))
    out = run(evil, "/plan", "/why 2", chat=chat, speaker=FakeModel(evil))
    assert not any(c in out for c in "\x1b\x07\u202e")
    assert "[bold red]x[/]" in out


def test_long_chats_are_cut_on_the_screen(run: Callable[..., str]) -> None:
    """Of a long chat only the last messages are shown, and how many there were before."""
    messages = tuple(ChatMessage.create("user", f"message {n}", name="Ansel") for n in range(RECENT + 3))
    out = run(chat=ChatLog(messages=messages))
    assert "(3 earlier messages)" in out
    assert "message 2\n" not in out
    assert f"message {RECENT + 2}" in out


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals of this kind")
def test_on_a_terminal(tmp_path: Path) -> None:
    """On a terminal: Ctrl-C stops a reply and keeps what was said, clears a line, ends nothing; Ctrl-D leaves."""
    from tests.cli.terminal import Terminal

    path = tmp_path / "c.jsonl"
    with Terminal(Path(__file__).with_name("talk_program.py"), str(path)) as terminal:
        terminal.wait_for("Ansel> ")
        terminal.type("Hello\n")
        terminal.wait_for("Well,")
        terminal.interrupt("Ansel> ")
        assert '"mes":"Well,"' in path.read_text()
        terminal.type("half a line")
        terminal.wait_for("half a line")
        terminal.interrupt("Ctrl-D leaves")
        terminal.wait_for("Ansel> ")
        terminal.type("/retry\n")
        terminal.wait_for("Wenna: Yes.")
        terminal.wait_for("Ansel> ")
        terminal.type("\x04")
        terminal.wait_for("saved in")
        assert terminal.end() == 0
    assert [line["mes"] for line in map(json.loads, path.read_text().splitlines()[1:])] == ["Hello", "Yes."]


def test_edit_and_delete(run: Callable[..., str]) -> None:
    """A message is changed or taken out by its number, or the last; the next prompt has it so."""
    speaker = FakeModel("One.", "Two.", "Three.")
    out = run("Hello", "/list", "/edit 1 Good day", "/edit Tea, first.", "/delete", "/list 1", "More", speaker=speaker)
    assert "   1  Ansel: Hello" in out
    assert "   2  Wenna: One." in out
    assert "message 1 is changed" in out
    assert "gone: Wenna: Tea, first." in out
    assert [message["content"] for message in speaker.asked[1]["messages"]] == ["Be Wenna.", "Good day", "More"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/edit", "say the new text"),
        ("/edit 9 x", "there is no message 9"),
        ("/delete 9", "they go from 1 to 2"),
        ("/delete all", "named by its number"),
        ("/send", "nothing to send"),
        ("/turn", "there is no group"),
        ("/turn Bram", "there is no group"),
    ],
)
def test_what_cannot_be(run: Callable[..., str], line: str, words: str) -> None:
    """What cannot be done is refused in a line, and the chat goes on."""
    assert words in run("Hello", line)


def test_nothing_to_change(run: Callable[..., str]) -> None:
    """In an empty chat there is no message to change."""
    assert "nothing has been said yet" in run("/delete")


def test_only_some_taverns(run: Callable[..., str]) -> None:
    """A tavern that knows no such generation refuses it, and says which does."""
    out = run("Hello", "/continue", "/impersonate")
    assert out.count("the tavern vibe has no generation") == 2
    assert "--tavern silly can" in out


def test_several_lines(run: Callable[..., str]) -> None:
    """Between two fences a message has several lines, empty ones too."""
    speaker = FakeModel()
    run('"""', "One", "", '  Two"""', '"""Three"""', '"""', "Four", speaker=speaker)
    assert speaker.said() == ["One\n\n  Two", "Three", "Four"]


def test_note(run: Callable[..., str], tmp_path: Path) -> None:
    """The author's note is shown, set and taken out; it is stored with the chat as SillyTavern stores it."""
    path = tmp_path / "c.jsonl"
    out = run("Hello", "/note", "/note Be brief.", "/note", path=path)
    assert "there is no author's note" in out
    assert out.count("author's note: Be brief.") == 2
    stored = json.loads(path.read_text().splitlines()[0])["chat_metadata"]
    assert (stored["note_prompt"], stored["note_depth"], stored["note_interval"]) == ("Be brief.", 4, 1)
    assert "there is no author's note" in run("Hello", "/note x", "/note -").splitlines()[-2]


def test_lore(run: Callable[..., str], tmp_path: Path) -> None:
    """Alone it says of each entry why it is in or out; with a file there is one more lorebook."""
    path = tmp_path / "book.json"
    path.write_text(json.dumps({"name": "Bells", "entries": [{"keys": ["bell"], "content": "It rings."}]}))
    out = run("/lore", f"/lore {path}", "/lore nowhere.json")
    assert "The Bell Reef" in out
    assert "Bells: 1 entry, from now on" in out
    assert "nowhere.json" in out


def test_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says which model answers, and lets another one answer from then on; the former one is let go."""
    first, second = FakeModel("One."), FakeModel("Two.")
    monkeypatch.setattr(sys, "stdin", io.StringIO("Hello\n/model\n/model big\nAgain\n"))
    out = io.StringIO()
    talk = TerminalChat(Conversation(base=BASE, chat=ChatLog(header={})), ModelHandle(first, "small", 1000), build)
    opened: list[str] = []

    def open_model(name: str) -> ModelHandle:
        opened.append(name)
        return ModelHandle(second, name, 2000, address="https://provider.example")

    Shell(talk, open_model, screen=Screen(out)).run()
    assert opened == ["big"]
    assert first.closed
    assert second.asked[0]["model"] == "m"  # the stand-in for a build names its own
    assert talk.base.model == "big"
    assert talk.base.context_window == 2000
    assert "small, window 1,000" in out.getvalue()
    assert "big at https://provider.example, window 2,000" in out.getvalue()


@pytest.mark.parametrize(
    ("line", "offer"),
    [("/sw", "/swipe"), ("/model o", "openai:"), ("/why The", "The Bell Reef"), ("/lore /", "/usr"), ("hello", None)],
)
def test_completion(line: str, offer: str | None) -> None:
    """Commands are completed, and what stands behind them; talk is not."""
    talk = TerminalChat(Conversation(base=BASE, chat=ChatLog(header={})), ModelHandle(FakeModel(), "m"), build)
    talk.plan = talk.preview("Hello")
    words = list(offered(Shell(talk, screen=Screen(io.StringIO())), line))
    assert (offer in words) if offer is not None else not words
