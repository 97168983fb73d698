"""Counters for tests: one token a character, with and without a batch, and one that only estimates."""

from collections.abc import Mapping, Sequence
from typing import Any


class Characters:
    """One token a character, exactly."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def count(self, text: str, model: str | None = None) -> int:
        self.asked.append(text)
        return len(text)

    def describe(self, model: str | None = None) -> Mapping[str, Any]:
        return {"tokenizer": "characters", "exact": True, "error_percent": 0}


class Batch(Characters):
    """The same with a batch, of which it remembers the sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[int] = []

    def count_many(self, texts: Sequence[str], model: str | None = None) -> list[int]:
        self.batches.append(len(texts))
        return [len(text) for text in texts]


class Rough(Characters):
    """Says that it only estimates."""

    def describe(self, model: str | None = None) -> Mapping[str, Any]:
        return {"tokenizer": "rough", "exact": False, "error_percent": 20}
