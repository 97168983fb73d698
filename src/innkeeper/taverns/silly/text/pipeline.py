"""The pipeline of text completion. It is imported by the first request for one."""

from __future__ import annotations

from typing import Final

from innkeeper.prompt import Pipeline
from innkeeper.taverns.silly.hooks import HOOKS
from innkeeper.taverns.silly.injection import TEXT_INJECTION
from innkeeper.taverns.silly.lore import LORE
from innkeeper.taverns.silly.text.chat import TEXT_ASSEMBLY, TEXT_HISTORY
from innkeeper.taverns.silly.text.fill import TEXT_TRIMMING
from innkeeper.taverns.silly.text.story import STORY_FIELDS, TEXT_COMPILATION, TEXT_ENTRIES

TEXT_PIPELINE: Final = Pipeline(
    HOOKS,
    LORE,
    TEXT_ENTRIES,
    STORY_FIELDS,
    TEXT_INJECTION,
    TEXT_COMPILATION,
    TEXT_HISTORY,
    TEXT_ASSEMBLY,
    TEXT_TRIMMING,
)
"""The nine steps for text completion (dialect ``text``)."""
