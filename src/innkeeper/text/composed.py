"""Composed text: Unicode's normal form C, in time linear in the text.

Python puts the marks on a letter in order by moving each past those before it, which takes the square of their number: twenty
seconds for a letter with 150,000 marks. Long runs are therefore put in order first; what comes out is the same.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from innkeeper.prompt.typed.once import once

_LONG: Final = 64
"""Marks in a row up to which Python's way is the quicker one."""

_END: Final = 0x20000
"""No mark that has an order is above the first two planes of Unicode."""


def composed(text: str) -> str:
    """The text in normal form C."""
    return unicodedata.normalize("NFC", with_marks_in_order(text))


def with_marks_in_order(text: str) -> str:
    """The text with the marks of each long run in canonical order, which any normal form of it has as well."""
    if text.isascii():
        return text
    some, run = _patterns()
    # A long run is met at two places in a row that are half its length apart.
    if some.search(text[:: _LONG // 2]) is None:
        return text
    return run.sub(lambda match: "".join(sorted(match[0], key=unicodedata.combining)), text)


@once
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Two marks in a row, and a long run of them."""
    marks = "".join(char for char in map(chr, range(_END)) if unicodedata.combining(char))
    return re.compile(f"[{marks}]{{2}}"), re.compile(f"[{marks}]{{{_LONG},}}")
