"""The chat of one generation: what is appended to it, what is left out, and what the prompt shows of it."""

from __future__ import annotations

import msgspec

from innkeeper.taverns.silly.inputs import SillyInputs
from innkeeper.taverns.silly.line import Line

__all__ = ["chat_lines", "shown_lines"]


def chat_lines(inputs: SillyInputs) -> tuple[Line, ...]:
    """The chat as this generation finds it: new input appended, a reply to regenerate taken away (`sillytavern.md` 2, 53)."""
    lines = inputs.lines
    if inputs.type == "regenerate" and lines and not lines[-1].is_user:
        lines = lines[:-1]
    text = inputs.message
    if not text and inputs.type == "normal":
        text = inputs.preset.send_if_empty.strip() if not inputs.is_text else ""
    if not text or inputs.type not in ("normal", "continue"):
        return lines
    place = len(lines)
    return (*lines, Line(place=place, name=inputs.user, text=text, is_user=True))


def shown_lines(inputs: SillyInputs, lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """The lines the prompt shows: without hidden ones, and without the reply that a swipe replaces."""
    visible = tuple(line for line in lines if not line.hidden)
    return visible[:-1] if inputs.type == "swipe" else visible


def with_text(line: Line, text: str) -> Line:
    """The line with another text."""
    return line if text == line.text else msgspec.structs.replace(line, text=text)
