"""The output limiter: every limit by its name, in bounded time, whatever the shape."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.tools.results import OutputLimits, excess

SMALL = OutputLimits(depth=4, nodes=20, items=8, bytes=200)


def nested(levels: int) -> Any:
    """Lists in lists."""
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def itself() -> list[Any]:
    """A list that holds itself."""
    value: list[Any] = []
    value.append(value)
    return value


def laughs(levels: int) -> Any:
    """A few lists that hold one another many times: small in memory, huge as JSON."""
    value: Any = ["ha"] * 8
    for _ in range(levels):
        value = [value] * 8
    return value


CASES = {
    "fits": ({"a": [1, 2, {"b": "x"}], "c": None}, None),
    "deep": (nested(5), "MAX_DEPTH"),
    "just_deep_enough": (nested(4), None),
    "itself": (itself(), "MAX_DEPTH"),
    "many_nodes": ([[1] * 6] * 4, "MAX_NODES"),
    "many_keys": (dict.fromkeys(range(9)), "MAX_HASH_KEYS"),
    "many_items": ([0] * 9, "MAX_ARRAY_ITEMS"),
    "many_in_a_set": (set(range(9)), "MAX_ARRAY_ITEMS"),
    "long_text": ("x" * 201, "STRING_TOO_LARGE"),
    "long_bytes": (b"x" * 201, "STRING_TOO_LARGE"),
    "much_text": (["x" * 90] * 3, "MAX_BYTES"),
    "long_keys": ({"k" * 150: 1, "l" * 150: 2}, "MAX_BYTES"),
}


@pytest.mark.parametrize(("value", "reason"), CASES.values(), ids=CASES)
def test_excess(value: Any, reason: str | None) -> None:
    """The first limit that breaks is named."""
    assert excess(value, SMALL) == reason


@pytest.mark.parametrize("field", OutputLimits.__struct_fields__)
def test_limits_that_are_none(field: str) -> None:
    """A limit that allows nothing is a mistake that is told."""
    assert excess(1, OutputLimits(**{field: 0})) == "INVALID_LIMIT"


def test_shared_containers_count_each_time() -> None:
    """What is small in memory and huge as JSON is found out, in bounded time."""
    assert excess(laughs(15), OutputLimits()) == "MAX_NODES"


@given(
    st.recursive(
        st.none() | st.text(max_size=20) | st.integers(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    ),
    st.integers(1, 60),
)
def test_bytes_are_estimated_from_below(value: Any, limit: int) -> None:
    """What is said to have too many bytes has too many; nothing that fits is refused."""
    if excess(value, OutputLimits(bytes=limit)) in {"MAX_BYTES", "STRING_TOO_LARGE"}:
        assert len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()) > limit
