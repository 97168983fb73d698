"""Engine: what counts. Every tokenizer, estimate and asked server is one."""

import os
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar, runtime_checkable

from innkeeper.tokens.limits import BATCH_CHARS, BATCH_THREADS
from innkeeper.tokens.tokenization import Tokenization

__all__ = ["Engine", "count_by", "threads_for"]

T = TypeVar("T")


@runtime_checkable
class Engine(Protocol):
    """Counts the tokens of texts without lone surrogates. May raise anything: `Counter` falls back."""

    @property
    def name(self) -> str:
        """What memos tell engines apart by: two engines of one name count alike."""
        ...

    @property
    def backend(self) -> str:
        """The kind of engine: ``tiktoken``, ``hf_tokenizers``, ``heuristic`` …."""
        ...

    def count(self, text: str) -> int:
        """Tokens of one text."""
        ...

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        ...

    def tokenize(self, text: str) -> Tokenization:
        """The text taken apart, as far as the engine can."""
        ...


def threads_for(texts: Sequence[str]) -> int:
    """How many threads a batch is worth: 1 for a small one."""
    if len(texts) < 2 or sum(map(len, texts)) < BATCH_CHARS:  # noqa: PLR2004 - one text has nothing to share
        return 1
    return min(BATCH_THREADS, len(texts), os.cpu_count() or 1)


def count_by(
    cut: Callable[[str], list[str]], measure: Callable[[list[str]], list[int]], texts: Sequence[str]
) -> list[int]:
    """Count texts by their pieces: ``measure`` gets all pieces of all texts at once, the sums are per text."""
    parts = [cut(text) for text in texts]
    counts = iter(measure([piece for part in parts for piece in part]))
    return [sum(next(counts) for _ in part) for part in parts]
