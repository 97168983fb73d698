"""KeySearch: whether the keys of an entry are in what the entry looks through.

Plain keys are found for all entries at once, by the index over the texts of a window; only keys with macros, regular
expressions and explanations are searched for one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from innkeeper.content.entry import SelectiveLogic
from innkeeper.lore.compiled import CompiledEntry, CompiledLore, selective
from innkeeper.lore.matcher import Pattern, ScanText, Window, first_place
from innkeeper.lore.patterns import KeyTest, key_tests, pattern_of
from innkeeper.lore.settings import MAX_SCAN_DEPTH, LoreSettings
from innkeeper.text.jsregex import RegexRunner

__all__ = ["KeySearch"]

Tests = tuple[KeyTest, ...]


class KeySearch:
    """The search of one scan. ``substitute`` expands macros in keys; ``report`` is told (what, why) of keys that cannot be run.

    With ``each`` keys without macros are expanded too, whatever they are then: that has effects.

    ``skew`` is by how many messages passes for minimum activations have gone back beyond the set depth.
    """

    def __init__(
        self,
        lore: CompiledLore,
        text: ScanText,
        settings: LoreSettings,
        substitute: Callable[[str], str],
        report: Callable[[str, str], None],
        *,
        each: bool = False,
    ) -> None:
        self.lore, self.text, self.settings, self.substitute = lore, text, settings, substitute
        self.each = each
        self.skew = 0
        self._regex = RegexRunner(report)
        self._recursion = True
        self._windows: dict[tuple[int | None, tuple[str, ...]], Window] = {}
        self._hits: dict[int, frozenset[int]] = {}
        self._chat_hits: dict[int, frozenset[int]] = {}

    def begin(self, *, recursion: bool) -> None:
        """Begin a pass, in which ``recursion`` text is looked at or not."""
        self._recursion = recursion
        self._windows.clear()
        self._hits.clear()

    @property
    def depth(self) -> int:
        """How many messages an entry without a depth of its own looks at."""
        return self.settings.depth + self.skew

    def window(self, entry: CompiledEntry) -> Window:
        """What the entry looks through in this pass."""
        key = (entry.entry.scan_depth, entry.sources)
        window = self._windows.get(key)
        if window is None:
            depth = self.depth if key[0] is None else key[0]
            window = self._windows[key] = Window(min(depth, MAX_SCAN_DEPTH), entry.sources, self._recursion)
        return window

    def widest_hits(self) -> frozenset[int]:
        """The patterns in everything any entry could see: a superset of each entry's own.

        Entries none of whose patterns is in here need no look, which is what makes a scan of thousands of entries cheap.
        """
        deepest = max(self.depth, self.lore.deepest)
        everything = Window(deepest, tuple(self.text.sources.texts), recursion=True)
        return self._hits_of(everything)

    def has(self, test: KeyTest, entry: CompiledEntry, window: Window) -> bool:
        """Whether one key, its macros expanded anew, is in the window."""
        if not test.macro:
            if self.each:
                self.substitute(test.text)
            return self.matches(test, entry, window)
        keys = [self.substitute(test.text)]
        tests = key_tests(keys, exact_case=entry.exact_case, whole_words=entry.whole_words)
        return any(self.matches(expanded, entry, window) for expanded in tests)

    def matches(self, test: KeyTest, entry: CompiledEntry, window: Window) -> bool:
        """Whether one key, as it is written, is in the window."""
        if test.number is not None:
            return test.number in self._window_hits(window)
        if test.regex is not None and (test.checked or self._regex.valid(test.regex)):
            possible = test.literal is None or test.literal in self._window_hits(window)
            return possible and self._regex.matches(test.regex, self.text.joined(window))
        pattern = self._pattern(test.text, entry)
        return any(first_place(pattern, part) is not None for part in self.text.parts(window))

    def agrees(self, entry: CompiledEntry, window: Window) -> bool:
        """Whether the secondary keys let the entry pass. Empty ones never match (`sillytavern.md` 25)."""
        logic, secondary = selective(entry.entry), entry.secondary
        if logic is None:
            return True
        matches = (self.has(test, entry, window) for test in secondary)
        blank = len(entry.entry.secondary_keys) - len(secondary)
        if logic is SelectiveLogic.AND_ANY:
            return any(matches)
        if logic is SelectiveLogic.AND_ALL:
            return all(list(matches)) and not blank
        if logic is SelectiveLogic.NOT_ANY:
            return not any(list(matches))
        return not all(matches) or bool(blank)

    def score(self, entry: CompiledEntry) -> int:
        """How well the keys match, for group scoring: primary matches, and secondary ones where the logic adds them.

        As in SillyTavern keys count as they are written, blanks and macros included, and an empty one always matches.
        """
        primary, secondary = entry.entry.keys, entry.entry.secondary_keys
        first = self._matching(primary, entry.primary, entry)
        logic = entry.entry.selective_logic if primary and secondary else None
        if logic not in (SelectiveLogic.AND_ANY, SelectiveLogic.AND_ALL):
            return first
        more = self._matching(secondary, entry.secondary, entry)
        return first + more if logic is SelectiveLogic.AND_ANY or more == len(secondary) else first

    def _matching(self, keys: Iterable[str], tests: Tests, entry: CompiledEntry) -> int:
        """How many of the keys match as they are written. ``tests`` are those of the keys that are not empty."""
        window, rest = self.window(entry), iter(tests)
        return sum(not key or self._matches_as_written(key, next(rest), entry, window) for key in keys)

    def _matches_as_written(self, key: str, test: KeyTest, entry: CompiledEntry, window: Window) -> bool:
        if window.depth <= 0:
            return False
        if key == test.text:
            return self.matches(test, entry, window)
        pattern = Pattern(key if entry.exact_case else key.lower(), entry.exact_case)
        return any(first_place(pattern, part) is not None for part in self.text.parts(window))

    def locate(self, key: str, entry: CompiledEntry, window: Window) -> tuple[str, tuple[int, int] | None]:
        """Where in the window a key is first found: the part, in words, and the span in it, where it can be told."""
        pattern = self._pattern(key, entry)
        for index, part in enumerate(self.text.parts(window)):
            span = first_place(pattern, part)
            if span is not None:
                return self.text.place(window, index), span
        return "the scanned text", None

    def _pattern(self, text: str, entry: CompiledEntry) -> Pattern:
        words = self.settings.unicode_words
        return pattern_of(text.strip(), exact_case=entry.exact_case, whole_words=entry.whole_words, unicode_words=words)

    def _window_hits(self, window: Window) -> frozenset[int]:
        """The patterns found in a window, worked out once a pass. Windows are kept, so their identity names them."""
        hits = self._hits.get(id(window))
        if hits is None:
            hits = self._hits[id(window)] = self._hits_of(window)
        return hits

    def _hits_of(self, window: Window) -> frozenset[int]:
        """The patterns found in a window. The chat's part of it is the same in each pass."""
        if window.depth <= 0:
            return frozenset()
        search = self.lore.index.hits
        chat = self._chat_hits.get(window.depth)
        if chat is None:
            chat = frozenset().union(*map(search, self.text.messages[: window.depth]))
            self._chat_hits[window.depth] = chat
        return chat.union(*map(search, self.text.beside(window)))
