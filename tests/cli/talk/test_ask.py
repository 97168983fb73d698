"""``innkeeper ask``: one message and its reply, from a card to the wire; what was said goes on, is found again and explained."""

import json
import signal
import stat
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from innkeeper.cli.talk.conversation import TerminalChat
from innkeeper.cli.talk.log import RecordedTurn, log_path
from innkeeper.inference import EchoServer, Fault
from innkeeper.inference.client import model_clients
from innkeeper.inference.client.model_clients import client_options
from tests.cli.running import Run
from tests.shared import ROOT

CARD = str(ROOT / "examples" / "wenna.png")
PERSONA = str(ROOT / "examples" / "ansel.persona.json")
KEY = "sk-lantern-0123456789"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[EchoServer]:
    """A provider on this machine, which is settled; what is said is kept."""
    with EchoServer("Tea first.", "Then the *bell*.", "The reef is quiet.") as server:
        monkeypatch.setenv("INNKEEPER_BASE_URL", server.base_url)
        monkeypatch.setenv("INNKEEPER_MODEL", "m")
        monkeypatch.setenv("INNKEEPER_LOGGING", "on")
        monkeypatch.setenv("INNKEEPER_CONFIG", str(tmp_path / "config.toml"))
        yield server


def texts(server: EchoServer, call: int = -1) -> list[str]:
    """What a model was sent, message by message."""
    return [message["content"] for message in server.requests[call].body["messages"]]


def test_reply(run: Run, server: EchoServer) -> None:
    """The words after the card are said, behind the card's greeting, and the reply is printed as it came."""
    ran = run("ask", CARD, "Is the", "reef safe?", "--persona", PERSONA)
    assert (ran.code, ran.out, ran.err) == (0, "Tea first.\n", "")
    sent = texts(server)
    assert "Is the reef safe?" in sent
    assert any("Come in, Ansel, and wipe your boots" in text for text in sent)
    assert server.requests[0].body["stream"] is True


@pytest.mark.parametrize(
    ("words", "piped", "said"),
    [
        ((), "From a pipe.\n", "From a pipe."),
        (("Look:", "-"), "some text\n", "Look:\n\nsome text"),
        (("-", "What is this?"), "some text\n", "some text\n\n\nWhat is this?"),
        (("Alone.",), "not read", "Alone."),
        ((" Alone.\t\n",), "not read", " Alone.\t\n"),
    ],
)
def test_standard_input(run: Run, server: EchoServer, words: tuple[str, ...], piped: str, said: str) -> None:
    """The standard input is the text where there is none, and stands in the place of a dash; else it is not touched."""
    assert run("ask", CARD, *words, input=piped).code == 0
    assert said in texts(server)


def test_an_answer_that_may_not_pass(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a model makes of a minor in a romance ends in an error, and the conversation has no such reply."""
    with EchoServer("Mia is fourteen, and a romantic evening begins.") as server:
        monkeypatch.setenv("INNKEEPER_BASE_URL", server.base_url)
        monkeypatch.setenv("INNKEEPER_MODEL", "m")
        ran = run("ask", CARD, "Good evening.", "--json")
    assert (ran.code, ran.error["kind"]) == (65, "tier_blocked")
    assert "Mia" not in ran.out


@pytest.mark.parametrize(
    ("words", "piped", "said"),
    [
        (("What is {{user}}?",), "", "What is {{user}}?"),
        (("What", "is", "slack water?"), "", "What is slack water?"),
        ((), "From a pipe.\n", "From a pipe."),
        (("Explain:", "-"), "a tide table\n", "Explain:\n\na tide table"),
    ],
)
def test_without_a_card(run: Run, server: EchoServer, words: tuple[str, ...], piped: str, said: str) -> None:
    """A question to a model alone is the message as it was typed, nothing beside it; no persona or preset comes in."""
    run("config", "set", "persona", PERSONA)
    assert run("ask", *words, input=piped).out == "Tea first.\n"
    assert server.requests[0].body["messages"] == [{"role": "user", "content": said}]


def test_without_a_card_it_goes_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A conversation with a model alone is kept, goes on and is explained as any other; nobody's lines are cut from it."""
    scene = "A scene.\nUser: here\nAssistant: there"
    with EchoServer(scene, "Yes.") as server:
        monkeypatch.setenv("INNKEEPER_BASE_URL", server.base_url)
        monkeypatch.setenv("INNKEEPER_MODEL", "m")
        monkeypatch.setenv("INNKEEPER_LOGGING", "on")
        assert run("ask", "Write a scene.").out == f"{scene}\n"
        assert run("ask", "-c", "Longer.").code == 0
        assert texts(server) == ["Write a scene.", scene, "Longer."]
    assert "Write a scene." in run("why", "1").out


def test_the_gate_judges_a_bare_question(run: Run, server: EchoServer) -> None:
    """A question to a model alone passes the gate that every prompt passes."""
    ran = run("ask", "A nude 12 year old.", "--json")
    assert (ran.code, ran.error["kind"], server.requests) == (65, "tier_blocked", [])


def test_go_on(run: Run, server: EchoServer) -> None:
    """With -c the last conversation goes on, with its card, its persona and its model, whatever is settled now."""
    run("ask", CARD, "One", "--persona", PERSONA, "--tavern", "silly", "--set", "options.temperature=0.5")
    facts = run("ask", "-c", "Two", "--json").data
    assert (facts["reply"], facts["conversation"], facts["line"]) == ("Then the *bell*.", 1, 2)
    assert [text for text in texts(server) if text in {"One", "Two"} or "Tea first." in text] == [
        "One",
        "Tea first.",
        "Two",
    ]
    assert server.requests[1].body["temperature"] == 0.5
    run("ask", CARD, "Another")
    run("ask", "--conversation", "1", "Three")
    assert {"One", "Two", "Three"} <= set(texts(server))
    assert [chat["lines"] for chat in run("log", "list", "--json").data["conversations"]] == [3, 1]


def test_go_on_with_another_model(run: Run, server: EchoServer) -> None:
    """A conversation can go on with another model; then that one is its model."""
    run("ask", CARD, "One")
    run("ask", "-c", "Two", "--model", "other")
    run("ask", "-c", "Three")
    assert [request.body["model"] for request in server.requests] == ["m", "other", "other"]


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        ((), 2, "nothing to say"),
        (("Wena", "Hello"), 2, "did you mean 'wenna'?"),
        ((CARD,), 2, "nothing to say"),
        (("-c", "Hello"), 69, "nothing has been said yet"),
        (("--conversation", "7", "Hello"), 69, "nothing has been said yet"),
        (("nobody.png", "Hello"), 69, "nobody.png"),
    ],
)
def test_refused(run: Run, server: EchoServer, words: tuple[str, ...], code: int, hint: str) -> None:
    """What cannot be asked is refused in plain words before anything is sent."""
    run("config", "set", "aliases.cards.wenna", CARD)
    ran = run("ask", *words)
    assert ran.code == code
    assert hint in ran.err
    assert server.requests == []


def test_files_of_a_conversation_that_goes_on(run: Run, server: EchoServer) -> None:
    """A conversation that goes on has its files; one more is refused, not dropped. An unknown number is met with a hint."""
    run("ask", CARD, "One")
    ran = run("ask", "-c", "Two", "--persona", PERSONA)
    assert ran.code == 2
    assert "has its files already: --persona" in ran.err
    assert run("ask", "--conversation", "9", "Two").code == 2


def test_dry_run(run: Run, server: EchoServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dry run shows address, where the key is, settings with their sources and the body, sends nothing and keeps nothing."""
    monkeypatch.setenv("INNKEEPER_API_KEY", KEY)
    ran = run("ask", CARD, "Hello", "--tavern", "vibe", "--dry-run")
    facts = ran.data
    assert facts["url"] == f"{server.base_url}/v1/chat/completions"
    assert facts["key"] == "environment: INNKEEPER_API_KEY"
    settings = {value["name"]: (value["value"], value["source"]) for value in facts["settings"]}
    assert settings["tavern"] == ("vibe", "option")
    assert settings["model"] == ("m", "environment")
    assert facts["body"]["messages"][-1]["content"] == "Hello"
    assert KEY not in ran.out
    assert server.requests == []
    assert not log_path().exists()


def test_dry_run_is_what_is_sent(run: Run, server: EchoServer) -> None:
    """What a dry run shows is what goes out."""
    shown = run("ask", CARD, "Hello", "--seed", "3", "--dry-run").data["body"]
    run("ask", CARD, "Hello", "--seed", "3")
    sent = dict(server.requests[0].body)
    assert {name: sent[name] for name in shown} == shown


def test_nothing_is_kept(run: Run, server: EchoServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is kept where it is said not to be, by the option or the setting."""
    run("ask", CARD, "One", "--no-log")
    monkeypatch.setenv("INNKEEPER_LOGGING", "off")
    assert run("ask", CARD, "Two", "--json").data["line"] is None
    assert not log_path().exists()


def test_log(run: Run, server: EchoServer) -> None:
    """What was said is listed, shown and found, in a file for its owner alone."""
    run("ask", CARD, "Is the reef safe?", "--persona", PERSONA)
    run("ask", "-c", "And the BELL?")
    path = Path(run("log", "path").out.strip())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "Wenna Carrow and Ansel, 2 lines, m" in run("log", "list").out
    shown = run("log", "show").out
    assert "Ansel: Is the reef safe?\nWenna Carrow: Tea first.\n" in shown
    assert run("log", "show", "1", "--json").data["lines"][1]["said"] == "And the BELL?"
    found = run("log", "search", "bell", "*BELL*").out
    assert "Then the *bell*." in found
    assert "Tea first" not in found
    assert [line["id"] for line in run("log", "search", "tea", "--json").data["lines"]] == [1]
    assert run("log", "search", "nothing like it").out == ""


def test_explained_and_replayed(run: Run, server: EchoServer) -> None:
    """Each line can be explained, whole or in part, and built again to the same bytes."""
    run("ask", CARD, "Is the reef safe?", "--seed", "5", "--now", "2026-01-15T18:00:00Z")
    run("ask", "-c", "And the bell?")
    assert run("replay", "--log", "1", "--log", "2").out.count("same bytes") == 2
    assert "The Bell Reef" in run("why", "1").out
    assert "in: The Bell Reef" in run("why", "1", "The Bell Reef").out
    assert run("why", "1", "1").out.startswith("message 1: system")
    facts = run("why", "--json").data
    assert (facts["line"]["id"], facts["same"]) == (2, True)
    assert run("why", "9").code == 2
    assert run("replay").code == 2
    assert run("replay", "--log", "9").code == 2


def test_a_failure_is_kept_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that fails is in the log with its error and what had come, so that it can be explained; no key is in it."""
    with EchoServer(Fault.status(400)) as server:
        monkeypatch.setenv("INNKEEPER_LOGGING", "on")
        monkeypatch.setenv("INNKEEPER_API_KEY", KEY)
        words = ("--base-url", server.base_url, "--model", "m")
        ran = run("ask", CARD, "Hello", *words)
        assert ran.code == 69
        assert KEY not in ran.out + ran.err
    line = run("log", "show", "--json").data["lines"][0]
    assert line["said"] == "Hello"
    assert line["ended"]
    assert run("why", "1").code == 0
    assert KEY.encode() not in log_path().read_bytes()


def test_a_provider_that_is_busy_is_asked_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that failed before its first word, where the provider says *not now*, is sent again."""
    with EchoServer(Fault.status(503), "Tea first.") as server:
        ran = run("ask", CARD, "Hello", "--base-url", server.base_url, "--model", "m")
        assert (ran.code, ran.out) == (0, "Tea first.\n")
        assert [request.raw for request in server.requests] == [server.requests[0].raw] * 2


def test_errors_as_json(run: Run, server: EchoServer) -> None:
    """With --json a refusal is one line of JSON."""
    assert run("ask", "--json", "-c", "x").error["kind"] == "unavailable"


def test_removed(run: Run, server: EchoServer) -> None:
    """A conversation that is removed leaves nothing of what was said behind; the others stay whole."""
    run("ask", CARD, "Remember the quincunx.")
    run("ask", CARD, "Keep this.")
    before = log_path().stat().st_size
    assert run("log", "remove", "1").out == "removed: 1\n"
    assert run("log", "search", "quincunx").out == ""
    assert run("replay", "--log", "2").code == 0
    assert log_path().stat().st_size <= before
    assert run("log", "remove", "1").code == 2


def test_a_log_that_cannot_be_written(run: Run, server: EchoServer) -> None:
    """A log that fails is told of, with the mend, and the reply is there all the same."""
    log_path().parent.mkdir(parents=True, exist_ok=True)
    log_path().write_bytes(b"not a database" * 100)
    ran = run("ask", CARD, "Hello")
    assert (ran.code, ran.out) == (0, "Tea first.\n")
    assert ran.err.count("nothing more is kept") == 1
    assert "logging false" in ran.err
    assert run("log", "list").code == 69


def test_chat_goes_on(run: Run, server: EchoServer, tmp_path: Path) -> None:
    """A chat goes on with what was asked, and an ask with what was chatted; a chat with a file goes on in its file."""
    run("ask", CARD, "One", "--persona", PERSONA)
    out = run("chat", "-c", input="Two\n/swipe\n").out
    assert "Ansel: One" in out
    assert "Wenna Carrow: Tea first." in out
    run("ask", "-c", "Three")
    assert {"One", "Two", "The reef is quiet."} <= set(texts(server)) | {
        text.partition(": ")[2] for text in texts(server)
    }
    file = tmp_path / "evening.jsonl"
    run("chat", CARD, "--chat", file, input="In a file\n")
    run("ask", "-c", "And on")
    said = [json.loads(line).get("mes") for line in file.read_text().splitlines()]
    assert "In a file" in said
    assert "And on" in said


def test_growth(run: Run, server: EchoServer) -> None:
    """A turn costs what is new in it: the parts of the request that were there are kept once."""
    import sqlite3

    run("ask", CARD, "One")
    counts: list[Any] = []
    for text in ("Two", "Three", "Four", "Five"):
        run("ask", "-c", text)
        with closing(sqlite3.connect(log_path())) as db:
            counts.append(db.execute("SELECT count(*) FROM parts").fetchone()[0])
    growth = {after - before for before, after in pairwise(counts)}
    assert max(growth) <= 5


def test_stopped(run: Run, server: EchoServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends the reply where it is: what had come is printed and kept, and the exit code says so."""
    heard: list[str] = []

    def write(piece: str) -> None:
        heard.append(piece)
        raise KeyboardInterrupt

    monkeypatch.setattr("innkeeper.cli.talk.commands._write", write)
    assert run("ask", CARD, "Hello").code == 130
    line = run("log", "show", "--json").data["lines"][0]
    assert (line["ended"], line["reply"]) == ("stopped", "".join(heard).strip())


@pytest.mark.parametrize("index", ["0", "1000000000", "-5", "1e400", "null", '"x"'])
@pytest.mark.parametrize("text", ["", "Wait."])
def test_calls_that_nobody_runs_are_told(run: Run, index: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever number a call has: an error where nothing else was said, a note beside a text, never an empty line."""
    call = f'{{"index":{index},"id":"c1","type":"function","function":{{"name":"tide","arguments":"{{}}"}}}}'
    delta = f'{{"choices":[{{"delta":{{"content":{json.dumps(text)},"tool_calls":[{call}]}}}}]}}'
    end = '{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}'
    content = "".join(f"data: {line}\n\n" for line in (delta, end, "[DONE]"))
    reply = httpx.Response(200, content=content, headers={"content-type": "text/event-stream"})
    transport = httpx.MockTransport(lambda _: reply)
    monkeypatch.setattr(
        model_clients, "client_options", lambda given: {**client_options(given), "transport": transport}
    )
    monkeypatch.setenv("INNKEEPER_API_KEY", KEY)
    ran = run("ask", CARD, "Hello", "--model", "openai:gpt-4o")
    assert (ran.code == 0) is bool(text)
    assert "the model calls tools that nobody runs here: tide" in ran.err
    assert ran.out.strip() == text


def test_sigterm_keeps_what_had_come(run: Run, server: EchoServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """At both commands, as Ctrl-C does; a chat ends with it, and the handler of before is there again."""
    before = signal.getsignal(signal.SIGTERM)
    heard: list[str] = []

    def write(piece: str) -> None:
        heard.append(piece)
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("innkeeper.cli.talk.commands._write", write)
    assert run("ask", CARD, "Hello").code == 130
    assert run("log", "show", "--json").data["lines"][0]["reply"] == "".join(heard).strip() != ""
    record = TerminalChat._record

    def recorded(talk: TerminalChat, turn: RecordedTurn) -> None:
        record(talk, turn)
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(TerminalChat, "_record", recorded)
    assert run("chat", CARD, input="One\nTwo\n").code == 143
    assert "Two" not in texts(server)
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_file_that_is_gone(run: Run, server: EchoServer, tmp_path: Path) -> None:
    """A chat whose file is gone goes on by the log, and says so; a file that is named then gets the whole chat, once."""
    file, other = tmp_path / "evening.jsonl", tmp_path / "other.jsonl"
    run("chat", CARD, "--chat", file, input="One\n")
    file.unlink()
    ran = run("ask", "-c", "Two")
    assert "is gone" in ran.err
    assert {"One", "Two"} <= set(texts(server))
    assert not file.exists()
    assert run("chat", "-c", "--chat", other, input="Three\n").code == 0
    said = [json.loads(line).get("mes") for line in other.read_text().splitlines()]
    assert {"One", "Two", "Three"} <= set(said)
    before = other.read_bytes()
    assert run("chat", "-c", "--chat", other, input="Four\n").code != 0
    assert other.read_bytes() == before


def test_dry_run_of_what_goes_on(run: Run, server: EchoServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dry run of a conversation that goes on names its own model and address, not those that are settled now."""
    run("ask", CARD, "One")
    monkeypatch.setenv("INNKEEPER_MODEL", "another")
    facts = run("ask", "-c", "Two", "--dry-run").data
    settings = {value["name"]: (value["value"], value["source"]) for value in facts["settings"]}
    assert (settings["model"], settings["base_url"]) == (("m", "log"), (server.base_url, "log"))
    assert facts["body"]["model"] == "m"
