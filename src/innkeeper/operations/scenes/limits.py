"""Limits of scenes."""

from __future__ import annotations

from typing import Final

MAX_FACTS: Final = 16
"""Persons, things or clothes in the state of a scene (`LimitError` by hand; what is extracted beyond is not applied)."""

MAX_FACT_CHARS: Final = 300
"""Characters of one fact of a scene (`LimitError`)."""

MAX_SCENE_CHARS: Final = 16_000
"""Characters of a message that are read for a scene (no error: its end is read), and of a text for one (`LimitError`)."""

MAX_SCENE_ITEMS: Final = 64
"""Items of a list in a request for a scene (`LimitError`)."""

MAX_ACTIONS: Final = 5
"""Actions of a scene (no error: those that come first count)."""

MAX_APPEARANCE: Final = 5
"""Features by which a person is described (no error: those that come first count)."""

MAX_PROMPT_CHARS: Final = 10_000
"""Characters of a scene's prompt, where the model's row says nothing (no error: what is least important goes)."""
