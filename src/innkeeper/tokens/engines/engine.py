"""Engine: counts tokens. Every tokenizer, estimate and remote server is one; `Foreign` wraps a counting function.

A `Tokenization` is a text taken apart by an engine. `chunks` says where a long text may be cut so that counting the pieces
counts the text: tokenizers split text at patterns before they look at bytes, and a line break after a visible character and
before a letter or digit is such a place for all of them; the last line break before any visible character is one for most. A
text without one (a million spaces) is cut anywhere: the sum may then be one token more per cut. Engines need this since a run
of a million spaces makes tiktoken's pattern matcher run out of stack.

An engine raises `TokenizerUnavailableError` where its package, file or server is not here (the hint names the extra), and
`FormatError` for a tokenizer file that is broken, of another kind, or whose bytes are not the known ones. `Counter.count` raises
nothing: it falls back, and `describe` says so.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

import msgspec

from innkeeper.prompt.allowance import Allowance, current_allowance
from innkeeper.prompt.errors import UnavailableError


class TokenizerUnavailableError(UnavailableError):
    """A tokenizer whose vocabulary, library or server is not here. ``tokenizer`` is its name."""

    def __init__(self, tokenizer: str, reason: str, **kwargs: Any) -> None:
        super().__init__(
            f"tokenizer {tokenizer!r} is not available: {reason}", tokenizer=tokenizer, reason=reason, **kwargs
        )
        self.tokenizer = tokenizer


CHUNK_CHARS: Final = 64_000
"""Longer texts are counted in pieces of at most this many characters."""

_BATCH_CHARS: Final = 40_000
"""From this many characters on, a batch is worth the start of threads."""

_LONG_BATCH_CHARS: Final = 1_000_000
"""From this size on, texts are counted in the build's own thread, to whose processor time the allowance applies."""

_BATCH_THREADS: Final = 4
"""The most threads that count one batch."""


class Tokenization(msgspec.Struct, frozen=True, omit_defaults=True):
    """A count and, where the tokenizer can say, its tokens (TavernKit's `Tokenization`).

    ``backend`` names the engine; ``ids`` are vocabulary numbers, ``tokens`` their texts (U+FFFD for part of a character),
    ``offsets`` character ranges in the text, end excluded; ``details`` is what `Counter.describe` says of the choice.
    """

    backend: str
    count: int
    ids: tuple[int, ...] | None = None
    tokens: tuple[str, ...] | None = None
    offsets: tuple[tuple[int, int], ...] | None = None
    details: dict[str, Any] = {}

    @property
    def detailed(self) -> bool:
        """Whether there is more than a count."""
        return not (self.ids is None and self.tokens is None and self.offsets is None)


def spans(pieces: Iterable[bytes]) -> tuple[tuple[int, int], ...]:
    """The character range of each of the consecutive UTF-8 pieces of a text; a split character belongs to all its pieces.

    >>> spans([b"a", "é".encode()[:1], "é".encode()[1:], b"b"])
    ((0, 1), (1, 2), (1, 2), (2, 3))
    """
    spans, seen = [], 0
    for piece in pieces:
        starts = sum(not _continues(byte) for byte in piece)
        inside = bool(piece) and _continues(piece[0])
        spans.append((seen - 1 if inside else seen, seen + starts))
        seen += starts
    return tuple(spans)


def _continues(byte: int) -> bool:
    return byte & 0xC0 == 0x80  # noqa: PLR2004 - UTF-8: a continuation byte is 10xxxxxx


T = TypeVar("T")


@runtime_checkable
class Engine(Protocol):
    """Counts the tokens of texts without lone surrogates. May raise anything: `Counter` falls back."""

    @property
    def name(self) -> str:
        """The engine's name in cache keys: two engines of one name count alike."""
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
    """The number of threads a batch is worth: 1 for a small one, and for one so large that time may run out."""
    if len(texts) < 2 or not _BATCH_CHARS <= sum(map(len, texts)) < _LONG_BATCH_CHARS:  # noqa: PLR2004 - nothing to share
        return 1
    return min(_BATCH_THREADS, len(texts), os.cpu_count() or 1)


def paced_texts(texts: Sequence[str]) -> Iterable[str]:
    """Texts, `paced` where they are more than the longest one is."""
    return texts if sum(map(len, texts)) <= CHUNK_CHARS else paced(texts)


def paced(items: Iterable[T], batch: int = 1) -> Iterable[T]:
    """The items as they come, for as long as the build has seconds: looked at before each ``batch`` of them.

    Raises `AllowanceError` while they are asked for.
    """
    allowance = current_allowance()
    return items if allowance is None else chain.from_iterable(_batches(iter(items), batch, allowance))


def _batches(items: Iterator[T], batch: int, allowance: Allowance) -> Iterator[list[T]]:
    while some := list(islice(items, batch)):
        allowance.check_time("tokens")
        yield some


def count_by(
    cut: Callable[[str], list[str]], measure: Callable[[list[str]], list[int]], texts: Sequence[str]
) -> list[int]:
    """Count texts by their pieces: ``measure`` gets all pieces of all texts at once, the sums are per text."""
    parts = [cut(text) for text in texts]
    counts = measure([piece for part in parts for piece in part])
    if len(counts) == len(parts):  # none was cut
        return counts
    rest = iter(counts)
    return [sum(next(rest) for _ in part) for part in parts]


_TRIES: Final = 64
"""The number of line breaks that are tried for a good cut."""

_LAST_BREAK: Final = re.compile(r"[^\S\n]*\S")
"""The white space after the last line break of a run."""


def chunks(text: str, size: int = CHUNK_CHARS) -> list[str]:
    """The text in pieces of at most ``size`` characters, cut at line breaks where possible; their join is the text."""
    return [text] if len(text) <= size else list(_chunks(text, size))


def _chunks(text: str, size: int) -> Iterator[str]:
    start = 0
    while len(text) - start > size:
        cut = _cut(text, start, start + size)
        yield text[start:cut]
        start = cut
    yield text[start:]


def _cut(text: str, start: int, end: int) -> int:
    """Return the last good cut in the second half of a piece, else the last fair one, else its end."""
    low, at, fair = (start + end) // 2, end, end
    for _ in range(_TRIES):
        at = text.rfind("\n", low, at)
        if at <= low:
            break
        if not text[at - 1].isspace() and text[at + 1].isalnum():
            return at + 1
        if fair == end and _LAST_BREAK.match(text, at + 1):
            fair = at + 1
    return fair


@dataclass(frozen=True, slots=True)
class Foreign:
    """A counting function with a name; plug-in engines need no more.

    Args:
        name: tells cached counts apart: two functions of one name must count alike.
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
        return sum(map(self.measure, paced(chunks(text, self.size))))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        return [self.count(text) for text in texts]

    def tokenize(self, text: str) -> Tokenization:
        """The ids, where the library lists them; otherwise the count."""
        if self.encode is None:
            return Tokenization(backend=self.backend, count=self.count(text))
        ids = tuple(self.encode(text))
        return Tokenization(backend=self.backend, count=len(ids), ids=ids)
