"""The worker's protocol: what does not fit is refused with its place, what is not said is absent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.requests.worker_protocol import (
    LegacyRequest,
    WorkerMessage,
    WorkerRequest,
    messages_sha256,
    read_request,
)
from innkeeper.prompt.errors import UsageError

HELLO = [{"role": "user", "content": "Hello"}]
_MESSAGES = st.lists(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["system", "user", "assistant"]),
            "content": st.text(st.characters(exclude_categories=["Cs"])),
        }
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({}, "body"),
        ({"messages": []}, "messages"),
        ({"messages": HELLO, "template": "x"}, "body"),
        ({"messages": HELLO, "preset": "x"}, "body"),
        ({"messages": HELLO, "sfw_mode": True}, "body"),
        ({"messages": HELLO, "content_tier": "sfw"}, "body"),
        ({"messages": HELLO, "system": "You are ..."}, "body"),
        ({"messages": [{"role": "user", "content": "a", "weight": 2}]}, "messages[0]"),
        ({"messages": [{"role": "narrator", "content": "a"}]}, "messages[0].role"),
        ({"messages": HELLO, "temperature": None}, "temperature"),
        ({"messages": HELLO, "temperature": -1}, "temperature"),
        ({"messages": HELLO, "top_p": 1.1}, "top_p"),
        ({"messages": HELLO, "max_tokens": 0}, "max_tokens"),
        ({"messages": HELLO, "deadline_ms": "1"}, "deadline_ms"),
        ([], "body"),
    ],
    ids=str,
)
def test_refused(body: Any, place: str) -> None:
    """A field that is unknown, or of another kind, is refused, and where it stands is said."""
    with pytest.raises(UsageError) as caught:
        read_request(json.dumps(body).encode())
    assert caught.value.where
    assert caught.value.where.path == place


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 100_000, b'{"messages":"\xff"}'])
def test_no_json(body: bytes) -> None:
    """What is no JSON is refused."""
    with pytest.raises(UsageError):
        read_request(body, legacy=True)


def test_nothing_is_added() -> None:
    """Samplers that are not given are absent, whatever a protocol before had for defaults; those that are stay as they are."""
    plain = read_request(json.dumps({"messages": HELLO}).encode())
    assert isinstance(plain, WorkerRequest)
    assert plain.sampling() == {}
    told = {"temperature": 0, "top_p": 0.9, "seed": 0, "stop": ["a"], "max_tokens": 1}
    request = read_request(json.dumps({"messages": HELLO, **told}).encode())
    assert isinstance(request, WorkerRequest)
    assert request.sampling() == told


def test_legacy() -> None:
    """The text completion of the video worker becomes one message, word for word."""
    body = {"inputs": "a  b\n", "parameters": {"max_new_tokens": 5, "do_sample": False, "return_full_text": False}}
    read = read_request(json.dumps(body).encode(), legacy=True)
    assert isinstance(read, LegacyRequest)
    request = read.request()
    assert request.messages == [WorkerMessage("user", "a  b\n")]
    assert request.sampling() == {"max_tokens": 5, "temperature": 0.0}
    with pytest.raises(UsageError):
        read_request(json.dumps(body).encode())
    with pytest.raises(UsageError):
        read_request(json.dumps({**body, "parameters": {"return_full_text": True}}).encode(), legacy=True)


@given(_MESSAGES)
def test_one_hash_on_both_sides(messages: list[dict[str, Any]]) -> None:
    """Sender and worker come to the same hash, however the JSON between them was written; another text has another."""
    read = read_request(json.dumps({"messages": messages}, indent=3).encode())
    assert isinstance(read, WorkerRequest)
    assert messages_sha256(read.messages) == messages_sha256(messages)
    assert messages_sha256(messages) == messages_sha256([dict(reversed(one.items())) for one in messages])
    changed = [*messages[:-1], {**messages[-1], "content": messages[-1]["content"] + " "}]
    assert messages_sha256(changed) != messages_sha256(messages)
