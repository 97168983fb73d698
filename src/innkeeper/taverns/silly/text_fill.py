"""TextFill: which lines and examples of a text prompt fit (`sillytavern.md` 69).

Like the original it fills rather than trims: texts at depths first, then lines from the newest on, then examples unless they
are pinned. All is counted in tokens of text, with the settings' padding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from innkeeper.taverns.silly.text_assembly import TextAssembly
from innkeeper.taverns.silly.text_compilation import TextCompiled
from innkeeper.taverns.silly.text_history import TextHistory

__all__ = ["TextFill", "TextParts", "fill"]


class TextFill(msgspec.Struct, frozen=True, kw_only=True):
    """What is in: ``lines`` by their places (0 is the newest), the first ``examples``, and the alignment message or not."""

    lines: tuple[int, ...]
    examples: int
    aligned: bool

    def less(self, parts: TextParts) -> TextFill | None:
        """Without the last example, or without the oldest line where no example is left that may go."""
        if self.examples and not parts.pinned:
            return msgspec.structs.replace(self, examples=self.examples - 1)
        if self.aligned:
            return msgspec.structs.replace(self, aligned=False)
        return msgspec.structs.replace(self, lines=self.lines[:-1]) if self.lines else None


class TextParts(msgspec.Struct, frozen=True):
    """Everything a prompt may have, and how it is counted: ``budget`` and ``padding`` are in tokens."""

    compiled: TextCompiled
    history: TextHistory
    assembly: TextAssembly
    pinned: bool
    budget: int
    padding: int
    count: Callable[[str], int]

    @property
    def alignment(self) -> str:
        """What the user says first, where nobody else's line may be first."""
        return self.history.alignment.text if self.history.alignment else ""

    @property
    def continued(self) -> str:
        """The line to go on with."""
        return self.history.continued.text if self.history.continued else ""

    def examples(self, number: int) -> str:
        """The first examples as one text."""
        return "".join(item.text for item in self.compiled.examples[:number])

    def tokens(self, text: str) -> int:
        """Tokens of a text as it is sent: without carriage returns."""
        return self.count(text.replace("\r", ""))

    def base(self, lines: str = "") -> int:
        """Tokens of what is always there, and of the lines that were taken."""
        pinned = self.examples(len(self.compiled.examples)) if self.pinned else ""
        chat = (self.alignment, self.compiled.start, lines, self.assembly.after(""), self.continued)
        return self.tokens("".join((self.compiled.story, pinned, *chat))) + self.padding

    def whole(self, filled: TextFill) -> int:
        """Tokens of a filled prompt."""
        lines = [self.history.lines[place].text for place in reversed(filled.lines)]
        last = lines[-1] if lines else ""
        aligned = self.alignment if filled.aligned else ""
        before = (self.compiled.story, self.examples(filled.examples), aligned, *lines)
        return self.tokens("".join((*before, self.assembly.after(last), self.continued))) + self.padding


def fill(parts: TextParts) -> TextFill:
    """Choose what is in."""
    taken: list[int] = []
    lines = parts.history.lines
    injected = _injected(parts)
    others = set(range(len(lines))) - set(injected)
    _take(parts, sorted(others), _take(parts, injected, parts.base(), taken), taken)
    aligned = parts.history.alignment is not None and not lines[max(taken, default=0)].said.is_user
    said = "".join(lines[place].text for place in taken)
    examples = _examples(parts, parts.base(parts.alignment + said if aligned else said))
    return _fitted(parts, TextFill(lines=tuple(sorted(taken)), examples=examples, aligned=aligned))


def _injected(parts: TextParts) -> list[int]:
    """The places of texts at depths."""
    places = [place for place, line in enumerate(parts.history.lines) if line.said.is_injected]
    late = parts.history.continued is not None and parts.history.lines[0].said.source == "post_history"
    return [place - 1 for place in places] if late else places


def _take(parts: TextParts, places: Iterable[int], used: int, taken: list[int]) -> int:
    """Take lines up to the first that does not fit. The tokens used, with its own: as in the original it leaves no room."""
    for place in places:
        used += parts.tokens(parts.history.lines[place].text)
        if used >= parts.budget:
            break
        taken.append(place)
    return used


def _examples(parts: TextParts, used: int) -> int:
    """How many examples there is room for; pinned ones have theirs. The lines count as one text now."""
    if parts.pinned:
        return len(parts.compiled.examples)
    for place, example in enumerate(parts.compiled.examples):
        used += parts.tokens(example.text)
        if used >= parts.budget:
            return place
    return len(parts.compiled.examples)


def _fitted(parts: TextParts, filled: TextFill) -> TextFill:
    """A continued prompt is counted once more as a whole."""
    smaller: TextFill | None = filled
    while parts.continued and smaller is not None and parts.whole(smaller) >= parts.budget:
        filled, smaller = smaller, smaller.less(parts)
    return smaller or filled
