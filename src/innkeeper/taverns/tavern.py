"""Tavern: a name and a pipeline. What all taverns have in common is here; what they do is in their steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from innkeeper.budget import FIT, explain
from innkeeper.dialects import DIALECTS
from innkeeper.prompt import BuildRequest, Pipeline, Plan, Ports
from innkeeper.prompt import build as run_build
from innkeeper.taverns.assets import Assets
from innkeeper.taverns.builder import Builder
from innkeeper.taverns.inputs import UNDECLARED, InputRules, note_unused, read_inputs, read_keywords

__all__ = ["InputRules", "Tavern", "note_unused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tavern:
    """A way of building prompts.

    ``pipeline`` is its steps; where they depend on the request, ``choose`` gives the pipeline for one. ``inputs`` says which
    inputs it has no use for. ``summary`` is a line for lists of taverns.
    """

    name: str
    pipeline: Pipeline
    summary: str = ""
    inputs: InputRules = UNDECLARED
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

        After the tavern's own steps it is made to fit its window (`innkeeper.budget.FIT`): used + reserved <= window.

        Args:
            request: the request, or its fields.
            ports: objects that are not data; each can be given as a keyword as well.
            pipeline: other steps than the tavern's own; such a plan cannot be replayed, and says so.
            commit: whether variables that templates set are written to the caller's store.
            inputs: see `innkeeper.taverns.inputs`.

        Raises:
            UsageError: an unknown keyword.
            FormatError: an input that cannot be read.
            ConfigError: a step's configuration that does not fit.
            PipelineError: a step failed.
            MaxTokensExceededError: what may not be left out does not fit.
        """
        read = read_keywords(request, ports, inputs)
        asked = read.request if read.request.tavern == self.name else read.request.with_(tavern=self.name)
        if "variables" not in self.inputs.ignored:
            asked = _with_stored(asked, read.ports)
        steps = pipeline or self.pipeline_for(asked)
        plan = run_build(
            asked,
            _fitting(steps),
            read.ports,
            commit=commit,
            assets=lambda state: read_inputs(state, self.inputs),
            dialects=DIALECTS,
        )
        custom = () if pipeline is None or pipeline is self.pipeline_for(asked) else ("pipeline",)
        return plan.with_(
            notes=(*read.notes, *plan.notes),
            explainer=explain,
            unreplayable=(*plan.unreplayable, *custom),
        )

    def builder(self, **inputs: Any) -> Builder:
        """A fluent builder with this tavern's steps."""
        return Builder(self, **inputs)

    def to_messages(
        self, request: BuildRequest | Mapping[str, Any] | None = None, ports: Ports | None = None, /, **inputs: Any
    ) -> Any:
        """`build`, then the messages in the shape of ``dialect`` (``openai`` where none is given)."""
        return self.build(request, ports, **inputs).to_messages()


@lru_cache(maxsize=32)
def _fitting(steps: Pipeline) -> Pipeline:
    """The steps with the one that makes a plan fit its window."""
    return steps if FIT.name in steps else steps.append(FIT)


def _with_stored(request: BuildRequest, ports: Ports) -> BuildRequest:
    """The request with the variables that its chat's metadata holds, unless it or the ports bring others."""
    stored = Assets(request).metadata.get("variables")
    if ports.variables is not None or request.variables.get("local") or not isinstance(stored, Mapping):
        return request
    return request.with_(variables={**request.variables, "local": stored})
