"""Hostile assets in the inspector: nothing of them runs, nothing is asked of anybody else, nothing leaves its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.inspector.chromium import DESK, PHONE, Watched, has, inspecting, missing, overflow, seen, watched
from tests.inspector.hostile import assets, written

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

FILES = assets()


@pytest.fixture(scope="module")
def window(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """A window at a folder of them, all used."""
    folder = written(tmp_path_factory.mktemp("opened") / "hostile")
    with inspecting(*sorted(folder.iterdir())) as address, watched(browser, address) as window:
        yield window


@pytest.fixture(scope="module")
def page(window: Watched) -> Any:
    """The page; it stays open, as it would for a person who looks at one after the other."""
    return window.open()


def views(page: Any) -> Iterator[str]:
    """Every view of the file that is chosen."""
    tabs = page.locator("#pane-files").get_by_role("tab")
    for index in range(tabs.count()):
        tabs.nth(index).click()
        yield tabs.nth(index).inner_text()


MARKUP = "iframe, base, style, form, body script, img:not([src^='blob:'], .cm-widgetBuffer:not([src]))"
"""What the assets hold as tags. An editor puts pictures of nothing of its own around what it shows of a character."""


def assert_only_shown(page: Any, view: str) -> None:
    """A view holds no element out of a file, and nothing of it is wider than the window."""
    assert page.locator(MARKUP).evaluate_all("found => found.map((one) => one.outerHTML)") == [], view
    assert overflow(page) == [], view


SOME = 4
"""Of the files, one in so many in the usual run; every one in `make endurance`."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, id=str(at), marks=pytest.mark.endurance if at % SOME else ()) for at, name in enumerate(FILES)],
)
def test_a_hostile_file_is_only_shown(page: Any, window: Watched, name: str) -> None:
    """Its fields, its book, its JSON, wide and narrow: as text, in their places; its name is not of use either."""
    index = sorted(FILES).index(name)
    page.set_viewport_size(DESK)
    page.locator(".file-list li button").nth(index).click()
    has(page.locator(".file-list [aria-current]"), 1)
    page.locator("#pane-files .editor, #pane-files .empty").first.wait_for()
    for view in views(page):
        assert_only_shown(page, view)
    page.set_viewport_size(PHONE)
    page.locator("#panes-files").click()
    for view in views(page):
        assert_only_shown(page, view)
    window.assert_quiet()


@pytest.mark.parametrize("view", ["Prompt", "Wire", "Compare"])
def test_a_hostile_prompt_is_only_shown(page: Any, window: Watched, view: str) -> None:
    """The prompt of all of them, its request, its differences."""
    page.set_viewport_size(DESK)
    page.get_by_role("tab", name=view).first.click()
    seen(page.locator("#view").locator("article, .cm-content, fieldset").first)
    assert_only_shown(page, view)
    page.set_viewport_size(PHONE)
    page.locator(f"#panes-{view.lower()}").click()
    assert_only_shown(page, view)
    window.assert_quiet()


@pytest.mark.parametrize("view", ["Why", "Notes", "Settings"])
def test_hostile_reasons_are_only_shown(page: Any, window: Watched, view: str) -> None:
    """Entries by their titles, keys and books; findings that quote; settings that name files."""
    page.set_viewport_size(PHONE)
    page.locator(f"#panes-{view.lower()}").click()
    if view == "Why":
        page.locator(".verdict").first.click()
    assert_only_shown(page, view)
    window.assert_quiet()


def test_what_is_dropped_is_only_shown(page: Any, window: Watched) -> None:
    """A picture that is none, and a card whose name is a tag, from elsewhere into the page."""
    page.evaluate(
        """() => {
          const dropped = new DataTransfer();
          dropped.items.add(new File(["<svg onload=ran()>"], "<svg onload=ran()>.png", { type: "image/svg+xml" }));
          window.dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, bubbles: true, cancelable: true }));
        }"""
    )
    seen(page.locator(".head").get_by_text("<svg onload=ran()>.png"))
    assert_only_shown(page, "Files")
    window.assert_quiet()
