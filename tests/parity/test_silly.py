"""The runner of SillyTavern's cases: what a case asks for, and which parts of an answer count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from scripts.parity.case import Case as ParityCase
from scripts.parity.deliberate import reason_for
from scripts.parity.silly import answer, counted, request_of


def parity_case(given: Any, expected: Any = None) -> ParityCase:
    """A case with this input."""
    return ParityCase("made", "silly", "area", {"input": given, "expected": expected}, "here")


def test_a_request() -> None:
    """Fields of a case are those of a request; what only SillyTavern has is a setting."""
    request = request_of(
        {
            "persona": {"name": "Sam"},
            "generation": {"type": "continue", "user_input": "Hi", "quiet_prompt": "Q"},
            "variables": {"local": {"a": 1}},
            "character_tags": ["t"],
            "injections": [{"key": "k", "value": "X", "position": 1, "depth": 2, "role": 2}],
        }
    )
    assert (request.tavern, request.dialect, request.generation, request.message) == (
        "silly",
        "openai",
        "continue",
        "Hi",
    )
    assert request.settings["generation"] == {"quiet_prompt": "Q"}
    assert list(request.settings["character_tags"]) == ["t"]
    assert [(item.id, item.content, item.depth, item.role) for item in request.injections] == [
        ("k", "X", 2, "assistant")
    ]


@dataclass(frozen=True)
class Model:
    """A case's input, and the model it is counted by."""

    given: dict[str, Any]
    model: str


MODELS = (
    Model({}, "gpt-4o"),
    Model({"tokenizer": "gpt-4"}, "gpt-4"),
    Model({"preset": {"chat_completion_source": "claude"}}, "claude"),
    Model({"preset": {"chat_completion_source": "claude"}, "counted_by": "x"}, "x"),
    Model({"preset": {"chat_completion_source": "openai"}, "tokenizer": "gpt-4"}, "gpt-4"),
    Model({"api": "text"}, "none"),
)


@pytest.mark.parametrize("case", MODELS, ids=lambda case: str(case.given))
def test_models(case: Model) -> None:
    """Sources are counted by their own tokenizer, unless a case names another."""
    assert request_of(case.given).model == case.model


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"kind": "macro", "texts": ["{{user}}"], "persona": {"name": "Sam"}}, {"texts": ["Sam"]}),
        (
            {"kind": "convert", "fn": "postProcess", "type": "strict", "messages": []},
            {"messages": [{"role": "user", "content": "(begin)"}]},
        ),
    ],
    ids=["macro", "convert"],
)
def test_answers(given: dict[str, Any], expected: dict[str, Any]) -> None:
    """Each kind of case is answered in the shape of its expectation."""
    assert answer(parity_case(given)) == expected


def test_steps_share_their_state() -> None:
    """Each step goes on with the variables that the one before left, each in its place."""
    card = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Mira", "description": "{{incvar::n}}"}}
    order = [{"character_id": 100001, "order": [{"identifier": "charDescription", "enabled": True}]}]
    given = {"character": card, "preset": {"prompts": [], "prompt_order": order}, "steps": [{}, {"append": []}]}
    made = answer(parity_case(given))["steps"]
    assert [step["variables_local"] for step in made] == [{"n": 1}, {"n": 2}]


@dataclass(frozen=True)
class Counted:
    """An expectation, an answer, and whether they agree."""

    name: str
    expected: dict[str, Any]
    found: dict[str, Any]
    agree: bool


WI = {"activated": [], "overflowed": False, "budget": 5}
COUNTED = (
    Counted("what is not expected", {"messages": [1]}, {"messages": [1], "stop": ["x"]}, agree=True),
    Counted("what is not compared", {"messages": [1], "took": 5}, {"messages": [1]}, agree=True),
    Counted("a difference", {"messages": [1]}, {"messages": [2]}, agree=False),
    Counted("both fail", {"error": "theirs"}, {"error": {"message": "ours"}}, agree=True),
    Counted("only ours fails", {"messages": [1]}, {"error": {"message": "ours"}}, agree=False),
    Counted("only theirs fails", {"error": "theirs"}, {"messages": [1]}, agree=False),
    Counted("loops of lore", {"wi": {**WI, "loops": 1}}, {"wi": {**WI, "loops": 2}}, agree=True),
    Counted("budget of lore", {"wi": WI}, {"wi": {**WI, "budget": 6}}, agree=False),
    Counted("steps", {"steps": [{"stop": []}]}, {"steps": [{"stop": []}]}, agree=True),
    Counted("a missing step", {"steps": [{"stop": []}]}, {"steps": []}, agree=False),
    Counted(
        "a body", {"server_request": {"body": {"a": 1}, "url": "x"}}, {"server_request": {"body": {"a": 1}}}, agree=True
    ),
)


@pytest.mark.parametrize("case", COUNTED, ids=lambda case: case.name)
def test_what_counts(case: Counted) -> None:
    """Only facts that a case expects count, and an error agrees with an error alone."""
    theirs, ours = counted(parity_case({}, case.expected), case.found)
    assert (theirs == ours) is case.agree


def test_counts_that_cannot_be_made() -> None:
    """Counts of absent tokenizers do not count; where none is left the case does not agree."""
    case = parity_case({"kind": "tokens"}, {"plain": {"a": 1, "b": 2}})
    theirs, ours = counted(case, {"plain": {"a": 1}, "unavailable": ["b"]})
    assert theirs == ours == {"plain": {"a": 1}}
    theirs, ours = counted(case, {"plain": {}, "unavailable": ["a", "b"]})
    assert theirs != ours


def test_what_was_not_recorded_does_not_agree() -> None:
    """A case without an answer of the original's is no evidence."""
    assert counted(parity_case({}, {"harness_error": "timed out"}), {"messages": []}) == ({}, None)


@pytest.mark.parametrize(
    ("fields", "is_deliberate"),
    [
        ({"injections": [{"key": "customWIOutlet_a"}]}, True),
        ({"injections": [{"key": "main"}], "preset": {"prompts": [{"identifier": "main"}]}}, True),
        ({"injections": [{"key": "mine"}], "preset": {"prompts": [{"identifier": "main"}]}}, False),
        ({"world_info": [{"entries": {"0": {"uid": 0, "depth": 4}}}]}, True),
        ({"world_info": [{"entries": {"0": {"uid": 0, "position": 0, "depth": 4}}}]}, False),
        ({"preset": {"prompts": [{"injection_position": 1, "injection_depth": "2"}]}}, True),
        ({"preset": {"prompts": [{"injection_position": 1, "injection_depth": 2, "role": "user"}]}}, False),
        ({"kind": "convert", "fn": "ai21", "messages": [{"content": [{"type": "text"}]}]}, True),
        ({"power_user": {"reasoning": {"add_to_prompts": True}}}, True),
        ({"power_user": {"reasoning": {"prefix": "", "suffix": "", "separator": ""}}}, False),
        ("text", False),
    ],
)
def test_deliberate_differences_have_reasons(fields: Any, is_deliberate: bool) -> None:
    """They are told by what a case holds, and excuse nothing else."""
    assert bool(reason_for(fields)) is is_deliberate


def test_nothing_is_supplied_that_a_case_leaves_out() -> None:
    """Neither preset nor settings of the user: what they are without is tested with each case."""
    request = request_of({"character": {"name": "Mira"}})
    assert not request.settings.get("power_user")
    assert not request.preset


def test_marks_of_a_cache() -> None:
    """The conversion that is no conversion: Claude's messages with marks at a depth."""
    turns = [{"role": role, "content": [{"type": "text", "text": role}]} for role in ("user", "assistant", "user")]
    case = parity_case({"kind": "convert", "fn": "claude_cache_depth", "messages": turns, "depth": 0})
    marks = ["cache_control" in message["content"][-1] for message in answer(case)["messages"]]
    assert marks == [True, False, True]
