"""The user's own stop strings: a JSON list in a setting, or a warning that says where and how."""

import pytest

from tests.taverns.silly.builds import build


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
