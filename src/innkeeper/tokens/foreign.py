"""Foreign: a tokenizer that is a library of its own, wrapped: it counts text and perhaps lists ids."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from innkeeper.tokens.chunk import chunks
from innkeeper.tokens.tokenization import Tokenization

__all__ = ["Foreign"]


@dataclass(frozen=True, slots=True)
class Foreign:
    """A counting function with a name; plug-in engines need no more.

    Args:
        name: tells memos apart: two functions of one name must count alike.
        measure: tokens of a text of at most ``size`` characters.
        backend: the library's name.
        encode: the ids of a text, where the library lists them.
        size: longer texts are counted in pieces of this many characters.
    """

    name: str
    measure: Callable[[str], int]
    backend: str = "callable"
    encode: Callable[[str], Sequence[int]] | None = None
    size: int = 16_000

    def count(self, text: str) -> int:
        """Tokens of one text."""
        return sum(map(self.measure, chunks(text, self.size)))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        return [self.count(text) for text in texts]

    def tokenize(self, text: str) -> Tokenization:
        """The ids, where the library lists them; otherwise the count."""
        if self.encode is None:
            return Tokenization(backend=self.backend, count=self.count(text))
        ids = tuple(self.encode(text))
        return Tokenization(backend=self.backend, count=len(ids), ids=ids)
