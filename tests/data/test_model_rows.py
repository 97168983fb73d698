"""ModelRows: the text of a model's template, its numbers, and which of them count, also at the end of a turn."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from innkeeper.data import BatchSettings, ModelRows
from innkeeper.inference.requests.request import request_for
from innkeeper.inference.routing.route import Route
from tests.data.test_batch import NOW, lines
from tests.data.test_training import TALK

SPECIAL = ("<s>", "<|im_start|>", "<|im_end|>", "<sep>")


class Templated:
    """A model whose tokens are words, blanks and signs: ``ends`` stands at the end of a turn, ``ahead`` before the prompt."""

    def __init__(self, ends: str = "<|im_end|>", ahead: str = "") -> None:
        self.ends, self.ahead = ends, ahead

    def prompt_of(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """ChatML; an answer at the end is left open, as one that the model goes on with."""
        turns = [f"<|im_start|>{each['role']}\n{each['content']}" for each in messages]
        open_end = messages[-1]["role"] == "assistant"
        return f"{self.ends}\n".join(turns) + ("" if open_end else f"{self.ends}\n<|im_start|>assistant\n")

    def pieces_of(self, text: str, *, special: bool = True) -> list[tuple[int, bytes]]:
        """Each different token has a number of its own."""
        known = "|".join(map(re.escape, SPECIAL)) if special else "(?!)"
        words = re.findall(rf"{known}|\w+|\s+|[^\w\s]", (self.ahead if special else "") + text)
        return [(sum(map(ord, word)), word.encode()) for word in words]


def rows(model: Templated, **fields: Any) -> list[dict[str, Any]]:
    """The rows of one request."""
    route = Route.of("m", "local")
    row = {
        "tavern": "vibe",
        "character": {"name": "Wenna", "description": "Wenna keeps the ferry."},
        "history": TALK,
        "model": "m",
        "now": NOW,
        **fields,
    }
    engine = ModelRows(model, lambda plan: request_for(plan, route))
    (table,) = engine([lines(row)], BatchSettings(form="training"))
    made: list[dict[str, Any]] = table.to_pylist()
    return made


def trained(model: Templated, row: dict[str, Any]) -> str:
    """What counts, as text."""
    pieces = model.pieces_of(row["text"])
    assert row["tokens"] == [token for token, _ in pieces]
    return b"".join(piece for (_, piece), counts in zip(pieces, row["mask"], strict=True) if counts).decode()


@pytest.mark.parametrize("ahead", ["", "<s>"])
def test_answers_count_to_their_end(ahead: str) -> None:
    """The character's turns with the token that ends each, the last one, too; nothing else."""
    model = Templated(ahead=ahead)
    (row,) = rows(model)
    assert row["error"] is None
    assert trained(model, row["training"]) == "At low water, yes.<|im_end|>Never at night.<|im_end|>"
    assert row["training"]["text"].endswith("Never at night.<|im_end|>")


def test_a_template_without_an_end() -> None:
    """Only the turns count; a prompt that asks for an answer has nothing to learn behind it."""
    model = Templated(ends="")
    (row,) = rows(model)
    assert trained(model, row["training"]) == "At low water, yes.Never at night."
    assert row["training"]["text"].endswith("Never at night.")
    (row,) = rows(model, message="And tomorrow?")
    assert row["training"]["text"].endswith("<|im_start|>assistant\n")


def test_other_letters() -> None:
    """Places are counted in bytes, as tokens are."""
    model = Templated()
    talk = [*TALK[:1], {"role": "assistant", "content": "Ebbe: „ja“ – 水が引けば。"}]
    (row,) = rows(model, history=talk)
    assert trained(model, row["training"]) == "Ebbe: „ja“ – 水が引けば。<|im_end|>"


def test_tokens_that_are_not_the_text() -> None:
    """A model that changes what it reads has no rows: the error says so."""

    class Other(Templated):
        def pieces_of(self, text: str, *, special: bool = True) -> list[tuple[int, bytes]]:
            return super().pieces_of(text.lower(), special=special)

    (row,) = rows(Other())
    assert "do not make up its text" in row["error"]
