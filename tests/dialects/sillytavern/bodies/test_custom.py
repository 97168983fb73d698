"""Servers of the user's own: fields put in and taken out, as YAML."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.dialects.report import Report
from innkeeper.dialects.sillytavern.bodies.custom import MAX_YAML_CHARS, MAX_YAML_DEPTH, read_yaml
from innkeeper.prompt.note import NoteKind
from tests.dialects.sillytavern.requests import TOOL, body_of, kinds

FIELDS: tuple[tuple[str, str, dict[str, Any], set[str]], ...] = (
    ("mirostat: 2\ntop_p: 0.5", "", {"mirostat": 2, "top_p": 0.5}, set()),
    ("- a: 1\n- b: 2\n- 5", "", {"a": 1, "b": 2}, set()),
    ("stop: [x]\ntools: []\nmodel: other", "", {"stop": ["###"], "tools": [TOOL], "model": "other"}, set()),
    ("a: 1", "- a\n- top_p", {}, {"a", "top_p"}),
    ("", "temperature: 1\nstop:", {}, {"temperature", "stop"}),
    ("", "model", {}, {"model"}),
    ("bad: [", "[", {"model": "m"}, set()),
)


@pytest.mark.parametrize(("put_in", "taken_out", "has", "lacks"), FIELDS)
def test_fields(put_in: str, taken_out: str, has: dict[str, Any], lacks: set[str]) -> None:
    """Fields replace the base, not what is asked for besides; what is taken out goes last; YAML that is none does nothing."""
    body = body_of(
        source="custom", stop=["###"], tools=(TOOL,), custom_include_body=put_in, custom_exclude_body=taken_out
    )
    assert {name: body.get(name) for name in has} == has
    assert not lacks & body.keys()


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("on", "on"),
        ("true", True),
        ("1e3", 1000.0),
        ("0o17", 15),
        ("0x1F", 31),
        ("010", 10),
        ("12:30", "12:30"),
        ("2026-01-15", "2026-01-15"),
        ("~", None),
    ],
)
def test_yaml_is_that_of_today(text: str, data: Any) -> None:
    """Words and numbers are read by YAML 1.2: no clock times, no dates, no ``on``."""
    assert read_yaml(f"a: {text}", "x", Report("test")) == {"a": data}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a: [", NoteKind.IGNORED),
        ("a: &b [1]\nc: *b", NoteKind.IGNORED),
        ("a: !!python/object:os.system x", NoteKind.IGNORED),
        ("a" * (MAX_YAML_CHARS + 1), NoteKind.LIMIT),
        ("[" * 5000, NoteKind.LIMIT),
        ("{a: " * 5000, NoteKind.LIMIT),
        ("- " * (MAX_YAML_DEPTH + 1) + "a", NoteKind.LIMIT),
    ],
    ids=["broken", "aliases", "tags", "long", "deep lists", "deep maps", "deep blocks"],
)
def test_what_is_not_read_is_said(text: str, kind: NoteKind) -> None:
    """Broken, looping, executable, endless: nothing of it is read, and a note says so."""
    report = Report("test")
    assert read_yaml(text, "x", report) is None
    assert kinds(report) == [kind]


def test_data_may_nest_up_to_the_limit() -> None:
    """The deepest that is read."""
    assert read_yaml("- " * MAX_YAML_DEPTH + "a", "x", Report("test")) is not None
