"""TOML of people's files, bounded before the parser sees it.

The parser makes a table for each beginning of a dotted key: ``a.a.a…`` with n parts takes n² of time and memory. So keys are
looked at first.
"""

from __future__ import annotations

import re
from typing import Any, Final

from innkeeper.prompt.errors import FormatError, LimitError, Where

MAX_TOML_PARTS: Final = 16
"""Parts of one dotted key of a TOML file (`LimitError`)."""

MAX_TOML_WORD: Final = 4_000
"""Characters of one bare key or number of a TOML file (`LimitError`)."""

_STRING: Final = r'"(?:[^"\\\n]|\\.)*+"?|\'[^\'\n]*+\'?'
_PART: Final = rf"(?:[\w+-]++|{_STRING})"
_TOKEN: Final = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5})?'
    r"|'''(?:[^']|'(?!''))*+(?:'{3,5})?"
    rf"|#[^\n]*+|(?P<key>{_PART}(?:[ \t]*+\.[ \t]*+{_PART})*+)",
    re.DOTALL,
)
_EACH: Final = re.compile(_PART)
_POSITION: Final = re.compile(r" \(at line (\d+), column (\d+)\)")


def parse_toml(data: bytes, *, asset: str, hint: str | None = None) -> dict[str, Any]:
    """Parse a TOML file, whose size the caller has bounded. Raises `FormatError`, and `LimitError` for keys too long."""
    import tomllib

    try:
        text = data.decode("utf-8-sig")
        _check(text, asset)
        return tomllib.loads(text)
    except LimitError:
        raise
    except (ValueError, RecursionError, MemoryError) as error:
        match = _POSITION.search(str(error))
        line, column = (int(match[1]), int(match[2])) if match else (None, None)
        words = re.sub(r" \(at .*\)", "", str(error)) or type(error).__name__
        where = Where(asset=asset, line=line, column=column)
        raise FormatError(f"not TOML: {words}", where=where, hint=hint) from None


def _check(text: str, asset: str) -> None:
    """Raise `LimitError` for a key of too many parts, or a word that is too long."""
    for match in _TOKEN.finditer(text):
        key = match["key"]
        if key is None or len(key) <= MAX_TOML_PARTS:
            continue
        parts = _EACH.findall(key)
        longest = max((len(part) for part in parts if part[0] not in "\"'"), default=0)
        if len(parts) <= MAX_TOML_PARTS and longest <= MAX_TOML_WORD:
            continue
        where = Where(asset=asset, line=text.count("\n", 0, match.start()) + 1)
        if len(parts) > MAX_TOML_PARTS:
            what = "the parts of a key"
            raise LimitError(what, limit="MAX_TOML_PARTS", allowed=MAX_TOML_PARTS, found=len(parts), where=where)
        what = "a key or number"
        raise LimitError(what, limit="MAX_TOML_WORD", allowed=MAX_TOML_WORD, found=longest, where=where)
