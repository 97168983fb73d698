"""The golden cases of SmartTavern that this project holds: every one agrees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from innkeeper.prompt.errors import UnavailableError
from scripts.parity import Case, CaseVerdict, load_cases, run_case, run_cases, smart
from scripts.parity.run import default_runners
from scripts.parity.smart import HTTP, SmartCases
from tests.shared import VECTORS

CASES = [case for case in load_cases([VECTORS / "smart"]) if case.tavern == "smart"]


def _shown(differences: Any) -> str:
    return "\n".join(difference.render() for difference in differences[:6])


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.area != HTTP], ids=lambda case: f"{case.area}-{case.name}"
)
def test_agrees(case: Case) -> None:
    """Same call, same answer, with the profile of the original."""
    outcome = run_case(case)
    assert outcome.verdict is CaseVerdict.AGREED, f"{outcome.error or ''}\n{_shown(outcome.differences)}"


def test_requests_agree_in_their_order() -> None:
    """Requests to one service, where each meets what the ones before it left."""
    requests = [case for case in CASES if case.area == HTTP]
    wrong = [outcome for outcome in run_cases(requests) if outcome.verdict is not CaseVerdict.AGREED]
    assert len(requests) == 27
    assert not wrong, "\n".join(f"{outcome.case.name}\n{_shown(outcome.differences)}" for outcome in wrong)


def _case(area: str, given: Any, **raw: Any) -> Case:
    return Case("made", "smart", area, {"input": given, **raw}, "here")


@dataclass
class Wrong:
    name: str
    case: Case


HISTORY = [{"role": "user", "content": "hi"}]
SOURCE = {"type": "history.user", "id": "history_0", "index": 0}
DISAGREEMENTS = [
    Wrong(
        "order of a message's keys",
        _case(
            "in_chat_constructor.construct",
            {"history": HISTORY, "presets_in_chat": [], "world_books": {}},
            expected={"messages": [{"content": "hi", "role": "user", "source": SOURCE}]},
        ),
    ),
    Wrong(
        "order of a source's keys",
        _case(
            "in_chat_constructor.construct",
            {"history": HISTORY, "presets_in_chat": [], "world_books": {}},
            expected={"messages": [{"role": "user", "content": "hi", "source": dict(reversed(list(SOURCE.items())))}]},
        ),
    ),
    Wrong("another text", _case("macro.process_text", {"text": "a"}, expected={"text": "b"})),
    Wrong(
        "an answer for an error",
        _case("macro.process_text", {"text": "a"}, error={"type": "ValueError", "message": "no"}),
    ),
    Wrong("an error for an answer", _case("chat_branches.openai_messages", {"doc": None}, expected={"messages": []})),
    Wrong(
        "another error",
        _case(
            "macro.process_text", {"text": "{{setvar:a[-1]:z}}", "variables": {"a": []}}, error={"type": "ValueError"}
        ),
    ),
    Wrong(
        "other words of the constructor",
        _case(
            "in_chat_constructor.construct",
            {"history": [{"role": "tool"}], "presets_in_chat": [], "world_books": {}},
            error={"type": "ValueError", "message": "no"},
        ),
    ),
    Wrong(
        "success of the sandbox",
        _case(
            "python_sandbox.eval",
            {"code": "1"},
            expected={"success": True, "result": "1", "error": "x", "variables": {"initial": {}, "final": {}}},
        ),
    ),
    Wrong("no such call", _case("nothing.at_all", {}, expected={})),
    Wrong("no text to accept", _case("macro.process_text", {"text": "a"}, expected={"text": "b"}, accept_text=["c"])),
]


@pytest.mark.parametrize("wrong", DISAGREEMENTS, ids=lambda wrong: wrong.name)
def test_sees_disagreements(wrong: Wrong) -> None:
    """What must agree and does not is told."""
    assert run_case(wrong.case).verdict is CaseVerdict.DIFFERENT


def test_accepts_any_of_several_texts() -> None:
    """Where several texts are right, one of them agrees."""
    case = _case(
        "macro.process_text",
        {"text": "a"},
        expected={"text": "b", "variables": {"initial": {}, "final": {}}},
        accept_text=["a", "b"],
    )
    assert run_case(case).verdict is CaseVerdict.AGREED


def test_words_of_other_errors_are_ours() -> None:
    """Beyond the constructor, a ValueError agrees whatever it says."""
    case = _case("chat_branches.openai_messages", {"doc": None}, error={"type": "ValueError", "message": "other words"})
    assert run_case(case).verdict is CaseVerdict.AGREED


def test_a_request_that_changes_things_is_seen_by_the_next() -> None:
    """A macro that one request registers is there for the next one, and not in another run."""
    register = {
        "method": "POST",
        "path": "/api/modules/smarttavern/macro/register",
        "headers": {"content-type": "application/json"},
        "body": {"macros": [{"name": "Zed", "handler_api": "modules:smarttavern/macro/list"}]},
    }
    listing = {**register, "path": "/api/modules/smarttavern/macro/list", "body": {}}
    names = []
    for requests in ([register, listing], [listing]):
        cases = SmartCases()
        answers = [cases.answer(_case(HTTP, request)) for request in requests]
        names.append([name.lower() for name in answers[-1]["body"]["items"]])
    assert names == [["zed"], []]


def test_a_reply_that_is_no_json_is_text() -> None:
    """A page is compared as text."""
    found = SmartCases().answer(_case(HTTP, {"method": "GET", "path": "/docs", "headers": {}, "body": None}))
    assert isinstance(found["body"], (str, Mapping))


def test_what_is_missing_here_is_no_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    """A case that needs what is not installed is neither agreed nor different."""

    def missing(**_: Any) -> None:
        msg = "it is not installed"
        raise UnavailableError(msg)

    monkeypatch.setattr(smart, "_function", lambda _area: missing)
    assert run_case(_case("macro.process_text", {}, expected={})).verdict is CaseVerdict.UNAVAILABLE


@pytest.mark.parametrize("body", ["a page", [1], {"messages": [1, {"role": "user"}]}])
def test_replies_of_any_shape_are_compared(body: Any) -> None:
    """A reply agrees with itself, and with nothing else."""
    request: dict[str, Any] = {"method": "GET", "path": "/", "headers": {}, "body": None}
    case = _case(HTTP, request, expected={"status": 200, "body": body})
    expected, found = SmartCases().counted(case, {"status": 200, "body": body})
    assert expected == found
    expected, found = SmartCases().counted(case, {"status": 200, "body": {}})
    assert expected != found


def test_default_runners_share_nothing() -> None:
    """Each run has its own service."""
    assert default_runners()["smart"].answer is not default_runners()["smart"].answer


def test_a_case_held_to_the_document_says_so() -> None:
    """What is not held to its recording is named, with the reason, however it comes out."""
    decided = [outcome for outcome in run_cases(CASES) if outcome.decided]
    assert [outcome.case.name for outcome in decided] == ["construct_array_world_books"]
    assert "the document takes arrays" in str(decided[0].decided)


def test_answers_are_compared_as_json() -> None:
    """A tuple that code put into a variable is an array in a recording."""
    variables = {"initial": {}, "final": {"w": [1, [2]]}}
    expected = {"success": True, "result": "", "error": None, "variables": variables}
    case = _case("python_sandbox.eval", {"code": "setvar('w', (1, (2,)))"}, expected=expected)
    assert run_case(case).verdict is CaseVerdict.AGREED


@pytest.mark.parametrize(
    ("said", "found", "agreed"),
    [
        ("'str' object has no attribute 'get'", {"status": 400, "body": {"error_code": "INVALID_REQUEST"}}, True),
        ("list assignment index out of range", {"status": 200, "body": {"error": "the list has no item"}}, True),
        ("'int' object is not iterable", {"status": 200, "body": {"messages": []}}, False),
        ("invalid message role", {"status": 200, "body": {"error": "something else"}}, False),
    ],
    ids=["no attribute", "no item", "answered", "other words"],
)
def test_what_leaks_over_http_agrees_with_an_error(said: str, found: dict[str, Any], *, agreed: bool) -> None:
    """Where the original answers with Python's own words, any error body of ours agrees, and nothing else."""
    request: dict[str, Any] = {"method": "POST", "path": "/x", "headers": {}, "body": {}}
    wanted, counted = SmartCases().counted(
        _case(HTTP, request, expected={"status": 200, "body": {"error": said}}), found
    )
    assert (wanted == counted) is agreed


def test_words_of_the_sandbox_over_http_are_ours() -> None:
    """Of a sandbox's error only that there is one counts."""
    request = {
        "method": "POST",
        "path": "/api/modules/smarttavern/python_sandbox/eval",
        "headers": {"content-type": "application/json"},
        "body": {"code": "1/0"},
    }
    variables: dict[str, Any] = {"initial": {}, "final": {}}
    body = {"success": False, "result": "", "error": "RuntimeError: division by zero", "variables": variables}
    missing = {"error_code": "MISSING_REQUIRED", "message": "缺少必填字段", "missing": ["code"]}
    cases = (
        _case(HTTP, request, expected={"status": 200, "body": body}),
        _case(HTTP, {**request, "body": {}}, expected={"status": 400, "body": missing}),
        _case(HTTP, request, expected={"status": 200, "body": {**body, "error": None}}),
    )
    assert [outcome.verdict is CaseVerdict.AGREED for outcome in run_cases(cases)] == [True, True, False]
