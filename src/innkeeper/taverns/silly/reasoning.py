"""Reasoning: stored thoughts, put in front of the newest lines that have some."""

from __future__ import annotations

from innkeeper.taverns.silly.line import Line
from innkeeper.taverns.silly.scene import Scene

__all__ = ["Reasoning"]


class Reasoning:
    """Called with lines from the newest on.

    Whoever speaks keeps what was thought; the line to go on with keeps it whatever the settings say.
    """

    def __init__(self, scene: Scene) -> None:
        rule = scene.inputs.power.reasoning
        self._rule, self._expand, self._added = rule, scene.expand, 0
        self._most = rule.max_additions if rule.add_to_prompts else 0
        self._goes_on = scene.type == "continue"

    def __call__(self, line: Line, text: str) -> str:
        """The text with the line's reasoning in front of it, as long as there is room for more."""
        goes_on, self._goes_on = self._goes_on, False
        if not line.reasoning or not (goes_on or self._added < self._most):
            return text
        self._added += 1
        thought = self._expand(self._rule.prefix) + line.reasoning
        if goes_on and not text:
            return thought
        return f"{thought}{self._expand(self._rule.suffix)}{self._expand(self._rule.separator)}{text}"
