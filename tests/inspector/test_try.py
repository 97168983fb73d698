"""Try in a real browser: the prompt is sent to models of a provider by a script, on two sides, and what came of it is kept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from innkeeper.inference.fake.provider import EchoServer
from innkeeper.inference.fake.script import FakeReply, Fault
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
from tests.service.inspector.library.stocked import GREETER, stocked

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

CALL = ("tide", {"hour": 9})


def provided(request: Mapping[str, Any]) -> Any:
    """What a model of the provider answers: one says how it was asked, one never ends, one may not be asked."""
    if request["model"] == "endless":
        return Fault.stall(after_bytes=700, reply="word " * 200)
    if request["model"] == "closed":
        return Fault.status(401)
    if request.get("tools"):
        return FakeReply(content="", tool_calls=(CALL,))
    if request.get("response_format"):
        return '{"safe": false}'
    return f"Not at {request.get('temperature')}: {request['messages'][-1]['content'][:24]}"


@pytest.fixture(scope="module")
def provider() -> Iterator[EchoServer]:
    """A provider that answers by a script."""
    with EchoServer(*[provided] * 200) as server:
        yield server


@pytest.fixture(scope="module")
def room(
    browser: Any, folder: Path, provider: EchoServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Watched]:
    """A window at the example, with three models to ask, beside a library of two templates."""
    config = tmp_path_factory.mktemp("config") / "config.toml"
    names = "\n".join(f'{name} = "mine:{name}"' for name in ("plain", "endless", "closed"))
    config.write_text(f'[providers]\nmine = "{provider.base_url}"\n\n[aliases.models]\n{names}\n')
    library = stocked(tmp_path_factory.mktemp("library"))
    with inspecting(folder, config=config, database=library) as address, watched(browser, address) as window:
        set_up(window.open(), {"message": "Is the reef safe tonight?"})
        yield window


@pytest.fixture
def trial(room: Watched) -> Iterator[Any]:
    """The page of that window at its trial, with a model on each side; nothing of it is there before."""
    page = room.open()
    page.evaluate("sessionStorage.clear()")
    page.reload()
    page.locator("article").first.wait_for()  # until then the address says what is shown
    page.get_by_role("tab", name="Try").click()
    for name in ("A", "B"):
        side(page, name).get_by_label("Model", exact=True).select_option("plain")
    yield page
    page.set_viewport_size(DESK)
    room.assert_quiet()


def side(page: Any, name: str) -> Any:
    """One of the two sides."""
    return page.get_by_role("region", name=f"Side {name}")


def sampler(page: Any, name: str, label: str, value: str) -> None:
    """Set an option of a side."""
    of = side(page, name)
    if not of.get_by_label(label).is_visible():
        of.get_by_text("Samplers").click()
    of.get_by_label(label).fill(value)


def test_two_variants_are_answered_side_by_side(trial: Any, provider: EchoServer) -> None:
    """Each with its own sampler and message; the answer says what asked for it, and opens its prompt."""
    before = len(provider.requests)
    sampler(trial, "A", "Temperature", "0.25")
    sampler(trial, "B", "Temperature", "1.5")
    trial.get_by_role("button", name="Run both").click()
    for name, temperature in (("A", "0.25"), ("B", "1.5")):
        answer = side(trial, name).get_by_role("article")
        says(answer, f"Not at {temperature}")
        says(answer, f"Temperature {temperature}")
        says(answer, re.compile(r"\d+ → \d+"))
    bodies = [one.body for one in provider.requests[before:]]
    assert sorted(body["temperature"] for body in bodies) == [0.25, 1.5]
    assert bodies[0]["messages"] == bodies[1]["messages"]
    side(trial, "A").get_by_role("button", name=re.compile("^prompt ")).click()
    seen(trial.get_by_role("dialog", name="The prompt of this answer").get_by_text("Is the reef safe tonight?"))
    trial.keyboard.press("Escape")


def test_a_side_has_a_prompt_of_its_own(trial: Any, provider: EchoServer) -> None:
    """Another turn of the chat on one side alone."""
    side(trial, "B").get_by_text("What differs in the prompt").click()
    side(trial, "B").get_by_label("Turn").select_option("0")
    before = len(provider.requests)
    trial.get_by_role("button", name="Run both").click()
    for name in ("A", "B"):
        has(side(trial, name).get_by_role("article"), 1)
    sizes = sorted(len(one.body["messages"]) for one in provider.requests[before:])
    assert sizes[0] < sizes[1]


def test_an_answer_is_stopped_and_the_rest_goes_on(trial: Any) -> None:
    """What came before stays; the other side is not waited for."""
    side(trial, "A").get_by_label("Model", exact=True).select_option("endless")
    trial.get_by_role("button", name="Run both").click()
    says(side(trial, "A").get_by_role("log"), "word")
    says(side(trial, "B").get_by_role("article"), "Not at")
    side(trial, "A").get_by_role("button", name="Stop A").click()
    says(side(trial, "A").get_by_role("article"), "stopped")
    seen(side(trial, "A").get_by_role("button", name="Run A"))


def test_errors_are_said_where_they_belong(trial: Any) -> None:
    """By their kind, with the mend; the answers of before stay, and another try is one click."""
    side(trial, "B").get_by_label("Model", exact=True).select_option("closed")
    side(trial, "B").get_by_role("button", name="Run B").click()
    says(side(trial, "B").get_by_role("alert"), re.compile("key|401", re.IGNORECASE))
    side(trial, "B").get_by_label("Model", exact=True).select_option("plain")
    side(trial, "B").get_by_role("button", name="Run B").click()
    has(side(trial, "B").get_by_role("article"), 2)
    says(side(trial, "B").get_by_role("article").first, "Not at")


def test_tools_and_a_schema_go_along(trial: Any) -> None:
    """A call is shown as the model wrote it; an answer by a schema says whether it is JSON."""
    trial.get_by_text("Tools and the answer's schema").click()
    trial.get_by_role("textbox", name="JSON schema of the answer").fill('{"type": "object"}')
    side(trial, "A").get_by_role("button", name="Run A").click()
    answer = side(trial, "A").get_by_role("article").first
    says(answer, '{"safe": false}')
    seen(answer.get_by_text("JSON", exact=True))
    tool = '{"type": "function", "function": {"name": "tide", "parameters": {"type": "object"}}}'
    trial.get_by_role("textbox", name=re.compile("^Tools")).fill(tool)
    side(trial, "A").get_by_role("button", name="Run A").click()
    says(side(trial, "A").get_by_role("article").first, 'tide({"hour": 9})')


def test_answers_are_there_after_a_reload(trial: Any) -> None:
    """With their fingerprints; forgotten they are gone."""
    side(trial, "A").get_by_role("button", name="Run A").click()
    says(side(trial, "A").get_by_role("article"), "Not at")
    trial.reload()
    says(side(trial, "A").get_by_role("article"), re.compile("Not at.*plain.*[0-9a-f]{12}", re.DOTALL))
    side(trial, "A").get_by_role("button", name="Forget these answers").click()
    has(side(trial, "A").get_by_role("article"), 0)


def test_a_template_is_asked_with_its_values(trial: Any, provider: EchoServer) -> None:
    """Its text is the instructions; a case may be held to the answer."""
    trial.get_by_role("navigation", name="Room").get_by_role("button", name="Library").click()
    trial.get_by_role("listitem").filter(has_text=GREETER).get_by_role("button").click()
    run = trial.get_by_role("region", name="Open template")
    run.get_by_role("tab", name="Run").click()
    run.get_by_role("textbox", name="guest").fill("Ansel")
    run.get_by_label("Model").select_option("plain")
    run.get_by_role("textbox", name="What a user says to it").fill("Who goes there?")
    run.get_by_role("button", name="Run", exact=True).click()
    says(run.get_by_role("log", name="The model's answer"), "Not at None: Who goes there?")
    assert provider.requests[-1].body["messages"][0] == {"role": "system", "content": "Greet Ansel warmly."}
    run.get_by_label("Expected of").select_option("answer")
    run.get_by_role("textbox", name="lacks", exact=True).fill("who goes")
    run.get_by_role("button", name="Keep as a case").click()
    run.get_by_role("button", name="Run all cases").click()
    says(run.get_by_role("region", name="Cases", exact=True), "“who goes” is there")


def test_it_is_for_everyone(trial: Any) -> None:
    """No rule of accessibility is broken, bright or dark; on a phone nothing is wider than the screen."""
    trial.get_by_text("Tools and the answer's schema").click()
    sampler(trial, "A", "Temperature", "1")
    trial.get_by_role("button", name="Run both").click()
    says(side(trial, "B").get_by_role("article"), "Not at")
    assert violations(trial) == []
    trial.emulate_media(color_scheme="dark")
    assert violations(trial, "color-contrast") == []
    trial.emulate_media(color_scheme="light")
    trial.set_viewport_size(PHONE)
    assert overflow(trial) == []
