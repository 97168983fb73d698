"""Errors of the service: whatever a body holds, they are plain English, without Python and the operator's settings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.requests.chat import read_chat, read_completion
from innkeeper.inference.requests.messages import read_messages
from innkeeper.inference.requests.responses import read_responses
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.service.gateway.operations import OPERATIONS
from innkeeper.service.operations.paths import JOBS, SCENES, STORED, TASKS, WORKERS
from tests.service.gateway.calls import gateway, post

PYTHON: Final = re.compile(
    r"<class|object at 0x|\w+Error\b|Traceback|NoneType|\bNone\b|\bnot (?:a )?(?:int|str|dict|float|bool|tuple|bytes)\b"
)
PLURALS: Final = re.compile(r"\b1 (?:files|entries|messages|tokens|characters|passes|models|fields)\b")
SETTINGS: Final = re.compile(r"INNKEEPER_|--[a-z]+-[a-z]+|\bbase_url\b|\bapi_prefix\b")
VALUES: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.sampled_from(["", "x", "text"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "name", "x"]), inner, max_size=2)
    ),
    max_leaves=4,
)
"""Values of every kind that JSON has."""

Read = Callable[[Mapping[str, Any]], Any]
MODELS: Final[Mapping[str, tuple[Read, dict[str, Any]]]] = {
    "chat": (
        read_chat,
        {"model": "m", "messages": [], "tools": [], "stop": "", "n": 1, "response_format": {}, "user": ""},
    ),
    "completion": (
        read_completion,
        {"model": "m", "prompt": "", "max_tokens": 1, "stream": True, "stream_options": {}},
    ),
    "messages": (
        read_messages,
        {"model": "m", "messages": [], "system": "", "tools": [], "tool_choice": {}, "metadata": {}},
    ),
    "responses": (read_responses, {"model": "m", "input": [], "tools": [], "text": {}, "reasoning": {}, "store": True}),
}
FIELDS: Final = {
    path.operation.name: path.operation for path in (*TASKS, *JOBS, *WORKERS, *SCENES, *STORED) if not path.signed
}


def texts(value: Any) -> Iterator[str]:
    """Return all texts in a reply."""
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from texts(part)


def check(said: Any) -> None:
    """Look at all that an error says."""
    for text in texts(said):
        for pattern in (PYTHON, PLURALS, SETTINGS):
            assert not pattern.search(text), text


def refused(read: Read, body: Mapping[str, Any]) -> None:
    """Read a body, and look at the error if there is one; nothing but our own errors may come."""
    try:
        read(body)
    except InnkeeperError as error:
        check(error.to_dict())


@pytest.mark.parametrize("name", MODELS)
@given(draw=st.data())
def test_bodies_of_models(name: str, draw: st.DataObject) -> None:
    """A chat whose fields hold anything."""
    read, fields = MODELS[name]
    changed = draw.draw(st.dictionaries(st.sampled_from([*fields]), VALUES, min_size=1, max_size=2))
    said = draw.draw(st.lists(VALUES, max_size=2).map(lambda items: [{"role": "user", "content": items}]))
    refused(read, {**fields, "messages": said, "input": said, "prompt": "x", **changed})


@pytest.mark.parametrize("name", FIELDS)
@given(draw=st.data())
def test_bodies_of_operations(name: str, draw: st.DataObject) -> None:
    """An operation whose fields hold anything."""
    operation = FIELDS[name]
    names = [*operation.request.__struct_encode_fields__, "unknown"]
    refused(operation.read, draw.draw(st.dictionaries(st.sampled_from(names), VALUES, max_size=3)))


@pytest.mark.parametrize("name", [name for name, path in OPERATIONS.items() if path.effect == "pure"])
@given(draw=st.data())
def test_arguments_of_the_gateway(name: str, draw: st.DataObject) -> None:
    """An operation of the gateway whose arguments hold anything of the wrong type; the original's own words stay."""
    path = OPERATIONS[name]
    arguments = draw.draw(st.fixed_dictionaries(dict.fromkeys(path.required or path.types, VALUES)))
    status, reply = post(gateway(), name, json.dumps(arguments).encode())
    if status >= 400:
        check(reply)
