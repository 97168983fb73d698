"""Plans that can be looked at afterwards."""

import asyncio
from pathlib import Path

import pytest

from innkeeper.library.db.engine import Database
from innkeeper.library.log.stored_responses import StoredResponses
from innkeeper.service.prompts.plans import PlanNotFoundError, PlanStore, StoredTurn


def put(store: PlanStore, caller: str, turn: StoredTurn) -> str:
    """The number of a turn that is kept."""
    return asyncio.run(store.put(caller, turn))


def get(store: PlanStore, caller: str, number: str) -> StoredTurn:
    """The turn of a number."""
    return asyncio.run(store.get(caller, number))


def test_only_who_asked_sees_a_plan() -> None:
    """A number leads to its turn for the caller who has it, and to nothing for any other."""
    store, turn = PlanStore(), StoredTurn(b"task", "digest")
    number = put(store, "me", turn)
    assert put(store, "me", turn) == number
    assert put(store, "you", StoredTurn(b"task", "other")) != number
    assert get(store, "me", number) == turn
    for caller, asked in (("you", number), ("me", "0")):
        with pytest.raises(PlanNotFoundError):
            get(store, caller, asked)


def test_plans_are_bounded() -> None:
    """The oldest are forgotten."""
    store = PlanStore(size=20_000)
    numbers = [put(store, "me", StoredTurn(b"%d" % number * 50, "d")) for number in range(500)]
    assert store._turns.size <= 20_000
    assert get(store, "me", numbers[-1])
    with pytest.raises(PlanNotFoundError):
        get(store, "me", numbers[0])


def test_rows_outlive_the_service(tmp_path: Path) -> None:
    """Another process finds a turn in the database, for its caller alone, and no response is mistaken for one."""
    turn = StoredTurn(bytes(range(256)) * 40, "digest")
    with Database.open(tmp_path / "a.db") as db:
        number = put(PlanStore(rows=StoredResponses(db)), "me", turn)
        again = PlanStore(rows=StoredResponses(db))
        assert get(again, "me", number) == turn
        for caller, asked in (("you", number), ("me", "0")):
            with pytest.raises(PlanNotFoundError):
                get(again, caller, asked)
        assert StoredResponses(db).get("me", number) is None
