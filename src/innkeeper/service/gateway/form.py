"""Forms: the text fields of a ``multipart/form-data`` body."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["form_fields"]

_BOUNDARY: Final = re.compile(r'boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))', re.IGNORECASE)
_NAME: Final = re.compile(rb'^content-disposition:[^\r\n]*?[;\s]name="([^"\r\n]{1,200})"', re.IGNORECASE | re.MULTILINE)
_MAX_PARTS: Final = 1_000


def form_fields(body: bytes, content_type: str) -> list[tuple[str, str]]:
    """Names and texts of a form, in order; parts without a name and what is not a form are left out."""
    found = _BOUNDARY.search(content_type)
    if found is None:
        return []
    mark = b"--" + (found[1] or found[2]).encode("latin-1", "replace")
    fields = []
    for part in body.split(mark, _MAX_PARTS)[1:]:
        head, blank, text = part.partition(b"\r\n\r\n")
        name = _NAME.search(head)
        if blank and name:
            fields.append((_text(name[1]), _text(text.removesuffix(b"\r\n"))))
    return fields


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
