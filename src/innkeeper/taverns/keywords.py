"""The keywords of a build: from what a caller writes to a `BuildRequest` and `Ports`. The same for every tavern.

Every field of the request and of the ports is a keyword; the names that TavernKit uses are understood as well.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from innkeeper.prompt import BuildRequest, Context, FrozenDict, Note, NoteKind, Ports, UsageError

__all__ = ["KEYWORDS", "BuildArguments", "canonical_name", "read_keywords"]

_FIELDS: Final = frozenset(BuildRequest.__struct_fields__)
_PORTS: Final = frozenset(field.name for field in dataclasses.fields(Ports))

_ALIASES: Final[Mapping[str, str]] = {
    "user_message": "message",
    "lore_book": "lorebooks",
    "lore_books": "lorebooks",
    "generation_type": "generation",
    "llm_options": "options",
    "greeting_index": "greeting",
    "force_world_info": "force_lore",
    "token_estimator": "token_counter",
    "variables_store": "variables",
    "injection_registry": "injections",
    "hook_registry": "hooks",
}

_REPLACED: Final[Mapping[str, str]] = {
    "expander": "macros are expanded by the tavern itself",
    "lore_engine": "lore is activated by the tavern itself; its settings are in the request",
    "macro_registry": "macros of your own are given as macro_vars",
}
"""Keywords of TavernKit for objects that Innkeeper's taverns do without, with the reason."""

_MARKS: Final[Mapping[str, str]] = {"variables": "set", "injections": "active"}
"""Keywords that are a field or a port: the method that tells the port from data."""

KEYWORDS: Final = _FIELDS | _PORTS | frozenset(_ALIASES) | frozenset(_REPLACED) | {"configs"}
"""Every keyword that a build accepts."""


class BuildArguments(NamedTuple):
    """What a caller's keywords come to. ``notes`` name those without effect."""

    request: BuildRequest
    ports: Ports
    notes: tuple[Note, ...]


def canonical_name(keyword: str) -> str:
    """The keyword under Innkeeper's own name. Raises `UsageError` with the nearest one for one that does not exist."""
    if keyword not in KEYWORDS:
        near = difflib.get_close_matches(keyword, KEYWORDS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"inputs: {', '.join(sorted(KEYWORDS))}"
        raise UsageError(f"unknown input {keyword!r}", hint=hint)
    return _ALIASES.get(keyword, keyword)


def read_keywords(request: Any, ports: Ports | None, keywords: Mapping[str, Any]) -> BuildArguments:
    """The request (or a mapping of its fields, or nothing) and ports with the keywords over them.

    Raises:
        UsageError: a keyword is unknown, or given twice under two names.
        FormatError: a value is not what its field holds.
    """
    named = _named(keywords)
    notes = tuple(_replaced(name) for name in named if name in _REPLACED and named[name] is not None)
    configs = named.pop("configs", None)
    parts: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for name, value in named.items():
        if name not in _REPLACED:
            parts[_is_port(name, value)][name] = value
    fields, objects = parts
    base = BuildRequest() if request is None else BuildRequest.of(request)
    read = base.with_(**fields) if fields else base
    if configs is not None:
        read = read.with_(context=Context.build(read.context or {}).with_configs(configs))
    return BuildArguments(read, dataclasses.replace(ports or Ports(), **_ports(objects)), notes)


def _named(keywords: Mapping[str, Any]) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for keyword, value in keywords.items():
        name = canonical_name(keyword)
        if name in named:
            raise UsageError(f"the input {name!r} is given twice", hint=f"{keyword!r} is another name for it")
        named[name] = value
    return named


def _is_port(name: str, value: Any) -> bool:
    if name in _MARKS:
        return hasattr(value, _MARKS[name])
    return name in _PORTS


def _ports(objects: Mapping[str, Any]) -> dict[str, Any]:
    if objects.get("token_counter") is None:
        return dict(objects)
    from innkeeper.tokens.estimators import counter_of

    return {**objects, "token_counter": counter_of(objects["token_counter"])}


def _replaced(name: str) -> Note:
    return Note(NoteKind.IGNORED, f"{name} has no effect: {_REPLACED[name]}", data=FrozenDict({"input": name}))
