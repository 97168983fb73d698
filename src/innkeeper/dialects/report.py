"""Report: the losses and changes of one conversion, and the errors that stop it.

Facts are gathered so that equal ones are one note. Metadata, schemas and options become plain JSON data here, whatever they
hold, with a note for what does not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import ConfigError, LimitError, Where
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.prompt.text import scalar_text


def option_error(dialect: str, option: str, value: Any, allowed: Iterable[str]) -> ConfigError:
    """The error for an option of a dialect with a value that it does not take."""
    message = f"{dialect}: option {option!r} cannot be {value!r:.60}"
    return ConfigError(message, hint=f"it can be: {', '.join(allowed)}")


MAX_DATA_DEPTH: Final = 100
"""Objects and lists inside one another in metadata, tool schemas, tool arguments and options (`LimitError`)."""


def jsonable(value: Any, depth: int = 0) -> Any:
    """Fresh dicts, lists, text, numbers, ``None``: lone surrogates replaced, other objects as their text.

    Raises `LimitError` for data that nests deeper than `MAX_DATA_DEPTH`.
    """
    if isinstance(value, str):
        return scalar_text(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth >= MAX_DATA_DEPTH:
        what = "the nesting of data"
        raise LimitError(what, limit="MAX_DATA_DEPTH", allowed=MAX_DATA_DEPTH)
    if isinstance(value, (dict, Mapping)):
        return {scalar_text(str(key)): jsonable(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [jsonable(item, depth + 1) for item in value]
    return scalar_text(str(value))


def compact(value: Any) -> str:
    """JSON text without spaces."""
    return msgspec.json.encode(jsonable(value)).decode()


def object_of(value: Any) -> dict[str, Any] | None:
    """The JSON object that ``value`` is or spells; ``{}`` for nothing; ``None`` when it is anything else."""
    if isinstance(value, (dict, Mapping)):
        plain: dict[str, Any] = jsonable(value)
        return plain
    if value is None or (isinstance(value, str) and not value.strip()):
        return {}
    if not (isinstance(value, str) and value.lstrip().startswith("{")):
        return None
    try:
        parsed = msgspec.json.decode(value)
        if value.count("[") + value.count("{") > MAX_DATA_DEPTH:
            parsed = jsonable(parsed)
    except (ValueError, RecursionError, LimitError):
        return None
    return parsed if isinstance(parsed, dict) else None


_SHOWN: Final = 8


class Report:
    """The notes of one conversion, for one call; the same sentence about several messages is one note."""

    __slots__ = ("_indices", "dialect")

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        self._indices: dict[tuple[NoteKind, str, str | None], list[int]] = {}

    def add(self, kind: NoteKind, sentence: str, index: int | None = None, hint: str | None = None) -> None:
        """Note ``sentence``, about the message at ``index`` where it is about one."""
        indices = self._indices.setdefault((kind, sentence, hint), [])
        if index is not None and index >= 0 and (not indices or indices[-1] != index):
            indices.append(index)

    def loss(self, sentence: str, index: int | None = None, hint: str | None = None) -> None:
        """Note something that the dialect cannot carry."""
        self.add(NoteKind.LOSS, sentence, index, hint)

    def repair(self, sentence: str, index: int | None = None, hint: str | None = None) -> None:
        """Note something that was changed so that the provider takes it."""
        self.add(NoteKind.REPAIR, sentence, index, hint)

    def notes(self) -> tuple[Note, ...]:
        """Return the notes in the order of their first occurrence."""
        return tuple(self._note(*key, indices) for key, indices in self._indices.items())

    def _note(self, kind: NoteKind, sentence: str, hint: str | None, indices: list[int]) -> Note:
        return Note(
            kind,
            f"{self.dialect}: {sentence}{_listed(indices)}",
            where=Where(asset="messages", path=f"[{indices[0]}]") if len(indices) == 1 else None,
            hint=hint,
            data=FrozenDict(dialect=self.dialect, **({"messages": tuple(indices)} if indices else {})),
        )


def _listed(indices: list[int]) -> str:
    if not indices:
        return ""
    shown = ", ".join(str(index) for index in indices[:_SHOWN])
    more = f" and {len(indices) - _SHOWN} more" if len(indices) > _SHOWN else ""
    return f" (message{'s' if len(indices) > 1 else ''} {shown}{more})"
