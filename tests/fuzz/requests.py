"""Whole requests with sizes: what anyone may send to have a prompt built, grown in places that the fuzzer chooses.

An input is a request as JSON, and ``sizes`` beside its fields: where (a JSON pointer) a text or a list is to be repeated, and how
often. So a short input becomes a request of megabytes, and a change to it another one.
"""

import json
import random
import time
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from innkeeper import content
from innkeeper.prompt import BuildRequest
from innkeeper.prompt.errors import InnkeeperError, PipelineError, UsageError
from innkeeper.taverns import TAVERNS
from tests.limits.isolated import MEBIBYTES, SECONDS, apart

__all__ = ["build_request", "grow_request", "request_seeds"]

SIZES: Final = "sizes"
LARGEST: Final = 1_500_000
"""Characters of JSON that a request grows to at most."""

ENTRIES: Final = [
    {
        "uid": 1,
        "key": ["inn", "/a(le|x)*b/i"],
        "keysecondary": ["x"],
        "selectiveLogic": 2,
        "content": "{{user}} [[ale]]",
    },
    {
        "uid": 2,
        "key": ["ale"],
        "content": "inn {{random::a::b}}",
        "group": "g",
        "delayUntilRecursion": 2,
        "position": 4,
    },
]
PROMPTS: Final = [
    {"identifier": "main", "role": "system", "content": "{{setvar::a::1}}{{getvar::a}} {{#if a}}b{{/if}}"},
    {"identifier": "worldInfoBefore", "marker": True},
    {"identifier": "chatHistory", "marker": True},
]
SCRIPT: Final = {"scriptName": "s", "findRegex": "/(a+)+b|x/gi", "replaceString": "$1{{user}}", "placement": [1, 2]}
HISTORY: Final = [{"role": "user", "content": "the inn"}, {"role": "assistant", "content": "ale, aaaaaaaac"}]
REQUESTS: Final[tuple[dict[str, Any], ...]] = (
    {
        "tavern": "silly",
        "character": {
            "name": "Mira",
            "description": "{{char}} of {{scenario}}",
            "mes_example": "<START>\n{{user}}: Hi",
        },
        "lorebooks": [{"entries": ENTRIES}],
        "preset": {"prompts": PROMPTS, "prompt_order": [{"character_id": 100001, "order": [{"identifier": "main"}]}]},
        "settings": {"regex": [SCRIPT]},
        "history": HISTORY,
        "message": "{{roll:2d6}} inn",
        "context_window": 4000,
    },
    {
        "tavern": "smart",
        "message": "{{upper:{{a}}}} {{python: [x for x in range(9)]}}",
        "history": HISTORY,
        "preset": {
            "name": "P",
            "prompts": [{"identifier": "main", "enabled": True, "role": "system", "content": "{{if:1:a:b}}"}],
        },
    },
    {
        "tavern": "vibe",
        "message": "{{char}}",
        "history": HISTORY,
        "meta": {"system_template": "{% for a in (1..9) %}{{ a | append: a }}{% endfor %}"},
    },
)
SEEDS_SIZES: Final[tuple[dict[str, int], ...]] = (
    {},
    {"/history": 300},
    {"/message": 5000, "/history/1/content": 2000},
    {"/lorebooks/0/entries": 200},
)


def request_seeds() -> list[bytes]:
    """Requests of each tavern, plain and grown."""
    return [json.dumps({**request, SIZES: sizes}).encode() for request in REQUESTS for sizes in SEEDS_SIZES]


def grow_request(data: bytes, source: random.Random) -> bytes:
    """The input with one more size, or another; not JSON, the bytes as they are."""
    try:
        tree = json.loads(data)
        pointers = [pointer for pointer, _ in _texts_and_lists(tree)]
        sizes = tree.setdefault(SIZES, {})
        sizes[source.choice(pointers)] = source.choice((2, 30, 500, 10_000, 300_000))
        while len(sizes) > 3:
            del sizes[source.choice(list(sizes))]
    except (ValueError, AttributeError, TypeError, IndexError, RecursionError):
        return data
    return json.dumps(tree).encode()


def build_request(data: bytes) -> object:
    """Build the prompt of an input, within the time and memory that any request may take."""
    body = content.decode_json(data)
    if not isinstance(body, dict):
        raise UsageError("a request is an object")
    grown = json.dumps(_grown(body)).encode()
    before = time.process_time()
    try:
        return _built(grown)
    finally:
        if time.process_time() - before > SECONDS:
            outcome = apart(partial(_result, grown))  # again by itself, where nothing else is charged to it
            if outcome.seconds > SECONDS or outcome.mebibytes > MEBIBYTES or not outcome.typed:
                raise AssertionError(f"a request of {len(grown):,} bytes: {outcome}")


def _built(body: bytes) -> object:
    request = BuildRequest.from_json(body)
    try:
        return TAVERNS[request.tavern].build(request).to_messages()
    except PipelineError as error:
        if isinstance(error.__cause__, (InnkeeperError, type(None))):
            raise
        raise error.__cause__ from error


def _result(body: bytes) -> str:
    return type(_built(body)).__name__


def _grown(body: dict[str, Any]) -> dict[str, Any]:
    sizes = body.pop(SIZES, None)
    inner_first = sorted(sizes.items(), key=lambda size: -size[0].count("/")) if isinstance(sizes, dict) else ()
    for pointer, times in inner_first:
        spot = next((spot for found, spot in _texts_and_lists(body) if found == pointer), None)
        if spot is None or not isinstance(times, int):
            continue
        holder, key = spot
        one = max(1, len(json.dumps(holder[key], default=str)))
        holder[key] = holder[key] * max(0, min(times, LARGEST // one))
    return body


def _texts_and_lists(node: Any, pointer: str = "") -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Each text and list below, by its pointer: what holds it, and under which key."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node[:50]):
        if isinstance(value, (str, list)):
            yield f"{pointer}/{key}", (node, key)
        if isinstance(value, (dict, list)) and pointer.count("/") < 8 and key != SIZES:
            yield from _texts_and_lists(value, f"{pointer}/{key}")
