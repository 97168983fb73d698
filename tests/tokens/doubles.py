"""Engines that do as they are told."""

from collections.abc import Sequence

from innkeeper.tokens import Tokenization


class Words:
    """Counts words, and remembers what it was asked."""

    backend = "words"

    def __init__(self, name: str = "words") -> None:
        self.name = name
        self.asked: list[str] = []

    def count(self, text: str) -> int:
        self.asked.append(text)
        return len(text.split())

    def count_many(self, texts: Sequence[str]) -> list[int]:
        return [self.count(text) for text in texts]

    def tokenize(self, text: str) -> Tokenization:
        return Tokenization(backend=self.backend, count=self.count(text), tokens=tuple(text.split()))


class Panic(BaseException):
    """What a panic of a Rust library looks like: no `Exception`."""


class Broken(Words):
    """Fails on every text that contains ``bad``, in the way that is asked for."""

    def __init__(self, error: BaseException | None = None, bad: str = "") -> None:
        super().__init__("broken")
        self.error = error or RuntimeError("broken")
        self.bad = bad

    def count(self, text: str) -> int:
        if self.bad in text:
            raise self.error
        return super().count(text)
