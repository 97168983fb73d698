"""Steps: how a prompt is built: what each step wrote, counted and warned of, from the trace of a build that is traced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from innkeeper.prompt.note import Trace, TraceCollector
from innkeeper.service.inspector.inspection.planning import planned
from innkeeper.service.inspector.views.inspection import StepText, StepView
from innkeeper.taverns.silly.order import CHAT_ORDER, TEXT_ORDER

if TYPE_CHECKING:
    from innkeeper.service.inspector.workspace.workspace import OpenWorkspace


def step_views(workspace: OpenWorkspace) -> tuple[StepView, ...]:
    """The steps of the prompt as it is, in their order. Raises what building raises."""
    collector = TraceCollector()
    planned(workspace, instrumenter=collector)
    trace: Trace = collector.to_trace()
    texts: dict[str, list[StepText]] = {}
    step_of = {stage.name: stage.step for stage in (*CHAT_ORDER, *TEXT_ORDER)}
    for expansion in trace.expansions:
        texts.setdefault(step_of.get(expansion.stage, ""), []).append(StepText(expansion.stage, expansion.text))
    return tuple(
        StepView(
            name=step.name,
            own_ms=round(step.own_ms, 2),
            texts=tuple(texts.get(step.name, ())),
            counts={name: value for name, value in step.stats.items() if type(value) is int},
            warnings=step.warnings,
        )
        for step in trace.steps
    )
