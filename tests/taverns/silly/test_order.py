"""Order: texts are expanded in the order of one table, which is SillyTavern's, and the trace shows it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from innkeeper.prompt import Plan, Ports, Randomness, TraceCollector
from innkeeper.prompt.errors import UnknownNameError
from innkeeper.prompt.run.pipeline import Pipeline
from innkeeper.taverns import silly
from innkeeper.taverns.silly.order import CHAT_ORDER, TEXT_ORDER, Order, Stage
from scripts.parity import Case, load_cases
from scripts.parity.silly import input_of, request_of
from tests.shared import VECTORS
from tests.taverns.silly.builds import build, card, turns

MARK = re.compile(r"addvar::log::(\w+;)")
NESTED = ("SC;", "PE;", "MSC;")
"""Fields of the card that a format asks for: they are expanded inside of it once more."""

RECORDED = [case for case in load_cases([VECTORS / "silly" / "order" / "chat.json"]) if "-dry" not in case.name]


def traced(case: Case) -> Plan:
    """The build of a case, drawing from one stream, with a trace."""
    options = {"trimming": {"on_overflow": "warn"}, "fit": {"keep_user": False}}
    request = request_of(input_of(case)).with_(step_options=options)
    return silly.build(request, Ports(random=Randomness.shared, instrumenter=TraceCollector()))


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case.name)
def test_the_trace_has_the_recorded_order(case: Case) -> None:
    """Each text logs when the original expands it: the trace's texts have these marks in the same order."""
    plan = traced(case)
    assert plan.trace is not None
    shown = [mark for one in plan.trace.expansions for mark in MARK.findall(one.text)]
    recorded = re.findall(r"\w+;", case.expected["variables_local"]["log"])
    first = recorded.index("SF;") if "SF;" in recorded else len(recorded)
    last = recorded.index("GN;")
    kept = [mark for at, mark in enumerate(recorded) if not (mark in NESTED and first - 2 < at < last)]
    assert shown == kept


@pytest.mark.parametrize("stages", [CHAT_ORDER, TEXT_ORDER])
def test_stages_are_in_the_order_of_their_steps(stages: tuple[Stage, ...]) -> None:
    """A stage is named once, belongs to a step of the pipeline, and comes where its step does (or closes)."""
    pipeline: Pipeline = silly.PIPELINE if stages is CHAT_ORDER else silly.TEXT_PIPELINE
    names = list(pipeline.names)
    assert len({stage.name for stage in stages}) == len(stages)
    assert {stage.step for stage in stages} <= set(names)
    closing = ("plan_assembly",) if stages is CHAT_ORDER else ()
    places = [names.index(stage.step) for stage in stages if stage.step not in closing]
    assert places == sorted(places)


@pytest.mark.parametrize("repeats", [True, False])
def test_the_table_decides(repeats: bool) -> None:
    """Whatever order a step gives its work in, the table's is followed; what comes again needs the quirk."""
    done: list[str] = []
    state: Any = None
    order = Order(state, CHAT_ORDER, repeats=repeats)
    order.follow(
        {name: lambda name=name: done.append(name) for name in ("greetings", "card", "quiet_prompt")}  # type: ignore[misc]
    )
    assert done == ["quiet_prompt", "card", *(["greetings"] if repeats else [])]


def test_an_unknown_stage_is_refused() -> None:
    """A step cannot do what the table does not have."""
    state: Any = None
    with pytest.raises(UnknownNameError, match="stage of evaluation"):
        Order(state, CHAT_ORDER, repeats=True).follow({"tea": lambda: None})


def counted(**fields: Any) -> Any:
    """The variable ``n`` after a build of a chat whose note, greeting and description count."""
    return build(
        character=card(description="{{incvar::n}}", first_mes="{{incvar::n}}"),
        authors_note={"text": "{{incvar::n}}"},
        history=turns("a", "b"),
        message="c",
        **fields,
    ).variables["local"]["n"]


def test_without_the_quirk_each_text_counts_once() -> None:
    """The note is expanded three times and greetings once a turn; the profile ``fixed`` expands what is used, once."""
    assert counted() == 5
    assert counted(profile="fixed") == 2


def test_a_text_without_effects_is_expanded_once() -> None:
    """No work is done twice where nobody could tell."""
    trace = build(
        Ports(instrumenter=TraceCollector()), authors_note={"text": "For {{user}}."}, history=turns("a"), message="b"
    ).trace
    assert trace is not None
    assert [one.text for one in trace.expansions].count("For {{user}}.") == 1
