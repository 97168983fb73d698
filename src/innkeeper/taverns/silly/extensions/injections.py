"""The injection that an extension makes of a text and a template, under a key of its own."""

from __future__ import annotations

import re
from typing import Final

from innkeeper.prompt.run.extensions import Injection, InjectionPosition
from innkeeper.taverns.silly.settings import ROLES

POSITIONS: Final = (-1, 0, 1, 2)
"""SillyTavern's numbers for positions."""


def filled(template: str, field: str, text: str) -> str:
    """Put the text for ``{{field}}`` into the template; no text stays none.

    >>> filled("Past: {{Text}}", "text", "rain")
    'Past: rain'
    """
    return re.sub(rf"\{{\{{{field}\}}\}}", lambda _: text, template, flags=re.IGNORECASE) if text else ""


def injection_of(
    key: str, text: str, *, position: int, depth: int, role: int = 0, scan: bool = False
) -> Injection | None:
    """The injection of a text; ``None`` for no text.

    ``position`` and ``role`` are SillyTavern's numbers; one that there is none of is after the main prompt, or system.
    """
    if not text:
        return None
    return Injection(
        id=key,
        content=text,
        position=InjectionPosition.of(position if position in POSITIONS else 0),
        depth=max(depth, 0),
        role=ROLES.get(role, "system"),
        scan=scan,
    )
