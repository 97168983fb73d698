"""The tavern: its steps, and the doors that build by them."""

from __future__ import annotations

from typing import Final

from innkeeper.budget import MAX_TOKENS
from innkeeper.prompt import Pipeline
from innkeeper.taverns.tavern import Tavern
from innkeeper.taverns.vibe.language_policy import LANGUAGE_POLICY
from innkeeper.taverns.vibe.plan_assembly import PLAN_ASSEMBLY
from innkeeper.taverns.vibe.prepare import INPUTS, PREPARE

PIPELINE: Final = Pipeline(PREPARE, PLAN_ASSEMBLY, LANGUAGE_POLICY, MAX_TOKENS)
"""The steps in order. The last only measures, and only where there is a window to fit into; it never trims."""

TAVERN: Final = Tavern(
    name="vibe",
    pipeline=PIPELINE,
    inputs=INPUTS,
    summary="the small pipeline: system text, history, post-history text, user input, language policy",
)
"""The tavern as the registry has it."""

build = TAVERN.build
builder = TAVERN.builder
to_messages = TAVERN.to_messages
