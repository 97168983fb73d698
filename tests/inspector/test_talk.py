"""Talk in a real browser: answers as they come, tried again, edited and branched, each with the plan that made it.

A model that always answers at once stands in for one: it says what the last message of its prompt was, and in which try.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.inspector.chromium import Watched, has, message, missing, says, seen

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@pytest.fixture
def talk(page: Any, window: Watched) -> Iterator[Any]:
    """The page with the tab where one talks, and an answer to whatever is sent."""
    asked: list[str | None] = []

    def workspace(route: Any) -> None:
        told = route.fetch().json()
        route.fulfill(json=told | {"talk": True, "routes": ["parrot"]})

    def answer(route: Any) -> None:
        asked.append(said := json.loads(route.request.post_data)["message"])
        plan = page.evaluate("async () => (await fetch('/v1/inspector/inspection')).json()")
        text = f"{said or 'Nothing'} – {asked.count(said)}"
        end = json.dumps({"message": text, "plan": plan | {"fingerprint": f"plan {len(asked)}"}})
        stream = f"event: delta\ndata: {json.dumps({'text': text[:4]})}\n\nevent: end\ndata: {end}\n\n"
        route.fulfill(content_type="text/event-stream", body=stream)

    page.route("**/v1/inspector/workspace", workspace)
    page.route("**/v1/inspector/talk", answer)
    window.open().get_by_role("tab", name="Talk").click()
    seen(page.get_by_role("log"))
    yield page
    page.unroute_all()


def send(page: Any, text: str) -> None:
    """Say something, and wait for the answer."""
    composer = page.get_by_role("textbox", name="What the user says now")
    composer.fill(text)
    composer.press("Enter")
    seen(page.get_by_role("listitem").filter(has_text=f"{text} – "))


def last(page: Any) -> Any:
    """What was said last."""
    return page.get_by_role("log").get_by_role("listitem").last


def chat(page: Any) -> list[str]:
    """The texts of the chat file."""
    texts: list[str] = page.evaluate("""async () => {
      const { files } = await (await fetch("/v1/inspector/workspace")).json();
      const { id } = files.find((file) => file.kind === "chat" && file.used);
      const { document } = await (await fetch(`/v1/inspector/files/${id}`)).json();
      return document.messages.map((message) => message.mes);
    }""")
    return texts


def test_answers_are_tried_again_edited_and_kept(talk: Any) -> None:
    """Each try is kept with its plan; an edited answer too, and what is said next goes on from the one that is shown."""
    before = len(chat(talk))
    send(talk, "Who lives here?")
    says(last(talk), re.compile("– 1.*1 / 1", re.DOTALL))
    last(talk).get_by_role("button", name="Again").click()
    says(last(talk), re.compile("– 2.*2 / 2", re.DOTALL))
    last(talk).get_by_role("button", name="Answer before").click()
    says(last(talk), re.compile("– 1.*plan 1.*1 / 2", re.DOTALL))
    last(talk).get_by_role("button", name=re.compile("^Edit message")).click()
    talk.get_by_role("textbox", name=re.compile("^Text of message")).fill("Only gulls.")
    last(talk).get_by_role("button", name="Done").click()
    says(last(talk), re.compile("Only gulls.*plan 1.*edited.*1 / 2", re.DOTALL))
    assert len(chat(talk)) == before
    send(talk, "And who else?")
    assert chat(talk)[before:] == ["Who lives here?", "Only gulls."]
    kept = talk.get_by_role("listitem").filter(has_text="Only gulls.")
    says(kept, "edited")
    kept.get_by_role("button", name=re.compile(r"\d+ tokens")).click()
    dialog = talk.get_by_role("dialog", name="The prompt of this answer")
    assert dialog.get_by_role("article").count() > 5
    talk.keyboard.press("Escape")
    talk.get_by_role("tab", name="Prompt").first.click()
    seen(message(talk, "Only gulls."))
    talk.get_by_role("tab", name="Talk").click()
    says(last(talk), "And who else? – 1")


def test_a_chat_goes_on_in_branches(talk: Any) -> None:
    """From any message another continuation begins; branches are seen where they part, and switched with all they had."""
    before = chat(talk)
    send(talk, "Stay?")
    talk.get_by_role("button", name=f"Branch after message {len(before)}").click()
    seen(talk.get_by_role("combobox", name="Branch"))
    assert chat(talk) == before
    send(talk, "Go?")
    says(last(talk), "Go? – 1")
    apart = talk.get_by_role("listitem", name=re.compile(f"^{len(before)}:"))
    says(apart, "Stay?")
    apart.get_by_role("button", name="Open branch 1").click()
    says(last(talk), re.compile("Stay. – 1.*plan 1", re.DOTALL))
    last(talk).get_by_role("button", name=re.compile("^Branch after")).click()
    assert chat(talk) == [*before, "Stay?", "Stay? – 1"]
    has(talk.locator("option", has_text="branch 3"), 1)
    talk.get_by_role("combobox", name="Branch").select_option("2")
    says(last(talk), re.compile("Go. – 1.*plan 2", re.DOTALL))
    talk.get_by_role("tab", name="Prompt").first.click()
    has(message(talk, "Stay?"), 0)


def test_branches_are_there_when_the_page_is_loaded_again(talk: Any, window: Watched) -> None:
    """The one that is open, the others, and the answer that is not in the chat yet."""
    number = len(chat(talk))
    send(talk, "Stay?")
    talk.get_by_role("button", name=f"Branch after message {number}").click()
    send(talk, "Go?")
    window.open().get_by_role("tab", name="Talk").click()
    says(last(talk), "Go? – 1")
    talk.get_by_role("combobox", name="Branch").select_option("1")
    says(last(talk), "Stay? – 1")


def test_branches_by_the_keyboard(talk: Any) -> None:
    """Messages are walked by arrows, only those of the one with the focus are stops of the tab key, and the palette branches."""
    last(talk).focus()
    talk.keyboard.press("ArrowUp")
    said = talk.get_by_role("log").get_by_role("listitem")
    number = said.count() - 1
    talk.locator(f"[data-said]:focus[aria-label^='{number}:']").wait_for()
    assert talk.get_by_role("log").locator("[data-said][tabindex='0']").count() == 1
    talk.keyboard.press("Tab")
    talk.keyboard.press("Tab")
    talk.locator(f"button:focus[aria-label='Branch after message {number}']").wait_for()
    talk.keyboard.press("Enter")
    has(said, number)
    talk.keyboard.press("Control+k")
    talk.keyboard.type("open branch 1")
    talk.keyboard.press("Enter")
    has(said, number + 1)
