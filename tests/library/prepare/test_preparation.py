"""Preparation: from a request to a prompt, step by step."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from innkeeper.library.errors import FieldError, TemplateNotFoundError, TierBlockedError
from innkeeper.library.library import Library
from innkeeper.library.prepare.preparation import Preparation, values_for, with_note
from innkeeper.library.templates.template import OPERATOR, Variable
from innkeeper.prompt.message import Message
from tests.library.making import made
from tests.library.opening import ask, opened, published


@pytest.fixture
def dialect() -> str:
    """A file is enough: preparing writes nothing."""
    return "sqlite"


@pytest.fixture
def library(url: str) -> Iterator[Library]:
    """A library with one template in production."""
    with opened(url) as found:
        published(found)
        found.refresh()
        yield found


def preparation(library: Library, *, strict: bool = False, **given: Any) -> Preparation:
    """A call whose clock goes on a second a look."""
    ticks = itertools.count()
    return Preparation(library, ask(**given), "id", strict, clock=lambda: float(next(ticks)))


@pytest.mark.parametrize(
    ("given", "operator", "values"),
    [
        ({}, {}, {}),
        ({"a": 1}, {}, {"a": 1}),
        ({"a": 1, "own": 2}, {}, {"a": 1}),
        ({"a": 1, "own": 2}, {"own": 3, "a": 4}, {"a": 1, "own": 3}),
        ({"more": 1}, {"more": 2}, {"more": 1}),
    ],
    ids=["none", "caller", "caller for the operator", "operator", "operator for the caller"],
)
def test_whose_values_count(given: Mapping[str, Any], operator: Mapping[str, Any], values: dict[str, Any]) -> None:
    """The operator alone fills the operator's variables, the caller all others."""
    variables = (Variable(name="a"), Variable(name="own", source=OPERATOR))
    assert values_for(made(variables=variables), given, operator) == values


def test_each_step_is_timed(library: Library) -> None:
    """Every step has its time in milliseconds; one that comes twice has the sum; the total is from the beginning."""
    prepared = preparation(library, text="a boat", values={"subject": "x"}).run()
    latency = prepared.latency_ms
    assert {name: latency[name] for name in ("tier", "resolve", "render")} == {
        "tier": 2000.0,
        "resolve": 1000.0,
        "render": 1000.0,
    }
    assert latency["total"] >= sum(latency[name] for name in ("tier", "resolve", "render"))


def test_the_prompt_has_the_template_and_the_text_once(library: Library) -> None:
    """The rendered template is the system prompt, and what the user wrote follows it once."""
    prepared = preparation(library, text="a boat", values={"subject": "tide"}).run()
    assert [(message.role, message.content) for message in prepared.messages] == [
        ("system", "Describe tide."),
        ("user", "a boat"),
    ]
    assert prepared.input_tokens > 0


def test_a_blocked_text_renders_nothing(library: Library) -> None:
    """The request's own texts are judged before anything is looked up."""
    call = preparation(library, text="a nude child")
    with pytest.raises(TierBlockedError):
        call.run()
    assert call.tier is not None
    assert (call.resolution, "resolve" in call.latency) == (None, False)


def test_a_blocked_value_is_judged_too(library: Library) -> None:
    """What stands in a value is judged as any other text of the request."""
    with pytest.raises(TierBlockedError):
        preparation(library, values={"subject": "a nude child"}).run()


def test_strict_takes_no_makeshift(library: Library) -> None:
    """Without a template the text stays as it is; with ``strict`` that is an error, after what was found is known."""
    given: dict[str, Any] = {"job_type": "video", "target_model": "nothing", "text": "a boat"}
    prepared = preparation(library, **given).run()
    assert prepared.degraded
    call = preparation(library, strict=True, **given)
    with pytest.raises(TemplateNotFoundError):
        call.run()
    assert call.resolution is not None


def test_the_row_of_the_log_is_told(library: Library) -> None:
    """The answer has the id of its row, or the note that there is none, which makes it a makeshift."""
    prepared = preparation(library, text="a boat", values={"subject": "x"}).run()
    assert with_note(prepared, "log_failed").reasons == ("log_failed",)


def test_a_window_that_is_known_better(library: Library) -> None:
    """The window of a deployment goes before the catalogue's: what does not fit it is left out."""
    history = tuple(Message("user", f"Message {number} " + "word " * 50) for number in range(20))
    asked: dict[str, Any] = {"use_case": "chat", "job_type": "chat", "text": "Now?", "history": history}
    whole = preparation(library, **asked).run()
    assert (whole.window_limit, len(whole.messages)) == (None, 22)
    narrow = preparation(library, **asked, context_window=1_500).run()
    assert narrow.window_limit == 1_500 - 400
    assert len(narrow.messages) < 22
    assert narrow.messages[-1].content == "Now?"
    with pytest.raises(FieldError):
        preparation(library, **asked, context_window="1500")
