"""A user of SillyTavern finds why an entry is silent: at the command line, and on the page."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.inspector.chromium import chromium, missing, says, watched
from tests.journeys.machine import Machine
from tests.shared import ROOT

ASKED = "Is the barrel open?"
BOOK = {
    "entries": {"0": {"uid": 0, "comment": "Rum", "key": ["Barrel"], "content": "Rum is in it.", "caseSensitive": True}}
}


class Install:
    """A folder of SillyTavern's with a book that nobody has selected."""

    def __init__(self, root: Path) -> None:
        self.root, self.user = root, root / "data" / "default-user"
        shutil.copytree(ROOT / "tests" / "vectors" / "silly" / "folder", root)
        self.write(BOOK)

    @property
    def book(self) -> Path:
        """The file of the book."""
        return self.user / "worlds" / "Barrels.json"

    def write(self, book: dict[str, Any]) -> None:
        """Save the book, as its editor does."""
        self.book.write_text(json.dumps(book))

    def select(self) -> None:
        """Select the book for all chats, as a click in SillyTavern does."""
        path = self.user / "settings.json"
        settings = json.loads(path.read_text())
        settings["world_info_settings"]["world_info"]["globalSelect"].append("Barrels")
        path.write_text(json.dumps(settings))

    @property
    def digest(self) -> str:
        """What all its files are."""
        files = sorted(path for path in self.root.rglob("*") if path.is_file())
        return hashlib.sha256(b"".join(str(path).encode() + path.read_bytes() for path in files)).hexdigest()


@pytest.fixture
def folder(tmp_path: Path) -> Install:
    """The folder; nothing but its owner may change it."""
    return Install(tmp_path / "SillyTavern")


def test_at_the_command_line(machine: Machine, folder: Install) -> None:
    """The book is not selected; then the case of its key is wrong; then the entry is in. The folder is only read."""

    def build(*words: str) -> str:
        before = folder.digest
        done = machine.run("build", "--sillytavern", folder.root, "--character", "Mira", "--message", ASKED, *words)
        assert (done.code, folder.digest) == (0, before), done.err
        return done.out

    assert "Rum is in it." not in build("--messages")
    assert "not active: Barrels, Nora's oven; selected neither for all chats nor by this chat" in build()
    assert "select a book in SillyTavern" in build("--why", "Barrels")
    folder.select()
    assert "out: Rum [Barrels]: no key matched in 3 messages: 'Barrel'; 'Barrel' would match without caseSensitive" in (
        build("--why", "Rum")
    )
    page = machine.home / "prompt.html"
    build("--html", str(page))
    assert "would match without caseSensitive" in page.read_text(encoding="utf-8")
    folder.write({"entries": {"0": {**BOOK["entries"]["0"], "caseSensitive": False}}})
    assert "in: Rum [Barrels]: fired by 'Barrel' in the last message" in build("--why", "Rum")
    assert "Rum is in it." in build("--messages")


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_on_the_page(machine: Machine, folder: Install) -> None:
    """The page opens the same folder, notes the book that is not active, and shows the verdict of the entry when it is."""
    words = ("inspect", "--sillytavern", folder.root, "--character", "Mira", "--no-browser")
    before = folder.digest
    with chromium() as browser:
        with machine.answering(*words) as told, watched(browser, told["address"]) as window:
            page = window.open()
            page.get_by_role("tab", name="Notes").last.click()
            says(page.locator("#pane-side"), "not active: Barrels")
            window.assert_quiet()
        assert folder.digest == before
        folder.select()
        with machine.answering(*words) as told, watched(browser, told["address"]) as window:
            page = window.open()
            page.get_by_role("textbox", name="What the user says now").fill(ASKED)
            page.get_by_role("searchbox", name="Search title, key, reason").fill("Rum")
            page.get_by_role("button", name="Rum").click()
            says(page.get_by_role("region", name="Why this entry"), "would match without caseSensitive")
            window.assert_quiet()
