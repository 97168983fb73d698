"""Variables update: an object of overrides applied to the variables of a chat, and paths removed from the result.

SmartTavern's ``variables_update``. Lists meet by a strategy: ``replace`` (the default), ``concat``, ``prepend``, ``union``
(equal items once) or ``union_by_key`` (items with the same value at ``array_key`` once).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from innkeeper.content.json.values import copied, text_of
from innkeeper.prompt.errors import LimitError
from innkeeper.taverns.smart.compat import SmartOptions

if TYPE_CHECKING:
    Merge = Callable[[list[Any], list[Any], str | None], list[Any]]


_SHALLOW: Final = frozenset({"shallow_merge", "shallow"})
_ARRAYS_OF: Final = {"append": "concat", "concat": "concat", "union": "union", "union_all": "union"}
"""Operations that are a deep merge with a strategy of their own."""


def apply_operation(
    base_document: Any,
    overrides: Any,
    operation: Any = "merge",
    options: Mapping[str, Any] | None = None,
    *,
    smart: SmartOptions | None = None,
) -> dict[str, Any]:
    """A new document: ``base_document`` with ``overrides`` applied; neither argument is changed or shared with the result.

    Args:
        base_document: the variables; what is not an object counts as an empty one.
        overrides: the changes, read likewise; ``replace`` keeps another value as ``{"value": …}``.
        operation: ``replace``, ``shallow_merge``, ``append``, ``union`` or, under any other name, a deep merge.
        options: ``array_strategy``, ``array_key`` (a path in an item) and ``remove_paths``, a list of paths.
        smart: whether ``array_key`` counts (`Compat.lossy_merges`: in the original it never does).

    Raises `LimitError` for data that is too deep.
    """
    settings = options if isinstance(options, Mapping) else {}
    base = copied(base_document if isinstance(base_document, Mapping) else {}, "base_document")
    changes = copied(overrides, "overrides")
    result = _applied(
        base, changes, operation.lower() if isinstance(operation, str) else "merge", settings, smart or SmartOptions()
    )
    for path in settings["remove_paths"] if isinstance(settings.get("remove_paths"), list) else ():
        if isinstance(path, (str, int)):
            _remove(result, text_of(path, "options.remove_paths"))
    return result


def _applied(
    base: dict[str, Any], changes: Any, operation: str, options: Mapping[str, Any], smart: SmartOptions
) -> dict[str, Any]:
    if operation == "replace":
        return changes if isinstance(changes, dict) else {"value": changes} if changes else {}
    if not isinstance(changes, dict):
        return base
    if operation in _SHALLOW:
        return base | changes
    named = options.get("array_strategy")
    strategy = _ARRAYS_OF.get(operation, named.lower() if isinstance(named, str) else "replace")
    merge = ARRAY_STRATEGIES.get(strategy, _replaced)
    key = options.get("array_key")
    merged: dict[str, Any] = _deep(base, changes, merge, None if smart.compat.lossy_merges else key)
    return merged


def _deep(base: Any, changes: Any, merge: Merge, key: Any) -> Any:
    """Both arguments are ours and of limited depth."""
    if isinstance(base, dict) and isinstance(changes, dict):
        for name, value in changes.items():
            base[name] = _deep(base[name], value, merge, key) if name in base else value
        return base
    if isinstance(base, list) and isinstance(changes, list):
        return merge(base, changes, key if isinstance(key, str) and key else None)
    return changes


# --- lists -------------------------------------------------------------------------------------------------------------


def _replaced(_base: list[Any], changes: list[Any], _key: str | None) -> list[Any]:
    return changes


def _union_by_key(base: list[Any], changes: list[Any], key: str | None) -> list[Any]:
    def at_key(item: Any) -> str:
        value = _read(item, key) if key and isinstance(item, dict) else None
        return _identity(item if value is None else value)

    return list(_once(base + changes, at_key).values())


def _once(items: Iterable[Any], identity: Callable[[Any], str]) -> dict[str, Any]:
    updates: dict[str, Any] = {}
    for item in items:
        updates.setdefault(identity(item), item)
    return updates


def _identity(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    except (TypeError, ValueError):
        return text_of(value, "an item")


ARRAY_STRATEGIES: Final[Mapping[str, Merge]] = {
    "replace": _replaced,
    "concat": lambda base, changes, _key: base + changes,
    "prepend": lambda base, changes, _key: changes + base,
    "union": lambda base, changes, _key: list(_once(base + changes, _identity).values()),
    "union_by_key": _union_by_key,
}
"""How two lists are merged, by name: ``(the present list, the list of the changes, the path of the key)``."""


# --- paths -------------------------------------------------------------------------------------------------------------


def _tokens(path: str) -> tuple[str | int, ...]:
    from innkeeper.macros.smart.environment import parse_path

    try:
        return parse_path(path)
    except LimitError:
        return ()  # nothing is there


def _step(value: Any, token: str | int) -> bool:
    if isinstance(token, int):
        return isinstance(value, list) and 0 <= token < len(value)
    return isinstance(value, dict) and token in value


def _read(value: Any, path: str) -> Any:
    for token in _tokens(path):
        if not _step(value, token):
            return None
        value = value[token]
    return value


def _remove(document: dict[str, Any], path: str) -> None:
    tokens = _tokens(path)
    holder: Any = document
    for token in tokens[:-1]:
        if not _step(holder, token):
            return
        holder = holder[token]
    if tokens and _step(holder, tokens[-1]):
        del holder[tokens[-1]]
