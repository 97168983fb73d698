"""The program that renders one template: a job on standard input, its outcome on standard output."""

import io
import json
import sys
from typing import Any

import pytest

from innkeeper.dialects import template_engine

JOB: dict[str, Any] = {
    "template": "{{ x }}",
    "variables": {"x": "é"},
    "fuel": 1000,
    "most": 10,
    "seconds": 1.0,
    "now": None,
}


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({}, {"text": "é"}),
        ({"most": 0}, {"error": "1", "kind": "TooLong", "line": None}),
        ({"template": "{{ raise_exception() }}"}, {"error": "", "kind": "Refused", "line": None}),
        ({"template": "{{ strftime_now('%Y') }}", "now": "2026-01-01"}, {"text": "2026"}),
    ],
    ids=["text", "too-long", "refused", "date"],
)
def test_render(changes: dict[str, Any], outcome: dict[str, Any]) -> None:
    """A job has one outcome: the text, or what went wrong."""
    assert template_engine.render({**JOB, **changes}) == outcome


def test_out_of_fuel() -> None:
    """A job that takes more steps than it may says so."""
    job = {**JOB, "template": "{% for i in range(9999) %}x{% endfor %}"}
    assert template_engine.render(job)["kind"] == "OutOfFuel"


def test_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program reads a job and writes its outcome; limits that the system refuses do not stop it."""
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps({**JOB, "path": [], "memory": -5, "cpu": -5})))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, "resource", None)
    template_engine.main()
    outcome = json.loads(out.getvalue())
    assert outcome.pop("spent") > 0
    assert outcome == {"text": "é"}
