"""Chat: turns, alternatives, branches and changes; what is kept in each store, by one process or by two."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from innkeeper.chat import Chat, ChatDatabase, ChatFolder
from innkeeper.chat.chat import STOPPED
from innkeeper.cli.app.root import main
from innkeeper.content.chat import ChatLog
from innkeeper.inference import AsyncFakeClient, EchoServer, FakeClient, Fault
from innkeeper.prompt import BuildRequest, InnkeeperError, Ports, ProviderError, UsageError
from innkeeper.taverns import Session, build
from tests.shared import ROOT

EXAMPLES = ROOT / "examples"
CARD = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Wenna", "first_mes": "Come in."}}
ANSEL = {"name": "Ansel"}


def clock() -> datetime:
    """A time that stands still."""
    return datetime(2026, 1, 15, 18, tzinfo=UTC)


def opened(*replies: Any, **options: Any) -> Chat:
    """A chat with a card, whose model gives these replies."""
    return Chat(**{"card": CARD, "model": FakeClient(*replies), "persona": ANSEL, "clock": clock, **options})


def texts(chat: Chat) -> list[str]:
    """The texts of its messages."""
    return [message.content for message in chat.history]


class TestTurns:
    """Each kind of turn, in an event loop and in a blocking program."""

    def test_in_an_event_loop(self) -> None:
        """The pieces come one after the other, and the whole is kept."""

        async def talk(chat: Chat) -> list[str]:
            return [piece async for piece in chat.send("Is the reef safe?")]

        chat = opened("At low water, yes.")
        assert "".join(asyncio.run(talk(chat))) == "At low water, yes."
        assert texts(chat) == ["Come in.", "Is the reef safe?", "At low water, yes."]
        assert chat.last is not None
        assert (chat.last.speaker, chat.last.end, chat.last.reply) == ("Wenna", "stop", "At low water, yes.")

    @pytest.mark.parametrize("client", [FakeClient, AsyncFakeClient])
    def test_the_same_at_each_face(self, client: Callable[..., Any]) -> None:
        """``await``, ``for`` and ``text()`` give the same reply."""

        async def awaited(chat: Chat) -> str:
            return await chat.send("Hello")

        assert asyncio.run(awaited(opened(model=client("Aye.")))) == "Aye."
        assert opened(model=client("Aye.")).send("Hello").text() == "Aye."
        assert "".join(opened(model=client("Aye.")).send("Hello")) == "Aye."

    def test_alternatives(self) -> None:
        """A swipe adds an alternative; `choose` shows an earlier one; `regenerate` replaces the reply."""
        chat = opened("One.", "Two.", "Three.")
        chat.send("Hello").text()
        assert chat.swipe().text() == "Two."
        assert chat.alternatives == ("One.", "Two.")
        chat.choose(1)
        assert texts(chat)[-1] == "One."
        chat.regenerate().text()
        assert texts(chat) == ["Come in.", "Hello", "Three."]

    def test_more_and_the_users_words(self) -> None:
        """A reply grows; words in the user's place are shown and not kept."""
        chat = opened("Aye", "and no.", "I would ask.")
        chat.send("Hello").text()
        chat.continue_reply().text()
        assert texts(chat)[-1] == "Aye and no."
        assert chat.impersonate().text() == "I would ask."
        assert len(texts(chat)) == 3

    def test_a_group(self) -> None:
        """Several cards are a group: each greets, and a member may be asked to speak."""
        second = msgspec.json.decode(msgspec.json.encode(CARD).replace(b"Wenna", b"Tobin"))
        chat = opened("Aye.", card=[CARD, second])
        chat.send("", member="Tobin").text()
        assert [message.name for message in chat.history] == ["Wenna", "Tobin", "Tobin"]

    def test_a_failure_keeps_the_question(self) -> None:
        """What was said stays, and can be asked again."""
        chat = opened(Fault.status(500), "Aye.")
        with pytest.raises(ProviderError):
            chat.send("Hello").text()
        assert texts(chat) == ["Come in.", "Hello"]
        assert chat.last is not None
        assert chat.last.end == "http"
        assert chat.regenerate().text() == "Aye."
        assert texts(chat) == ["Come in.", "Hello", "Aye."]

    def test_a_reader_that_leaves(self) -> None:
        """What has come of the reply is kept."""

        async def leave(chat: Chat) -> None:
            reply = aiter(chat.send("Hello"))
            assert isinstance(reply, AsyncGenerator)
            await anext(reply)
            await reply.aclose()

        chat = opened("At low water, yes. " * 40)
        asyncio.run(leave(chat))
        assert chat.last is not None
        assert chat.last.end == STOPPED
        assert 0 < len(texts(chat)[-1]) < 19 * 40

    def test_one_turn_at_a_time(self) -> None:
        """A second turn is refused while one is under way, and taken after it."""

        async def twice(chat: Chat) -> None:
            first = aiter(chat.send("Hello"))
            await anext(first)
            with pytest.raises(UsageError, match="answering already"):
                await chat.send("And?")
            assert "".join([piece async for piece in first])

        chat = opened("At low water, yes. " * 40, "No.")
        asyncio.run(twice(chat))
        assert chat.send("And?").text() == "No."

    def test_a_blocked_prompt_reaches_nobody(self) -> None:
        """The gate stands below, as it does for the command."""
        model = FakeClient("No.")
        chat = opened(model=model)
        with pytest.raises(InnkeeperError) as raised:
            chat.send("She is 13 years old, and they have sex.").text()
        assert raised.value.kind == "tier_blocked"
        assert model.requests == []

    def test_calls_of_tools(self) -> None:
        """A model that calls a tool in place of a text is an error, as nobody runs it."""
        call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        with pytest.raises(ProviderError, match="nobody runs"):
            opened({"choices": [{"message": {"content": None, "tool_calls": [call]}}]}).send("Hello").text()


class TestChanges:
    """What a program changes by hand."""

    def test_edit_delete_and_note(self) -> None:
        """By number, or the last; a wrong number is an error."""
        chat = opened("Aye.")
        chat.send("Hello").text()
        chat.edit("No.")
        chat.edit("Good evening", 2)
        chat.delete(1)
        assert texts(chat) == ["Good evening", "No."]
        chat.note("dry")
        assert any("dry" in block.content for block in chat.preview("And?").enabled_blocks)
        with pytest.raises(UsageError, match="no message 7"):
            chat.delete(7)

    def test_branches(self, tmp_path: Path) -> None:
        """A branch has the first messages, a store of its own, and leaves the chat as it is."""
        chat = opened("Aye.", "No.", store=tmp_path / "evening.jsonl")
        chat.send("Hello").text()
        other = chat.branch("harbour", 2)
        assert other.regenerate().text() == "No."
        assert (texts(chat)[-1], texts(other)[-1]) == ("Aye.", "No.")
        assert json.loads((tmp_path / "harbour.jsonl").read_bytes().splitlines()[0])["chat_metadata"]["main_chat"]
        for name, length, words in (("harbour", 1, "already"), ("quay", 9, "no first 9"), ("../quay", 1, "no chat")):
            with pytest.raises(UsageError, match=words):
                chat.branch(name, length)

    def test_why(self) -> None:
        """The plan and its verdicts are those of the last turn; before it, of a preview, which changes nothing."""
        chat = Chat(
            EXAMPLES / "wenna.json",
            lorebooks=[EXAMPLES / "larks.lorebook.json"],
            persona=EXAMPLES / "ansel.persona.json",
            preset=EXAMPLES / "skerrow.preset.json",
            model=FakeClient("Aye."),
            clock=clock,
        )
        before = chat.verdicts
        chat.send("Is the reef safe?").text()
        fired = {verdict.title for verdict in chat.verdicts if verdict.fired}
        assert fired == {"The Bell Reef", "Skerrow"}
        assert before
        assert not any(verdict.fired and verdict.title == "The Bell Reef" for verdict in before)


@pytest.mark.parametrize("tavern", ["silly", "vibe", "smart", "risu"])
def test_a_plan_is_that_of_a_build_from_nothing(tavern: str) -> None:
    """Whatever was kept from the turns before: the same bytes as of the request as JSON, and as of a `Session` of it."""
    chat = opened("One.", "Two.", "Three.", tavern=tavern, lorebooks=[EXAMPLES / "larks.lorebook.json"])
    chat.send("Is the reef safe?").text()
    chat.swipe().text()
    chat.edit("Is the Bell Reef safe?", 2)
    plans = [chat.preview("And now?")]
    chat.delete(1)
    plans.append(chat.preview("And now?"))
    chat.send("And now?").text()
    plans.append(chat.plan)
    for plan in plans:
        assert plan.request is not None
        request = BuildRequest.of(json.loads(json.dumps(plan.request.to_dict())))
        ports = Ports(token_counter=chat._model.counter)
        assert build(request, ports).fingerprint() == plan.fingerprint()
        assert Session(request, ports).plan().fingerprint() == plan.fingerprint()


@pytest.fixture(params=["file", "folder", "sqlite", "shared", "own"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Any]:
    """Each kind of store, opened anew by each process."""
    shared = ChatDatabase.open(tmp_path / "shared.db")
    folder = ChatFolder(tmp_path / "own")
    kinds = {
        "file": lambda: tmp_path / "evening.jsonl",
        "folder": lambda: tmp_path / "chats",
        "sqlite": lambda: f"sqlite:///{tmp_path}/chats.db",
        "shared": lambda: shared,
        "own": lambda: folder.named("evening"),
    }
    return kinds[request.param]


class TestStores:
    """A chat outlives its process, and two processes on one chat lose nothing."""

    def test_a_second_process_goes_on(self, store: Callable[[], Any]) -> None:
        """Messages, alternatives and variables are there again, and the next prompt has them."""
        first = opened("One. {{setvar::tide::low}}", "Two.", store=store())
        first.send("Hello {{setvar::boat::out}}").text()
        first.swipe().text()
        model = FakeClient("Three.")
        second = opened(model=model, store=store())
        assert (texts(second), second.alternatives) == (texts(first), first.alternatives)
        second.send("The boat is {{getvar::boat}}.").text()
        sent = [message["content"] for message in model.requests[0]["messages"]]
        assert sent[-3:] == ["Hello ", "Two.", "The boat is out."]

    @pytest.mark.parametrize("tavern", ["silly", "smart", "risu"])
    def test_variables_outlive_a_process(self, tavern: str, tmp_path: Path) -> None:
        """Those of the chat; those that are no chat's stay with the program."""
        store, model = tmp_path / "evening.jsonl", FakeClient("One.", "Two.", "Three.")
        first, second = (opened(model=model, store=store, tavern=tavern) for _ in "ab")
        first.send("{{setvar::boat::out}}{{setglobalvar::tide::low}}Hello").text()
        second.send("It is {{getvar::boat}}.").text()
        first.send("And {{getvar::boat}}.").text()
        sent = [request["messages"][-1]["content"] for request in model.requests[1:]]
        assert sent == ["It is out.", "And out."]

    def test_two_processes_lose_nothing(self, store: Callable[[], Any]) -> None:
        """Each sees what the other has kept, before its next turn."""
        first, second = opened("A1", "A2", store=store()), opened("B1", "B2", store=store())
        for number in (1, 2):
            first.send(f"to A{number}").text()
            second.send(f"to B{number}").text()
        expected = ["Come in.", "to A1", "A1", "to B1", "B1", "to A2", "A2", "to B2", "B2"]
        assert texts(second) == expected
        assert texts(opened(store=store())) == expected

    def test_at_the_same_time(self, store: Callable[[], Any]) -> None:
        """A turn of another process in the midst of a reply: both are there."""

        async def both(first: Chat, second: Chat) -> None:
            reply = aiter(first.send("to A"))
            await anext(reply)
            await second.send("to B")
            assert "".join([piece async for piece in reply])

        first, second = opened("At low water. " * 30, store=store()), opened("B", store=store())
        asyncio.run(both(first, second))
        both_texts = texts(opened(store=store()))
        assert sorted(text[:8] for text in both_texts) == sorted(["Come in.", "to A", "to B", "B", "At low w"])

    def test_an_edit_changes_one_message(self, store: Callable[[], Any]) -> None:
        """Of a chat that another process has added to."""
        first, second = opened("A", store=store()), opened("B", store=store())
        first.send("to A").text()
        second.send("to B").text()
        first.edit("changed", 2)
        first.delete(1)
        assert texts(opened(store=store())) == ["changed", "A", "to B", "B"]


def test_a_store_of_one_chat_has_no_branches(tmp_path: Path) -> None:
    """It says what is missing."""
    with pytest.raises(UsageError, match="one chat alone"):
        opened(store=ChatFolder(tmp_path).named("evening")).branch("harbour")


def test_the_same_bytes_as_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn sends and keeps what ``innkeeper chat`` does."""
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path))
    card, persona = str(EXAMPLES / "wenna.json"), str(EXAMPLES / "ansel.persona.json")
    now = "2026-01-15T18:00:00+00:00"
    with EchoServer("Wenna Carrow: Aye. ", "Wenna Carrow: Aye. ") as provider:
        asked = [card, persona, "--now", now, "--seed", "7", "--model", "m", "--base-url", provider.base_url]
        (tmp_path / "in.txt").write_text("Is the reef safe?\n", "utf-8")
        with (tmp_path / "in.txt").open() as stdin:
            monkeypatch.setattr("sys.stdin", stdin)
            main(["chat", *asked, "--chat", str(tmp_path / "a.jsonl")])
        request, store = {"tavern": "silly", "now": now, "seed": 7}, tmp_path / "b.jsonl"
        with Chat(card, persona=persona, model=f"{provider.base_url}:m", store=store, request=request) as chat:
            chat.send("Is the reef safe?").text()
        bodies = [request.body for request in provider.requests]
    assert bodies[0] == bodies[1]
    assert _without_times(tmp_path / "a.jsonl") == _without_times(tmp_path / "b.jsonl")


def _without_times(path: Path) -> list[Any]:
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    return [{name: line[name] for name in line.keys() - {"send_date", "create_date"}} for line in lines]


def test_a_file_is_in_sillytaverns_format(tmp_path: Path) -> None:
    """The file is a chat of SillyTavern's."""
    path = tmp_path / "evening.jsonl"
    opened("Aye.", store=path).send("Hello").text()
    chat = ChatLog.of(path.read_bytes())
    assert (chat.user_name, chat.character_name) == ("Ansel", "Wenna")
    assert [message.role for message in chat.messages] == ["assistant", "user", "assistant"]
