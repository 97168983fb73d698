"""Memories: written where somebody asks, read as far as a conversation remembers, nobody else's, and in no lower tier."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from innkeeper.gate.tier import Tier
from innkeeper.library.db.engine import Database
from innkeeper.library.db.owner import Owner
from innkeeper.library.db.rows import AuditStore
from innkeeper.library.errors import FieldError, NotFoundError, TierBlockedError
from innkeeper.library.limits import MAX_MEMORIES, MAX_MEMORY_CHARS
from innkeeper.library.log.conversations import CharacterStore, ConversationStore
from innkeeper.library.log.memories import MemoryStore
from innkeeper.library.memory import SCOPES, MemoryRow, NewMemory, reach
from innkeeper.library.rows import ConversationRow
from innkeeper.prompt.errors import InnkeeperError, LimitError

ANN, BOB, ELSEWHERE = Owner("ann"), Owner("bob"), Owner("ann", tenant="other")


def talk(db: Database, owner: Owner = ANN, **values: Any) -> ConversationRow:
    """A new conversation of an owner's."""
    return ConversationStore(db, owner=owner).create(values)


def texts(rows: tuple[MemoryRow, ...]) -> list[str]:
    """What the rows say."""
    return [row.content for row in rows]


def fact(content: str, **fields: Any) -> NewMemory:
    """Something to remember."""
    return NewMemory(content=content, **fields)


@pytest.mark.parametrize("tier", SCOPES)
def test_how_far_each_tier_reaches(db: Database, tier: str) -> None:
    """A conversation remembers its own, a character's, or all that is remembered of the person: as its tier says, and no more."""
    mira = CharacterStore(db).add({"name": "Mira", **ANN.columns()}).id
    told = talk(db, character_id=mira, memory_tier="profile")
    store = MemoryStore(db, ANN)
    store.add(told, [fact(f"of the {scope}", scope=scope) for scope in SCOPES])
    here = talk(db, character_id=mira, memory_tier=tier)
    store.add(here, [fact("of this one", scope="conversation")])
    found = set(texts(store.recall(here)))
    assert found == {"of this one"} | {f"of the {scope}" for scope in reach(tier) if scope != "conversation"}


def test_what_is_of_somebody_else_is_not_there(db: Database) -> None:
    """Neither another user nor the same name in another tenant reads, pins or forgets a memory."""
    row = MemoryStore(db, ANN).add(talk(db, memory_tier="profile"), [fact("likes tea")])[0]
    for owner in (BOB, ELSEWHERE):
        store = MemoryStore(db, owner)
        assert store.recall(talk(db, owner, memory_tier="profile")) == store.list() == ()
        for do in (store.pin, store.forget):
            with pytest.raises(NotFoundError, match="there is no memory"):
                do(row.id)
    assert texts(MemoryStore(db, ANN).list("profile")) == ["likes tea"]


def test_once_pinned_first_then_the_newest(db: Database) -> None:
    """The same text is remembered once; pinned memories come first, then the newest; what is forgotten is gone."""
    store, here = MemoryStore(db, ANN), talk(db)
    first, second = store.add(here, [fact("one"), fact("two")])
    assert store.add(here, [fact(" one ")]) == (first,)
    store.add(here, [fact("three")])
    store.pin(first.id)
    assert texts(store.recall(here))[0] == "one"
    assert set(texts(store.recall(here))) == {"one", "two", "three"}
    store.forget(second.id)
    assert set(texts(store.list("conversation", here.id))) == {"one", "three"}


def test_no_lower_tier_reads_it(db: Database) -> None:
    """What was remembered in the adult tier is not read in the general one."""
    store, here = MemoryStore(db, ANN), talk(db)
    store.add(here, [fact("general")])
    store.add(here, [fact("of the other tier")], Tier.NSFW)
    assert texts(store.recall(here)) == ["general"]
    assert set(texts(store.recall(here, Tier.NSFW))) == {"general", "of the other tier"}


@pytest.mark.parametrize(
    ("wanted", "error", "says"),
    [
        (fact(" \n"), FieldError, "has a text"),
        (fact("x", scope="profile"), FieldError, "not for it"),
        (fact("x", scope="character"), FieldError, "not for it"),
        (fact("x", scope="world"), FieldError, "no scope"),
        (fact("x", kind="secret"), FieldError, "kind"),
        (fact("half \ud800"), FieldError, "surrogate"),
        (fact("nul \0"), FieldError, "NUL"),
        (fact("x" * (MAX_MEMORY_CHARS + 1)), LimitError, "MAX_MEMORY_CHARS"),
    ],
    ids=["blank", "too far", "no character", "unknown scope", "unknown kind", "surrogate", "nul", "long"],
)
def test_refused(db: Database, wanted: NewMemory, error: type[InnkeeperError], says: str) -> None:
    """What cannot be remembered is an error that says why, and nothing else of the same call is remembered either."""
    store, here = MemoryStore(db, ANN), talk(db)
    with pytest.raises(error, match=says):
        store.add(here, [fact("good"), wanted])
    assert store.list() == ()


def test_what_does_not_pass_is_not_remembered(db: Database) -> None:
    """A memory that the gate blocks is not kept, and an audit event tells of it."""
    store, here = MemoryStore(db, ANN), talk(db)
    with pytest.raises(TierBlockedError):
        store.add(here, [fact("She is a 12 year old girl and they have sex")])
    assert store.list() == ()
    assert AuditStore(db).newest(1)[0].action == "tier.block"


def test_how_many_are_kept(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scope holds so many memories; the next is an error, and no other is forgotten for it."""
    monkeypatch.setattr("innkeeper.library.log.memories.MAX_MEMORIES", 3)
    store, here = MemoryStore(db, ANN), talk(db)
    store.add(here, [fact(str(number)) for number in range(3)])
    with pytest.raises(LimitError, match="MAX_MEMORIES"):
        store.add(here, [fact("one more")])
    assert len(store.recall(here)) == 3 < MAX_MEMORIES


def test_at_the_same_time(db: Database) -> None:
    """Threads that remember the same thing have one memory of it."""
    here = talk(db)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: MemoryStore(db, ANN).add(here, [fact("the same")])[0].id, range(8)))
    assert len(set(found)) == 1 == len(MemoryStore(db, ANN).list())


def test_ids_that_no_row_can_have(db: Database) -> None:
    """An id that no database holds is not found, like any other that is not there."""
    store = MemoryStore(db, ANN)
    calls: list[Callable[[str], object]] = [store.pin, store.forget]
    for do in calls:
        for name in ("nowhere", "\ud800", "a\0b"):
            with pytest.raises(NotFoundError):
                do(name)


def test_a_conversation_goes_with_all_that_was_said_and_remembered_in_it(db: Database) -> None:
    """What is taken out is gone: its messages, and its own memories; what is remembered of the person stays."""
    here = talk(db, memory_tier="profile")
    own = ConversationStore(db, owner=ANN)
    own.append(here.id, "user", "Hello")
    MemoryStore(db, ANN).add(here, [fact("here", scope="conversation"), fact("anywhere")])
    with pytest.raises(NotFoundError):
        ConversationStore(db, owner=BOB).remove(here.id)
    assert own.remove(here.id).id == here.id
    assert own.list() == ()
    assert texts(MemoryStore(db, ANN).list()) == ["anywhere"]
    with db.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM messages").scalar() == 0
