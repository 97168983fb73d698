"""Running triggers: what RisuAI's left, branches, loops, calls, and how endless ones end."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.cbs import CbsScope
from innkeeper.prompt.errors import LimitError
from innkeeper.prompt.note import NoteKind
from innkeeper.taverns.risu.triggers import chat, values
from innkeeper.taverns.risu.triggers.run import run_triggers
from innkeeper.taverns.risu.triggers.state import TriggerInputs
from scripts.parity.case import Case as ParityCase
from scripts.parity.case import load_cases
from scripts.parity.run import CaseVerdict, run_case
from tests.shared import VECTORS
from tests.taverns.risu.triggers.trigger_texts import effect, outcome_of

CASES = list(load_cases([VECTORS / "risu" / "trigger.json"]))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name} {case.raw.get('note', '')}")
def test_triggers_leave_what_they_leave_in_risuai(case: ParityCase) -> None:
    """Messages, variables, prompts and the rest are those of RisuAI 166.3.3."""
    outcome = run_case(case)
    assert outcome.verdict is CaseVerdict.AGREED, [difference.render() for difference in outcome.differences]


def add(name: str, indent: int = 0) -> dict[str, Any]:
    """Add one to a variable."""
    return effect("v2SetVar", indent, var=name, operator="+=", value="1")


END_OF_LOOP = {"endOfLoop": True}
FLOWS: dict[str, tuple[list[dict[str, Any]], dict[str, str]]] = {
    "a loop runs at least once": (
        [effect("v2LoopNTimes", value="0"), add("i", 1), effect("v2EndIndent", 1) | END_OF_LOOP],
        {"i": "1"},
    ),
    "a loop in a loop goes on counting": (
        [
            effect("v2LoopNTimes", value="2"),
            add("o", 1),
            effect("v2LoopNTimes", 1, value="3"),
            add("i", 2),
            effect("v2EndIndent", 2) | END_OF_LOOP,
            effect("v2EndIndent", 1) | END_OF_LOOP,
        ],
        {"o": "2", "i": "4"},
    ),
    "a loop is left before another inside it": (
        [
            effect("v2Loop"),
            effect("v2BreakLoop", 1),
            effect("v2Loop", 1),
            add("i", 2),
            effect("v2EndIndent", 2) | END_OF_LOOP,
            effect("v2EndIndent", 1) | END_OF_LOOP,
            add("done"),
        ],
        {"done": "1"},
    ),
    "an else behind what was run": (
        [
            effect("v2If", source_="x", condition="=", target="null"),
            add("yes", 1),
            effect("v2EndIndent", 1),
            effect("v2Else"),
            add("no", 1),
            effect("v2EndIndent", 1),
            add("done"),
        ],
        {"yes": "1", "done": "1"},
    ),
    "a branch without an end": ([effect("v2If", source_="x", condition="=", target="1"), add("yes", 1)], {}),
    "an inner variable is gone, an outer one stays": (
        [
            effect("v2DeclareLocalVar", var="a", value="1"),
            effect("v2If", source_="a", condition="=", target="1"),
            effect("v2DeclareLocalVar", 1, var="b", value="2"),
            effect("v2SetVar", 1, var="a", operator="=", value_="b"),
            effect("v2EndIndent", 1),
            effect("v2ConcatString", source1_="a", source2_="b", outputVar="ab"),
        ],
        {"ab": "2null"},
    ),
    "an inner declaration sets the outer variable": (
        [
            effect("v2DeclareLocalVar", var="a", value="1"),
            effect("v2If", source="a", condition="=", target="1"),
            effect("v2DeclareLocalVar", 1, var="a", value="2"),
            effect("v2EndIndent", 1),
            effect("v2SetVar", var="b", operator="=", value_="a"),
        ],
        {"b": "2"},
    ),
}


@pytest.mark.parametrize("name", FLOWS)
def test_effects_branch_and_loop(name: str) -> None:
    """Blocks are told by their indents."""
    effects, variables = FLOWS[name]
    assert outcome_of(*effects).variables == variables


def test_the_chat_stays_as_it_is() -> None:
    """Triggers run on a copy; macros see what they have written."""
    variables = {"hp": "3"}
    outcome = outcome_of(
        effect("v2SetVar", var="hp", operator="*=", value="{{getvar::hp}}"),
        effect("v2Impersonate", role="char", value="{{getvar::hp}} {{lastmessage}}"),
        variables=variables,
    )
    assert (variables, outcome.variables) == ({"hp": "3"}, {"hp": "9"})
    assert outcome.messages[-1] == {"role": "char", "data": "9 North, past the light."}


def call(name: str, *effects: dict[str, Any]) -> dict[str, Any]:
    """A trigger of this name."""
    return {"comment": name, "type": "manual", "effect": list(effects)}


def test_calls_are_counted() -> None:
    """Ten calls, those inside others included; local variables are those of one trigger."""
    calls = [effect("v2RunTrigger", target="sub")] * 12
    sub = call("sub", add("n"), effect("v2SetVar", var="x", operator="=", value_="local"))
    outcome = outcome_of(effect("v2DeclareLocalVar", var="local", value="1"), *calls, more=[sub])
    assert outcome.variables == {"n": "10", "x": "null"}


def test_low_level_access_is_needed() -> None:
    """Whoever has it may call more often, and ask the model again."""
    calls = [{"type": "runtrigger", "value": "sub"}] * 12
    effects = [*calls, {"type": "sendAIprompt"}, {"type": "extractRegex", "value": "x", "regex": "y", "inputVar": "r"}]
    outcome = outcome_of(*effects, more=[call("sub", add("n"))], low_level=True)
    assert (outcome.variables, outcome.send_prompt) == ({"n": "12"}, True)


def test_without_triggers_there_is_no_outcome() -> None:
    """As RisuAI has it."""
    assert run_triggers((), "start", TriggerInputs(scope=CbsScope())) is None


def test_an_effect_that_does_nothing_here_is_a_note() -> None:
    """Pictures, alerts and the like are the application's; comments are nobody's."""
    outcome = outcome_of(effect("v2ImgGen"), effect("v2Comment"), effect("v2GetDisplayState", outputVar="x"))
    assert [note.kind for note in outcome.notes] == [NoteKind.IGNORED]
    assert outcome.variables == {}


STATE = '[{"role":"user","content":"a"}]'


def test_a_request_is_rewritten_with_variables_of_its_own() -> None:
    """A trigger of a request changes the request alone."""
    outcome = outcome_of(
        effect("v2GetRequestState", index="0", outputVar="text"),
        effect("v2GetRequestStateRole", index="1", outputVar="none"),
        effect("v2SetRequestState", index="0", value="b"),
        effect("v2SetRequestStateRole", index="0", value="system"),
        effect("v2SetRequestStateRole", index="0", value="nobody"),
        effect("v2GetRequestStateLength", outputVar="length"),
        effect("v2MakeDictVar", var="d"),
        effect("v2SetDisplayState", value="x"),
        effect("v2SetAuthorNote", value="x"),
        mode="request",
        display_data=STATE,
    )
    assert outcome.display_data == '[{"role":"system","content":"b"}]'
    assert outcome.temporary == {"text": "a", "none": "null", "length": "1"}
    assert (outcome.variables, outcome.author_note) == ({}, None)


ENDLESS: dict[str, list[dict[str, Any]]] = {
    "loop": [effect("v2Loop"), add("i", 1), effect("v2EndIndent", 1) | END_OF_LOOP],
    "doubled": [
        effect("v2SetVar", var="x", operator="=", value="ab"),
        effect("v2Loop"),
        effect("v2ConcatString", 1, source1_="x", source2_="x", outputVar="x"),
        effect("v2EndIndent", 1) | END_OF_LOOP,
    ],
    "macros": [
        effect("v2Loop"),
        effect("v2SetVar", 1, var="x", operator="=", value="{{length::{{cbr::400000}}}}"),
        effect("v2EndIndent", 1) | END_OF_LOOP,
    ],
    "calls": [{"type": "runtrigger", "value": "main"}],
    "lists": [effect("v2MakeArrayVar", var="a"), effect("v2SetArrayVar", var="a", index="999999999", value="x")],
}


@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_trigger_ends_in_a_typed_error(name: str) -> None:
    """Effects, characters and calls are counted."""
    with pytest.raises(LimitError):
        outcome_of(*ENDLESS[name], low_level=True)


KINDS = [*values.OUTPUTS, *values.ACTIONS, *values.CHANGED_LISTS, *values.READ_LISTS, *chat.OUTPUTS, *chat.ACTIONS]
FLOW = [
    "v2If",
    "v2Else",
    "v2EndIndent",
    "v2Loop",
    "v2LoopNTimes",
    "v2BreakLoop",
    "v2StopTrigger",
    "runtrigger",
    "cutchat",
]
FIELDS = [
    "var",
    "value",
    "source",
    "index",
    "start",
    "end",
    "key",
    "regex",
    "result",
    "target",
    "outputVar",
    "endOfLoop",
]
JUNK = st.sampled_from(
    ["x", "1", "-1", "", "[1]", '{"k":1}', "(", "$1", "{{getvar::x}}", 5, None, True, [1], "NaN", "1e9"]
)
EFFECTS = st.builds(
    lambda kind, indent, fields, typed: {
        "type": kind,
        "indent": indent,
        **fields,
        **{f"{name}Type": typed for name in fields},
    },
    st.sampled_from([*KINDS, *FLOW, "other"]),
    st.sampled_from([0, 1, 2, -1, "x", None]),
    st.dictionaries(st.sampled_from(FIELDS), JUNK),
    st.sampled_from(["value", "var", None]),
)


@given(effects=st.lists(EFFECTS, max_size=12), mode=st.sampled_from(["start", "display", "request"]))
def test_every_trigger_ends(effects: list[dict[str, Any]], mode: str) -> None:
    """Whatever stands in their fields, effects leave an outcome, or go beyond a limit."""
    with contextlib.suppress(LimitError):
        outcome = outcome_of(*effects, mode=mode, display_data='[{"content":1},2]', lorebook=[{}])
        assert set(outcome.prompts) == {"start", "historyend", "promptend"}
