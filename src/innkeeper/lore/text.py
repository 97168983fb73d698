"""ScanText: everything keys are searched in, and the windows entries look through.

A window is the newest ``depth`` messages, then the sources an entry asks for, then injections, then the text of entries that
fired in earlier passes. Joined (for regular expressions), each part is preceded by U+0001 and parted by a newline, newest
message first, as SillyTavern does (`sillytavern.md` 22); parts never run together, so plain keys are found part by part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

__all__ = ["ScanSources", "ScanText", "Window"]

MARK: Final = "\x01"


class ScanSources(msgspec.Struct, frozen=True, kw_only=True):
    """Texts beside the chat: by source name for entries that ask for one, and injections every entry sees."""

    texts: Mapping[str, str] = {}
    injections: tuple[str, ...] = ()


class Window(msgspec.Struct, frozen=True):
    """What one entry looks through: so many messages, these sources, with the recursion text or without."""

    depth: int
    sources: tuple[str, ...] = ()
    recursion: bool = False


class ScanText:
    """The texts of one scan. ``messages`` are newest first and as long as the deepest window; recursion text grows."""

    def __init__(self, messages: Sequence[str], sources: ScanSources) -> None:
        self.messages = tuple(messages)
        self.sources = sources
        self.recursion: list[str] = []
        self._joined: dict[tuple[Window, int], str] = {}

    def parts(self, window: Window) -> list[str]:
        """The texts a window shows, in order."""
        if window.depth <= 0:
            return []
        parts = [*self.messages[: window.depth]]
        parts += [text for name in window.sources if (text := self.sources.texts.get(name))]
        parts += self.sources.injections
        return parts + self.recursion if window.recursion else parts

    def joined(self, window: Window) -> str:
        """The window as one text."""
        key = (window, len(self.recursion))
        if key not in self._joined:
            self._joined[key] = MARK + ("\n" + MARK).join(self.parts(window))
        return self._joined[key]

    def place(self, window: Window, index: int) -> str:
        """What part ``index`` of a window is, in words for explanations."""
        count = len(self.messages[: window.depth])
        if index < count:
            return f"message {index} from the end"
        names = [name for name in window.sources if self.sources.texts.get(name)]
        if index - count < len(names):
            return names[index - count]
        rest = index - count - len(names)
        return "an injection" if rest < len(self.sources.injections) else "the text of another entry"
