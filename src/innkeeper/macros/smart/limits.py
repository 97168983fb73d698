"""The limits of the smart macros; each error or note that follows is named beside it."""

from __future__ import annotations

from typing import Final

__all__ = [
    "CACHED_KEYWORDS",
    "CACHED_KEYWORD_CHARS",
    "MAX_DEPTH",
    "MAX_FORMAT_CHARS",
    "MAX_MACROS",
    "MAX_PARENTHESES",
    "MAX_PATH_CHARS",
    "MAX_PATH_PARTS",
    "MAX_PYTHON_SECONDS",
    "MAX_PYTHON_WORK",
    "MAX_REPLACEMENTS",
    "MAX_RUN_OUTPUT",
    "MAX_TABLE",
]

MAX_REPLACEMENTS: Final = 10_000
"""Macros replaced in one text where values are scanned again, as SmartTavern has it (a note; the rest stays as text)."""

MAX_MACROS: Final = 200_000
"""Macros replaced in one text where values are not scanned again (a note; the rest stays as text)."""

MAX_RUN_OUTPUT: Final = 32 * 1024 * 1024
"""Characters that the macros of one run may produce, over all its texts (a note; the rest stays as text)."""

MAX_PYTHON_WORK: Final = 20_000_000
"""The work of all ``{{python:…}}`` of one run, as the sandbox counts it, and 10 for each character of code
(`MacroLimitError`; those after it leave nothing)."""

MAX_PYTHON_SECONDS: Final = 1.0
"""Wall time of all regular expressions of ``{{python:…}}`` in one run (`MacroLimitError`; those after it leave nothing)."""

MAX_TABLE: Final = 32 * 1024 * 1024
"""The size of all values of one run: those given, and those written; characters plus 8 for each item (`MacroLimitError`)."""

MAX_DEPTH: Final = 200
"""Containers inside one another in a table of variables (`MacroLimitError`)."""

MAX_PATH_CHARS: Final = 4096
"""Characters of a variable's path (`MacroLimitError`)."""

MAX_PATH_PARTS: Final = 64
"""Keys and indexes of a variable's path (`MacroLimitError`)."""

MAX_FORMAT_CHARS: Final = 1_000
"""The format of ``{{datetimeformat}}`` (`MacroLimitError`)."""

MAX_PARENTHESES: Final = 50
"""Parentheses inside one another in a keyword expression; deeper ones never match."""

CACHED_KEYWORDS: Final = 4096
"""Keyword tests kept, read; the least recently used goes first."""

CACHED_KEYWORD_CHARS: Final = 4096
"""Longer keyword tests are read each time instead of being kept."""
