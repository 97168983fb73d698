"""The tavern: its steps, and the doors that build by them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.budget import MAX_TOKENS
from innkeeper.prompt import BuildRequest, Pipeline, Plan, Ports
from innkeeper.taverns.tavern import Builder, Tavern
from innkeeper.taverns.vibe.language_policy import LANGUAGE_POLICY
from innkeeper.taverns.vibe.plan_assembly import PLAN_ASSEMBLY
from innkeeper.taverns.vibe.prepare import INPUTS, PREPARE

__all__ = ["PIPELINE", "TAVERN", "build", "builder", "to_messages"]

PIPELINE: Final = Pipeline(PREPARE, PLAN_ASSEMBLY, LANGUAGE_POLICY, MAX_TOKENS)
"""The steps in order. The last only measures, and only where there is a window to fit into; it never trims."""

TAVERN: Final = Tavern(
    name="vibe",
    pipeline=PIPELINE,
    inputs=INPUTS,
    summary="the small pipeline: system text, history, post-history text, user input, language policy",
)
"""The tavern as the registry has it."""


def build(
    request: BuildRequest | Mapping[str, Any] | None = None, ports: Ports | None = None, /, **inputs: Any
) -> Plan:
    """The plan for a request, for keywords, or for both: see `Tavern.build`."""
    return TAVERN.build(request, ports, **inputs)


def builder(**inputs: Any) -> Builder:
    """A fluent builder: ``builder().history(chat).message(text).build()``."""
    return TAVERN.builder(**inputs)


def to_messages(
    request: BuildRequest | Mapping[str, Any] | None = None, ports: Ports | None = None, /, **inputs: Any
) -> Any:
    """`build`, then the messages in the shape of ``dialect``."""
    return TAVERN.to_messages(request, ports, **inputs)
