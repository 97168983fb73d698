"""The chat over time: entries by turns and why, tokens a turn, what was left out in its place, and how a prompt is built."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.inspector.chromium import (
    DESK,
    PHONE,
    Watched,
    has,
    inspecting,
    missing,
    overflow,
    says,
    seen,
    set_up,
    watched,
)
from tests.inspector.test_everyone import violations
from tests.shared import ROOT

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

TURNS = 14
BOOK = {
    "name": "Larks",
    "entries": {
        "0": {"uid": 0, "comment": "Isle", "key": [], "constant": True, "content": "A bare island.", "position": 0},
        "1": {
            "uid": 1,
            "comment": "Bell",
            "key": ["bell"],
            "content": "A bell.",
            "sticky": 5,
            "cooldown": 4,
            "position": 0,
        },
        "2": {"uid": 2, "comment": "Dice", "key": ["bell"], "content": "No.", "probability": 0, "useProbability": True},
        "3": {"uid": 3, "comment": "Mill", "key": ["mill"], "content": "A mill."},
    },
}


@pytest.fixture(scope="module")
def long(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """A window at a chat of some turns that does not fit its window; its third message has a key."""
    folder: Path = tmp_path_factory.mktemp("long")
    lines: list[Any] = [{"user_name": "Ansel", "character_name": "Wenna", "chat_metadata": {}}]
    for turn in range(TURNS):
        said = "the bell" if turn == 2 else "and so on"
        lines += [
            {"name": "Ansel", "is_user": True, "mes": said},
            {"name": "Wenna", "is_user": False, "mes": "Well then. " * 12},
        ]
    (folder / "chat.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (folder / "larks.json").write_text(json.dumps(BOOK))
    (folder / "wenna.png").write_bytes((ROOT / "examples" / "wenna.png").read_bytes())
    with inspecting(*sorted(folder.iterdir())) as address, watched(browser, address) as window:
        set_up(window.open(), {"context_window": 700, "reserve": 100, "message": "Hm?"})
        yield window


@pytest.fixture
def page(long: Watched) -> Iterator[Any]:
    """A page at the chat over time, when all turns have come."""
    page = long.open()
    page.goto(f"{long.origin}/inspector/#view=time")
    page.reload()
    says(page.locator(".time"), f"{TURNS} of {TURNS} turns")
    has(page.locator(".time .chip", has_text="Loading"), 0)
    yield page
    page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
    set_up(page, {"turn": None, "message": "Hm?"})
    page.set_viewport_size(DESK)
    long.assert_quiet()


def row(page: Any, title: str) -> Any:
    """The row of an entry."""
    return page.get_by_role("list", name="Entries by turns").get_by_role("button", name=re.compile(f"^{title}[: ]"))


def detail(page: Any) -> Any:
    """What is said of the turn that is looked at."""
    return page.get_by_role("region", name="The turn that is looked at")


def test_entries_have_a_row_with_their_turns(page: Any) -> None:
    """By what decided; entries that were never near have none."""
    assert row(page, "Isle").get_attribute("aria-label") == f"Isle: in at {TURNS + 1} of {TURNS + 1}"
    kinds = row(page, "Bell").locator(".run").evaluate_all("(runs) => runs.map((run) => run.classList[1])")
    assert kinds == ["key", "sticky", "timer"]
    assert row(page, "Dice").locator(".chance").count() == 1
    has(row(page, "Mill"), 0)


def test_the_keyboard_goes_through_entries_and_turns(page: Any) -> None:
    """Arrows move to entries and turns; why is said of each, and the prompt of the turn is a key away."""
    page.keyboard.press("Alt+0")
    page.locator(".time .entry:focus").wait_for()
    while not page.locator(".entry[aria-current][aria-label^='Bell:']").count():
        before = page.locator(".entry[aria-current]").count() and page.locator(".entry[aria-current]").inner_text()
        page.keyboard.press("ArrowDown")
        page.locator(".entry[aria-current]:focus").wait_for()
        assert page.locator(".entry[aria-current]").inner_text() != before
    page.keyboard.press("Home")
    says(detail(page), "Turn 1, message 1")
    says(detail(page), "not near at this turn")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    says(detail(page), "Key matched")
    page.keyboard.press("ArrowRight")
    says(detail(page), "Still sticky")
    page.keyboard.press("End")
    says(detail(page), "The prompt as it is")


def test_a_click_looks_at_a_turn(page: Any) -> None:
    """In the matrix and in the chart; the address keeps turn and entry over a reload, and Back leads back."""
    run = row(page, "Bell").locator(".sticky").bounding_box()
    page.mouse.click(run["x"] + 3, run["y"] + 3)
    says(detail(page), "Still sticky")
    assert re.search(r"#view=time&entry=.*&message=\d+$", page.url)
    page.reload()
    says(detail(page), "Still sticky")
    detail(page).get_by_role("button", name="Show this prompt").click()
    seen(page.get_by_role("feed"))
    says(page.locator("output"), re.compile(rf"^7 / {2 * TURNS}"))
    page.go_back()
    says(detail(page), "Still sticky")


def test_what_is_typed_is_the_last_column(page: Any) -> None:
    """At once, without the turns being built again; another book builds them anew."""
    set_up(page, {"message": "the bell and the mill"})
    says(row(page, "Mill").locator("xpath=."), "Mill")
    assert row(page, "Mill").get_attribute("aria-label") == f"Mill: in at 1 of {TURNS + 1}"


def test_tokens_and_the_cache_are_said_of_a_turn(page: Any) -> None:
    """The chart has the colours of the origins; its numbers are said in words."""
    assert page.get_by_role("img", name=re.compile("^tokens a turn: character")).count() == 1
    page.keyboard.press("Alt+0")
    page.locator(".time .entry:focus").wait_for()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    says(detail(page), re.compile(r"\d tokens"))
    says(detail(page), re.compile(r"\d+ tokens left out"))
    says(detail(page), re.compile(r"a cache keeps [\d,]+ \("))
    page.get_by_label("whose cache").select_option("openai")
    says(page.locator(".time"), f"{TURNS} of {TURNS} turns")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_for_everyone(page: Any, scheme: str) -> None:
    """Nothing breaks a rule of accessibility, and on a phone only the matrix is scrolled sideways; in Chinese, too."""
    page.emulate_media(color_scheme=scheme)
    row(page, "Bell").click()
    problems = violations(page)
    page.set_viewport_size(PHONE)
    page.get_by_label("Language").first.wait_for(state="attached")
    problems += [f"phone: {one}" for one in overflow(page) if "scroll list" not in one]
    page.emulate_media(color_scheme="light")
    assert not problems, "\n".join(problems)


def test_what_was_left_out_stands_in_its_place(page: Any, long: Watched) -> None:
    """A quiet line before the first message of the chat that is left; it opens to the texts."""
    page.goto(f"{long.origin}/inspector/#")
    page.reload()
    mark = page.get_by_role("article").filter(has_text=re.compile(r"\d+ left out here"))
    seen(mark)
    following = mark.locator("xpath=following::article[1]")
    says(following, re.compile("and so on|Well then"))
    mark.locator("summary").click()
    seen(mark.get_by_role("listitem").nth(3))
    says(mark, "the bell")
    assert violations(page) == []


def test_how_it_was_built(page: Any, long: Watched) -> None:
    """Its steps, with what they counted and the texts that they wrote."""
    page.goto(f"{long.origin}/inspector/#")
    page.reload()
    page.get_by_text("How it was built").click()
    says(page.get_by_role("list", name="How it was built"), re.compile(r"Lorebooks\s*entries in"))
    page.get_by_role("list", name="How it was built").get_by_text(re.compile(r"\d+ texts")).first.click()
    says(page.get_by_role("list", name="How it was built"), "keeps the Skerrow Light")
    assert violations(page) == []
