"""Where a long text may be cut so that counting the pieces counts the text.

Tokenizers split text at patterns before they look at bytes, and a line break after a visible character and before a
letter or digit is such a place for all of them; the last line break before any visible character is one for most. A text
without one (a million spaces) is cut anywhere: the sum may then be one token more per cut. Engines need this since a run
of a million spaces makes tiktoken's pattern matcher run out of stack.
"""

import re
from collections.abc import Iterator
from typing import Final

from innkeeper.tokens.limits import CHUNK_CHARS

__all__ = ["chunks"]

_TRIES: Final = 64
"""How many line breaks are looked at for a good cut."""

_LAST_BREAK: Final = re.compile(r"[^\S\n]*\S")
"""What follows the last line break of a run of white space."""


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
    """The last good place for a cut in the second half of a piece, else the last fair one, else its end."""
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
