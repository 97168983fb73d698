"""Near misses: why the keys of an entry that did not fire came close: case, a word's border, the scan depth.

They are looked for when a verdict is read, in one pass over the chat for all entries; a scan pays nothing for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from innkeeper.lore.compiled import CompiledEntry, CompiledLore
from innkeeper.lore.matcher import KeyIndex, Pattern
from innkeeper.text.javascript.values import strip


class NearMisses:
    """The near misses of one scan. ``messages`` gives the whole chat, newest first, as it is searched."""

    def __init__(self, lore: CompiledLore, messages: Callable[[], Sequence[str]]) -> None:
        self._lore, self._messages = lore, messages

    def of(self, entry: CompiledEntry, depth: int) -> str:
        """What would have let the entry match, in words; empty for nothing."""
        return "; ".join(dict.fromkeys((*self._close(entry, depth), *_no_patterns(entry))))

    def _close(self, entry: CompiledEntry, depth: int) -> Iterator[str]:
        for test in entry.primary:
            if test.number is None:
                continue
            exact, loose = (messages.get(test.number, -1) for messages in (self._exact, self._loose))
            if 0 <= loose < depth:
                yield f"'{test.text}' would match without {self._obstacle(test.number, self._texts[loose])}"
            elif exact >= depth:
                yield f"'{test.text}' is in message {exact + 1} from the end, and the scan depth is {depth}"

    def _obstacle(self, number: int, text: str) -> str:
        """The setting that kept a pattern from a text that holds it in some case, or inside a word."""
        pattern = self._lore.index.patterns[number]
        folded = Pattern(pattern.text.lower(), whole_word=pattern.whole_word, unicode=pattern.unicode)
        if pattern.exact_case and KeyIndex([folded]).locate(0, text) is not None:
            return "caseSensitive"
        if pattern.whole_word and (not pattern.exact_case or pattern.text in text):
            return "matchWholeWords"
        return "caseSensitive and matchWholeWords"

    @cached_property
    def _texts(self) -> Sequence[str]:
        return self._messages()

    @cached_property
    def _exact(self) -> dict[int, int]:
        """The newest message that each pattern is in."""
        return self._first(self._lore.index)

    @cached_property
    def _loose(self) -> dict[int, int]:
        """The same for the patterns that have a case or a border, without it."""
        patterns = self._lore.index.patterns
        strict = [number for number, one in enumerate(patterns) if one.exact_case or one.whole_word]
        loose = self._first(KeyIndex([Pattern(patterns[number].text.lower()) for number in strict]))
        return {number: loose[index] for index, number in enumerate(strict) if index in loose}

    def _first(self, keys: KeyIndex) -> dict[int, int]:
        first: dict[int, int] = {}
        for index, text in enumerate(self._texts):
            for number in keys.hits(text):
                first.setdefault(number, index)
        return first


def _no_patterns(entry: CompiledEntry) -> Iterator[str]:
    """Say of keys with slashes that no regular expression can be made of that they are searched for as they are written."""
    for test in entry.primary:
        if test.regex is None and not test.macro and looks_like_pattern(test.text):
            yield f"'{test.text}' is no regular expression and is searched for as text"


def looks_like_pattern(key: str) -> bool:
    """Whether a key was meant for a regular expression: it begins with a slash and has another one."""
    text = strip(key)
    return text.startswith("/") and text.count("/") > 1
