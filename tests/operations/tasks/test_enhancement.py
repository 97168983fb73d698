"""Enhancement: within what the target reads, in two passes at most, whatever becomes of the second."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from innkeeper.inference.fake import EchoServer, FakeReply, Fault
from innkeeper.library.errors import OverBudgetError
from innkeeper.library.library import Library
from innkeeper.library.models.stores import ModelStore, NegativeStore, ProviderStore
from innkeeper.operations.tasks.answer import TaskAnswer
from innkeeper.operations.tasks.enhancement import COPY, MODIFY, Enhancement, enhance, enhancement_reply
from innkeeper.prompt.errors import UnknownNameError
from tests.operations.tasks.house import deployment, library_at, run

LONG = ", ".join(["a red fox in deep snow", *(f"quiet stones number {n} beside the water" for n in range(30))])


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """One library for all, with a model for pictures and what should not be in them."""
    with library_at(tmp_path_factory.mktemp("enhancement") / "library.db") as library:
        owner = ProviderStore(library.db).put({"name": "elsewhere"})
        model = {"model_key": "painter", "provider_id": owner.id, "modality": "image", "tasks": ["t2i"]}
        ModelStore(library.db).put({**model, "model_family": "sdxl"})
        for number, words in enumerate(("blurry", "noise", "text", "frame"), 1):
            for mode in ("txt2img", "i2i"):
                row = {"model_type": "sdxl", "negative_prompt": words, "generation_mode": mode, "content_mode": "sfw"}
                NegativeStore(library.db).add({**row, "priority": 10 - number})
        library.refresh()
        yield library


def enhanced(library: Library, *said: Any, money: float | None = None, **fields: Any) -> tuple[TaskAnswer, int]:
    """The answer to an enhancement whose model says this, and how often it was asked."""
    wanted = Enhancement(**{"text": "a fox", **fields})
    with EchoServer(*said) as server:
        answer = run(library, lambda tasks: enhance(tasks, wanted, money=money), deployment(server))
        assert enhancement_reply(wanted, answer)["tokens"]["target"] == answer.details["target_tokens"]
        return answer, len(server.requests)


@pytest.mark.parametrize(
    ("second", "note"),
    [
        (Fault.status(500), "repair:http"),
        (Fault.html(), "repair:decode"),
        ("", "repair:decode"),
        (FakeReply(content="No.", finish_reason="content_filter"), "repair:over_budget"),
        (LONG + ", and more stones", "repair:over_budget"),
    ],
    ids=["down", "page", "empty", "refused", "longer"],
)
def test_a_second_pass_that_does_not_help(library: Library, second: Any, note: str) -> None:
    """The first answer is shortened then; what happened is noted, and both are paid for."""
    answer, asked = enhanced(library, LONG, second)
    assert asked == 2
    assert answer.text.startswith("a red fox in deep snow, quiet stones")
    assert not answer.refused
    assert list(answer.details["notes"]) == [note]
    assert answer.details["dropped"]
    assert "shortened" in answer.reasons


def test_a_second_pass_costs_as_much_as_is_left(library: Library) -> None:
    """What the first has spent is gone: where nothing is left for a second, there is none."""
    answer, asked = enhanced(library, LONG, "a fox", money=0.0006)
    assert asked == 1
    assert answer.details["notes"][0] == "repair:budget"


def test_targets(library: Library) -> None:
    """A model by its key, with the negative prompt of its family, lowest number first; three at most beside a reference."""
    answer, _ = enhanced(library, "a red fox", target="painter", negative="people")
    assert answer.negative is not None
    assert answer.negative.text == "frame, text, noise, blurry, people"
    answer, _ = enhanced(library, "a red fox", target="painter", generation_mode="i2i")
    assert answer.negative is not None
    assert answer.negative.text == "frame, text, noise"
    with pytest.raises(UnknownNameError):
        enhanced(library, target="nobody/knows")


def test_by_rule(library: Library) -> None:
    """A copy is exact, however long; a modification fits its target."""
    copied, asked = enhanced(library, text="", base=LONG, reference=COPY)
    assert (copied.text, copied.negative, asked) == (LONG, None, 0)
    modified, asked = enhanced(library, text=LONG, base="a barn", reference=MODIFY)
    assert asked == 0
    assert modified.text.startswith("maintain the same subject")
    assert modified.details["target_tokens"] <= 75


def test_no_room_at_all(library: Library) -> None:
    """Where what is added later leaves no room for a word, that is an error which tells what was spent."""
    with pytest.raises(OverBudgetError) as over:
        enhanced(library, *["Llanfairpwllgwyngyll"] * 2, overlays={"ui": "word " * 74})
    assert over.value.details["route_trace"]["spent"] > 0


@pytest.mark.parametrize(
    ("said", "missing", "flagged"),
    [
        ("The animal is a fox.", ["snow"], True),
        ("a fox in deep snow, dusk", [], False),
    ],
)
def test_a_prompt_that_lost_the_users_words_says_so(
    library: Library, said: str, missing: list[str], flagged: bool
) -> None:
    """It is no plain success: the words are listed, and most of them missing is a reason."""
    answer, _ = enhanced(library, said, text="a fox in the snow")
    assert answer.details["missing"] == missing
    assert ("words_missing" in answer.reasons) is flagged
