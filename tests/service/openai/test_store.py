"""Responses in memory: each its owner's, so many and so large."""

import pytest

from innkeeper.prompt import Message
from innkeeper.service.openai.store import MemoryResponses, ResponseMissingError, StoredResponse


def stored(text: str = "x") -> StoredResponse:
    """A response of a conversation."""
    return StoredResponse(response={"id": "r"}, conversation=(Message("user", text),))


def test_owners() -> None:
    """What one has stored, another does not find, and cannot delete."""
    store = MemoryResponses()
    store.put("a", "r", stored())
    assert store.get("a", "r") == stored()
    for forbidden in (store.get, store.delete):
        with pytest.raises(ResponseMissingError):
            forbidden("b", "r")
    store.delete("a", "r")
    with pytest.raises(ResponseMissingError):
        store.get("a", "r")


@pytest.mark.parametrize(
    ("store", "size"), [(MemoryResponses(most=2), 1), (MemoryResponses(volume=250), 100)], ids=["number", "bytes"]
)
def test_the_oldest_go_first(store: MemoryResponses, size: int) -> None:
    """Beyond the number or the bytes that are kept, what came first goes."""
    for name in ("1", "2", "3"):
        store.put("a", name, stored("x" * size))
    with pytest.raises(ResponseMissingError):
        store.get("a", "1")
    assert store.get("a", "3") == stored("x" * size)
