"""FrozenDict: a dict that refuses to change, and the walks that freeze, thaw and merge plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import chain
from typing import Any, Final, NoReturn

from innkeeper.prompt.errors import FormatError, LimitError
from innkeeper.prompt.text import scalar_text

__all__ = ["EMPTY", "MAX_DEPTH", "FrozenDict", "check_depth", "deep_merge", "freeze", "key_text", "thaw"]

MAX_DEPTH: Final = 64
"""Objects and lists inside one another, in any data that comes from outside (`LimitError`)."""

_FROZEN_DEPTH: Final = 2 * MAX_DEPTH
"""Frozen values may be put into one another, so what is already frozen may be deeper than what comes from outside."""


class FrozenDict(dict[str, Any]):
    """A dict whose content is set once. It encodes to JSON like any dict; every mutator raises `TypeError`."""

    __slots__ = ()

    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        msg = "a FrozenDict cannot be changed; build a new one"
        raise TypeError(msg)

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


def freeze(value: Any) -> Any:
    """Plain data with mappings as `FrozenDict` and lists as tuples, at every depth; other objects as they are.

    Sets become sorted tuples, keys text as in JSON, lone surrogates U+FFFD. Raises `LimitError` beyond `MAX_DEPTH` (data
    that contains itself included) and `FormatError` for numbers that JSON cannot write.
    """
    return _freeze(value, 0)


def _freeze(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return scalar_text(value) if type(value) is str else value
    if isinstance(value, float) and not math.isfinite(value):
        raise FormatError(f"{value} is not a number that JSON can write", hint="leave the value out, or use null")
    if type(value) is FrozenDict:
        return value
    if isinstance(value, Mapping) and (isinstance(value, dict) or not hasattr(value, "to_dict")):
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


def _deeper(depth: int, allowed: int = MAX_DEPTH) -> int:
    if depth >= allowed:
        raise _too_deep("the data")
    return depth + 1


def _too_deep(what: str) -> LimitError:
    return LimitError(f"the nesting of {what}", limit="MAX_DEPTH", allowed=MAX_DEPTH)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and not hasattr(value, "_fields")
