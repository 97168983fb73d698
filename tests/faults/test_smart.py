"""Bad input to the smart tavern: a typed error or a plan, whatever stands wherever."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from innkeeper.prompt import BuildRequest
from innkeeper.prompt.data import to_json
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.taverns import smart

RULE: Final = {
    "id": "r",
    "enabled": True,
    "placement": "after_macro",
    "views": ["assistant_view"],
    "find_regex": "a",
    "replace_regex": "b",
}
REQUEST: Final[dict[str, Any]] = {
    "tavern": "smart",
    "preset": {
        "api_config": {
            "enabled": True,
            "max_context": 4000,
            "max_tokens": 100,
            "enabled_fields": ["max_context", "max_tokens"],
        },
        "prompts": [
            {
                "identifier": name,
                "enabled": True,
                "position": "relative",
                "role": "system",
                "order": 1,
                "content": "a {{user}}",
            }
            for name in ("main", "charBefore", "charDescription", "personaDescription", "chatHistory", "charAfter")
        ]
        + [
            {
                "identifier": "i",
                "position": "in-chat",
                "depth": 1,
                "order": 2,
                "content": "b",
                "mode": "conditional",
                "condition": "true",
            }
        ],
        "regex_rules": [{**RULE, "targets": ["history"], "mode": "conditional", "condition": "true"}],
    },
    "lorebooks": [
        {
            "entries": [
                {
                    "id": 1,
                    "position": "before_char",
                    "enabled": True,
                    "mode": "conditional",
                    "keys": ["yo"],
                    "content": "c",
                }
            ]
        },
        [
            {
                "id": 2,
                "position": "user",
                "depth": 0,
                "order": 1,
                "mode": "conditional",
                "condition": "<<keywords:yo>>",
                "content": "d",
            }
        ],
        {"entries": {"0": {"uid": 0, "key": ["yo"], "content": "e", "position": 4, "depth": 1, "role": 1}}},
    ],
    "character": {
        "name": "Wenna",
        "description": "f",
        "message": ["g"],
        "world_book": {"entries": [{"id": 3, "content": "h"}]},
        "regex_rules": [],
    },
    "user": {"name": "n", "persona_name": "Rin", "description": "i"},
    "history": [{"role": "user", "content": "yo {{setvar:a.b[1]:2}}"}, {"role": "thinking", "content": "j"}],
    "message": "{{python:1+1}}",
    "greeting": 0,
    "variables": {"local": {"a": {"b": [1]}}, "global": {"c": "1"}},
    "macro_vars": {"d": "1"},
    "settings": {
        "regex_rules": [RULE],
        "policy": {"undefined_get": "error", "error_token": "[{name}]"},
        "python": True,
        "compat": {"order_zero": "zero", "macros": {"rescan_values": True}},
    },
    "profile": "smarttavern",
    "now": "2026-01-15T12:34:56Z",
}


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in JSON data."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from paths(item, (*path, key))


WRONG: list[Any] = [None, True, False, 0, -1, 10**9, 10**30, 10**5000, 1.5, float("inf"), float("nan"), "", "x"]
WRONG += [
    "\ud800",
    "\x00",
    "{{char}}",
    "{{python:9**9**9}}",
    "<<keywords:" * 50,
    "9" * 5000,
    [],
    [1],
    [None],
    [[]],
    {},
    {"a": None},
]
WRONG += [{"\ud800": 1}, [{"identifier": None}], {"entries": 1}, {"entries": [1]}, "a[100000000]", {1: 2}, (1, 2)]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    places=st.lists(st.sampled_from(list(paths(REQUEST))), min_size=1, max_size=2),
    values=st.lists(st.sampled_from(WRONG), min_size=2),
)
def test_wrong_types(places: list[tuple[Any, ...]], values: list[Any]) -> None:
    """Any value in any place of a request gives a plan that can be written, or an error of the tree that no bug is behind."""
    raw = copy.deepcopy(REQUEST)
    for path, value in zip(places, values, strict=False):
        place: Any = raw
        for key in path[:-1]:
            place = place[key] if isinstance(place, (dict, list)) and _has(place, key) else {}
        if isinstance(place, (dict, list)) and _has(place, path[-1]):
            place[path[-1]] = value
    try:
        plan = smart.build(BuildRequest.of(raw))
        assert to_json(plan.to_dict())  # which refuses a caller's numbers that JSON cannot write
        assert len({block.id for block in plan.blocks}) == len(plan.blocks)
    except InnkeeperError as error:
        bug = error.__cause__ if isinstance(error.__cause__, _BUGS) else None
    else:
        bug = None
    assert bug is None


_BUGS: Final = (AttributeError, KeyError, IndexError, TypeError, RecursionError, UnicodeError)


def _has(place: Any, key: Any) -> bool:
    return key in place if isinstance(place, dict) else isinstance(key, int) and key < len(place)


def test_the_request_itself_builds() -> None:
    """What the faults are put into is right."""
    texts = [message.content for message in smart.build(BuildRequest.of(REQUEST)).messages]
    assert texts == ["b Rin", "c", "f", "i", "yo ", "j", "b", "e", "2", "d", "h"]


@pytest.mark.parametrize("size", [2_000, 20_000], ids="{} levels".format)
def test_nesting(size: int) -> None:
    """Data nested very deep is an error that names its limit, in books, presets and settings."""
    deep: Any = []
    for _ in range(size):
        deep = [deep]
    nested = {"x": deep, "entries": deep, "prompts": deep}
    for field, value in (("lorebooks", [nested]), ("preset", nested), ("character", nested), ("settings", nested)):
        with pytest.raises(InnkeeperError):
            smart.build({"message": "a", "now": REQUEST["now"], field: value})
