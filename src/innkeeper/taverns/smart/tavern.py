"""The smart tavern as the registry has it: its steps in order, and what one calls on it."""

from __future__ import annotations

from typing import Final

from innkeeper.prompt import Pipeline
from innkeeper.taverns.smart.fitting import FITTING
from innkeeper.taverns.smart.framing_step import FRAMING
from innkeeper.taverns.smart.in_chat_step import IN_CHAT_STEP
from innkeeper.taverns.smart.macro_step import MACROS
from innkeeper.taverns.smart.plan_assembly import PLAN_ASSEMBLY
from innkeeper.taverns.smart.prepare import PREPARE
from innkeeper.taverns.smart.regex_steps import REGEX_AFTER, REGEX_BEFORE
from innkeeper.taverns.tavern import Tavern

__all__ = ["PIPELINE", "TAVERN", "build", "builder", "to_messages"]

PIPELINE: Final = Pipeline(PREPARE, IN_CHAT_STEP, FRAMING, REGEX_BEFORE, MACROS, REGEX_AFTER, PLAN_ASSEMBLY, FITTING)
"""The steps in order."""

TAVERN: Final = Tavern(
    name="smart",
    pipeline=PIPELINE,
    summary="SmartTavern's prompts: entries by depth and order, conditions as macros, relative prompts, regex rules.",
)
"""The tavern."""

build = TAVERN.build
builder = TAVERN.builder
to_messages = TAVERN.to_messages
