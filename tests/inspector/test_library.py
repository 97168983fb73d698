"""The library's room in a real browser, over a library in a file: what it shows, and what publishing and rolling back do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from innkeeper.library.library import Library
from innkeeper.library.log.logs import LogStore
from tests.inspector.chromium import PHONE, Watched, has, inspecting, missing, overflow, says, seen, serving, watched
from tests.inspector.hostile import BIDI, SCRIPTS
from tests.inspector.test_everyone import focused, tab_to, violations
from tests.service.inspector.library.stocked import GREETER, KEY, SECRET, draft, stocked

HOSTILE = "hostile"

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with two templates, one of which has two versions, and a call of this hour."""
    path = stocked(tmp_path_factory.mktemp("library"))
    with Library.open(path, watch=False) as library:
        call = {"created_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), "execution_time_ms": 12, "status": "ok"}
        text = "\n".join(one for one in SCRIPTS if "{{" not in one)
        library.authoring.create(draft(f"{text}\n{BIDI}", HOSTILE, description=text, note=text, author=SCRIPTS[0]))
        LogStore(library.db).add({**call, "request_id": "now", "template_name": GREETER, "template_version": 2})
    return path


@pytest.fixture(scope="module")
def window(browser: Any, database: Path) -> Iterator[Watched]:
    """A window at the packaged example, beside that library."""
    with inspecting(database=database) as address, watched(browser, address) as window:
        yield window


@pytest.fixture
def room(window: Watched) -> Iterator[Any]:
    """The page in the library's room."""
    page = window.open()
    page.get_by_role("navigation", name="Room").get_by_role("button", name="Library").click()
    seen(page.get_by_role("main", name="Library"))
    yield page
    page.set_viewport_size({"width": 1280, "height": 800})
    window.assert_quiet()


def opened(room: Any, name: str = GREETER) -> Any:
    """The detail of a template that was chosen."""
    room.get_by_role("listitem").filter(has_text=name).get_by_role("button").click()
    return room.get_by_role("region", name="Open template")


def test_a_template_is_filled_beside_its_fields(room: Any, window: Watched) -> None:
    """As values are typed; a link opens the same template, version, and values in another window's page."""
    detail = opened(room)
    detail.get_by_role("tab", name="Run").click()
    detail.get_by_role("textbox", name="guest").fill("Ansel {{guest}}")
    says(detail.get_by_role("region", name="With the values in it"), "Greet Ansel {{guest}} warmly.")
    room.wait_for_function("() => location.hash.includes('Ansel')")
    link = room.url
    assert "version=2" in link
    room.goto("about:blank")
    room.goto(link)
    detail = room.get_by_role("region", name="Open template")
    says(detail.get_by_role("region", name="With the values in it"), "Greet Ansel {{guest}} warmly.")
    assert violations(room) == []
    room.set_viewport_size(PHONE)
    assert overflow(room) == []


def test_cases_hold_a_template_to_what_it_shall_say(room: Any) -> None:
    """Kept by the browser, run all at once; one that fails says what is missing."""
    detail = opened(room)
    detail.get_by_role("tab", name="Run").click()
    for name, wanted in (("warm", "warmly"), ("cold", "coldly")):
        detail.get_by_role("textbox", name="guest").fill(f"Ansel {name}")
        detail.get_by_role("textbox", name="Name of the case").fill(name)
        detail.get_by_role("textbox", name="has", exact=True).fill(wanted)
        detail.get_by_role("button", name="Keep as a case").click()
    room.reload()
    cases = room.get_by_role("region", name="Cases", exact=True)
    cases.get_by_role("button", name="Run all cases").click()
    says(cases.get_by_role("listitem").filter(has_text="warm"), "as expected")
    says(cases.get_by_role("listitem").filter(has_text="cold"), "“coldly” is not there")
    cases.get_by_role("button", name="warm", exact=True).click()
    says(room.get_by_role("region", name="With the values in it"), "Greet Ansel warm warmly.")
    for name in ("warm", "cold"):
        cases.get_by_role("button", name=f"Delete {name}").click()
    says(cases, "No cases yet")


def published(database: Path) -> int:
    """The version that the file has in production."""
    with Library.open(database, create=False, watch=False) as library:
        return library.authoring.store.labels(GREETER)["production"]


def show(page: Any, view: str) -> Any:
    """Go to a view of the room."""
    page.get_by_role("main", name="Library").get_by_role("tab", name=view, exact=True).click()
    return page.get_by_role("tabpanel", name=view)


def template(page: Any) -> Any:
    """The greeter, open."""
    show(page, "Templates").get_by_role("button", name=re.compile(GREETER)).click()
    detail = page.get_by_role("region", name="Open template")
    seen(detail.get_by_role("heading", name=GREETER))
    return detail


def test_a_version_is_drafted_published_and_rolled_back(room: Any, database: Path) -> None:
    """A draft is checked as it is typed; a label moves only after its difference was shown; the file has what the page says."""
    detail = template(room)
    says(detail.get_by_role("list", name="Versions"), re.compile("v2.*published.*v1.*older", re.DOTALL))
    detail.get_by_role("button", name="New version …").click()
    text = detail.get_by_role("textbox", name="Text of the template")
    text.fill("Greet {{guest")
    says(detail.get_by_role("status"), "error")
    text.fill("Greet {{guest}} at the door.")
    says(detail.get_by_role("status"), "Nothing to note.")
    detail.get_by_role("textbox", name="Note").fill("the door")
    detail.get_by_role("button", name="Keep as a new version").click()
    versions = detail.get_by_role("list", name="Versions")
    says(versions, re.compile("v3.*draft.*the door", re.DOTALL))
    assert published(database) == 2
    detail.get_by_role("button", name="Publish …").click()
    dialog = room.get_by_role("dialog", name=f"Publish {GREETER}")
    says(dialog, "production goes from version 2 to version 3.")
    says(dialog, "at the door")
    assert published(database) == 2
    dialog.get_by_role("textbox", name="Note").fill("for winter")
    dialog.get_by_role("button", name="Publish version 3").click()
    has(dialog, 0)
    says(versions, re.compile("v3.*published", re.DOTALL))
    assert published(database) == 3
    detail.get_by_role("button", name="Roll back …").click()
    dialog = room.get_by_role("dialog", name=f"Roll back {GREETER}")
    says(dialog, "production goes from version 3 to version 2.")
    dialog.get_by_role("button", name="Roll back to version 2").click()
    has(dialog, 0)
    says(versions, re.compile("v2.*published", re.DOTALL))
    assert published(database) == 2
    detail.get_by_role("tab", name="History").click()
    says(detail.get_by_role("table", name="History"), re.compile("v3 → v2.*v2 → v3.*for winter", re.DOTALL))


def test_two_versions_side_by_side(room: Any) -> None:
    """Any two are compared; equal ones are said to be."""
    detail = template(room)
    detail.get_by_role("tab", name="Compare").click()
    detail.get_by_role("combobox", name="A").select_option("1")
    detail.get_by_role("combobox", name="B").select_option("2")
    says(detail, "warmly")
    detail.get_by_role("combobox", name="A").select_option("2")
    says(detail, "Nothing differs.")


def test_what_answers_and_the_path_to_it(room: Any) -> None:
    """Each level that was tried says what came of it, and the answer opens as a template."""
    view = show(room, "Resolver")
    view.get_by_role("combobox", name="Use case").fill("chat")
    view.get_by_role("combobox", name="Target model").fill("lantern-7b")
    room.keyboard.press("Enter")
    answer = view.get_by_role("status", name="What answers")
    has(answer.locator("li.matched"), 1)
    says(answer.locator("li.matched"), "found")
    answer.get_by_role("button", name=GREETER).click()
    seen(room.get_by_role("region", name="Open template").get_by_role("heading", name=GREETER))


def test_why_a_text_gets_a_tier(room: Any) -> None:
    """The verdict, what counts in the text where it stands, and the policy; asking for more gives the reason why not."""
    view = show(room, "Tiers")
    seen(view.get_by_role("table", name="Policy"))
    view.get_by_role("textbox", name="Text").fill("A quiet evening at the harbour, then sex.")
    view.get_by_role("combobox", name="Tier").select_option("nsfw")
    view.get_by_role("button", name="Judge").click()
    verdict = view.get_by_role("region", name="Verdict")
    says(verdict, "nsfw → sfw")
    says(verdict, "ceiling:")
    says(verdict.locator("mark"), "sex")


def test_the_catalogue_the_log_and_the_names(room: Any, window: Watched) -> None:
    """Rows with what uses them, filtered; figures as charts and tables; of a secret its name and nothing else."""
    view = show(room, "Models and more")
    says(view.get_by_role("table", name="Models"), re.compile("lantern-7b.*roleplay.*4,096", re.DOTALL))
    for name, text in (("Providers", KEY), ("Tools", "roll"), ("Negative prompts", "blurry"), ("Budgets", GREETER)):
        view.get_by_role("tab", name=name).click()
        says(view.get_by_role("table", name=name), text)
    view = show(room, "Log")
    says(view.get_by_role("table", name="Calls by template"), re.compile(f"all.*{GREETER}.*12 ms", re.DOTALL))
    has(view.get_by_role("img", name="Calls").locator("canvas"), 1)
    has(view.get_by_role("table", name="Log").get_by_role("row"), 6)
    search = view.get_by_role("searchbox", name=re.compile("Log$"))
    search.fill("error")
    has(view.get_by_role("table", name="Log").get_by_role("row"), 2)
    view = show(room, "Vault")
    says(view.get_by_role("table", name="Vault"), KEY)
    assert SECRET not in room.content()


def test_a_hostile_template_is_shown_as_text(room: Any) -> None:
    """Markup in a text, a title, a note and an author is read as it stands; nothing of it runs, and nothing overflows."""
    show(room, "Templates").get_by_role("button", name=re.compile(HOSTILE)).click()
    detail = room.get_by_role("region", name="Open template")
    says(detail.get_by_role("textbox", name="Text of the template"), SCRIPTS[0])
    assert detail.locator("script, img[src], iframe, form[action], meta").count() == 0
    detail.get_by_role("button", name="Publish …").click()
    seen(room.get_by_role("dialog"))
    assert not overflow(room)
    room.keyboard.press("Escape")


def test_the_library_by_the_keyboard(room: Any) -> None:
    """From the palette to a template, through its versions and into the dialog and out, without a mouse."""
    template(room)
    room.keyboard.press("Alt+2")
    room.locator("article:focus").wait_for()
    room.keyboard.press("Control+k")
    room.keyboard.type("Library: Log")
    room.keyboard.press("Enter")
    room.locator("#shelf-log:focus").wait_for()
    room.keyboard.press("Home")
    room.locator("#shelf-templates:focus").wait_for()
    tab_to(room, GREETER)
    room.keyboard.press("Enter")
    tab_to(room, "Roll back …")
    room.keyboard.press("Enter")
    dialog = room.get_by_role("dialog", name=f"Roll back {GREETER}")
    seen(dialog)
    room.keyboard.press("Escape")
    has(dialog, 0)
    assert "Roll back" in focused(room)
    room.keyboard.press("Control+k")
    room.keyboard.type(f"{GREETER}")
    room.keyboard.press("Enter")
    seen(room.get_by_role("region", name="Open template").get_by_role("heading", name=GREETER))


VIEWS = ("Templates", "Resolver", "Tiers", "Models and more", "Log", "Vault")


def looked_at(page: Any, view: str) -> list[str]:
    """What is wrong with a view, bright and dark, at a desk and on a phone."""
    page.emulate_media(color_scheme="light")
    show(page, view)
    if view == "Templates":
        template(page)
    page.get_by_text("Loading …").first.wait_for(state="hidden")
    wrong = violations(page)
    page.emulate_media(color_scheme="dark")
    wrong += [f"dark: {one}" for one in violations(page, "color-contrast")]
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(PHONE)
    wrong += [f"phone: {one}" for one in overflow(page)]
    page.set_viewport_size({"width": 1280, "height": 800})
    return [f"{view}: {one}" for one in wrong]


def test_some_views_are_for_everyone(room: Any) -> None:
    """Two of the views break no rule of accessibility, bright or dark, and fit a phone."""
    assert not [wrong for view in VIEWS[:1] + VIEWS[4:5] for wrong in looked_at(room, view)]


@pytest.mark.endurance
def test_every_view_is_for_everyone(room: Any) -> None:
    """All of them, with answers in them, and the dialog that publishes."""
    wrong = [wrong for view in VIEWS for wrong in looked_at(room, view)]
    view = show(room, "Resolver")
    view.get_by_role("combobox", name="Use case").fill("chat")
    view.get_by_role("button", name="Resolve").click()
    seen(view.get_by_role("status", name="What answers"))
    wrong += violations(room)
    view = show(room, "Tiers")
    view.get_by_role("textbox", name="Text").fill("A quiet evening.")
    view.get_by_role("button", name="Judge").click()
    seen(view.get_by_role("status"))
    wrong += violations(room)
    show(room, "Templates").get_by_role("button", name=re.compile(HOSTILE)).click()  # of which nothing is published
    room.get_by_role("region", name="Open template").get_by_role("button", name="Publish …").click()
    seen(room.get_by_role("dialog"))
    wrong += violations(room)
    room.keyboard.press("Escape")
    room.get_by_label("Language").select_option("zh")
    seen(room.get_by_role("tab", name="模板", exact=True))
    wrong += violations(room)
    room.get_by_label("语言").select_option("en")
    assert not wrong, "\n".join(wrong)


def test_beside_the_service(browser: Any, database: Path) -> None:
    """The address opens the page once, with the rights of whoever started the service; a key looks, and may not publish."""
    key = "a key that may look at the inspector"
    with serving(key, database) as address, watched(browser, address) as window:
        page = window.open()
        page.get_by_role("navigation", name="Room").get_by_role("button", name="Library").click()
        seen(template(page).get_by_role("button", name="Publish …"))
        window.assert_quiet()
        with_key = {"headers": {"Authorization": f"Bearer {key}"}}
        strange = browser.new_context()
        try:
            assert strange.request.get(address).status >= 400
            there = f"{window.origin}/v1/inspector/library"
            assert strange.request.get(there).status == 401
            assert strange.request.get(there, **with_key).json()["rights"] == {"write": False, "oversee": False}
            refused = strange.request.post(f"{there}/templates/{GREETER}/publish", data={"version": 1}, **with_key)
            assert refused.status == 403
        finally:
            strange.close()
