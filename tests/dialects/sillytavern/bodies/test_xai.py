"""xAI: only the user keeps a name."""

from __future__ import annotations

from innkeeper.dialects.sillytavern.bodies.xai import convert_xai
from tests.dialects.sillytavern.requests import body_of, conversion, said


def test_names() -> None:
    """Only the user keeps a name; the assistant's and the examples' stand in front of their texts."""
    messages = [
        said("user", "a", name="Tomas"),
        said("assistant", "b", name="Mira"),
        said("system", "c", name="example_user"),
        said("system", "d", name="Notes"),
    ]
    named = [
        said("user", "a", name="Tomas"),
        said("assistant", "Mira: b"),
        said("system", "Tomas: c"),
        said("system", "d"),
    ]
    assert convert_xai(conversion(*messages))["messages"] == named
    assert body_of(*messages, source="xai")["messages"] == named
