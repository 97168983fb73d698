"""Envelopes: whatever a tool returns has the one shape that models are told about."""

import json
from typing import Any

import pytest

from innkeeper.inference.tools.results import error_codes, failure, normalised, written


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
