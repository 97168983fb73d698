"""The numbers that keep the library bounded; the error or decision that follows one is named beside it."""

from __future__ import annotations

from typing import Final

# ------------------------------------------------------------------------------------------------------------- templates

MAX_PART_DEPTH: Final = 16
"""Templates that include or extend one another (`MacroLimitError`)."""

MAX_PARTS: Final = 200
"""Inclusions in one text, counting each time (`MacroLimitError`)."""

MAX_VARIABLES: Final = 200
"""Variables that one template may declare (`MacroLimitError`)."""

MAX_VALUE_CHARS: Final = 1_000_000
"""One value (`MacroLimitError`)."""

MAX_VALUES_CHARS: Final = 2_000_000
"""All values of one rendering together (`MacroLimitError`)."""

MAX_VALUE_ITEMS: Final = 10_000
"""Items of a value that is a list (`MacroLimitError`)."""

MAX_RENDERED_CHARS: Final = 4_000_000
"""What a template renders to (`MacroLimitError`)."""

RENDERED_CACHE_ENTRIES: Final = 1_024
"""Rendered texts kept; the least recently used goes first."""

RENDERED_CACHE_CHARS: Final = 16_000_000
"""Characters of all rendered texts kept."""

RENDERED_CACHE_SECONDS: Final = 3_600.0
"""How long a rendered text is kept."""

# ------------------------------------------------------------------------------------------------------------- snapshots

SNAPSHOT_MAX_BYTES: Final = 256 * 1024 * 1024
"""A snapshot (`FormatError`)."""

# ------------------------------------------------------------------------------------------------------------------- log

MAX_LOG_ROWS: Final = 10_000
"""Rows of the log that wait to be written; further ones are dropped and counted (a note: ``log_dropped``)."""

MAX_LOG_CHARS: Final = 64_000_000
"""Characters of all rows of the log that wait, where texts are stored; what is beyond is dropped (a note: ``log_dropped``)."""

# --------------------------------------------------------------------------------------------------------- conversations

MAX_MESSAGE_CHARS: Final = 50_000
"""Characters of one message of a conversation (`LimitError`)."""

MAX_HISTORY_CHARS: Final = 300_000
"""Characters of a conversation that are read for a prompt, its newest messages (no error: older ones are left out)."""

MAX_MEMORY_CHARS: Final = 2_000
"""Characters of one memory (`LimitError`)."""

MAX_MEMORIES: Final = 500
"""Memories of one conversation, of one character, or of one person (`LimitError`)."""

# ------------------------------------------------------------------------------------------------------------- transfers

MAX_TRANSFER_BYTES: Final = 256 * 1024 * 1024
"""A file that is imported (`LimitError`)."""
