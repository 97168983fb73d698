"""Adapter and Reading: what protocols have in common."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pytest

from innkeeper.inference.adapters.adapter import Adapter, Reading
from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.inference.response.events import Finished, ModelEvent, Started, TextDelta
from innkeeper.prompt import FrozenDict, UnknownNameError


class _Plain(Reading):
    def chunk(self, data: Mapping[str, Any], kind: str) -> Iterator[ModelEvent]:
        yield TextDelta(text=data["text"])

    def whole(self, body: Mapping[str, Any]) -> Iterator[ModelEvent]:
        yield from self.chunk(body, "message")
        yield Finished(reason="stop")


class Plain(Adapter):
    """A protocol of a guest."""

    name: ClassVar[str] = "plain"
    dialect: ClassVar[str] = "text"
    base_url: ClassVar[str] = "http://localhost"

    def path(self, model: str, *, stream: bool) -> str:
        """``/say``."""
        return "/say"

    def reading(self) -> Reading:
        """Reads one answer."""
        return _Plain()


def test_a_guest() -> None:
    """An adapter of one's own is registered beside the built-in ones, which stay as they are."""
    mine = ADAPTERS.with_(Plain())
    assert mine["plain"].headers("k") == {"authorization": "Bearer k"}
    assert mine["plain"].headers("") == {}
    assert mine["plain"].body({"a": 1}, stream=True) == {"a": 1, "stream": True}
    assert mine["plain"].body({"a": 1}, stream=False) == {"a": 1}
    assert "plain" not in ADAPTERS
    with pytest.raises(UnknownNameError, match="unknown adapter 'openai-chatt'"):
        _ = ADAPTERS["openai-chatt"]


def test_started_says_only_what_is_new() -> None:
    """What a provider repeats with every piece is told once; what changes is told again."""
    reading = _Plain()
    facts = FrozenDict({"a": 1})
    assert list(reading.started("i", "m", facts)) == [Started(id="i", model="m", facts=facts)]
    assert list(reading.started("i", "m", facts)) == []
    assert list(reading.started(None, None)) == []
    assert list(reading.started(facts=FrozenDict({"a": 1, "b": 2}))) == [
        Started(id="i", model="m", facts=FrozenDict({"b": 2}))
    ]
    assert list(_Plain().started("i", "m")) == [Started(id="i", model="m")]  # no state is shared


def test_facts_are_looked_at_once() -> None:
    """Fields that say what they said before are no news; each kind of object is remembered by itself."""
    reading, top, inner = _Plain(), frozenset({"id"}), frozenset({"text"})
    assert reading.facts({"id": 1, "a": [1], "b": None, "c": ""}, top) == {"a": (1,)}
    assert reading.facts({"text": "x", "a": [1]}, inner) == {"a": (1,)}
    assert reading.facts({"id": 2, "a": [1]}, top) == {"a": (1,)}  # without the empty field it is another object
    assert reading.facts({"id": 3, "a": [1]}, top) == {}
    assert reading.facts({"id": 3}, top) == {}
    assert reading.facts({"id": 3, "a": 2}, top) == {"a": 2}


@pytest.mark.parametrize(
    ("data", "kind", "failure"),
    [
        ({"error": "x"}, "message", {"error": "x"}),
        ({"message": "x"}, "error", {"error": {"message": "x"}}),
        ({"error": None}, "message", None),
        ({"text": "x"}, "message", None),
    ],
)
def test_failure(data: dict[str, Any], kind: str, failure: Any) -> None:
    """An error is data with one, or an event of that type."""
    assert _Plain().failure(data, kind) == failure
