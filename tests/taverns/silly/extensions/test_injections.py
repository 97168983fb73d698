"""The injections of extensions."""

from __future__ import annotations

import pytest

from innkeeper.prompt import InjectionPosition
from innkeeper.taverns.silly.extensions.injections import filled, injection_of


@pytest.mark.parametrize(
    ("template", "text", "expected"),
    [("A {{text}} B", "x", "A x B"), ("{{TEXT}}", r"\1", r"\1"), ("none", "x", "none"), ("A {{text}}", "", "")],
)
def test_templates(template: str, text: str, expected: str) -> None:
    """The text stands where the template says, as it is; no text makes no injection."""
    assert filled(template, "text", text) == expected
    assert (injection_of("k", filled(template, "text", text), position=0, depth=1) is None) == (expected == "")


def test_odd_numbers() -> None:
    """A position or a role that there is none of is after the main prompt, or system; a depth is not below 0."""
    made = injection_of("k", "x", position=7, depth=-3, role=9)
    assert made is not None
    assert (made.position, made.role, made.depth) == (InjectionPosition.AFTER, "system", 0)
