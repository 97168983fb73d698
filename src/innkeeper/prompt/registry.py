"""Registry: unchangeable values by name. What dialects, vocabularies and tools are kept in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self, TypeVar

from innkeeper.prompt.errors import UnknownNameError

__all__ = ["Registry"]

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """Values that have a name, by it; later ones replace earlier ones. ``WHAT`` is what errors call one of them."""

    __slots__ = ("_by_name",)

    WHAT: ClassVar[str] = "name"

    def __init__(self, *values: T) -> None:
        self._by_name: dict[str, T] = dict(self._named(values))

    @staticmethod
    def _named(values: Iterable[Any]) -> Iterator[tuple[str, Any]]:
        return ((value.name, value) for value in values)

    def with_(self, *values: T) -> Self:
        """A registry with further values; one of the same name replaces."""
        return type(self)(*self._by_name.values(), *values)

    def __getitem__(self, name: str) -> T:
        """The value of this name. Raises `UnknownNameError` with near names, which is not a `KeyError`."""
        try:
            return self._by_name[name]
        except KeyError:
            raise UnknownNameError(self.WHAT, name, self._by_name) from None

    def __contains__(self, name: object) -> bool:
        """Whether there is one of this name."""
        return name in self._by_name

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return iter(self._by_name)

    def __len__(self) -> int:
        """How many."""
        return len(self._by_name)
