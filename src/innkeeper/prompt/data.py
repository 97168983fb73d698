"""Plain data: frozen, thawed, merged, and as canonical JSON; and registries, unchangeable values by name.

Canonical JSON is the one way data becomes bytes and comes back, so that equal data are equal bytes.

What nests too deep is a `LimitError`; what JSON cannot write is a `FormatError`. Dialects, vocabularies and tools are kept in
registries.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import chain
from typing import Any, ClassVar, Final, NoReturn, Self, TypeVar

import msgspec

from innkeeper.prompt.errors import FormatError, InnkeeperError, LimitError, UnknownNameError, UsageError, Where
from innkeeper.prompt.text import kind_of, scalar_text
from innkeeper.prompt.typed.quick_json import quick_json

MAX_DEPTH: Final = 64
"""Objects and lists inside one another, in any data that comes from outside (`LimitError`)."""

_FROZEN_DEPTH: Final = 2 * MAX_DEPTH
"""Frozen values can be nested in one another, so they may be deeper than data from outside."""


class FrozenDict(dict[str, Any]):
    """A dict whose content is set once. It encodes to JSON like any dict; every mutator raises `TypeError`."""

    __slots__ = ()

    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise TypeError("a FrozenDict cannot be changed; build a new one")

    __setitem__ = __delitem__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse
    __ior__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        """Hash by the items, in any order; raises `TypeError` when a value cannot be hashed."""
        return hash(frozenset(self.items()))

    def __copy__(self) -> FrozenDict:
        """A frozen value is its own copy."""
        return self

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, Any]]]:
        """Pickle through a plain dict."""
        return FrozenDict, (dict(self),)


EMPTY = FrozenDict()
"""The empty frozen dict, shared."""


_FROZEN: Final = frozenset({FrozenDict, int, bool, type(None)})
"""Types whose values are frozen as they are."""


def freeze(value: Any) -> Any:
    """Plain data with mappings as `FrozenDict` and lists as tuples, at every depth; other objects as they are.

    Sets become sorted tuples, keys text as in JSON, lone surrogates U+FFFD. Raises `LimitError` beyond `MAX_DEPTH` (data
    that contains itself included) and `FormatError` for numbers that JSON cannot write.
    """
    return _freeze(value, 0)


def _freeze(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is str:
        return scalar_text(value)
    if kind in _FROZEN or isinstance(value, str):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        raise FormatError(f"{value} is not a number that JSON can write", hint="leave the value out, or use null")
    if kind is dict or (isinstance(value, Mapping) and (isinstance(value, dict) or not hasattr(value, "to_dict"))):
        below = _deeper(depth)
        return FrozenDict({key_text(key): _freeze(item, below) for key, item in value.items()})
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=repr)  # the same order in every process
    if _is_list(value):
        below = _deeper(depth)
        return tuple([_freeze(item, below) for item in value])
    return value


def key_text(key: Any) -> str:
    """A key as JSON writes it: text without lone surrogates, ``true``, ``null``, a number's digits."""
    if type(key) is str:
        return scalar_text(key)
    if isinstance(key, str):
        return scalar_text(str(key))
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    return scalar_text(str(key))


def thaw(value: Any) -> Any:
    """The reverse of `freeze`: plain dicts and lists that a caller may change. Raises `LimitError` beyond `MAX_DEPTH`."""
    return _thaw(value, 0)


def _thaw(value: Any, depth: int) -> Any:
    if isinstance(value, dict):
        below = _deeper(depth, _FROZEN_DEPTH)
        return {key: _thaw(item, below) for key, item in value.items()}
    if _is_list(value):
        below = _deeper(depth, _FROZEN_DEPTH)
        return [_thaw(item, below) for item in value]
    return value


def deep_merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """``over`` on top of ``base``: dicts merge at every depth, anything else is replaced. Neither is changed.

    Raises `LimitError` beyond `MAX_DEPTH`.

    >>> deep_merge({"a": {"x": 1, "y": 2}, "l": [1]}, {"a": {"y": 3}, "l": [2, 3]})
    {'a': {'x': 1, 'y': 3}, 'l': [2, 3]}
    """
    return _merge(base, over, 0)


def _merge(base: Mapping[str, Any], over: Mapping[str, Any], depth: int) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        together = isinstance(below, dict) and isinstance(value, dict)
        merged[key] = _merge(below or {}, value, _deeper(depth, _FROZEN_DEPTH)) if together else value
    return merged


def check_depth(value: Any, what: str = "the data") -> None:
    """Raise `LimitError` when lists and dicts nest deeper than `MAX_DEPTH`. Looks at each container once a level."""
    level, depth = [value] if isinstance(value, _CONTAINERS) else [], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise _too_deep(what)
        items = list(chain.from_iterable([box.values() if isinstance(box, dict) else box for box in level]))
        # Most items are texts and numbers of few types: sorting out by type is much quicker than `isinstance` of each.
        types = {kind for kind in set(map(type, items)) if issubclass(kind, _CONTAINERS)}
        below = [item for item in items if type(item) in types] if types else []
        level = list(dict(zip(map(id, below), below, strict=True)).values())  # each once, however often it stands there


_CONTAINERS: Final = (dict, list, tuple)


def _check_tree(value: Any, depth: int = 1) -> None:
    """`check_depth` for fresh JSON, in which no object occurs twice: twice as fast."""
    if depth > MAX_DEPTH:
        raise _too_deep("the JSON")
    for item in value.values() if type(value) is dict else value if type(value) is list else ():
        if type(item) is dict or type(item) is list:
            _check_tree(item, depth + 1)


def _deeper(depth: int, allowed: int = MAX_DEPTH) -> int:
    if depth >= allowed:
        raise _too_deep("the data")
    return depth + 1


def _too_deep(what: str) -> LimitError:
    return LimitError(f"the nesting of {what}", limit="MAX_DEPTH", allowed=MAX_DEPTH)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and not hasattr(value, "_fields")


MAX_DIGITS: Final = 4000
"""Decimal digits of a whole number: more cannot be written as text in linear time (`LimitError`)."""

NOT_DATA: Final = (bytes, bytearray, memoryview, date, datetime, time, timedelta, Decimal)
"""Types that msgspec would write as text that does not read back as the same value: `to_json` refuses them."""

_EXCERPT: Final = 60


def to_json(value: Any, *, sort: bool = True) -> bytes:
    """Plain data as JSON: sorted keys, no spaces, ASCII escapes. Objects with ``to_dict`` and msgspec structs are asked.

    With ``sort=False`` keys stay in their order, for data that is read again by something to which order matters.
    Raises `UsageError` for what is not data (objects, bytes, NaN, infinities) and `LimitError` for data too deep or numbers
    too long to write.
    """
    try:
        return quick_json(value, sort=sort) or _dumps(value, sort=sort)
    except TypeError:  # keys of several types: make them text, as JSON does
        return _guarded(_text_keys(value), sort=sort)
    except (ValueError, RecursionError):
        return _guarded(value, sort=sort)


def _dumps(value: Any, *, sort: bool) -> bytes:
    return (_SORTED if sort else _AS_IT_IS).encode(value).encode()


def _guarded(value: Any, *, sort: bool) -> bytes:
    try:
        return _dumps(value, sort=sort)
    except RecursionError as error:
        raise LimitError("the nesting of the data", limit="MAX_DEPTH", allowed=MAX_DEPTH) from error
    except (TypeError, ValueError) as error:
        if "digits" in str(error):
            raise LimitError("a number's digits", limit="MAX_DIGITS", allowed=MAX_DIGITS) from error
        raise UsageError(
            f"cannot be written as JSON: {error}", hint="data holds no NaN, no infinity, no cycle"
        ) from error


def plain_data(value: Any) -> Any:
    """One object as data for a JSON writer: its ``to_dict()``, or a struct's fields. Raises `UsageError` for any other."""
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value, enc_hook=plain_data, builtin_types=NOT_DATA)
    if hasattr(value, "to_dict"):
        return value.to_dict()
    raise UsageError(
        f"{kind_of(value)} is not data and cannot be part of a request",
        hint="pass objects as ports; requests hold data only",
    )


def _encoder(*, sort: bool) -> json.JSONEncoder:
    return json.JSONEncoder(
        sort_keys=sort, separators=(",", ":"), ensure_ascii=True, allow_nan=False, default=plain_data
    )


_SORTED: Final = _encoder(sort=True)
_AS_IT_IS: Final = _encoder(sort=False)


def _text_keys(value: Any, depth: int = 0) -> Any:
    if depth > 2 * MAX_DEPTH:
        raise LimitError("the nesting of the data", limit="MAX_DEPTH", allowed=MAX_DEPTH)
    if isinstance(value, dict):
        return {key_text(key): _text_keys(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_text_keys(item, depth + 1) for item in value]
    return value


def parse_json(text: str | bytes, *, asset: str, strict: bool = False) -> Any:
    """JSON as data. Raises `FormatError` with line, column and the line itself, and `LimitError` for data too deep.

    ``NaN`` and ``Infinity``, which are not JSON, are refused; with ``strict`` also what readers of JSON understand differently:
    a key that an object has twice, and bytes that are not UTF-8.
    """
    try:
        data = _strictly(text) if strict else _loads(text)
        _check_tree(data)
    except json.JSONDecodeError as raised:
        error = json_error(raised)
        raise FormatError(f"not JSON: {error.msg}", where=_where(error, asset)) from raised
    except RecursionError as error:
        raise LimitError("the nesting of the JSON", limit="MAX_DEPTH", allowed=MAX_DEPTH, where=Where(asset)) from error
    except InnkeeperError as error:
        raise error.at(asset=asset) from None
    except ValueError as error:
        raise FormatError(f"not JSON: {error}", where=Where(asset)) from error
    return data


def _loads(text: str | bytes) -> Any:
    """Parse with msgspec, which is fast; what it refuses with `json`, which reports positions and is more tolerant."""
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return json.loads(text, parse_constant=_refuse)


def _strictly(text: str | bytes) -> Any:
    whole = text if isinstance(text, str) else text.decode()
    return json.loads(whole, parse_constant=_refuse, object_pairs_hook=_once_each)


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    whole: dict[str, Any] = {}
    for name, value in pairs:
        if name in whole:
            raise FormatError(f"the key {name!r:.60} stands twice in one object", hint="leave one of them out")
        whole[name] = value
    return whole


def json_error(error: json.JSONDecodeError) -> json.JSONDecodeError:
    """The error with the position that Pythons before 3.13 report: those after it point at a trailing comma itself.

    >>> json_error(json.JSONDecodeError("Illegal trailing comma before end of array", "[1, ]", 2))
    JSONDecodeError('Expecting value: line 1 column 5 (char 4)')
    """
    if not error.msg.startswith("Illegal trailing comma"):
        return error
    behind = error.doc[error.pos + 1 :]
    bracket = len(error.doc) - len(behind.lstrip(" \t\n\r"))
    expected = "value" if error.msg.endswith("array") else "property name enclosed in double quotes"
    return json.JSONDecodeError(f"Expecting {expected}", error.doc, bracket)


def _refuse(constant: str) -> NoReturn:
    raise FormatError(f"not JSON: {constant} is not a JSON value", hint="use null or a number")


def _where(error: json.JSONDecodeError, asset: str) -> Where:
    line = error.doc.split("\n", error.lineno)[error.lineno - 1]
    cut = max(error.colno - 1 - _EXCERPT // 2, 0)
    return Where(asset, line=error.lineno, column=error.colno, excerpt=line[cut : cut + _EXCERPT], cut=cut)


T = TypeVar("T")


class Registry(Mapping[str, T]):
    """Named values by name; later ones replace earlier ones. ``WHAT`` is what errors call one of them."""

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
        return len(self._by_name)
