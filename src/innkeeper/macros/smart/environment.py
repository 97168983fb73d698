"""SmartEnvironment: the variables of one run of the smart macros, the paths that name them, and the notes the run makes.

Variables are plain data of the run's own: `Copier` copies them as trees and counts their size. A path names a variable inside of
others, as ``stat.mood['last seen'][0]``. A dot separates keys, ``[3]`` is an index, ``['a.b']`` and ``[bare]`` are keys. Empty
parts do not count, and a bracket or quote that is not closed ends with the path (`smarttavern.md` 3). ``a.0`` is the key ``0``,
not an index. A path that cannot be written is a `MacroArgumentError`; SmartTavern leaks an IndexError there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, time
from typing import Any, Final

import msgspec

from innkeeper.macros.engine.errors import MAX_LIST_INDEX, MAX_REPORTS, MacroArgumentError, MacroLimitError
from innkeeper.macros.smart.options import (
    MAX_DEPTH,
    MAX_PATH_CHARS,
    MAX_PATH_PARTS,
    MAX_TABLE,
    Chance,
    CustomMacro,
    MacroOptions,
    Policy,
)
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import FormatError, InnkeeperError, LimitError, Where
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.prompt.text import kind_of

MISSING: Final[Any] = object()
"""The default result of `read_path` for a missing value."""

_PART: Final = re.compile(
    r"""\['(?P<single>[^']*)(?:'[^\]]*\]?|\Z)|\["(?P<double>[^"]*)(?:"[^\]]*\]?|\Z)|\[(?P<bracket>[^\]]*)\]?|\.|(?P<key>[^.\[]+)"""
)
_INDEX: Final = re.compile(r"-?\d+")
_LONGEST_INDEX: Final = 18
_PARSED: Final[BoundedCache[str, tuple[str | int, ...]]] = BoundedCache(items=2048, size=8 * 1024 * 1024)
_PART_BYTES: Final = 32
"""The bytes charged for a character of a parsed path."""
_PATH_STEPS: Final = 10
"""The steps charged for a character of a path longer than `_SHORT_PATH`, whether it was cached or not."""
_SHORT_PATH: Final = 32
_SHOWN: Final = 200


def parse_path(path: str) -> tuple[str | int, ...]:
    """The keys (texts) and indexes (numbers) of a path. Raises `MacroLimitError` for one too long."""
    if len(path) > MAX_PATH_CHARS:
        raise _limit("a variable's path", "MAX_PATH_CHARS", MAX_PATH_CHARS, len(path))
    if len(path) > _SHORT_PATH:
        charge("variables", _PATH_STEPS * len(path))
    parts = _PARSED.get(path)
    return _PARSED.put(path, _parsed(path), _PART_BYTES * len(path)) if parts is None else parts


def _parsed(path: str) -> tuple[str | int, ...]:
    parts = tuple(part for part in map(_part, _PART.finditer(path)) if part != "")
    if len(parts) > MAX_PATH_PARTS:
        raise _limit("the parts of a variable's path", "MAX_PATH_PARTS", MAX_PATH_PARTS, len(parts))
    return parts


def _part(match: re.Match[str]) -> str | int:
    if match["bracket"] is None:
        return match["single"] or match["double"] or match["key"] or ""
    text = match["bracket"].strip()
    if not _INDEX.fullmatch(text):
        return text
    return int(text) if len(text) <= _LONGEST_INDEX else int(text[:_LONGEST_INDEX])


def read_path(table: Mapping[str, Any], path: str, missing: Any = MISSING) -> Any:
    """The value at ``path``, or ``missing``; of the empty path the whole table. A negative index finds nothing."""
    value: Any = table
    for part in parse_path(path):
        if isinstance(part, int):
            if not isinstance(value, list) or not 0 <= part < len(value):
                return missing
            value = value[part]
        else:
            value = value.get(part, MISSING) if isinstance(value, dict) else MISSING
            if value is MISSING:
                return missing
    return value


def write_path(table: dict[str, Any], path: str, value: Any, *, index_keys: bool = False) -> int:
    """Set the value at ``path``, making what is missing on the way; returns how many list items were added.

    What is missing gives way to a container; so does any other value of a dictionary, but not of a list. A path that ends with
    the key of what is no dictionary is ignored, and so is one with the index of what is no list, unless it is the last part of
    the path, of a dictionary, and ``index_keys`` has it stored as a text. Raises `MacroArgumentError` for a path that goes on
    behind the key of what is no dictionary and for a negative index that is not in its list, and `MacroLimitError` for an
    index above `MAX_LIST_INDEX`; then nothing is changed at that part.
    """
    parts, grown = parse_path(path), 0
    container: Any = table
    for part, behind in zip(parts, (*parts[1:], None), strict=False):
        key: Any = part
        if isinstance(part, str):
            if not isinstance(container, dict):
                _only_last(container, part, behind, path)
                return grown
        elif isinstance(container, list):
            grown += _room(container, part, path)
        elif isinstance(container, dict) and behind is None and index_keys:
            key = str(part)
        else:
            return grown
        if behind is None:
            container[key] = value
            return grown
        container = _inner(container, key, behind)
    return grown


def _only_last(container: Any, key: str, behind: str | int | None, path: str) -> None:
    if behind is not None:
        msg = f"{kind_of(container)} has no key {key[:_SHOWN]!r}"
        raise MacroArgumentError(
            msg, where=Where(path=path[:_SHOWN]), hint="name an item of a list by its index: list[0]"
        )


def _inner(container: Any, key: Any, behind: str | int) -> Any:
    """Return the container at ``key``, created if there is none; a value in a list stays."""
    child = container.get(key) if isinstance(container, dict) else container[key]
    if child is None or (isinstance(container, dict) and not isinstance(child, (dict, list))):
        container[key] = child = [] if isinstance(behind, int) else {}
    return child


def _room(items: list[Any], index: int, path: str) -> int:
    """Make sure a list has an index; returns how many items that took."""
    if index > MAX_LIST_INDEX:
        raise _limit("the index of a variable", "MAX_LIST_INDEX", MAX_LIST_INDEX, index).at(path=path)
    if index < -len(items):
        msg = f"the list has no item {index}: it has {len(items)}"
        raise MacroArgumentError(msg, where=Where(path=path), hint="count from the start of the list")
    added = max(0, index + 1 - len(items))
    items.extend([None] * added)
    return added


def _limit(what: str, name: str, allowed: int, actual: int) -> MacroLimitError:
    return MacroLimitError(what, limit=name, allowed=allowed, found=actual)


SEARCH_SHIFT: Final = 7
"""A step looks for a keyword in so many characters, as a power of two."""

_LONG: Final = 1000
_READING_SHIFT: Final = 9
_COPY_SHIFT: Final = 3
"""A step copies so many references, as a power of two."""

ITEM: Final = 8
"""The size of one item besides its text."""

_ITEMS_AT_ONCE: Final = 100
_ITEM_STEPS: Final = 5
"""The steps charged for an item that is copied or written as text."""

_PLAIN: Final = (str, int, float, bool, type(None))


class Copier:
    """Copies values as trees, counting their size. ``size`` goes on from value to value up to `MAX_TABLE`.

    The allowance is charged for their items, some thousands at once.

    What a caller gives that is no data (an object of its own) is kept as it is; what a macro wants to store must be data.
    """

    __slots__ = ("_free", "size")

    def __init__(self, size: int = 0) -> None:
        self.size = size
        self._free = 0
        """Items that the allowance was charged for and that have not been copied yet."""

    def from_caller(self, value: Any) -> Any:
        """A caller's value. Raises `MacroLimitError` when the values are too many or too deep."""
        return self._copy(value, MAX_DEPTH, strict=False)

    def written(self, value: Any) -> Any:
        """Copy a macro's value; moments become text. Raises `MacroArgumentError` for no data, `MacroLimitError` as above."""
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
        msg = f"a variable cannot hold {kind_of(value)}"
        raise MacroArgumentError(msg, hint="store a text, number, list or dictionary")

    def _container(self, value: Any, depth: int, *, strict: bool) -> Any:
        self._free -= len(value) + 1
        if self._free < 0:
            due = _ITEMS_AT_ONCE - self._free
            charge("variables", due * _ITEM_STEPS)
            self._free = _ITEMS_AT_ONCE
        if isinstance(value, Mapping):
            return {self._key(key): self._copy(item, depth, strict=strict) for key, item in value.items()}
        items = [self._copy(item, depth, strict=strict) for item in value]
        return tuple(items) if isinstance(value, tuple) else items

    def _key(self, key: Any) -> Any:
        self.count(len(key) if isinstance(key, str) else 0)
        return key


HISTORY: Final = "chat_history_text"
"""The variable that keyword tests search."""


@dataclass(slots=True)
class SmartSpent:
    """What a run has used up: characters produced, work and time of Python, reports; and the unknown macros it reported.

    ``over``: the build's allowance is spent, so that all further macros stay as text. ``marks`` are those to come that it was
    charged for already, ``charged`` the characters that it was, ``slice`` how many marks it is charged for next.
    """

    output: int = 0
    charged: int = 0
    marks: int = 0
    slice: int = 4
    work: int = 0
    seconds: float = 0.0
    reports: int = 0
    unknown: set[str] = field(default_factory=set)
    over: bool = False


class _Layer(dict[str, Any]):
    """The values that a fork has set, over the table that it reads otherwise."""

    __slots__ = ("_below",)

    def __init__(self, below: dict[str, Any]) -> None:
        super().__init__()
        self._below = below

    def get(self, key: str, default: Any = None) -> Any:
        """The value that was set, or that of the table below."""
        value = super().get(key, MISSING)
        return self._below.get(key, default) if value is MISSING else value

    def whole(self) -> dict[str, Any]:
        """Both as one table."""
        below = self._below.whole() if isinstance(self._below, _Layer) else self._below
        charge("variables", len(below))
        return {**below, **self}


@dataclass(slots=True, kw_only=True)
class SmartEnvironment:
    """One run. ``table`` holds the variables and is the run's own; make one with `of`, which copies the caller's.

    ``macros`` are the caller's, by name in lower case. ``contains`` says whether a keyword is in the history's text (``None``:
    look into the variable `HISTORY`). ``owned`` is false while the table is another environment's: what is written then lies
    over it, and of a container that is changed there is a copy (one level of it, not what is inside), kept in ``copies``.
    """

    table: dict[str, Any]
    options: MacroOptions
    chance: Chance
    macros: Mapping[str, CustomMacro] = field(default_factory=dict)
    policy: Policy = field(default_factory=Policy)
    contains: Callable[[str], bool] | None = None
    notes: list[Note] = field(default_factory=list)
    spent: SmartSpent = field(default_factory=SmartSpent)
    copier: Copier = field(default_factory=Copier)
    owned: bool = True
    copies: dict[int, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        variables: Mapping[str, Any] | None = None,
        policy: Mapping[str, Any] | None = None,
        options: MacroOptions = MacroOptions(),  # noqa: B008 - a frozen value
        contains: Callable[[str], bool] | None = None,
    ) -> SmartEnvironment:
        """The environment of a run; the caller's variables are copied, all the way down.

        Raises `FormatError` when variables or policy are no objects, `MacroLimitError` for variables too large or deep.
        """
        copier = Copier()
        return cls(
            table=copied(variables, copier),
            options=options,
            chance=options.chance(),
            macros={name.lower(): macro for name, macro in options.macros.items()},
            policy=Policy.of(policy),
            contains=contains,
            copier=copier,
        )

    def fork(self) -> SmartEnvironment:
        """An environment that reads the same table and whose writes stay its own; notes, chance and limits are shared.

        One is made for each condition, so its fields are written out: `dataclasses.replace` takes five times as long.
        """
        return SmartEnvironment(
            table=self.table,
            options=self.options,
            chance=self.chance,
            macros=self.macros,
            policy=self.policy,
            contains=self.contains,
            notes=self.notes,
            spent=self.spent,
            copier=Copier(self.copier.size),
            owned=False,
        )

    def value(self, path: str, missing: Any = MISSING) -> Any:
        """The value at ``path``, or ``missing``. A container is the environment's own, to be changed or not."""
        value = read_path(self.table, path, missing)
        if not self.owned and isinstance(value, (dict, list)):
            self.settle()
            value = read_path(self.table, path, missing)
        return value

    def read(self, path: str) -> Any:
        """Return the value at ``path``, or the policy's replacement; not to be modified."""
        value = read_path(self.table, path)
        if isinstance(value, _Layer):
            return value.whole()
        return self.policy.undefined(path) if value is MISSING else value

    def write(self, path: str, value: Any, *, index_keys: bool = False) -> None:
        """Set a variable. Raises `MacroArgumentError` for anything but data, and the errors of `write_path`."""
        parts = parse_path(path)
        if not parts:
            return
        if isinstance(value, str) and len(value) > _LONG:
            charge("variables", len(value) >> _READING_SHIFT, made=len(value))
        if not self.owned:
            self._own(parts)
        if parts[0] == HISTORY:
            self.contains = None
        grown = write_path(self.table, path, self.copier.written(value), index_keys=index_keys)
        self.copier.count(grown * ITEM)

    def replaced(self, variables: Mapping[str, Any]) -> None:
        """Take another table, as a macro of the caller's gives one."""
        self.table, self.owned, self.contains = copied(variables, self.copier), True, None

    def has(self, keyword: str) -> bool:
        """Whether the history's text has a keyword in it."""
        if self.contains is not None:
            return self.contains(keyword)
        history = read_path(self.table, HISTORY)
        if history is MISSING:
            return self.options.compat.search_placeholder and keyword in self.policy.undefined(HISTORY)
        text = history if isinstance(history, str) else plain_text(history)
        charge("keywords", 1 + (len(text) >> SEARCH_SHIFT))
        return keyword in text

    def report(self, error: InnkeeperError, where: Callable[[], Where | None] | None = None) -> None:
        """Leave a note about an error that did not stop the run; of more than `MAX_REPORTS` only that there are more.

        ``where`` is asked for the place only when the note is kept; a line of the error's own is then one of a macro's code.
        """
        self.spent.reports += 1
        if self.spent.reports > MAX_REPORTS:
            if self.spent.reports == MAX_REPORTS + 1:
                self.notes.append(Note(NoteKind.LIMIT, f"more than {MAX_REPORTS} reports; the others are not listed"))
            return
        kind = NoteKind.LIMIT if isinstance(error, LimitError) else NoteKind.MACRO
        position, data = _note_position(error, where)
        self.notes.append(Note(kind, error.message, where=position, hint=error.hint, data=data))

    def settle(self) -> None:
        """Copy the table at all levels, so that its readers may change it."""
        if not self.owned:
            self.table = Copier().from_caller(self.table.whole() if isinstance(self.table, _Layer) else self.table)
            self.owned = True

    def _own(self, parts: tuple[str | int, ...]) -> None:
        """Copy what is on the way to a part about to be written, each container once."""
        if not isinstance(self.table, _Layer) or id(self.table) not in self.copies:
            self.table = _Layer(self.table)
            self.copies[id(self.table)] = self.table
        container: Any = self.table
        for part in parts[:-1]:
            inner = _item(container, part)
            if not isinstance(inner, (dict, list)):
                return
            if id(inner) not in self.copies:
                charge("variables", len(inner) >> _COPY_SHIFT)
                inner = inner.copy()
                self.copies[id(inner)] = container[part] = inner
            container = inner


def _item(container: Any, part: str | int) -> Any:
    """Return the value at one part of a path, or ``None``."""
    if isinstance(part, str):
        return container.get(part) if isinstance(container, dict) else None
    return container[part] if isinstance(container, list) and -len(container) <= part < len(container) else None


def plain_text(value: Any) -> str:
    """``str(value)``, charged. Raises `ValueError` for a whole number of more digits than Python writes."""
    if isinstance(value, (Mapping, list, tuple)):
        charge("variables", _ITEM_STEPS * _count(value))
    return str(value)


def _count(value: Any) -> int:
    """Count the values in a container, at all levels."""
    inner = value.values() if isinstance(value, Mapping) else value
    return len(value) + sum(_count(item) for item in inner if isinstance(item, (Mapping, list, tuple)))


def _note_position(error: InnkeeperError, where: Callable[[], Where | None] | None) -> tuple[Where | None, FrozenDict]:
    """The place of a note about an error, and its data."""
    data, own = {"kind": error.kind, **error.details}, error.where
    if where is None or own is None:
        return own if where is None else where(), FrozenDict(data)
    if own.line is not None:
        data |= {"code_line": own.line, "code_column": own.column}
    return msgspec.structs.replace(where() or Where(), path=own.path), FrozenDict(data)


def copied(variables: Mapping[str, Any] | None, copier: Copier | None = None) -> dict[str, Any]:
    """Return a copy of a table (``None``: an empty one). Raises `FormatError` when it is no object."""
    if variables is None:
        return {}
    if not isinstance(variables, Mapping):
        raise FormatError(f"variables must be an object, not {kind_of(variables)}", hint='write {"name": value}')
    table: dict[str, Any] = (copier or Copier()).from_caller(variables)
    return table


MacroEnvironment = SmartEnvironment
"""Another name for it, from before the macro engine of SillyTavern had an environment of that name."""
