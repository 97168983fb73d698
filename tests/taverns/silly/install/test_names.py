"""Cards and groups by name: the file's name, then the one inside; what several have is an error that lists them."""

from __future__ import annotations

from pathlib import Path

import pytest

from innkeeper.prompt import UnknownNameError
from innkeeper.taverns.silly.install.files import UserFolder
from innkeeper.taverns.silly.install.names import AmbiguousNameError, card_of, cards, find_card, find_group
from tests.taverns.silly.install.folders import card, folder, group


@pytest.fixture
def user(tmp_path: Path) -> UserFolder:
    """A folder with two characters of one name."""
    root = folder(tmp_path)
    card(root, "Mira1", "Mira")
    card(root, "b", "Bram")
    card(root, "c", "Twin")
    card(root, "d", "Twin")
    group(root, "17", "Inn", "Mira.png")
    group(root, "18", "Inn", "b.png")
    group(root, "19", "Yard", "b.png")
    return UserFolder(root)


@pytest.mark.parametrize(
    ("name", "avatar"),
    [("Mira", "Mira.png"), ("Mira.png", "Mira.png"), ("Mira1", "Mira1.png"), ("Bram", "b.png"), ("bram", "b.png")],
)
def test_a_card(user: UserFolder, name: str, avatar: str) -> None:
    """The name of a file comes first; case counts only where it tells two apart."""
    assert find_card(user, name).avatar == avatar


def test_several(user: UserFolder) -> None:
    """Who could be meant is in the error."""
    with pytest.raises(AmbiguousNameError, match="Twin") as told:
        find_card(user, "Twin")
    assert told.value.candidates == ("c.png", "d.png")
    with pytest.raises(AmbiguousNameError):
        find_group(user, "Inn")
    assert find_group(user, "18").name == "Inn"
    assert find_group(user, "yard").id == "19"


@pytest.mark.parametrize("name", ["Nobody", "../Mira", ""])
def test_nobody(user: UserFolder, name: str) -> None:
    """A name that nobody has, or that leads out of the folder, is an error with the nearest names."""
    with pytest.raises(UnknownNameError):
        find_card(user, name)
    with pytest.raises(UnknownNameError):
        find_group(user, name)


def test_damaged_cards(user: UserFolder) -> None:
    """A card that cannot be read is noted, and does not hide the others."""
    (user.root / "characters" / "broken.png").write_bytes(b"no picture")
    assert {one.avatar for one in cards(user)} == {"Mira.png", "Mira1.png", "b.png", "c.png", "d.png"}
    assert "characters/broken.png" in str(user.notes[0])
    assert card_of(user, "Mira.json") is None


def test_an_unknown_name_says_what_was_passed_over(tmp_path: Path) -> None:
    """The card that is looked for may be one that cannot be read, so the error names those."""
    root = folder(tmp_path)
    (root / "characters" / "Bad.png").write_bytes(b"no picture")
    with pytest.raises(UnknownNameError) as caught:
        find_card(UserFolder(root), "Somebody")
    assert caught.value.hint is not None
    assert "known: Mira; passed over: " in caught.value.hint
    assert "characters/Bad.png" in caught.value.hint
