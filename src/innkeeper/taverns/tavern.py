"""Tavern: a name and a pipeline. What all taverns have in common is here; what they do is in their steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from innkeeper.budget.explanation import explain
from innkeeper.dialects import DIALECTS
from innkeeper.prompt import BuildRequest, NoteKind, Pipeline, Plan, Ports, State
from innkeeper.prompt import build as run_build
from innkeeper.taverns.builder import Builder
from innkeeper.taverns.keywords import read_keywords

__all__ = ["Tavern", "note_unused"]

_NOTHING: Final = BuildRequest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tavern:
    """A way of building prompts.

    ``pipeline`` is its steps; where they depend on the request, ``choose`` gives the pipeline for one. ``summary`` is a line
    for lists of taverns.
    """

    name: str
    pipeline: Pipeline
    summary: str = ""
    choose: Callable[[BuildRequest], Pipeline] | None = None

    def pipeline_for(self, request: BuildRequest) -> Pipeline:
        """The steps that a request is built with."""
        return self.pipeline if self.choose is None else self.choose(request)

    def build(
        self,
        request: BuildRequest | Mapping[str, Any] | None = None,
        ports: Ports | None = None,
        /,
        *,
        pipeline: Pipeline | None = None,
        commit: bool = True,
        **inputs: Any,
    ) -> Plan:
        """The plan for a request, for keywords, or for a request with keywords over it.

        Args:
            request: the request, or its fields.
            ports: objects that are not data; each can be given as a keyword as well.
            pipeline: other steps than the tavern's own.
            commit: whether variables that templates set are written to the caller's store.
            inputs: see `innkeeper.taverns.keywords`.

        Raises:
            UsageError: an unknown keyword.
            FormatError: an input that cannot be read.
            ConfigError: a step's configuration that does not fit.
            PipelineError: a step failed.
        """
        read = read_keywords(request, ports, inputs)
        asked = read.request if read.request.tavern == self.name else read.request.with_(tavern=self.name)
        plan = run_build(asked, pipeline or self.pipeline_for(asked), read.ports, commit=commit)
        dialects = DIALECTS if plan.dialects is None else plan.dialects
        return plan.with_(notes=(*read.notes, *plan.notes), dialects=dialects, explainer=explain)

    def builder(self, **inputs: Any) -> Builder:
        """A fluent builder with this tavern's steps."""
        return Builder(self, **inputs)

    def to_messages(
        self, request: BuildRequest | Mapping[str, Any] | None = None, ports: Ports | None = None, /, **inputs: Any
    ) -> Any:
        """`build`, then the messages in the shape of ``dialect`` (``openai`` where none is given)."""
        return self.build(request, ports, **inputs).to_messages()


def note_unused(state: State, reasons: Mapping[str, str]) -> None:
    """Note each field of the request that is set although the tavern does nothing with it; ``reasons`` say why."""
    for name, reason in reasons.items():
        if getattr(state.request, name) != getattr(_NOTHING, name):
            state.note(NoteKind.IGNORED, f"{name} has no effect: {reason}", data={"input": name})
