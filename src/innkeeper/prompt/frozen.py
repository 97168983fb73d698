"""FrozenDict: a dict that refuses to change, and the walks that freeze, thaw and merge plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["EMPTY", "FrozenDict", "deep_merge", "freeze", "thaw"]


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
        """Hash by identity of the items; raises `TypeError` when a value cannot be hashed."""
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
    """Plain data with dicts as `FrozenDict` and lists as tuples, at every depth; other objects as they are."""
    if type(value) is FrozenDict:
        return value
    if isinstance(value, dict):
        return FrozenDict({key: freeze(item) for key, item in value.items()})
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return tuple(freeze(item) for item in value)
    return value


def thaw(value: Any) -> Any:
    """The reverse of `freeze`: plain dicts and lists that a caller may change."""
    if isinstance(value, dict):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return [thaw(item) for item in value]
    return value


def deep_merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """``over`` on top of ``base``: dicts merge at every depth, anything else is replaced. Neither is changed.

    >>> deep_merge({"a": {"x": 1, "y": 2}, "l": [1]}, {"a": {"y": 3}, "l": [2, 3]})
    {'a': {'x': 1, 'y': 3}, 'l': [2, 3]}
    """
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = deep_merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged
