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


def test_what_is_sent_is_copied_as_a_program(page: Any) -> None:
    """Each form names the model's placeholder where none is chosen."""
    page.get_by_role("tab", name="Settings").click()
    page.get_by_role("textbox", name="Model").fill("")
    page.get_by_role("tab", name="Wire").click()
    page.get_by_role("radio", name="JavaScript").click()
    says(page.locator("#view .cm-content"), "process.env.API_KEY")
    seen(page.get_by_text("MODEL stands for a model"))
