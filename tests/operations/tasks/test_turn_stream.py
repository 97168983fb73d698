"""Streams of turns: a shown part has passed the gate; a broken stream is not stored; steps that rewrite wait for the whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import pytest

from innkeeper.inference.fake import Answer, EchoServer, FakeReply
from innkeeper.inference.routing.router import RouteRequest
from innkeeper.library.db.owner import Owner
from innkeeper.library.errors import TierBlockedError
from innkeeper.library.library import Library
from innkeeper.library.rows import ConversationRow
from innkeeper.operations.tasks.opening import Opening, opened
from innkeeper.operations.tasks.turn import TurnAnswer, TurnRequest
from innkeeper.operations.tasks.turns import Turns
from innkeeper.prompt.data import freeze
from innkeeper.prompt.errors import ProviderError
from tests.library.drafts import draft
from tests.library.opening import published
from tests.operations.tasks.house import deployment, library_at, run

ANN = Owner("ann")
LINES = "The river is high tonight. " * 20
BAD = "She is a 12 year old girl and they have sex. "


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """One library for all, with a template whose steps rewrite."""
    with library_at(tmp_path_factory.mktemp("streams") / "library.db") as library:
        metadata = freeze({"post_processing": ["labels", {"step": "words", "most": 10}]})
        key: dict[str, Any] = {"use_case": "roleplay", "job_type": None, "target_model": None, "variables": ()}
        published(library, draft("short", "Be short.", metadata=metadata, **key))
        library.refresh()
        yield library


def talk(library: Library, kind: str = "general") -> ConversationRow:
    """A new conversation."""
    return opened(library, ANN, Opening(conversation_type=kind))


def read(
    library: Library, here: ConversationRow, server: EchoServer, most: int | None = None
) -> tuple[list[str], TurnAnswer | None]:
    """The pieces of an answer, as many as are read, and the answer that is kept."""

    async def use(tasks: Any) -> tuple[list[str], TurnAnswer | None]:
        stream = await Turns(tasks, ANN).stream(TurnRequest(conversation_id=here.id, message="Hello"))
        pieces: list[str] = []
        answer: TurnAnswer | None = None
        async with aclosing(stream) as events:
            async for event in events:
                if isinstance(event, TurnAnswer):
                    answer = event
                    continue
                pieces.append(event)
                if len(pieces) == most:
                    break
        assert [one.busy for one in tasks.models.router.explain(RouteRequest(), 0.0)] == [0.0]
        return pieces, answer

    found: tuple[list[str], TurnAnswer | None] = run(library, use, deployment(server))
    return found


def kept(library: Library, here: ConversationRow) -> list[str]:
    """The answers that are kept."""
    return [row.content for row in library.conversations_of(ANN).newest(here.id) if row.role == "assistant"]


def test_pieces_make_the_answer(library: Library) -> None:
    """What is passed on, one after the other, is what is kept."""
    here = talk(library)
    with EchoServer(LINES) as server:
        pieces, answer = read(library, here, server)
    assert answer is not None
    assert len(pieces) > 1
    assert "".join(pieces) == answer.text == kept(library, here)[0]


def test_what_is_broken_off_is_not_kept(library: Library) -> None:
    """Who stops reading stops the model; the user's message stays, and nothing of the answer."""
    here = talk(library)
    with EchoServer(LINES) as server:
        pieces, answer = read(library, here, server, most=1)
    assert (len(pieces), answer) == (1, None)
    assert kept(library, here) == []


def test_a_block_in_the_middle(library: Library) -> None:
    """Nothing of what does not pass is passed on, and nothing is kept."""
    here = talk(library)
    with EchoServer(LINES + BAD + LINES) as server, pytest.raises(TierBlockedError):
        read(library, here, server)
    assert kept(library, here) == []


def test_a_stream_that_is_cut(library: Library) -> None:
    """A provider that breaks off is an error, after what it said."""
    here = talk(library)
    whole = FakeReply(content=LINES).answer({"stream": True, "messages": []}, 1)
    half = Answer(whole.body[: len(whole.body) // 2], ending="cut", headers=whole.headers)
    with EchoServer(half) as server, pytest.raises(ProviderError):
        read(library, here, server)
    assert kept(library, here) == []


def test_steps_that_rewrite_wait_for_the_whole(library: Library) -> None:
    """Where a template's steps may change the end of an answer, it is passed on once, as it is kept."""
    here = talk(library, "roleplay")
    with EchoServer("AI: " + LINES) as server:
        pieces, answer = read(library, here, server)
    assert answer is not None
    assert pieces == [answer.text] == ["The river is high tonight. The river is high tonight."]
    assert answer.reply.original == "AI: " + LINES
