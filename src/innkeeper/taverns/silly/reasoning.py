"""Reasoning: stored thoughts of the assistant, put in front of the newest messages that have some."""

from __future__ import annotations

from innkeeper.taverns.silly.line import Line
from innkeeper.taverns.silly.scene import Scene

__all__ = ["Reasoning"]


class Reasoning:
    """Called with lines from the newest on. ``newest`` is the first text that it was told of, with what stands before it."""

    def __init__(self, scene: Scene) -> None:
        self._rule = scene.inputs.power.reasoning
        self._left = self._rule.max_additions if self._rule.add_to_prompts else 0
        self.newest: str | None = None

    def __call__(self, line: Line, text: str) -> str:
        """The text with the line's reasoning in front of it, as long as there is room for more."""
        if self._left <= 0 or not line.reasoning or line.is_user:
            return text
        self._left -= 1
        return f"{self._rule.prefix}{line.reasoning}{self._rule.suffix}{self._rule.separator}{text}"
