"""Which lorebooks count: those of the settings, the chat, the persona and the speaker's card, each read once."""

from __future__ import annotations

from pathlib import Path

from innkeeper.prompt.note import NoteKind
from innkeeper.taverns.silly.install import Install
from innkeeper.taverns.silly.install.files import UserFolder
from innkeeper.taverns.silly.install.install import lorebooks
from innkeeper.taverns.silly.install.names import find_card
from innkeeper.taverns.silly.install.selected import Selected
from tests.taverns.silly.install.folders import book, card, folder

INFO = {"world_info": {"globalSelect": ["Town", "Gone"], "charLore": [{"name": "Mira", "extraBooks": ["Extra"]}]}}


def test_scopes(tmp_path: Path) -> None:
    """Each book comes with whose it is; one that is not there is noted and left out."""
    root = folder(tmp_path, world_info_settings=INFO)
    card(root, "Mira", extensions={"world": "Cellar"})
    for name in ("Town", "Extra", "Cellar", "Chat", "Ilse"):
        book(root, name, f"of {name}")
    user = UserFolder(root)
    found = lorebooks(user, Selected(user), {"world_info": "Chat"}, find_card(user, "Mira"), "Ilse")
    assert [(one["name"], one["scope"]) for one in found] == [
        ("Town", "global"),
        ("Chat", "chat"),
        ("Ilse", "persona"),
        ("Cellar", "character"),
        ("Extra", "character_extra"),
    ]
    assert [note.message for note in user.notes] == ["the lorebook 'Gone' is not there: it has no entries"]


def test_names_that_are_not_trusted(tmp_path: Path) -> None:
    """The name of a book in a card or a chat leads nowhere but to the folder of books."""
    root = folder(tmp_path / "user")
    book(root, "Town", "of the town")
    (tmp_path / "out.json").write_text('{"entries": {}}')
    card(root, "Mira", extensions={"world": "../../out"})
    user = UserFolder(root)
    assert (
        lorebooks(user, Selected(user), {"world_info": "../worlds/Town"}, find_card(user, "Mira"), "/etc/passwd") == []
    )
    assert len(user.notes) == 6


def test_damaged_books(tmp_path: Path) -> None:
    """JSON that is no lorebook is noted."""
    root = folder(tmp_path)
    (root / "worlds" / "Odd.json").write_text('{"name": "Odd"}')
    user = UserFolder(root)
    assert lorebooks(user, Selected(user), {"world_info": "Odd"}, None, "") == []
    assert "worlds/Odd.json" in str(user.notes[0])


def test_books_that_nobody_selected_are_named(tmp_path: Path) -> None:
    """The notes say which books of the folder take no part, and why; those that are selected are not among them."""
    root = folder(tmp_path, world_info_settings={"world_info": {"globalSelect": ["Town"]}})
    for name in ("Town", "Barrels", "Attic"):
        book(root, name, f"of {name}")
    (note,) = [item for item in Install.open(root).prepare("Mira", message="hi").notes if item.kind is NoteKind.LORE]
    assert note.data["books"] == ("Attic", "Barrels")
    assert str(note).startswith("worlds: not active: Attic, Barrels; selected neither")
