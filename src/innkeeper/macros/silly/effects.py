"""Effects: whether the macros of a text can change anything: variables, the stream of chance, the banned words.

A text without effects need not be expanded where nobody reads what becomes of it. What is asked is the text alone, so the answer
may be yes for a macro that turns out to be malformed, and never no for one that has an effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from innkeeper.macros.engine.environment import Field, MacroEnvironment

__all__ = ["card_has_effects", "has_effects"]

_EFFECT: Final = re.compile(
    r"\{\{[\s!?~>#/]*(?:(?:set|add|inc|dec|delete|flush)(?:global)?var|random|roll|banned|[.$][^{}]*(?:\+\+|--|=))",
    re.IGNORECASE | re.ASCII,
)


def has_effects(text: str) -> bool:
    """Whether a macro that is written in ``text`` changes something.

    >>> (
    ...     has_effects("{{char}} has {{getvar::coins}} coins"),
    ...     has_effects("{{incvar::coins}}"),
    ...     has_effects("{{ .hp -= 1 }}"),
    ... )
    (False, True, True)
    """
    return "{{" in text and _EFFECT.search(text) is not None


def card_has_effects(env: MacroEnvironment) -> bool:
    """Whether resolving the card's fields, its greetings or the persona changes something."""
    card = env.card
    fields = (card.description, card.personality, card.scenario, card.mes_examples, card.system_prompt)
    others = (card.post_history, card.depth_prompt, card.creator_notes, card.first_message, env.persona)
    return _any_has_effects((*fields, *others, *card.alternate_greetings))


@lru_cache(maxsize=64)
def _any_has_effects(fields: tuple[Field, ...]) -> bool:
    return any(has_effects(text) for part in fields for text in _texts(part))


def _texts(part: Field) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    else:
        for voice in part:
            yield from (voice.before, voice.text, voice.after)
