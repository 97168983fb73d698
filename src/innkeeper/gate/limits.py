"""The numbers that keep the gate bounded; the error or decision that follows one is named beside it."""

from __future__ import annotations

from typing import Final

ADULT_AGE: Final = 18
"""Years from which on a person counts as an adult."""

CLASSIFIERS_AT_ONCE: Final = 8
"""How many classifiers one detector waits for at most, those that never answered included; then a scan needs review."""

CLASSIFIER_SECONDS: Final = 2.0
"""How long a classifier has for one text, in seconds; then the scan needs review."""

MAX_LEXICON_BYTES: Final = 4 * 1024 * 1024
"""The largest detection list that is read, in bytes (`LimitError`)."""

MAX_LEXICON_ENTRIES: Final = 50_000
"""The most entries of a detection list, allowed contexts included (`LimitError`)."""

MAX_LEXICON_PATTERN: Final = 256
"""The longest pattern or context of a detection list, in characters (`LimitError`)."""

MAX_SCAN_CHARS: Final = 2_097_152
"""Characters of a text that a detector looks at (`LimitError` at doors of models; elsewhere a longer one is blocked)."""

MAX_SPANS: Final = 256
"""Finds that are told (no error: the scores count all of them)."""

REGEX_SCAN_SECONDS: Final = 0.1
"""How long all expressions of a list may take on one text, in seconds; then the scan needs review."""
