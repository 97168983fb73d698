"""Passages: the parts of a character's ``additionalText`` that the chat is about, which stand behind its description.

RisuAI compares embeddings; here the port ``vectors`` does, and without one BM25, which the plan notes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from innkeeper.prompt import NoteKind, State
from innkeeper.taverns.risu.inputs import RisuInputs

_MOST: Final = 3
_ASKING: Final = 3
"""The newest messages that passages are compared with."""

_BLANK_LINES: Final = re.compile(r"\n[ \t]*\n")


def passages_of(state: State, inputs: RisuInputs) -> Sequence[str]:
    """The passages that fit the newest messages best, the nearest first; they are parted by blank lines."""
    texts = [text for part in _BLANK_LINES.split(inputs.character.additional_text) if (text := part.strip())]
    query = "\n".join(message.data for message in inputs.messages[-_ASKING:])
    if not texts or not query:
        return ()
    from innkeeper.text.bm25 import Bm25

    finder = state.inputs.ports.vectors or Bm25()
    state.note(NoteKind.FALLBACK, f"passages are found by {finder.name}", data={"search": finder.name})
    return [texts[index] for index, _ in finder.search(texts, query)[:_MOST]]
