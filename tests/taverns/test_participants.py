"""Who is in a chat: names, members, speakers."""

from typing import Any

import pytest

from innkeeper.prompt import BuildRequest
from innkeeper.taverns.participants import cards_of, members_of, name_of


@pytest.mark.parametrize(
    ("participant", "name"),
    [
        (None, "X"),
        ("", "X"),
        ("Ann", "Ann"),
        ({"name": "Ann"}, "Ann"),
        ({"data": {"name": "Ann"}}, "Ann"),
        ({}, "X"),
        (BuildRequest(), "X"),
    ],
)
def test_names(participant: Any, name: str) -> None:
    """A name is found in whatever stands for a character or a persona."""
    assert name_of(participant, "X") == name


@pytest.mark.parametrize("group", [{"members": ["Ann", {"card": "Bo", "filename": "bo.png"}]}, None])
def test_members(group: Any) -> None:
    """The members of a group are cards, alone or with their files; without a group there are none."""
    names = ("Ann", "Bo") if group else ()
    assert cards_of(group) == members_of(group) == names
