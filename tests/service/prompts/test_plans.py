"""Plans that can be looked at afterwards."""

import pytest

from innkeeper.service.prompts.plans import PlanNotFoundError, PlanStore, StoredTurn


def test_only_who_asked_sees_a_plan() -> None:
    """A number leads to its turn for the caller who has it, and to nothing for any other."""
    store, turn = PlanStore(), StoredTurn(b"task", "digest")
    number = store.put("me", turn)
    assert store.put("me", turn) == number
    assert store.put("you", StoredTurn(b"task", "other")) != number
    assert store.get("me", number) == turn
    for caller, asked in (("you", number), ("me", "0")):
        with pytest.raises(PlanNotFoundError):
            store.get(caller, asked)


def test_plans_are_bounded() -> None:
    """The oldest are forgotten."""
    store = PlanStore(size=20_000)
    numbers = [store.put("me", StoredTurn(b"%d" % number * 50, "d")) for number in range(500)]
    assert store._turns.size <= 20_000
    assert store.get("me", numbers[-1])
    with pytest.raises(PlanNotFoundError):
        store.get("me", numbers[0])
