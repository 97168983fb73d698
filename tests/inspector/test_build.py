"""What is built, as a person sees it: dialects with their templates, and what is sent."""

from __future__ import annotations

from typing import Any

import pytest

from tests.inspector.chromium import message, missing, says, seen

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


def test_a_text_dialect_builds_with_templates(page: Any) -> None:
    """The prompt has the sequences of the template, the stop strings stand below, and the settings name the templates."""
    page.get_by_role("tab", name="Wire").click()
    page.get_by_label("Dialect", exact=True).select_option("koboldcpp")
    seen(page.locator("#view code").filter(has_text="localhost:5001/api/v1/generate"))
    says(page.locator("#view .cm-content"), "[speaks: Ansel]")
    assert "mono" in page.locator("#view .cm-scroller").evaluate("(one) => getComputedStyle(one).fontFamily").lower()
    page.get_by_role("tab", name="Prompt", exact=True).click()
    line = message(page, "Is the reef safe tonight?")
    assert line.locator(".piece").first.inner_text().startswith("[speaks: Ansel]")
    seen(page.locator(".stop").get_by_text("[speaks: Ansel]"))
    page.get_by_role("tab", name="Settings").click()
    templates = page.get_by_label("Instruct template")
    says(templates.locator("option:checked"), "plain.instruct.json")
    templates.select_option("")
    seen(message(page, "Ansel: Is the reef safe tonight?"))


def test_a_view_has_an_address(page: Any) -> None:
    """A reload and Back lead to what was shown; a message has a link."""
    page.get_by_role("tab", name="Settings").click()
    page.get_by_role("tab", name="Wire").click()
    assert page.url.endswith("#view=wire&side=settings")
    page.reload()
    seen(page.get_by_role("tab", name="Wire", selected=True))
    page.go_back()
    seen(page.get_by_role("tab", name="Prompt", exact=True, selected=True))
    page.get_by_role("link", name="message 3").click()
    page.locator("article:focus").wait_for()
    assert page.url.endswith("message=3")


def test_one_search_finds_texts_everywhere(page: Any) -> None:
    """In messages that are not on the screen, and in fields of files that are not open."""
    page.keyboard.press("Control+Shift+f")
    page.get_by_role("combobox", name="Search and commands").fill("tap on the barometer")
    seen(page.get_by_role("option").filter(has_text="message"))
    page.get_by_role("option").filter(has_text="mes_example").first.click()
    focused = "document.activeElement.shadowRoot?.activeElement?.textContent ?? document.activeElement.value"
    page.wait_for_function(f"() => String({focused}).includes('barometer')")


def test_what_is_sent_is_copied_as_a_program(page: Any) -> None:
    """Each form names the model's placeholder where none is chosen."""
    page.get_by_role("tab", name="Settings").click()
    page.get_by_role("combobox", name="Model").fill("")
    page.get_by_role("tab", name="Wire").click()
    page.get_by_role("radio", name="JavaScript").click()
    says(page.locator("#view .cm-content"), "process.env.API_KEY")
    seen(page.get_by_text("MODEL stands for a model"))
