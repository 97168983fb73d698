"""Settings: read under SillyTavern's names, never dropped in silence, wrong types named."""

from __future__ import annotations

import pytest

from innkeeper.prompt import InnkeeperError
from innkeeper.taverns.assets import AuthorsNote
from innkeeper.taverns.silly.settings import PowerUser, read_settings
from tests.taverns.silly.builds import build


def test_known_and_unknown_fields() -> None:
    """Known ones are read, numbers as text too; unknown ones are named."""
    found, unknown = read_settings(AuthorsNote, {"text": "x", "depth": "2", "colour": "red"}, "authors_note")
    assert (found, unknown) == (AuthorsNote(text="x", depth=2), ("colour",))


def test_nothing_and_itself() -> None:
    """No settings are the defaults; a value is itself; nulls are not said."""
    assert read_settings(PowerUser, None, "x")[0] == PowerUser()
    given = PowerUser(pin_examples=True)
    assert read_settings(PowerUser, given, "x")[0] is given
    assert read_settings(AuthorsNote, {"depth": None}, "x")[0].depth == 4


def test_a_wrong_type_is_named() -> None:
    """With the field's path."""
    with pytest.raises(InnkeeperError, match="depth"):
        build(message="hi", authors_note={"depth": "deep"})


def test_settings_without_effect_are_noted() -> None:
    """At the top and inside of a group of settings."""
    plan = build(message="hi", settings={"theme": "dark", "power_user": {"font_scale": 2}})
    inputs = {note.data.get("input") for note in plan.notes}
    assert {"settings.theme", "power_user.font_scale"} <= inputs


@pytest.mark.parametrize(
    ("setting", "stops", "warned"),
    [
        ("", (), False),
        ("[]", (), False),
        ('["Sam:", "", 3, "###"]', ("Sam:", "###"), False),
        ('["Sam:"', (), True),
        ('{"a": 1}', (), True),
        ("[" * 100_000, (), True),
    ],
)
def test_setting(setting: str, stops: tuple[str, ...], *, warned: bool) -> None:
    """The texts of a list are used; anything else is told, with its place and the mend."""
    plan = build(message="Hi", settings={"power_user": {"custom_stopping_strings": setting}})
    assert plan.stop == stops
    told = [note for note in plan.warnings if note.where and note.where.path == "power_user.custom_stopping_strings"]
    assert bool(told) == warned
    assert all(note.hint for note in told)
