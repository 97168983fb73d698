"""Wrong kinds: the fields of a request are what they should be; anything else is an error that names the field."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, NoReturn

from innkeeper.library.errors import FieldError
from innkeeper.prompt.errors import Where

__all__ = ["need", "need_texts"]

_UNHELD: Final = re.compile("[\0\ud800-\udfff]")


def need_texts(owner: Any, needed: Iterable[str], optional: Iterable[str]) -> None:
    """Each of these fields is a text that a database holds, so that no record of it fails; those of ``optional`` may be None.

    Raises `FieldError`.
    """
    for name in needed:
        _need_text(name, getattr(owner, name), "text")
    for name in optional:
        if (value := getattr(owner, name)) is not None:
            _need_text(name, value, "text or nothing")


def need(name: str, value: Any, kinds: type | tuple[type, ...], what: str) -> None:
    """A field is of one of these kinds; a truth value is no number. Raises `FieldError`."""
    wanted = kinds if isinstance(kinds, tuple) else (kinds,)
    if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
        _refuse(name, what, value)


def _need_text(name: str, value: Any, what: str) -> None:
    if not isinstance(value, str):
        _refuse(name, what, value)
    if not value.isalnum() and _UNHELD.search(value):
        raise FieldError(f"{name} holds a character that cannot be stored", where=Where(path=name))


def _refuse(name: str, what: str, value: Any) -> NoReturn:
    raise FieldError(f"{name} must be {what}, not {type(value).__name__}", where=Where(path=name))
