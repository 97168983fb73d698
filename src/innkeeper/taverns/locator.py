"""TextLocator: where a text stands in the inputs of a build: a warning about it names asset, field, entry, line and column.

Macros are expanded far from the file that they are written in: fields are joined, trimmed and nested before. What is evaluated is
looked for in the texts of the inputs: first all of it, then its line, then the macro alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, Final

import msgspec

from innkeeper.macros.engine.errors import where_in
from innkeeper.prompt.block import Origin
from innkeeper.prompt.errors import InnkeeperError, Where
from innkeeper.prompt.request import BuildRequest
from innkeeper.prompt.run.state import State
from innkeeper.taverns.assets import Assets, assets_of, raw_of

_OPENERS: Final = ("{{", "<<", "{%")
_SKIPPED: Final = frozenset({"raw", "document", "findings", "extensions", "book"})
"""Fields of typed content that repeat others, or hold no text of a prompt."""
_NAMES: Final = ("identifier", "id", "uid")
"""The fields by which items of a list are called; others are counted."""
_MAX_DEPTH: Final = 12


class TextLocation(msgspec.Struct, frozen=True):
    """A text with macros: the asset's name, the path in it, and the kind of asset as an `Origin` has it."""

    kind: str
    asset: str
    path: str
    text: str

    def fits(self, origin: Origin) -> bool:
        """Whether this may be the text of an origin."""
        names = (origin.name is None or origin.name in (self.asset, "")) and self.kind == origin.asset
        entry = origin.entry is None or f"[{origin.entry}]" in self.path
        return names and entry and (origin.field or "") in self.path


class TextLocator:
    """The texts of one build's inputs, read when the first place is asked for. ``near`` is the origin of the text at work."""

    __slots__ = ("__dict__", "_state", "near")

    def __init__(self, state: State) -> None:
        self._state = state
        self.near: Origin | None = None

    def __call__(self, text: str, position: int) -> Where:
        """The place of a character of a text that is evaluated; in the text itself where no input has it."""
        near = self.near
        texts = self._texts if near is None else sorted(self._texts, key=lambda location: not location.fits(near))
        for start, part in _parts(text, position):
            for location in texts:
                index = location.text.find(part)
                if index >= 0:
                    position_there = index + max(position - start, 0)
                    return msgspec.structs.replace(
                        where_in(location.text, position_there, location.asset), path=location.path or None
                    )
        return where_in(text, position)

    def whole(self, text: str, where: Where) -> Where:
        """The place of a line and column of a text that is evaluated."""
        lines = text.split("\n")[: (where.line or 1) - 1]
        return self(text, sum(len(line) + 1 for line in lines) + (where.column or 1) - 1)

    @cached_property
    def _texts(self) -> tuple[TextLocation, ...]:
        return tuple(
            location for location in _texts(self._state) if any(opener in location.text for opener in _OPENERS)
        )


def _parts(text: str, position: int) -> Iterator[tuple[int, str]]:
    """What is looked for, longest first, each with where it begins in ``text``."""
    start = len(text) - len(text.lstrip())
    yield start, text.strip()
    line = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    yield line, text[line : len(text) if end < 0 else end].rstrip("\r")
    closers = [index for mark in ("}}", ">>", "%}") if (index := text.find(mark, position)) >= 0]
    if closers:
        yield position, text[position : min(closers) + 2]


def _texts(state: State) -> Iterator[TextLocation]:
    """The texts of all inputs, those of assets before those of the chat."""
    for kind, asset, value in _sources(state.request, assets_of(state), state.inputs.ports.injections):
        yield from (TextLocation(kind, asset, path, text) for path, text in _inside(value))


def _sources(request: BuildRequest, assets: Assets, registry: Any) -> Iterator[tuple[str, str, Any]]:
    """The kind and the name of each input with texts, and its value: typed where it can be read, and as it was given."""
    for card in filter(None, [assets.character, *(member.card for member in assets.members)]):
        yield "character", card.name or "character", card
        yield "lorebook", (card.book and card.book.name) or f"{card.name}'s Lorebook", card.book
    yield "persona", "user", assets.user
    for index, book in enumerate(assets.books):
        with suppress(InnkeeperError):  # a book in the words of another tavern
            yield "lorebook", book.name or f"book {index}", book.lorebook
        yield "lorebook", book.explicit_name or f"book {index}", book.value
    with suppress(InnkeeperError):
        yield "preset", "preset", assets.preset
    yield "preset", "preset", raw_of(request.preset)
    yield "character", "character", raw_of(request.character)
    yield "authors_note", "authors_note", request.authors_note
    yield "injection", "injections", request.injections
    yield "injection", "injections", list(registry) if isinstance(registry, Iterable) else ()
    for name in ("system", "settings", "macro_vars", "meta", "options"):
        yield "request", name, getattr(request, name)
    yield "history", "history", request.history
    yield "message", "message", request.message


def _inside(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """The texts in a value, each with its path. Items of a list are called by their name, where they have one."""
    if isinstance(value, str):
        yield path, value
    elif depth > _MAX_DEPTH:
        return
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _inside(item, f"{path}[{_name(item, index)}]", depth + 1)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _inside(item, f"{path}.{key}".removeprefix("."), depth + 1)
    elif isinstance(value, msgspec.Struct):
        for field in value.__struct_fields__:
            if field not in _SKIPPED:
                yield from _inside(getattr(value, field), f"{path}.{field}".removeprefix("."), depth + 1)


def _name(item: Any, index: int) -> Any:
    names = [item.get(key) if isinstance(item, Mapping) else getattr(item, key, None) for key in _NAMES]
    return next((name for name in names if isinstance(name, (str, int)) and name != ""), index)
