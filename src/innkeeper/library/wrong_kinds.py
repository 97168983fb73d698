"""Wrong kinds: the fields of a request are what they should be; anything else is an error that names the field."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from innkeeper.library.errors import RequestError
from innkeeper.prompt.errors import Where

__all__ = ["need", "need_texts"]


def need_texts(owner: Any, needed: Iterable[str], optional: Iterable[str]) -> None:
    """Each of these fields is a text, those of ``optional`` may be None. Raises `RequestError`."""
    for name in needed:
        if not isinstance(getattr(owner, name), str):
            _refuse(name, "text", getattr(owner, name))
    for name in optional:
        value = getattr(owner, name)
        if value is not None and not isinstance(value, str):
            _refuse(name, "text or nothing", value)


def need(name: str, value: Any, kinds: type | tuple[type, ...], what: str) -> None:
    """A field is of one of these kinds; a truth value is no number. Raises `RequestError`."""
    wanted = kinds if isinstance(kinds, tuple) else (kinds,)
    if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
        _refuse(name, what, value)


def _refuse(name: str, what: str, value: Any) -> NoReturn:
    raise RequestError(f"{name} must be {what}, not {type(value).__name__}", where=Where(path=name))
