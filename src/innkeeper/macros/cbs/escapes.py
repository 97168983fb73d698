"""Escapes: private characters that stand for braces and the like until a request is made."""

from __future__ import annotations

from typing import Final

BRACES: Final = ("\ue9b8", "\ue9b9")
_MARKS: Final = {
    "\ue9b8": "{",
    "\ue9b9": "}",
    "\ue9ba": "(",
    "\ue9bb": ")",
    "\ue9bc": "&lt;",
    "\ue9bd": "&gt;",
    "\ue9be": ":",
    "\ue9bf": ";",
}
_ESCAPED: Final = str.maketrans({shown: mark for mark, shown in _MARKS.items() if shown in "{}()"})
_SHOWN: Final = str.maketrans(_MARKS)


def escaped(text: str) -> str:
    """A text whose braces and brackets no expansion reads."""
    return text.translate(_ESCAPED)


def unescaped(text: str) -> str:
    """A text as a request has it: private characters are what they stand for, angle brackets as HTML writes them."""
    return text.translate(_SHOWN)
