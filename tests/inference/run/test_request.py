"""Preflight: contradictions and missing capabilities are refused before anything is sent; the parallel policy holds."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from innkeeper.inference.capabilities import Capabilities
from innkeeper.inference.errors import PreflightError
from innkeeper.inference.run.request import SYSTEM_SOURCE, apply_request_policy, place_system, preflight
from innkeeper.prompt import Block, BuildRequest, NoConfig, NoteKind, Pipeline, Plan, State, Step, UsageError, build
from innkeeper.taverns.silly import PIPELINE as SILLY

TOOLS = [{"type": "function", "function": {"name": "look"}}]
OBJECT = {"type": "json_object"}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}


def able(**facts: bool) -> Capabilities:
    """A model that can do everything, but for ``facts``."""
    everything = {name: True for name in Capabilities.__struct_fields__ if name.startswith("supports_")}
    return Capabilities(provider="p", model="m", **{**everything, **facts})


@dataclass(frozen=True)
class Case:
    options: dict[str, Any]
    refused: str | None = None
    stream: bool = False
    facts: dict[str, bool] = field(default_factory=dict)


CASES = {
    "nothing": Case({}),
    "tools": Case({"tools": TOOLS}),
    "stream": Case({}, stream=True),
    "object": Case({"response_format": OBJECT}),
    "schema": Case({"response_format": SCHEMA}),
    "empty_tools_and_format": Case({"tools": [], "response_format": OBJECT}),
    "null_format_and_stream": Case({"response_format": None}, stream=True),
    "tools_and_format": Case({"tools": TOOLS, "response_format": OBJECT}, "tools cannot be combined"),
    "choice_and_format": Case({"tool_choice": "auto", "response_format": OBJECT}, "tools cannot be combined"),
    "stream_and_tools": Case({"tools": TOOLS}, "a stream cannot be combined", stream=True),
    "stream_and_choice": Case({"tool_choice": "auto"}, "a stream cannot be combined", stream=True),
    "stream_and_format": Case({"response_format": OBJECT}, "a stream cannot be combined", stream=True),
    "no_tools": Case({"tools": TOOLS}, "does not support tools", facts={"supports_tools": False}),
    "no_stream": Case({}, "does not support streaming", stream=True, facts={"supports_streaming": False}),
    "no_object": Case(
        {"response_format": OBJECT},
        "response_format json_object",
        facts={"supports_response_format_json_object": False},
    ),
    "no_schema": Case(
        {"response_format": SCHEMA},
        "response_format json_schema",
        facts={"supports_response_format_json_schema": False},
    ),
    "other_format_one_known": Case(
        {"response_format": {"type": "grammar"}}, facts={"supports_response_format_json_schema": False}
    ),
    "other_format_none_known": Case(
        {"response_format": "json"},
        "response_format of this kind",
        facts={"supports_response_format_json_schema": False, "supports_response_format_json_object": False},
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_preflight(case: Case) -> None:
    """What cannot work is refused with its reason; everything else passes."""
    if case.refused is None:
        preflight(case.options, able(**case.facts), stream=case.stream)
        return
    with pytest.raises(PreflightError, match=case.refused) as caught:
        preflight(case.options, able(**case.facts), stream=case.stream)
    assert caught.value.hint


@dataclass(frozen=True)
class Policy:
    options: dict[str, Any]
    decided: bool | None
    sent: bool | None
    parallel: bool = True


POLICIES = {
    "plain": Policy({}, None, None),
    "plain_with_a_wish": Policy({"parallel_tool_calls": True}, True, True),
    "tools": Policy({"tools": TOOLS}, False, False),
    "choice": Policy({"tool_choice": "auto"}, False, False),
    "tools_with_a_wish": Policy({"tools": TOOLS, "parallel_tool_calls": True}, True, True),
    "tools_with_null": Policy({"tools": TOOLS, "parallel_tool_calls": None}, False, False),
    "format": Policy({"response_format": OBJECT}, False, False),
    "format_with_a_wish": Policy({"response_format": OBJECT, "parallel_tool_calls": True}, False, False),
    "unknown_to_the_model": Policy({"tools": TOOLS, "parallel_tool_calls": True}, True, None, parallel=False),
    "null": Policy({"parallel_tool_calls": None}, None, None),
}


@pytest.mark.parametrize("case", POLICIES.values(), ids=POLICIES)
def test_policy(case: Policy) -> None:
    """Formats force single calls, tools default to them; a model that does not know the switch is not sent it."""
    before = dict(case.options)
    decided, sent = apply_request_policy(case.options, able(supports_parallel_tool_calls=case.parallel))
    assert decided.get("parallel_tool_calls") == case.decided
    assert sent.get("parallel_tool_calls", None) == case.sent
    assert ("parallel_tool_calls" in sent) == (case.sent is not None)
    assert case.options == before


@pytest.mark.parametrize("value", ["yes", 1, []])
def test_policy_wants_a_boolean(value: Any) -> None:
    """A switch is true or false."""
    with pytest.raises(PreflightError, match="must be true or false"):
        apply_request_policy({"parallel_tool_calls": value}, able())


def step(name: str, work: Any = None) -> Step[NoConfig]:
    """A step that does ``work``, or nothing."""
    return Step(name, work or (lambda _state, _config: None), NoConfig)


def blocks(*slots: str) -> list[Block]:
    """A block for each slot."""
    return [Block(role="user", content=slot, slot=slot) for slot in slots]


def plan_of(state: State, _config: Any) -> None:
    """A last step that makes the plan from the blocks."""
    if state.result.plan is None:
        state.result.plan = Plan(blocks=tuple(state.result.blocks))


PLACES = {
    "after_assembly": (["prepare", "plan_assembly", "language_policy", "max_tokens"], 2),
    "before_the_budget": (["entries", "compilation", "trimming"], 2),
    "at_the_end": (["entries", "compilation"], 2),
}


@pytest.mark.parametrize(("names", "place"), PLACES.values(), ids=PLACES)
def test_place_in_the_pipeline(names: list[str], place: int) -> None:
    """The step comes after assembly, else before the budget, else last; request and pipeline stay as they were."""
    request, pipeline = BuildRequest(), Pipeline(*map(step, names))
    same, changed = place_system(request, pipeline, "x")
    assert changed.names == (*names[:place], SYSTEM_SOURCE, *names[place:])
    assert (same, pipeline.names) == (request, tuple(names))


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_nothing_to_add(text: str | None) -> None:
    """Without text both are the same objects."""
    request, pipeline = BuildRequest(), Pipeline(step("a"))
    assert place_system(request, pipeline, text) == (request, pipeline)


def test_text_only() -> None:
    """Anything but text is a mistake."""
    with pytest.raises(UsageError, match="system must be text, not int"):
        place_system(BuildRequest(), Pipeline(), 3)  # type: ignore[arg-type]


ORDERS = {
    "before_history": (["system", "history", "history", "user_message"], 1),
    "before_the_message": (["system", "user_message"], 1),
    "after_everything": (["system", "lore"], 2),
    "alone": ([], 0),
}


@pytest.mark.parametrize("when", ["blocks", "plan", "late"])
@pytest.mark.parametrize(("slots", "place"), ORDERS.values(), ids=ORDERS)
def test_place_in_the_prompt(slots: list[str], place: int, when: str) -> None:
    """The block stands before the history, else before the user's message, else last; a plan made late gets it, with a note."""

    def assemble(state: State, config: Any) -> None:
        state.result.blocks = blocks(*slots)
        if when == "plan":
            plan_of(state, config)

    def finish(state: State, config: Any) -> None:
        if when == "late":
            state.result.blocks = blocks(*slots)
        plan_of(state, config)

    request, pipeline = place_system(
        BuildRequest(), Pipeline(step("plan_assembly", assemble), step("trimming", finish)), "Be brief."
    )
    plan = build(request, pipeline)
    assert [block.source for block in plan.blocks].index(SYSTEM_SOURCE) == place
    assert len(plan.blocks) == len(slots) + 1
    late = [note for note in plan.notes if note.kind is NoteKind.FALLBACK]
    assert len(late) == (when == "late")


def test_a_tavern_that_injects() -> None:
    """Where the tavern injects, the text is an injection before its main prompt: its own steps place and count it."""
    base = BuildRequest(
        tavern="silly",
        character={
            "spec": "chara_card_v2",
            "spec_version": "2.0",
            "data": {"name": "Wenna", "description": "Keeps bees."},
        },
        user={"name": "Alice"},
        message="Hello.",
    )
    request, pipeline = place_system(base, SILLY, "Be brief.")
    assert pipeline is SILLY
    assert base.injections == ()
    plan = build(request, pipeline)
    found = [index for index, block in enumerate(plan.blocks) if "Be brief." in block.content]
    said = [index for index, block in enumerate(plan.blocks) if block.content == "Hello."]
    assert len(found) == 1
    assert found < said
