"""The page of the inspector for everyone: by the keyboard alone, on a phone, in both languages, bright and dark, read aloud."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.inspector.chromium import PHONE, field, has, message, missing, overflow, says, seen
from tests.shared import ROOT

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

WORDS = ROOT / "inspector" / "src" / "words"


def tab(name: str) -> Callable[[Any], None]:
    """A way to a view: its tab."""
    return lambda page: page.get_by_role("tab", name=name).first.click()


def palette(page: Any) -> None:
    """Search among the commands."""
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search and commands").fill("show")


def keys(page: Any) -> None:
    """The list of keys."""
    page.keyboard.press("Control+/")
    seen(page.get_by_role("dialog", name="Keys"))


def entry(page: Any) -> None:
    """The verdict of one entry."""
    page.get_by_role("tab", name="Why").last.click()
    page.get_by_role("button", name="The Bell Reef").click()
    seen(page.get_by_role("region", name="Why this entry"))


def saving(page: Any) -> Any:
    """What saving changes, field by field: the dialog."""
    field(page, "Personality").fill("loud")
    page.keyboard.press("Control+s")
    dialog = page.get_by_role("dialog", name="What saving changes")
    seen(dialog.locator("ins", has_text="loud"))
    return dialog


def saving_json(page: Any) -> None:
    """The same as JSON, two files side by side."""
    dialog = saving(page)
    dialog.get_by_role("radio", name="JSON").check()
    seen(dialog.locator(".cm-content").first)


class View(NamedTuple):
    """A view, and how it is reached."""

    name: str
    show: Callable[[Any], None]
    file: str = ""
    pane: str = "middle"


VIEWS = (
    View("prompt", tab("Prompt")),
    View("time", tab("Time")),
    View("wire", tab("Wire")),
    View("compare", tab("Compare")),
    View("talk", tab("Talk")),
    View("entry", entry, pane="side"),
    View("notes", tab("Notes"), pane="side"),
    View("settings", tab("Settings"), pane="side"),
    View("book of a card", tab("Lorebook"), pane="files"),
    View("JSON", tab("JSON"), pane="files"),
    View("lorebook", tab("Fields"), "larks.lorebook.json", pane="files"),
    View("preset", tab("Fields"), "skerrow.preset.json", pane="files"),
    View("persona", tab("Fields"), "ansel.persona.json", pane="files"),
    View("chat", tab("Fields"), "wenna.chat.jsonl", pane="files"),
    View("profile", tab("Prompt"), "profile.toml", pane="files"),
    View("palette", palette),
    View("keys", keys),
    View("saving", saving),
    View("saving JSON", saving_json),
)


def shown(page: Any, view: View) -> None:
    """Go to a view."""
    if view.file:
        page.get_by_role("button", name=view.file).click()
        seen(page.get_by_role("heading", name=view.file))
        page.get_by_text("Loading …").first.wait_for(state="hidden")
    if view.name == "talk" and page.get_by_role("tab", name="Talk").count() == 0:
        pytest.skip("no model is installed on this machine (innkeeper models install)")
    view.show(page)


def violations(page: Any, *rules: str) -> list[str]:
    """What the rules of accessibility (WCAG 2.2 A and AA, and good practice) find: the rule, and each place that breaks it."""
    if not page.evaluate("Boolean(window.axe)"):
        from axe_playwright_python.base import AXE_FILE_PATH

        page.evaluate(Path(AXE_FILE_PATH).read_text(encoding="utf-8"))
    options = {
        "resultTypes": ["violations"],
        "rules": {"target-size": {"enabled": True}},
        **({"runOnly": list(rules)} if rules else {}),
    }
    found = page.evaluate("(options) => axe.run(document, options)", options)["violations"]
    return [f"{rule['id']}: {node['target']} {node['html'][:160]}" for rule in found for node in rule["nodes"]]


SOME = {"prompt", "entry", "settings", "lorebook", "palette"}
"""Of the views, in the usual run; every one in `make endurance`."""


@pytest.mark.parametrize(
    "view",
    [pytest.param(view, id=view.name, marks=() if view.name in SOME else pytest.mark.endurance) for view in VIEWS],
)
def test_a_view_is_for_everyone(page: Any, view: View) -> None:
    """It breaks no rule of accessibility, bright or dark, and fits a phone: nothing has to be scrolled sideways at 360 pixels."""
    page.emulate_media(color_scheme="light")
    shown(page, view)
    found = violations(page)
    page.emulate_media(color_scheme="dark")
    found += [f"dark: {one}" for one in violations(page, "color-contrast")]
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(PHONE)
    if not page.evaluate("Boolean(document.querySelector('dialog[open]'))"):
        chosen = page.locator(f"#pane-{view.pane} > .bar [role=tab][aria-selected=true]").all()
        page.locator(f"#panes-{chosen[0].get_attribute('data-tab') if chosen else 'files'}").click()
    found += [f"phone: {one}" for one in overflow(page)]
    assert not found, "\n".join(found)


def focused(page: Any) -> str:
    """What has the focus, by its name for those who do not see it."""
    name: str = page.evaluate("""() => {
      let at = document.activeElement;
      while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
      return at?.getAttribute("aria-label") ?? at?.labels?.[0]?.innerText ?? at?.innerText ?? "";
    }""")
    return name


def tab_to(page: Any, name: str, key: str = "Tab") -> None:
    """Move the focus on until it is there."""
    for _ in range(60):
        if name in focused(page):
            return
        page.keyboard.press(key)
    raise AssertionError(f"no way to {name!r}; it ends at {focused(page)!r}")


def test_all_of_it_by_the_keyboard(page: Any) -> None:
    """An edit, its reason, its difference, and back: without a mouse, and the focus is never lost."""
    page.keyboard.press("Alt+1")
    page.locator("#pane-files :focus").wait_for()
    tab_to(page, "Personality")
    page.keyboard.press("Control+End")
    page.keyboard.type(", fond of tar")
    seen(message(page, "fond of tar"))
    page.keyboard.press("Alt+2")
    for _ in range(page.get_by_role("article").count()):
        if "fond of tar" in page.locator("article:focus").inner_text():
            break
        here = page.locator("article:focus").get_attribute("aria-label")
        page.keyboard.press("ArrowDown")
        page.locator(f"article:focus:not([aria-label='{here}'])").wait_for()
    for _ in ("the name", " is ", "the personality"):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement.shadowRoot?.activeElement")
    assert focused(page) == "Personality"
    page.keyboard.press("Alt+6")
    page.locator("#details :focus").wait_for()
    tab_to(page, "The Bell Reef")  # those that are in come first
    page.keyboard.press("ArrowDown")
    says(page.get_by_role("region", name="Why this entry"), "Key matched")
    page.keyboard.press("ArrowDown")
    says(page.get_by_role("region", name="Why this entry"), "Always in")
    page.keyboard.press("ArrowDown")
    says(page.get_by_role("region", name="Why this entry"), "Turned off")
    page.keyboard.press("ArrowDown")
    says(page.get_by_role("region", name="Why this entry"), "No key matched")
    page.keyboard.press("Control+k")
    page.keyboard.type("comparison")
    page.keyboard.press("Enter")
    has(page.locator(".pair.changed"), 1)
    page.keyboard.press("Control+s")
    dialog = page.get_by_role("dialog", name="What saving changes")
    seen(dialog)
    page.keyboard.press("Escape")
    has(dialog, 0)
    page.keyboard.press("Control+m")
    page.locator("#message:focus").wait_for()
    page.keyboard.press("Alt+2")
    page.locator("article:focus").wait_for()
    page.keyboard.press("Alt+ArrowLeft")
    says(page.locator("output"), re.compile(r"(\d+) / (?!\1$)\d+"))


def test_tabs_are_walked_by_arrows(page: Any) -> None:
    """Arrows, Home and End move among tabs, as everywhere."""
    page.get_by_role("tab", name="Prompt").first.focus()
    page.keyboard.press("ArrowRight")
    assert focused(page) == "Time"
    page.keyboard.press("Home")
    assert focused(page) == "Prompt"
    seen(page.get_by_role("feed"))


def test_both_languages(page: Any) -> None:
    """All words change with the language, it is kept, and is said to those who have the page read aloud."""
    words = {name: json.loads((WORDS / f"{name}.json").read_text(encoding="utf-8")) for name in ("en", "zh")}
    page.get_by_label("Language").select_option("zh")
    seen(page.get_by_role("tab", name=words["zh"]["tab.why"], exact=True))
    assert page.evaluate("document.documentElement.lang") == "zh-Hans"
    said = page.locator("main").inner_text()
    keys = ("tab.compare", "pane.files", "reason.no_match", "field.nickname")
    untold = [words["en"][key] for key in keys if words["en"][key] in said]
    assert untold == []
    page.get_by_role("button", name="The Bell Reef").click()
    says(page.get_by_role("region", name=words["zh"]["why.detail"]), words["zh"]["reason.key"])
    page.reload()
    seen(page.get_by_role("tab", name=words["zh"]["tab.prompt"], exact=True).first)


def test_bright_and_dark(page: Any) -> None:
    """As the system has it, or as it is chosen; what is chosen is kept."""
    ground = "() => getComputedStyle(document.body).backgroundColor"
    page.emulate_media(color_scheme="light")
    bright = page.evaluate(ground)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(ground)
    assert bright != dark
    page.get_by_label("Theme").select_option("light")
    assert page.evaluate(ground) == bright
    page.reload()
    assert page.evaluate(ground) == bright
    page.emulate_media(color_scheme="light")
