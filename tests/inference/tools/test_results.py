"""Results: what a tool gave becomes an envelope and a text, within limits each of which has its name, whatever the shape."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.tools.results import OutputLimits, error_codes, excess, failure, normalised, written


def envelope(
    ok: bool = True, data: Any = None, warnings: Any = (), errors: Any = (), name: str = "look"
) -> dict[str, Any]:
    """A whole envelope."""
    return {"ok": ok, "tool_name": name, "data": data or {}, "warnings": list(warnings), "errors": list(errors)}


CASES = {
    "nothing": (None, envelope()),
    "mapping": ({"a": 1}, envelope(data={"a": 1})),
    "text": ("door", envelope(data={"value": "door"})),
    "list": ([1], envelope(data={"value": [1]})),
    "false": (False, envelope(data={"value": False})),
    "envelope": ({"ok": True, "data": {"a": 1}}, envelope(data={"a": 1})),
    "failed_envelope": (
        {"ok": False, "errors": [{"code": "LOCKED", "message": "It is locked.", "door": 3}]},
        envelope(False, errors=[{"code": "LOCKED", "message": "It is locked.", "door": 3}]),
    ),
    "error_texts": (
        {"ok": False, "errors": "no"},
        envelope(False, errors=[{"code": "TOOL_ERROR", "message": "no"}]),
    ),
    "error_without_a_code": (
        {"ok": False, "errors": [{"message": "no"}, "why"]},
        envelope(False, errors=[{"message": "no", "code": "TOOL_ERROR"}, {"code": "TOOL_ERROR", "message": "why"}]),
    ),
    "data_of_another_kind": ({"ok": True, "data": 3}, envelope(data={"value": 3})),
    "own_name_and_warnings": (
        {"ok": True, "tool_name": "peek", "warnings": ("dim",)},
        envelope(warnings=["dim"], name="peek"),
    ),
    "ok_must_be_true": ({"ok": "yes"}, envelope(False)),
}


@pytest.mark.parametrize(("result", "expected"), CASES.values(), ids=CASES)
def test_normalised(result: Any, expected: dict[str, Any]) -> None:
    """Envelopes are completed, mappings become data, anything else a value."""
    assert normalised(result, "look") == expected


def test_failure() -> None:
    """A failure has its code, its words, and figures as data."""
    found = failure("look", "TOO_DARK", "It is dark.", lamp=0)
    assert found == envelope(False, {"lamp": 0}, errors=[{"code": "TOO_DARK", "message": "It is dark."}])
    assert error_codes(found) == ["TOO_DARK"]
    assert error_codes({"errors": ["x"]}) == []


def write(data: Any, max_bytes: int = 400) -> dict[str, Any]:
    """What the model gets for a tool's result."""
    found: dict[str, Any] = json.loads(written(normalised(data, "look"), max_bytes, lambda value: value)[1])
    return found


FAILURES = {
    "long_text": ("x" * 500, "TOOL_OUTPUT_TOO_LARGE", {"reason": "STRING_TOO_LARGE", "limit": 400}),
    "deep": (
        {"a": [[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]},
        "TOOL_OUTPUT_TOO_LARGE",
        {"reason": "MAX_DEPTH", "limit": 400},
    ),
    "many_small": (list(range(350)), "TOOL_OUTPUT_TOO_LARGE", {"reason": "MAX_BYTES", "limit": 400}),
    "escapes": ("\n" * 300, "TOOL_OUTPUT_TOO_LARGE", {"bytes": 686, "limit": 400}),
    "not_json": ({"a": object()}, "TOOL_OUTPUT_SERIALIZATION_ERROR", {}),
    "not_a_number": ({"a": float("nan")}, "TOOL_OUTPUT_SERIALIZATION_ERROR", {}),
    "keys": ({(1, 2): 3}, "TOOL_OUTPUT_SERIALIZATION_ERROR", {}),
}


@pytest.mark.parametrize(("data", "code", "facts"), FAILURES.values(), ids=FAILURES)
def test_failures(data: Any, code: str, facts: dict[str, Any]) -> None:
    """What is too large or no JSON becomes an envelope with the code and the figures."""
    found = write(data)
    assert (found["ok"], found["errors"][0]["code"], found["data"]) == (False, code, facts)


def test_fits() -> None:
    """What fits is sent as it is, in its own characters; half a character becomes U+FFFD."""
    assert write({"t": "你\ud83d"})["data"] == {"t": "你\ufffd"}


def test_transforms_are_applied_to_both() -> None:
    """The transform sees results and the envelopes that take their place."""
    names: list[str] = []

    def note(envelope: dict[str, Any]) -> dict[str, Any]:
        names.append(str(envelope["ok"]))
        return {"tool_name": "x", "short": True}

    assert written(normalised(1, "look"), 400, note)[1] == '{"tool_name": "x", "short": true}'
    assert written(normalised("x" * 500, "look"), 400, lambda e: e if e["ok"] else note(e))[0]["short"]
    assert names == ["True", "False"]


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


EXCESS = {
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


@pytest.mark.parametrize(("value", "reason"), EXCESS.values(), ids=EXCESS)
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
