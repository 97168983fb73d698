"""Tests of what the silly tavern reads from a request."""

from __future__ import annotations

import pytest

from innkeeper.prompt import NoteKind
from innkeeper.prompt.errors import PipelineError
from innkeeper.prompt.message import ROLES
from tests.taverns.silly.builds import build, contents


def test_unknown_roles_are_noted() -> None:
    """A role that no message should have is read as the user's, and a warning says so once, with its first place."""
    said = [{"role": role, "content": "x"} for role in ("user", "wizard", "wizard")]
    plan = build(history=said, message="hi")
    notes = [note for note in plan.warnings if "wizard" in note.message]
    assert [(note.kind, str(note.where)) for note in notes] == [(NoteKind.WARNING, "history: [1].role")]
    assert [message.role for message in plan.messages[-4:]] == ["user", "user", "user", "user"]


def test_an_unknown_generation_is_a_normal_one() -> None:
    """It is noted, and the prompt is that of a normal one, the user's message included."""
    normal, unknown = (build(message="hi", context_window=8_192, generation=name) for name in ("normal", "zzz"))
    assert contents(unknown) == contents(normal)
    assert [note.data for note in unknown.notes] == [{"input": "generation"}]


@pytest.mark.parametrize("role", ROLES)
def test_known_roles_are_not_noted(role: str) -> None:
    """What every message may be needs no note."""
    assert not [note for note in build(history=[{"role": role, "content": "x"}]).notes if "role" in note.message]


@pytest.mark.parametrize("value", ["x", [1], 5], ids=repr)
@pytest.mark.parametrize("name", ["note", "cfg", "memory", "vectors"])
def test_settings_of_extensions_are_objects(name: str, value: object) -> None:
    """What an extension has stored is an object; anything else is an error that says which setting it is."""
    with pytest.raises(PipelineError, match=f"{name} is an object"):
        build(settings={name: value})
