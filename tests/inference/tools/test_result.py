"""Results as text: always JSON, never larger than allowed, and the model told when something could not be sent."""

import json
from typing import Any

import pytest

from innkeeper.inference.tools.envelope import normalised
from innkeeper.inference.tools.result import written


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
