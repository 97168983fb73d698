"""Vibe: the small tavern. System text, history, post-history text, user input; a language policy; a token guard.

Behaviour is that of *VibeTavern Prompt Pipeline* (1-vibetavern-pipeline). No lore, no injections, no trimming, and no
side effects but the chat's variables, which a build writes once it has succeeded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.budget import MAX_TOKENS
from innkeeper.prompt import BuildRequest, Pipeline, Plan, Ports
from innkeeper.taverns.tavern import Builder, Tavern
from innkeeper.taverns.vibe.language_policy import LANGUAGE_POLICY, LanguagePolicyConfig
from innkeeper.taverns.vibe.plan_assembly import PLAN_ASSEMBLY, PlanAssemblyConfig
from innkeeper.taverns.vibe.prepare import INPUTS, PREPARE, Prepared, preprocess_user_input

__all__ = [
    "LANGUAGE_POLICY",
    "PIPELINE",
    "PLAN_ASSEMBLY",
    "PREPARE",
    "TAVERN",
    "LanguagePolicyConfig",
    "PlanAssemblyConfig",
    "Prepared",
    "build",
    "builder",
    "preprocess_user_input",
    "to_messages",
]

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
