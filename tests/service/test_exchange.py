"""Requests and replies as values: targets and headers as they are written, bodies as every door gives them."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.service.errors import KeyMissingError, OverloadError
from innkeeper.service.exchange import HttpReply, Request, UnwritableError, encode, error_reply, internal_error

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_target() -> None:
    """A path is decoded, its query is not, and names of headers are in lower case."""
    request = Request.of("GET", "/api/a%20b?x=%20", {"X-Api-Key": "K"}, b"b")
    assert request == Request("GET", "/api/a b", "x=%20", {"x-api-key": "K"}, b"b")


@given(JSON)
def test_data_is_written(value: Any) -> None:
    """Any data comes out as UTF-8 that reads back as it was; a lone surrogate is the replacement character."""
    text = encode(value).decode()
    expected = json.loads(json.dumps(value).encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    assert json.loads(text) == expected


def test_what_is_not_data_is_an_empty_object() -> None:
    """As the original's framework has it."""
    assert encode({"f": test_target}) == b'{"f":{}}'


def _cycle() -> list[Any]:
    cycle: list[Any] = []
    cycle.append(cycle)
    return cycle


@pytest.mark.parametrize("value", [math.nan, math.inf, _cycle()], ids=["nan", "infinity", "cycle"])
def test_unwritable(value: Any) -> None:
    """What JSON has no form for is an error, not a broken body."""
    with pytest.raises(UnwritableError):
        encode(value)


def test_errors_have_their_status() -> None:
    """An error's own status, the time to come back, and the way to bring a key."""
    full = error_reply(OverloadError("calls", limit="MAX_CALLS", allowed=1, retry_after=3))
    assert (full.status, full.headers["retry-after"]) == (503, "3")
    assert json.loads(full.body)["error_code"] == "OVERLOAD"
    missing = error_reply(KeyMissingError("no key"), code="NO_KEY")
    assert (missing.status, missing.headers) == (401, {"www-authenticate": "Bearer"})
    assert json.loads(missing.body)["error_code"] == "NO_KEY"


def test_a_defect_names_its_kind_alone() -> None:
    """What went wrong inside is named, never quoted."""
    reply = internal_error("ValueError")
    assert isinstance(reply, HttpReply)
    assert (reply.status, json.loads(reply.body)["detail"]) == (500, "ValueError")
