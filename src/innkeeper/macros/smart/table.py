"""Table: the variables of a run as plain data of its own, and how large they are."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, time
from typing import Any, Final

from innkeeper.macros.errors import MacroArgumentError, MacroLimitError
from innkeeper.macros.smart.limits import MAX_DEPTH, MAX_TABLE

__all__ = ["ITEM", "Copier"]

ITEM: Final = 8
"""What one item counts beside its text."""

_PLAIN: Final = (str, int, float, bool, type(None))


class Copier:
    """Copies values as trees, counting their size. ``size`` goes on from value to value up to `MAX_TABLE`.

    What a caller gives that is no data (an object of its own) is kept as it is; what a macro wants to store must be data.
    """

    __slots__ = ("size",)

    def __init__(self, size: int = 0) -> None:
        self.size = size

    def given(self, value: Any) -> Any:
        """A caller's value. Raises `MacroLimitError` when the values are too many or too deep."""
        return self._copy(value, MAX_DEPTH, strict=False)

    def written(self, value: Any) -> Any:
        """A macro's value; moments become text. Raises `MacroArgumentError` for what is no data, `MacroLimitError` as above."""
        return self._copy(value, MAX_DEPTH, strict=True)

    def count(self, size: int) -> None:
        """Add to the size. Raises `MacroLimitError`."""
        self.size += size
        if self.size > MAX_TABLE:
            raise MacroLimitError("the variables of one run", limit="MAX_TABLE", allowed=MAX_TABLE)

    def _copy(self, value: Any, depth: int, *, strict: bool) -> Any:
        self.count(ITEM + len(value) if isinstance(value, str) else ITEM)
        if isinstance(value, (Mapping, list, tuple)):
            if not depth:
                raise MacroLimitError("the nesting of variables", limit="MAX_DEPTH", allowed=MAX_DEPTH)
            return self._container(value, depth - 1, strict=strict)
        if not strict or isinstance(value, _PLAIN):
            return value
        if isinstance(value, (date, time)):
            return str(value)
        msg = f"a variable cannot hold a value of type {type(value).__name__}"
        raise MacroArgumentError(msg, hint="store a text, number, list or dictionary")

    def _container(self, value: Any, depth: int, *, strict: bool) -> Any:
        if isinstance(value, Mapping):
            return {self._key(key): self._copy(item, depth, strict=strict) for key, item in value.items()}
        items = [self._copy(item, depth, strict=strict) for item in value]
        return tuple(items) if isinstance(value, tuple) else items

    def _key(self, key: Any) -> Any:
        self.count(len(key) if isinstance(key, str) else 0)
        return key
