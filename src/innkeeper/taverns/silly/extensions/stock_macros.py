"""Stock macros: those that SillyTavern's own extensions register, with their values for this build.

An extension that is off registers none: its macros stay as they are written, with a note. What a page remembers and no file
holds, as the expression that was shown last, is empty, as on a page that was just opened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from innkeeper.taverns.silly.lines.line import Line

EXPRESSIONS: Final = (
    "admiration", "amusement", "anger", "annoyance", "approval", "caring", "confusion", "curiosity", "desire",
    "disappointment", "disapproval", "disgust", "embarrassment", "excitement", "fear", "gratitude", "grief", "joy", "love",
    "nervousness", "optimism", "pride", "realization", "relief", "remorse", "sadness", "surprise", "neutral",
)  # fmt: skip
"""The labels of the GoEmotions classifier, which are the expressions that every install has."""

_NO_EXPRESSION: Final = "#none"


def stock_macros(
    settings: Mapping[str, Any], filename: str, lines: Sequence[Line] | None
) -> dict[str, Callable[[], str]]:
    """The values by name. ``lines`` are those of the chat but the last one; ``None`` where no summary is made."""
    macros: dict[str, Callable[[], str]] = {}
    if lines is not None:
        macros["summary"] = lambda: next((line.memory for line in reversed(lines) if line.memory), "")
    if (pictures := settings.get("sd")) is not None:
        macros["charPrefix"] = lambda: _text(pictures, "character_prompts", filename)
        macros["charNegativePrefix"] = lambda: _text(pictures, "character_negative_prompts", filename)
    if (faces := settings.get("expressions")) is not None:
        macros["lastExpression"] = str
        macros["defaultExpression"] = lambda: str(faces.get("fallback_expression") or _NO_EXPRESSION)
        macros["availableExpressions"] = lambda: ", ".join((*EXPRESSIONS, *map(str, faces.get("custom") or ())))
    return macros


def _text(settings: Mapping[str, Any], name: str, filename: str) -> str:
    texts = settings.get(name)
    return str(texts.get(filename) or "") if isinstance(texts, Mapping) else ""
