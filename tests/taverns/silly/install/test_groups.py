"""Groups of a folder: members, muted ones, who speaks, and how a new chat begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from innkeeper.prompt import UnknownNameError
from innkeeper.taverns.silly.install import Install
from tests.taverns.silly.install.folders import card, chat, folder, group


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with a group of three, one of whom is gone and one muted."""
    root = folder(tmp_path)
    card(root, "b", "Bram", first_mes="Whoa, {{user}}! I am {{char}}.")
    fields = {"generation_mode": 1, "generation_mode_join_prefix": "<FIELDNAME>: ", "activation_strategy": 1}
    group(root, "17", "Inn", "Mira.png", "gone.png", "b.png", "../x.png", disabled_members=["Mira.png"], **fields)
    return root


def test_members(root: Path) -> None:
    """Members that are not there are left out, with a note; the strategy chooses a speaker, which is said."""
    chat(root, ".", "all", "Hello.", "Who is there?", where="group chats")
    prepared = Install.open(root).prepare(group="Inn")
    fields = prepared.request.group
    assert [member["filename"] for member in fields["members"]] == ["Mira", "b"]
    assert (tuple(fields["disabled"]), fields["generation_mode"], fields["join_prefix"]) == ((0,), 1, "<FIELDNAME>: ")
    assert prepared.character == "b.png"
    assert any("strategy chose Bram" in note.message for note in prepared.notes)
    assert any("'gone.png' is not there" in note.message for note in prepared.notes)


@pytest.mark.parametrize("name", ["Mira", "Mira.png"])
def test_a_named_speaker(root: Path, name: str) -> None:
    """A named member speaks, muted or not; somebody else cannot."""
    assert Install.open(root).prepare(name, group="17").character == "Mira.png"
    with pytest.raises(UnknownNameError):
        Install.open(root).prepare("Old Tom", group="17")


def test_a_new_chat(root: Path) -> None:
    """Each member greets as itself, its macros replaced."""
    prepared = Install.open(root).prepare(group="17")
    assert prepared.is_new
    assert [message.text for message in prepared.chat.messages] == ["Come in!", "Whoa, Ilse! I am Bram."]
    assert [message.content for message in prepared.request.history] == ["Come in!", "Whoa, Ilse! I am Bram."]


def test_nobody_left(root: Path) -> None:
    """A group whose members are all gone has nobody to speak."""
    group(root, "18", "Empty", "gone.png")
    assert Install.open(root).prepare(group="Empty").character == ""
