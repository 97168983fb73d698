"""Training rows: which tokens count, how rows are packed, split and told apart."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.data import BatchSettings, build_batch, distinct, packed, split_of
from innkeeper.prompt import UsageError
from innkeeper.tokens import default_counter
from tests.data.test_batch import CARD, NOW, lines

TALK = [
    {"role": "user", "content": "Is the reef safe?"},
    {"role": "assistant", "content": "At low water, yes."},
    {"role": "user", "content": "And at night?"},
    {"role": "assistant", "content": "Never at night."},
]
ROW = {"tavern": "silly", "character": CARD, "history": TALK, "model": "gpt-4o", "now": NOW}


def row(**fields: Any) -> dict[str, Any]:
    """A row to train on."""
    made = build_batch(lines({**ROW, **fields}), BatchSettings(form="training")).to_pylist()[0]
    assert made["error"] is None
    return {**made["training"], "fingerprint": made["fingerprint"]}


def ids(text: str) -> list[int]:
    """The token numbers of a text."""
    return list(default_counter().tokenize(text, "gpt-4o").ids or ())


def test_only_the_characters_turns_count() -> None:
    """The mask is 1 on the answers, and 0 on card, lore, instructions and what the user says."""
    book = {"entries": {"0": {"uid": 0, "key": ["night"], "content": "The reef is near.", "position": 0}}}
    made = row(lorebooks=[book])
    assert len(made["tokens"]) == len(made["mask"])
    trained = [token for token, counts in zip(made["tokens"], made["mask"], strict=True) if counts]
    assert trained == [*ids("At low water, yes."), *ids("Never at night.")]
    assert "The reef is near." in made["text"]


def test_a_model_without_a_tokenizer() -> None:
    """There are no token numbers of it: the row is an error that says so."""
    made = build_batch(lines({**ROW, "model": "nobody-7b"}), BatchSettings(form="training")).to_pylist()[0]
    assert "no tokenizer" in json.loads(made["error"])["message"]


ROWS = st.lists(st.lists(st.integers(0, 9), max_size=8).map(lambda ids: {"tokens": ids, "mask": ids}), max_size=8)


@given(ROWS, st.integers(1, 12))
def test_packing_loses_nothing_that_fits(rows: list[dict[str, Any]], window: int) -> None:
    """No sequence is longer than the window, all rows are there in their order, and each begins where it says."""
    sequences = list(packed(rows, window))
    assert all(len(one["tokens"]) <= window and len(one["mask"]) == len(one["tokens"]) for one in sequences)
    parts = [
        one["tokens"][start:end]
        for one in sequences
        for start, end in zip(one["starts"], [*one["starts"][1:], len(one["tokens"])], strict=True)
    ]
    assert parts == [one["tokens"][-window:] for one in rows]


def test_splits_are_always_the_same() -> None:
    """A name belongs to one split; shares are about those that were asked for; another salt gives other splits."""
    shares = {"train": 0.8, "test": 0.2}
    splits = [split_of(f"chat {n}", shares) for n in range(2_000)]
    assert splits == [split_of(f"chat {n}", shares) for n in range(2_000)]
    assert 1_500 < splits.count("train") < 1_700
    assert splits != [split_of(f"chat {n}", shares, "other") for n in range(2_000)]
    assert {split_of(str(n), {"all": 1.0}) for n in range(50)} == {"all"}
    assert {split_of(str(n), {"none": 0.0, "all": 2}) for n in range(50)} == {"all"}


@pytest.mark.parametrize("shares", [{}, {"a": -1.0, "b": 2.0}, {"a": 0.0}])
def test_shares_that_are_none(shares: dict[str, float]) -> None:
    """Nothing, and shares below zero, are refused; so is a window without room."""
    with pytest.raises(UsageError):
        split_of("x", shares)
    with pytest.raises(UsageError):
        list(packed([{"tokens": [1], "mask": [1]}], 0))


def test_the_same_prompt_once() -> None:
    """Rows with one fingerprint are one row."""
    first, other = row(), row(history=TALK[:2])
    assert list(distinct([first, other, first])) == [first, other]
