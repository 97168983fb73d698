"""Envelopes: whatever a tool returns has the one shape that models are told about."""

from typing import Any

import pytest

from innkeeper.inference.tools.envelope import error_codes, failure, normalised


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
