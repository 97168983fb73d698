"""The risu tavern as the registry has it."""

from __future__ import annotations

from typing import Final

from innkeeper.taverns.inputs import ASKING_PORTS, InputRules
from innkeeper.taverns.risu.compat import PROFILES
from innkeeper.taverns.risu.steps import PIPELINE
from innkeeper.taverns.tavern import Tavern

INPUTS: Final = InputRules(
    ignored={
        **dict.fromkeys(ASKING_PORTS, "the risu tavern has no step that asks it"),
    },
)

TAVERN: Final = Tavern(
    name="risu",
    pipeline=PIPELINE,
    inputs=INPUTS,
    summary="RisuAI's prompts: template cards, decorated lore, CBS macros, request flags per model.",
    profiles=tuple(PROFILES),
)

build = TAVERN.build
builder = TAVERN.builder
to_messages = TAVERN.to_messages
