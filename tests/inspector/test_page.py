"""The page of the inspector in a real browser: what a person sees and does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.inspector.chromium import Watched, field, has, message, missing, says, seen, set_up

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


# ------------------------------------------------------------------------------------------------------------------- open


def test_it_opens_with_the_whole_prompt(page: Any, window: Watched) -> None:
    """The address has no token any more; messages stand in order with roles, tokens and shares, and the budget adds up."""
    assert page.url.partition("#")[0] == f"{window.origin}/inspector/"
    assert page.title() == "Skerrow · Innkeeper inspector"
    seen(page.get_by_text("built in"))
    assert re.search(r"\d ms", page.locator(".timing").inner_text())
    articles = page.get_by_role("article")
    assert articles.count() > 10
    assert re.match(r"1: system, \d+ tokens", articles.first.get_attribute("aria-label"))
    tokens = [int(text.replace(",", "")) for text in page.locator("article .tokens").all_inner_texts()]
    assert sum(tokens) <= int(
        page.evaluate("async () => (await (await fetch('/v1/inspector/inspection')).json()).tokens.used")
    )
    assert page.get_by_role("list", name="Colours of the origins").get_by_role("listitem").count() >= 5


def test_the_cookie_is_not_for_scripts(page: Any, window: Watched) -> None:
    """The session is in a cookie that no script reads and no other site sends."""
    (cookie,) = window.context.cookies()
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    assert page.evaluate("document.cookie") == ""


# ------------------------------------------------------------------------------------------------------------------- edit


def test_a_keystroke_changes_the_prompt(page: Any) -> None:
    """What is typed into a field stands in the prompt, and the field leads to what it became; undoing takes it back."""
    personality = field(page, "Personality")
    personality.click()
    page.keyboard.press("End")
    page.keyboard.type(", afraid of gulls")
    changed = message(page, "quietly funny, afraid of gulls")
    seen(changed)
    assert changed.locator(".lit").count() == 1
    seen(page.locator("#pane-files").get_by_role("button", name=re.compile("^message")))
    seen(page.get_by_role("button", name="Save 1 …"))
    changed.focus()
    page.keyboard.press("Control+z")
    has(message(page, "afraid of gulls"), 0)


def test_the_message_is_part_of_the_prompt_as_it_is_typed(page: Any) -> None:
    """The last message of the user is what stands in the composer; an entry comes in with its key."""
    entry = page.locator(".verdict").filter(has_text="The mail boat")
    says(entry, "No key matched")
    composer = page.get_by_role("textbox", name="What the user says now")
    composer.fill("When does the mail boat go?")
    seen(message(page, "When does the mail boat go?"))
    says(entry, "Key matched")


def test_text_leads_to_its_field(page: Any) -> None:
    """A click on text of the prompt opens the file and the field that it came from."""
    message(page, "Skerrow is a bare island").locator(".piece").first.click()
    seen(page.locator("#pane-files").get_by_role("tab", name="Lorebook", selected=True))
    focused = page.evaluate(
        "document.activeElement.shadowRoot?.activeElement?.textContent ?? document.activeElement.value"
    )
    assert "Skerrow is a bare island" in focused


def test_what_is_seen_while_it_loads(page: Any, window: Watched) -> None:
    """The name, before any script has come; the page itself takes its place."""
    assert '<p id="opening">Innkeeper</p>' in window.context.request.get(f"{window.origin}/inspector/").text()
    has(page.locator("#opening"), 0)


def test_settings_change_the_prompt(page: Any) -> None:
    """Another tavern orders it another way; a small window leaves messages out and says by which rule."""
    before = page.get_by_role("article").first.inner_text()
    page.get_by_label("Tavern").first.select_option("vibe")
    page.wait_for_function("(before) => document.querySelector('article').innerText !== before", arg=before)
    page.get_by_role("tab", name="Settings").click()
    page.get_by_role("spinbutton", name="Context window").fill("460")
    seen(page.get_by_text(re.compile(r"\d+ left out")))


def test_a_turn_of_the_chat_is_seen_as_it_was(page: Any) -> None:
    """The slider cuts the chat; the end is the whole of it."""
    whole = page.get_by_role("article").count()
    page.get_by_role("slider", name="Turn").press("Home")
    says(page.locator("output"), "0 / ")
    page.wait_for_function("(whole) => document.querySelectorAll('article').length < whole", arg=whole)
    page.get_by_role("slider", name="Turn").press("End")
    has(page.get_by_role("article"), whole)


# -------------------------------------------------------------------------------------------------------------------- why


def test_why_an_entry_is_in(page: Any) -> None:
    """The rule, the key, where it is in the chat, and the text it became."""
    page.get_by_role("button", name="The Bell Reef").click()
    detail = page.get_by_role("region", name="Why this entry")
    says(detail, "Key matched")
    says(detail.locator("mark"), "reef")
    assert page.locator(".piece.marked").all_inner_texts() == ["reef"]
    detail.get_by_role("button", name=re.compile("^message")).first.click()
    has(page.locator("article:focus"), 1)


def test_why_an_entry_is_out(page: Any) -> None:
    """Entries that are out say the first rule that stopped them; they are filtered, searched and sorted."""
    page.get_by_role("radio", name=re.compile("^Out")).click()
    has(page.locator(".verdict.fired"), 0)
    page.get_by_role("combobox", name="Reason").select_option("disabled")
    has(page.locator(".verdict"), 1)
    page.locator(".verdict").click()
    says(page.get_by_role("region", name="Why this entry"), "Turned off")
    page.get_by_role("combobox", name="Reason").select_option("")
    page.get_by_role("searchbox", name="Search title, key, reason").fill("alder")
    has(page.locator(".verdict"), 1)
    says(page.locator(".verdict"), "Alderman")


# ------------------------------------------------------------------------------------------------------ compare and wire


def test_an_edit_beside_what_is_saved(page: Any) -> None:
    """The comparison has the changed message, the tokens of both, and what of a provider's cache is read again."""
    page.get_by_role("tab", name="Compare").click()
    seen(page.get_by_text("Nothing differs."))
    field(page, "Personality").fill("loud")
    pair = page.locator(".pair.changed")
    has(pair, 1)
    says(pair, "loud")
    assert re.search(r"\d+ → \d+", page.locator(".sums").inner_text())
    page.get_by_role("group", name="B").get_by_label("Turn").select_option("0")
    seen(page.locator(".pair.removed").first)


def test_the_request_as_a_provider_gets_it(page: Any) -> None:
    """Every dialect has a body; it is shown as JSON, as curl and as Python."""
    page.get_by_role("tab", name="Wire").click()
    body = page.get_by_role("textbox", name="Request body")
    says(body, '"messages"')
    page.get_by_label("Dialect").select_option("anthropic")
    says(body, '"system"')
    page.get_by_role("radio", name="curl").click()
    says(body, "curl")
    page.get_by_role("radio", name="Python").click()
    says(body, "import")


# ------------------------------------------------------------------------------------------------------- save and replay


def test_saving_shows_the_difference_first(page: Any, folder: Path) -> None:
    """Nothing is written before the difference was seen; then the file has the edit and all else, and its old self beside it."""
    path = folder / "tobin.json"
    before = path.read_bytes()
    page.get_by_role("button", name="tobin.json").click()
    field(page, "Scenario").fill("On the jetty, at dawn.")
    page.get_by_role("button", name="Save 1 …").click()
    dialog = page.get_by_role("dialog", name="What saving changes")
    says(dialog, "On the jetty, at dawn.")
    assert path.read_bytes() == before
    dialog.get_by_role("button", name="Save", exact=True).click()
    has(dialog, 0)
    says(page.locator(".notices"), "tobin.json.bak")
    saved, old = json.loads(path.read_bytes()), json.loads(before)
    assert saved["data"].pop("scenario") == "On the jetty, at dawn."
    del old["data"]["scenario"]
    assert saved == old
    assert (folder / "tobin.json.bak").read_bytes() == before


def test_a_replay_bundle_is_saved_and_opened(page: Any, tmp_path: Path) -> None:
    """The bundle that is saved opens as the same prompt."""
    shown = "async () => (await (await fetch('/v1/inspector/inspection')).json()).fingerprint"
    fingerprint = page.evaluate(shown)
    page.get_by_role("tab", name="Settings").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save a replay bundle").click()
    bundle = tmp_path / download.value.suggested_filename
    download.value.save_as(bundle)
    page.get_by_role("textbox", name="What the user says now").fill("Something else")
    seen(message(page, "Something else"))
    page.get_by_label("Open a replay bundle").set_input_files(bundle)
    seen(message(page, "Is the reef safe"))
    seen(page.get_by_text(fingerprint))


def test_a_card_is_dragged_in_and_exported(page: Any, folder: Path, tmp_path: Path) -> None:
    """A file that is dropped is one of the workspace; it goes out in the formats that it can be written in."""
    page.evaluate(
        """(text) => {
          const dropped = new DataTransfer();
          dropped.items.add(new File([text], "guest.json", { type: "application/json" }));
          window.dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, bubbles: true, cancelable: true }));
        }""",
        (folder / "tobin.json").read_text(encoding="utf-8"),
    )
    seen(page.get_by_role("heading", name="guest.json"))
    with page.expect_download() as download:
        page.get_by_role("combobox", name="Export …").select_option("v3")
    exported = tmp_path / "exported"
    download.value.save_as(exported)
    assert json.loads(exported.read_bytes())["spec"] == "chara_card_v3"


def test_the_model_on_this_machine_answers(page: Any) -> None:
    """The prompt is sent and the answer comes in as it is made; another try is a second answer beside it."""
    if page.get_by_role("tab", name="Talk").count() == 0:
        pytest.skip("no model is installed on this machine (innkeeper models install)")
    set_up(page, {"context_window": 700, "reserve": 40})  # the model takes seconds for the whole example
    page.get_by_role("tab", name="Talk").click()
    page.get_by_role("button", name="Send").click()
    answer = page.get_by_role("log").get_by_role("listitem").last
    says(answer, re.compile(r"\d+ tokens.*1 / 1", re.DOTALL))
    assert answer.locator(".bubble").inner_text().strip()


def test_the_first_look_leads_to_three_things(page: Any, window: Watched) -> None:
    """The field of a text, the reason of an entry, the chat by turns; closed, it does not come again."""
    first = page.get_by_role("complementary", name="Three things to see")
    first.get_by_role("button", name="Why an entry is in").click()
    says(page.get_by_role("region", name="Why this entry"), "Key matched")
    first.get_by_role("button", name="Where a text comes from").click()
    page.locator("#pane-files .field.focused").wait_for()
    first.get_by_role("button", name="Close the first look").click()
    has(first, 0)
    window.open()
    seen(page.get_by_role("article").first)
    has(first, 0)


def test_what_has_no_effect_calls_for_nobody(page: Any) -> None:
    """The packaged example greets nobody with a number; what its files say in vain is folded."""
    notes = page.get_by_role("tab", name="Notes").last
    has(notes.locator(".chip"), 0)
    notes.click()
    page.get_by_text("What has no effect here").click()
    seen(page.get_by_role("list", name="What has no effect here"))
