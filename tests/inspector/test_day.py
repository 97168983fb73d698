"""A creator's day in a real browser, on a copy of a SillyTavern folder, to files that the folder's reader finds as it should."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from innkeeper.taverns.silly.install import Install
from tests.inspector.chromium import Watched, field, message, missing, says, seen, watched
from tests.shared import VECTORS

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

TURNS = 45
KEYS = ["/\\bfog{1,3}\\b/i", "Hello, stranger"]
"""A pattern with a comma in it, and a key with one."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder, with a long chat in which the cellar is spoken of late."""
    root = Path(shutil.copytree(VECTORS / "silly/folder/data/default-user", tmp_path / "default-user"))
    lines: list[dict[str, Any]] = [{"user_name": "Ilse", "character_name": "Mira", "chat_metadata": {}}]
    for number in range(TURNS):
        said = "Is the cellar open?" if number == TURNS - 1 else f"Number {number}."
        lines.append({"name": ("Mira", "Ilse")[number % 2], "is_user": bool(number % 2), "mes": said})
    (root / "chats/Mira/Long.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    return root


@contextmanager
def served(root: Path, port: int) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The inspector at a port, and the address that opens it."""
    command = [sys.executable, "-m", "innkeeper", "inspect", "--no-browser", "--json", "--port", str(port), str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield server, str(json.loads(server.stdout.readline())["address"])
        finally:
            server.kill()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def test_a_creators_day(browser: Any, root: Path) -> None:
    """Find the character, see why, write keys, two tabs, a lost service, a conflict, a local model, compare, save."""
    port = free_port()
    with served(root, port) as (server, address), watched(browser, address) as window:
        page = window.open()
        find_the_chat(page)
        see_why_at_an_earlier_turn(page)
        write_keys(page)
        edit_in_two_tabs(page, window)
        save_all(page)
        before = Install.open(root).prepare("Mira.png", chat="Long").request.character
        server.kill()
        server.wait()
        field(page, "Personality").fill("Written while nobody listened.")
        says(page.locator(".timing"), "not connected")
        with served(root, port) as (_, again):
            tab = window.context.new_page()
            tab.goto(again)  # the browser may come in again; the page goes on by itself
            tab.locator("article").first.wait_for()
            page.bring_to_front()
            seen(page.locator(".timing strong").first)
            find_the_chat(page)
            field(page, "Personality").fill("Written while nobody listened.")
            seen(message(page, "Written while nobody listened."))
            resolve_a_conflict(page, root)
            change_to_a_local_model(page)
            compare(page)
            save_all(page)
    prepared = Install.open(root).prepare("Mira.png", chat="Long")
    card = prepared.request.character
    assert (before.description, card.personality) == ("Of two tabs.", "Written while nobody listened.")
    assert card.scenario == "By another program."
    assert prepared.build(now="2026-01-15T12:34:56Z").messages
    book = json.loads((root / "worlds/Mira's cellar.json").read_text(encoding="utf-8"))
    assert KEYS[0] in [key for entry in book["entries"].values() for key in entry["key"]]
    assert (root / "settings.json").read_bytes() == (
        VECTORS / "silly/folder/data/default-user/settings.json"
    ).read_bytes()


def find_the_chat(page: Any) -> None:
    """By its name, among all characters."""
    page.keyboard.press("Control+o")
    page.get_by_role("dialog").get_by_role("searchbox").fill("long")
    page.get_by_role("dialog").get_by_role("button", name="Long", exact=True).click()
    says(page.locator("h1"), "Mira · Long")
    says(page.get_by_role("button", name="Long.jsonl"), "Long.jsonl")
    page.get_by_role("button", name="Mira.png").click()


def see_why_at_an_earlier_turn(page: Any) -> None:
    """The entry is in now, and was out at turn 40: no key of it had been said."""
    page.get_by_role("tab", name="Why").last.click()
    entry = page.locator(".verdict").filter(has=page.get_by_text("cellar", exact=True))
    says(entry, "Key matched")
    page.get_by_role("slider").first.fill("40")
    says(entry, "No key matched")
    page.get_by_role("slider").first.fill(str(TURNS))
    says(entry, "Key matched")


def write_keys(page: Any) -> None:
    """A pattern with a comma stays whole, and so does a key that is kept with Enter."""
    page.get_by_role("button", name="Mira's cellar.json").click()
    page.locator(".entry .open").first.click()
    keys = page.locator("#pane-files").get_by_role("textbox", name="Keys", exact=True)
    keys.click()
    keys.press_sequentially(KEYS[0] + ",")
    seen(page.get_by_role("button", name="Edit: /"))
    keys.blur()
    page.get_by_role("button", name="Mira.png").click()


def edit_in_two_tabs(page: Any, window: Watched) -> None:
    """What one writes, the other shows."""
    other = window.context.new_page()
    other.goto(f"{window.origin}/inspector/")
    other.locator("article").first.wait_for()
    other.get_by_role("button", name="Mira.png").click()
    field(other, "Description").fill("Of two tabs.")
    says(field(page, "Description"), "Of two tabs.")
    seen(message(page, "Of two tabs."))
    other.close()


def resolve_a_conflict(page: Any, root: Path) -> None:
    """Another program writes the card that is edited here: both are kept."""
    from innkeeper.content.character import read_character
    from innkeeper.content.files.formats import card_bytes, open_card

    path = root / "characters/Mira.png"
    card = open_card(path.read_bytes())
    changed = read_character(
        card.character.document.replace({("data", "scenario"): "By another program."}), lenient=True
    )
    path.write_bytes(card_bytes(card.with_character(changed), "png"))
    page.get_by_role("button", name="Resolve …").click()
    page.get_by_role("button", name="Merge", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("dialog").wait_for(state="hidden")
    seen(message(page, "By another program."))


def change_to_a_local_model(page: Any) -> None:
    """Its prompt is one text, by the templates of the folder."""
    page.get_by_role("tab", name="Settings").last.click()
    page.get_by_label("Dialect").last.select_option("text")
    page.get_by_role("tab", name="Wire").first.click()
    says(page.locator("#view .cm-content").first, "Mira")


def compare(page: Any) -> None:
    """The prompt as saved beside the one as edited."""
    page.get_by_role("tab", name="Compare").first.click()
    seen(page.locator("#view").get_by_text("Tokens").first)


def save_all(page: Any) -> None:
    """One file after the other, until nothing is to be saved."""
    while page.get_by_role("button", name="Save", exact=False).filter(has_text="…").first.is_visible():
        page.keyboard.press("Control+s")
        dialog = page.get_by_role("dialog", name="What saving changes")
        seen(dialog)
        seen(dialog.locator("li, .merge, .empty").first)
        dialog.get_by_role("button", name="Save", exact=True).click()
        page.wait_for_timeout(500)
        if dialog.is_visible():
            continue
        page.wait_for_timeout(500)
