"""Fields of foreign JSON: each reader gives its own type for anything."""

from typing import Any

import pytest

from innkeeper.inference.adapters.fields import arguments_text, count, mapping, mappings, others, text, total

ODD: list[Any] = [None, True, -1, 1.5, "x", [1], {"a": 1}, [{"a": 1}, 2]]


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_types(value: Any) -> None:
    """Whatever the value, the type is right."""
    assert isinstance(text(value), str)
    assert count(value) is None
    assert isinstance(mapping(value), dict)
    assert all(isinstance(one, dict) for one in mappings(value))
    assert isinstance(arguments_text(value), str)


def test_values() -> None:
    """What fits is kept."""
    assert (count(0), count(7), text("x"), mapping({"a": 1}), mappings([{"a": 1}, 2])) == (
        0,
        7,
        "x",
        {"a": 1},
        [{"a": 1}],
    )
    assert [arguments_text(value) for value in ('{"a":1}', {"a": "é"}, None)] == ['{"a":1}', '{"a": "é"}', ""]


def test_total() -> None:
    """Sums are of what is known; nothing known is nothing."""
    assert (total(1, None, 2), total(None, None), total(0)) == (3, None, 0)


def test_others() -> None:
    """What is not known and says something is kept, false and zero included."""
    data: dict[str, object] = {"a": 1, "b": None, "c": "", "d": [], "e": {}, "f": 0, "g": False}
    assert others(data, frozenset({"a"})) == {"f": 0, "g": False}
    assert others({"a": 1}, frozenset({"a"})) == {}
