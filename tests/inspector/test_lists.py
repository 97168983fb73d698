"""Long lists in a real browser: what is looked at stays, entries are changed together and moved, everything is found by name."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.inspector.chromium import field, has, message, missing, says, seen
from tests.shared import ROOT

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

MESSAGES = 200
BOOK = "larks.lorebook.json"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packaged example with a long chat, and a window with room for it."""
    copy = tmp_path_factory.mktemp("long") / "Skerrow"
    shutil.copytree(ROOT / "examples", copy, ignore=shutil.ignore_patterns("*.py", "*.md"))
    chat = copy / "wenna.chat.jsonl"
    said = [f"Wave {number}. " + "The sea is grey. " * (number * 7 % 23) for number in range(MESSAGES)]
    lines = [{"name": "Ansel", "is_user": index % 2 == 0, "mes": text} for index, text in enumerate(said)]
    chat.write_text("\n".join([chat.read_text().splitlines()[0], *map(json.dumps, lines)]), encoding="utf-8")
    return copy


# ------------------------------------------------------------------------------------------------------- what is looked at

SCROLLER = ".prompt .scroll.list"
BEHIND = "(list) => list.scrollHeight - list.clientHeight - list.scrollTop"
FIRST = """(list) => {
  const { top } = list.getBoundingClientRect();
  const shown = [...list.querySelectorAll("article")].map((one) => [one.innerText, one.getBoundingClientRect()]);
  const [text, box] = shown.filter(([, { bottom }]) => bottom > top).sort(([, a], [, b]) => a.top - b.top)[0];
  return [/Wave \\d+/.exec(text)?.[0] ?? "", Math.round(box.top - top)];
}"""
SAME = f"""([text, top]) => {{
  const [now, there] = ({FIRST})(document.querySelector("{SCROLLER}"));
  return now === text && Math.abs(there - top) <= 2;
}}"""


def wide(page: Any) -> Any:
    """The list of the prompt with the whole chat in it."""
    page.get_by_role("tab", name="Settings").click()
    page.get_by_role("spinbutton", name="Context window").fill("200000")
    says(page.locator(".budget .sum"), "200,000")
    return page.locator(SCROLLER)


def settled(scroller: Any) -> list[Any]:
    """The first message in view and where it is, when that is the same for three frames."""
    seen: list[Any] = scroller.evaluate(f"""async (list) => {{
      const frame = () => new Promise((done) => requestAnimationFrame(done));
      for (let last = "", same = 0; ; await frame()) {{
        const now = ({FIRST})(list);
        same = last === String(now) ? same + 1 : 0;
        last = String(now);
        if (same === 3) return now;
      }}
    }}""")
    return seen


def at_end(page: Any) -> None:
    """Wait until the end of the prompt is in view."""
    page.wait_for_function(f"() => ({BEHIND})(document.querySelector('{SCROLLER}')) <= 2")


def to_end(page: Any) -> None:
    """Go to the end of the prompt as a person does, however often it grows on the way."""
    page.locator(SCROLLER).hover()
    for _ in range(20):
        page.mouse.wheel(0, 100_000)
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        if page.locator(SCROLLER).evaluate(BEHIND) <= 2:
            return
    raise AssertionError("the end is never reached")


def test_who_is_at_the_end_stays_there(page: Any) -> None:
    """The last message stays in view when it grows, when messages come in, and when the list has less room."""
    wide(page)
    to_end(page)
    composer = page.get_by_role("textbox", name="What the user says now")
    composer.fill("When does the mail boat go to the Bell Reef?\n" * 8)
    seen(message(page, "When does the mail boat").last)
    at_end(page)
    composer.fill("Well?")
    seen(message(page, "Well?"))
    at_end(page)


def test_what_is_looked_at_stays_where_it_is(page: Any) -> None:
    """A message in the middle stays where it was on the screen when what is above it grows, and when a verdict is open."""
    scroller = wide(page)
    page.get_by_role("tab", name="Why").last.click()
    page.get_by_role("button", name="The Bell Reef").click()
    scroller.evaluate("(list) => list.scrollTo({ top: list.scrollHeight / 2 })")
    page.wait_for_function(f"() => ({FIRST})(document.querySelector('{SCROLLER}'))[0] !== ''")
    before = settled(scroller)
    field(page, "Personality").fill("loud, and fond of tar " * 60)
    page.wait_for_function(
        "async () => (await (await fetch('/v1/inspector/inspection')).text()).includes('fond of tar loud')"
    )
    seen(page.get_by_role("button", name="Save 1 …"))
    page.wait_for_function(SAME, arg=before)


# ------------------------------------------------------------------------------------------------------- entries of a book


def entries(page: Any) -> list[str]:
    """The entries of the lorebook that is open, in the order of their text."""
    titles: list[str] = page.locator("#pane-files .entry .title").all_inner_texts()
    return titles


def saved(page: Any) -> dict[str, Any]:
    """The entries of the working copy by their titles."""
    document = page.evaluate("async (id) => (await (await fetch(`/v1/inspector/files/${id}`)).json()).document", BOOK)
    values = document["entries"]
    return {one.get("comment") or one["name"]: one for one in (values.values() if isinstance(values, dict) else values)}


def book(page: Any) -> Any:
    """Its table of entries."""
    page.get_by_role("button", name=BOOK).click()
    seen(page.get_by_role("heading", name=BOOK))
    seen(page.locator("#pane-files .entry").first)
    return page.locator("#pane-files")


def test_entries_are_changed_together(page: Any) -> None:
    """Those that are picked, with shift a range, are turned off, get an order and are deleted as one step each."""
    pane = book(page)
    titles = entries(page)
    picks = pane.get_by_role("checkbox", name=re.compile("^Select"))
    picks.first.click()
    picks.nth(2).click(modifiers=["Shift"])
    bulk = pane.get_by_role("toolbar", name="Change what is selected")
    says(bulk, "3 selected")
    bulk.get_by_role("button", name="Turn off").click()
    has(pane.locator(".entry.off"), 3)
    page.keyboard.press("Control+z")
    bulk.get_by_role("spinbutton", name="Order").fill("777")
    page.keyboard.press("Enter")
    page.wait_for_function(
        "() => [...document.querySelectorAll('#pane-files .entry .num')].filter((one) => one.textContent === '777').length === 3"
    )
    bulk.get_by_role("button", name="Delete", exact=True).click()
    has(pane.locator(".entry"), len(titles) - 3)
    seen(page.get_by_role("button", name="Save 1 …"))
    page.wait_for_function("() => document.querySelector('.timing strong')")
    assert set(entries(page)) == set(titles[3:])


def test_entries_are_moved_by_dragging_and_by_keys(page: Any) -> None:
    """A row goes where it is dropped, or by Alt with an arrow; its number in the file says so, and the focus goes with it."""
    pane = book(page)
    first, second, *others = entries(page)
    handle = pane.get_by_role("button", name=re.compile(f"^Move {re.escape(first)}"))
    box = handle.bounding_box()
    target = pane.locator(".entry").nth(1).bounding_box()
    page.mouse.move(box["x"] + 4, box["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] + 4, target["y"] + target["height"] / 2, steps=4)
    page.mouse.up()
    says(pane.locator(".entry .title").first, second)
    assert entries(page) == [second, first, *others]
    handle.focus()
    page.keyboard.press("Alt+ArrowUp")
    says(pane.locator(".entry .title").first, first)
    page.locator("[data-handle]:focus").wait_for()
    assert first in page.evaluate("document.activeElement.getAttribute('aria-label')")


# ------------------------------------------------------------------------------------------------------------ by its name


def test_everything_is_found_by_its_name(page: Any) -> None:
    """The palette has every command, every file and every entry, and goes there."""
    page.get_by_role("tab", name="Why").last.click()
    titles = page.locator(".verdict .title").all_inner_texts()
    files = [one.get_attribute("title") for one in page.locator(".file-list .name").all()]
    commands = page.locator("dialog[aria-label] kbd")
    page.keyboard.press("Control+k")
    has(commands.first, 1)
    search = page.get_by_role("combobox", name="Search and commands")
    unfound = []
    for name in (*files, *titles, "Save what is changed", "Undo", "Keys", "Talk", "Dark"):
        search.fill(name)
        options = page.get_by_role("option").locator("bdi").all_inner_texts()
        if name not in options:
            unfound.append(name)
    assert unfound == []
    search.fill(titles[-1])
    page.keyboard.press("Enter")
    says(page.get_by_role("region", name="Why this entry"), titles[-1])
    page.keyboard.press("Control+k")
    search.fill(BOOK)
    page.keyboard.press("Enter")
    seen(page.get_by_role("heading", name=BOOK))
