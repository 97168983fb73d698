"""Once: values built on first use by one thread, while other threads wait for it.

`once` is for what takes no arguments: a table, a packaged file, a pattern. `convert`, `decode` and `unpack` are msgspec's own,
with the reader of a type made under a lock: msgspec (0.22) shows a type's fields to other threads while it still collects them,
and a thread that reads such a type ends the process. So nothing else in the house turns data into a type: a test holds it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Any, Final, TypeAlias, TypeVar, overload

import msgspec

from innkeeper.prompt.typed.misfit import Misfit

T = TypeVar("T")

Hook: TypeAlias = Callable[[type, Any], Any] | None

_LOCK: Final = RLock()
"""One for all types: a type that two others hold must not be collected by two threads."""

_READY: Final[set[Any]] = set()


def once(make: Callable[[], T]) -> Callable[[], T]:
    """Wrap ``make``: the first caller runs it, others wait and get the same value. If it raises, the next caller runs it."""
    lock, made = RLock(), list[T]()

    @wraps(make)
    def get() -> T:
        if not made:
            with lock:
                if not made:
                    made.append(make())
        return made[0]

    return get


@overload
def convert(value: Any, kind: type[T], *, strict: bool = ..., dec_hook: Hook = ...) -> T: ...


@overload
def convert(value: Any, kind: Any, *, strict: bool = ..., dec_hook: Hook = ...) -> Any: ...


def convert(value: Any, kind: Any, **options: Any) -> Any:
    """A value of plain types as ``kind``, as `msgspec.convert` does it. Raises `Misfit` where it is none."""
    if kind not in _READY:
        _make_ready(kind)
    try:
        # options as they come: each that is named here costs as much as a small value
        return msgspec.convert(value, kind, **options)
    except msgspec.ValidationError as error:
        raise Misfit.of(error) from None
    except UnicodeEncodeError:  # a text where a number must be, that cannot be UTF-8
        raise Misfit("", "must not be a text with half a character") from None


def decode(data: bytes | str, kind: type[T]) -> T:
    """JSON as ``kind``, as `msgspec.json.decode` does it. Raises `msgspec.DecodeError`: `Misfit` where only the type is wrong."""
    if kind not in _READY:
        _make_ready(kind)
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        raise Misfit.of(error) from None


def unpack(data: bytes, kind: type[T]) -> T:
    """MessagePack as ``kind``, as `msgspec.msgpack.decode` does it. Raises `msgspec.DecodeError` where it is none."""
    if kind not in _READY:
        _make_ready(kind)
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except msgspec.ValidationError as error:
        raise Misfit.of(error) from None


def _make_ready(kind: Any) -> None:
    """Have msgspec collect the fields of a type and of all that it holds."""
    with _LOCK:
        msgspec.msgpack.Decoder(kind)  # of all readers the one that any type can have
        _READY.add(kind)
