"""Writing cards, books and presets in a real browser: what is typed counts at once, and the file gets what was meant."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.inspector.chromium import Watched, field, has, inspecting, message, missing, says, seen, watched

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

BOOK = "fog.lorebook.json"
CARD = "ada.json"
PERSONA = "ben.persona.json"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A card and a book with a pattern that has a comma."""
    folder = tmp_path_factory.mktemp("editing")
    entry = {
        "uid": 0, "key": ["/\\bfog{1,3}\\b/i", "Hello, stranger"], "keysecondary": [], "comment": "Fog",
        "content": "Fog lies over the bay.", "constant": False, "disable": False, "order": 100, "position": 0,
        "probability": 100, "useProbability": True,
    }  # fmt: skip
    (folder / BOOK).write_text(json.dumps({"entries": {"0": entry}}, indent=4), encoding="utf-8")
    card = {"name": "Ada", "description": "A keeper.", "first_mes": "Good evening.", "tags": ["coast"]}
    (folder / CARD).write_text(json.dumps({"spec": "chara_card_v2", "spec_version": "2.0", "data": card}), "utf-8")
    (folder / PERSONA).write_text(json.dumps({"name": "Ben", "description": "A mapmaker."}), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def window(browser: Any, folder: Path) -> Iterator[Watched]:
    """A window that has opened them."""
    with inspecting(folder) as address, watched(browser, address) as window:
        yield window


def entry(page: Any) -> Any:
    """Open the book's entry, and return its form."""
    page.get_by_role("button", name=BOOK).click()
    page.locator(".entry").get_by_role("button", name=re.compile("Fog")).last.click()
    return page.locator("#pane-files")


def unfold(form: Any, group: str) -> None:
    """Open a group of fields, where it is closed."""
    form.locator("details").filter(has_text=group).evaluate("(group) => { group.open = true; }")


def document(page: Any, name: str) -> Any:
    """The working copy of a file."""
    return page.evaluate(_DOCUMENT, name)


_DOCUMENT = """async (name) => {
  const get = async (path) => (await fetch(`/v1/inspector/${path}`)).json();
  const { files } = await get("workspace");
  return (await get(`files/${files.find((file) => file.name === name).id}`)).document;
}"""


# ------------------------------------------------------------------------------------------------------------------ lists


def test_keys_are_chips_and_count_while_they_are_typed(page: Any) -> None:
    """A pattern with a comma stays whole; a key works before it is left; what separates keys makes chips of them."""
    form = entry(page)
    has(form.get_by_role("list", name="Keys", exact=True).locator(".item"), 2)
    verdict = page.locator("#pane-side .verdict")
    says(verdict, "No key matched")
    page.get_by_role("textbox", name="What the user says now").fill("A whale! And mist.")
    keys = form.get_by_role("textbox", name="Keys", exact=True)
    keys.press_sequentially("whale")
    says(verdict, "Key matched")
    keys.press_sequentially(", mist")
    has(form.get_by_role("list", name="Keys", exact=True).locator(".item"), 3)
    page.wait_for_function(f"async () => (await ({_DOCUMENT})('{BOOK}')).entries[0].key.length === 4")
    assert document(page, BOOK)["entries"]["0"]["key"] == ["/\\bfog{1,3}\\b/i", "Hello, stranger", "whale", "mist"]


def test_a_broken_pattern_never_reaches_the_file(page: Any) -> None:
    """It is marked with the reason; mended it is a chip, and its commas are its own."""
    form = entry(page)
    keys = form.get_by_role("textbox", name="Keys", exact=True)
    keys.press_sequentially("/ha(il, sn/i")
    keys.press("Enter")
    seen(form.get_by_role("status").filter(has_text="No pattern"))
    assert keys.get_attribute("aria-invalid") == "true"
    assert len(document(page, BOOK)["entries"]["0"]["key"]) == 2
    keys.fill("/ha(il|, sn)/i")
    keys.press("Enter")
    has(form.get_by_role("list", name="Keys", exact=True).locator(".item"), 3)
    page.wait_for_function(f"async () => (await ({_DOCUMENT})('{BOOK}')).entries[0].key.length === 3")
    assert document(page, BOOK)["entries"]["0"]["key"][2] == "/ha(il|, sn)/i"


def test_an_emptied_number_is_taken_out(page: Any) -> None:
    """Nothing is written that was not meant: no null."""
    form = entry(page)
    unfold(form, "Where it goes")
    form.get_by_role("spinbutton", name="Order").fill("")
    page.wait_for_function(f"async () => !('order' in (await ({_DOCUMENT})('{BOOK}')).entries[0])")


def test_files_are_ticked_each_for_itself(page: Any) -> None:
    """A persona stays in the prompt when another file is taken out of it, and goes when it is taken out itself."""
    persona = page.get_by_role("checkbox", name=f"Use: {PERSONA}")
    page.get_by_role("checkbox", name=f"Use: {BOOK}").uncheck()
    has(page.locator(".verdict"), 0)
    assert persona.is_checked()
    seen(message(page, "A mapmaker"))
    persona.uncheck()
    has(message(page, "A mapmaker"), 0)


# ----------------------------------------------------------------------------------------------------------------- shared


def test_two_tabs_see_each_other(page: Any, window: Watched) -> None:
    """What is typed in one stands in the other, in its field and its prompt; undoing takes back only one's own."""
    page.get_by_role("button", name=CARD).click()
    other = window.context.new_page()
    other.goto(page.url)
    other.get_by_role("button", name=CARD).click()
    field(page, "Description").press_sequentially("One. ")
    seen(message(other, "One. ").first)
    says(field(other, "Description"), "One. ")
    field(other, "Personality").press_sequentially("Calm.")
    says(field(page, "Personality"), "Calm.")
    seen(message(page, "Calm."))
    message(page, "Calm.").first.focus()
    page.keyboard.press("Control+z")
    has(message(other, "One. "), 0)
    says(field(other, "Personality"), "Calm.")
    other.close()


def test_ctrl_s_and_enter_save(page: Any, folder: Path) -> None:
    """Without waiting for anything to be seen."""
    page.get_by_role("button", name=CARD).click()
    field(page, "Scenario").press_sequentially("The pier.")
    page.keyboard.press("Control+s")
    page.keyboard.press("Enter")
    says(page.locator(".notices"), f"{CARD} is saved")  # the dialog may go on to a new file that another test has left
    assert json.loads((folder / CARD).read_bytes())["data"]["scenario"] == "The pier."


def test_a_conflict_is_resolved_on_the_spot(page: Any, folder: Path) -> None:
    """Another program's change comes in by itself; where both changed, what to take is chosen and then saved."""
    path = folder / CARD
    page.get_by_role("button", name=CARD).click()
    description = field(page, "Description")
    card = json.loads(path.read_bytes())
    card["data"]["description"] = "A baker."
    path.write_text(json.dumps(card), encoding="utf-8")
    says(description, "A baker.")
    description.fill("A sailor.")
    field(page, "Personality").press_sequentially("Calm.")
    card["data"] |= {"description": "A miller.", "creator": "Somebody"}
    path.write_text(json.dumps(card), encoding="utf-8")
    page.get_by_role("alert").get_by_role("button", name="Resolve …").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("radio", name="Theirs").check()
    dialog.get_by_role("button", name="Merge").click()
    says(dialog, "Calm.")
    dialog.get_by_role("button", name="Save", exact=True).click()
    says(page.locator(".notices"), f"{CARD} is saved")
    saved = json.loads(path.read_bytes())["data"]
    assert [saved[name] for name in ("description", "personality", "creator")] == ["A miller.", "Calm.", "Somebody"]


# ------------------------------------------------------------------------------------------------------------------ forms


def test_an_entry_has_all_its_fields(page: Any) -> None:
    """Of the groups those are open in which something is set; what is chosen is written in the words of the file."""
    form = entry(page)
    logic = form.get_by_role("combobox", name="Secondary keys decide")
    logic.select_option(label="NOT ALL: not each of them")
    unfold(form, "Where it goes")
    form.get_by_role("combobox", name="Position").select_option(label="In the chat, at its depth")
    form.get_by_role("combobox", name="Role").select_option(label="assistant")
    unfold(form, "How keys match")
    whole = form.get_by_role("combobox", name="Whole words")
    whole.select_option(label="yes")
    unfold(form, "Recursion")
    form.get_by_role("checkbox", name="Not woken by other entries").check()
    fields = ("selectiveLogic", "position", "role", "matchWholeWords", "excludeRecursion")
    page.wait_for_function(f"async () => (await ({_DOCUMENT})('{BOOK}')).entries[0].excludeRecursion === true")
    now = document(page, BOOK)["entries"]["0"]
    assert [now[name] for name in fields] == [1, 4, 2, True, True]
    whole.select_option(label="as usual")
    page.wait_for_function(f"async () => !('matchWholeWords' in (await ({_DOCUMENT})('{BOOK}')).entries[0])")


def test_a_number_beyond_its_range_is_not_written(page: Any) -> None:
    """It is marked, and the file keeps what it had."""
    form = entry(page)
    unfold(form, "Probability")
    probability = form.get_by_role("spinbutton", name="Probability in %")
    probability.fill("150")
    assert probability.get_attribute("aria-invalid") == "true"
    probability.fill("50")
    page.wait_for_function(f"async () => (await ({_DOCUMENT})('{BOOK}')).entries[0].probability === 50")


# ------------------------------------------------------------------------------------------------------------ from nothing


def test_a_card_is_begun_and_saved(page: Any, folder: Path) -> None:
    """It is there at once, in the prompt, and becomes a file."""
    page.get_by_role("combobox", name="New …").select_option(label="character")
    seen(page.get_by_role("heading", name="character.json"))
    field(page, "Description").press_sequentially("A ferryman.")
    seen(message(page, "A ferryman."))
    page.keyboard.press("Control+s")
    page.keyboard.press("Enter")
    says(page.locator(".notices"), "character.json")
    assert json.loads((folder / "character.json").read_bytes())["data"]["description"] == "A ferryman."


def test_entries_are_moved_into_a_new_book(page: Any) -> None:
    """Picked entries go to another book, and out of the one that they were in; it can be undone."""
    page.get_by_role("combobox", name="New …").select_option(label="lorebook")
    seen(page.get_by_role("heading", name="lorebook.json"))
    page.get_by_role("button", name=BOOK).click()
    page.get_by_role("checkbox", name="select: Fog").check()
    page.get_by_role("combobox", name="To another book …").select_option(index=2)
    has(page.locator(".entry"), 0)
    page.get_by_role("button", name="lorebook.json", exact=False).last.click()
    has(page.locator(".entry"), 1)
