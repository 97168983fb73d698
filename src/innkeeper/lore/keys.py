"""KeySearch: whether the keys of an entry are in what the entry looks through.

Plain keys are found for all entries at once, by the index over the texts of a window; only keys with macros, regular
expressions and explanations are searched for one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from innkeeper.content.entry import SelectiveLogic
from innkeeper.lore.compiled import CompiledEntry, CompiledLore, selective
from innkeeper.lore.matcher import Pattern, ScanText, ScanWindow, first_span
from innkeeper.lore.patterns import KeyTest, key_tests, pattern_of
from innkeeper.lore.settings import MAX_SCAN_DEPTH, LoreSettings
from innkeeper.prompt.allowance import charge
from innkeeper.text.javascript.values import strip
from innkeeper.text.jsregex import RegexRunner

Tests = tuple[KeyTest, ...]


class KeySearch:
    """The key search of one scan. ``substitute`` expands macros in keys; ``report`` gets (key, reason) of unusable keys.

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
        self._windows: dict[tuple[int | None, tuple[str, ...]], ScanWindow] = {}
        self._chat_hits: dict[int, frozenset[int]] = {}
        self._still_hits: dict[tuple[int, tuple[str, ...]], frozenset[int]] = {}
        self._spread_hits: set[int] = set()
        self._spread_read = self._spread_reported = self._deepest_reported = 0

    def begin(self, *, recursion: bool) -> None:
        """Begin a pass, in which ``recursion`` text is looked at or not."""
        self._recursion = recursion
        self._windows.clear()

    @property
    def depth(self) -> int:
        """The number of messages that an entry without a depth of its own sees."""
        return self.settings.depth + self.skew

    def window(self, entry: CompiledEntry) -> ScanWindow:
        """Return what the entry sees in this pass."""
        key = (entry.entry.scan_depth, entry.sources)
        window = self._windows.get(key)
        if window is None:
            depth = self.depth if key[0] is None else key[0]
            window = self._windows[key] = ScanWindow(min(depth, MAX_SCAN_DEPTH), entry.sources, self._recursion)
        return window

    def fresh_hits(self) -> set[int]:
        """Return the patterns that hit what any entry can see since the last call: a superset of what each entry sees of it.

        Entries none of whose patterns has ever been in here need no look, which is what makes a scan of thousands cheap.
        """
        fresh: set[int] = set()
        deepest = max(self.depth, self.lore.deepest)
        if deepest > self._deepest_reported:
            self._deepest_reported = deepest
            fresh |= self._hits_beside_recursion(ScanWindow(deepest, tuple(self.text.sources.texts)))
        for text in self.text.recursion[self._spread_reported :]:
            fresh |= self.lore.index.hits(text)
        self._spread_reported = len(self.text.recursion)
        return fresh

    def has(self, test: KeyTest, entry: CompiledEntry, window: ScanWindow) -> bool:
        """Whether one key, its macros expanded anew, is in the window."""
        if not test.macro:
            if self.each:
                self.substitute(test.text)
            return self.matches(test, entry, window)
        keys = [self.substitute(test.text)]
        tests = key_tests(keys, exact_case=entry.exact_case, whole_words=entry.whole_words)
        return any(self.matches(expanded, entry, window) for expanded in tests)

    def matches(self, test: KeyTest, entry: CompiledEntry, window: ScanWindow) -> bool:
        """Whether one key, as it is written, is in the window."""
        if test.number is not None:
            return self._holds(window, test.number)
        if test.regex is not None and (test.checked or self._regex.valid(test.regex)):
            possible = test.literal is None or self._holds(window, test.literal)
            return possible and self._regex.matches(test.regex, self.text.joined(window))
        return self._is_in(window, self._pattern(test.text, entry))

    def unsearched(self, entry: CompiledEntry) -> list[str]:
        """The regular expressions of an entry that were not searched for to the end, and why, in words."""
        keys = [test.regex for test in (*entry.primary, *entry.secondary) if test.regex is not None]
        return [f"not searched: /{key.pattern}/{key.flags} {why}" for key in keys if (why := self._regex.failure(key))]

    def _is_in(self, window: ScanWindow, pattern: Pattern) -> bool:
        """Whether a pattern without a number is in the window."""
        text = self.text.joined(window)
        charge("lore", 1 + len(text) // _CHARACTERS_A_STEP)
        return first_span(pattern, text) is not None

    def agrees(self, entry: CompiledEntry, window: ScanWindow) -> bool:
        """Whether the secondary keys let the entry pass. Empty ones never match (`sillytavern.md` 25)."""
        logic, secondary = selective(entry.entry), entry.secondary
        if logic is None:
            return True
        matches = (self.has(test, entry, window) for test in secondary)
        blank = len(entry.entry.secondary_keys) - len(secondary)
        if logic is SelectiveLogic.AND_ANY:
            return any(matches)
        # A list where every key is tried, since macros in keys may have effects; a generator where the first decides.
        if logic is SelectiveLogic.AND_ALL:
            return all(list(matches)) and not blank
        if logic is SelectiveLogic.NOT_ANY:
            return not any(list(matches))
        return not all(matches) or bool(blank)

    def score(self, entry: CompiledEntry) -> int:
        """Score the keys of an entry for group scoring: primary matches, and secondary ones where the logic adds them.

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
        """Count the keys that match as written. ``tests`` are those of the keys that are not empty."""
        window, rest = self.window(entry), iter(tests)
        return sum(not key or self._matches_as_written(key, next(rest), entry, window) for key in keys)

    def _matches_as_written(self, key: str, test: KeyTest, entry: CompiledEntry, window: ScanWindow) -> bool:
        if window.depth <= 0:
            return False
        if key == test.text:
            return self.matches(test, entry, window)
        pattern = Pattern(key if entry.exact_case else key.lower(), entry.exact_case)
        return self._is_in(window, pattern)

    def locate(self, key: str, entry: CompiledEntry, window: ScanWindow) -> tuple[str, tuple[int, int] | None]:
        """Return where in the window a key first matches: the part, in words, and the span in it, if known."""
        pattern = self._pattern(key, entry)
        for index, part in enumerate(self.text.parts(window)):
            span = first_span(pattern, part)
            if span is not None:
                return self.text.label(window, index), span
        return "the scanned text", None

    def _pattern(self, text: str, entry: CompiledEntry) -> Pattern:
        words = self.settings.unicode_words
        return pattern_of(strip(text), exact_case=entry.exact_case, whole_words=entry.whole_words, unicode_words=words)

    def _holds(self, window: ScanWindow, number: int) -> bool:
        """Whether a numbered pattern is in the window."""
        if window.depth <= 0:
            return False
        return number in self._hits_beside_recursion(window) or (
            window.recursion and number in self._hits_of_recursion()
        )

    def _hits_of_recursion(self) -> set[int]:
        """The patterns in the text of entries that fired, each text read once."""
        for text in self.text.recursion[self._spread_read :]:
            self._spread_hits |= self.lore.index.hits(text)
        self._spread_read = len(self.text.recursion)
        return self._spread_hits

    def _hits_beside_recursion(self, window: ScanWindow) -> frozenset[int]:
        """The patterns in everything else a window shows, which is the same in each pass."""
        key = (window.depth, window.sources)
        hits = self._still_hits.get(key)
        if hits is None:
            texts = self.text.beside(ScanWindow(window.depth, window.sources))
            hits = self._hits_of_chat(window.depth).union(*map(self.lore.index.hits, texts))
            self._still_hits[key] = hits
        return hits

    def _hits_of_chat(self, depth: int) -> frozenset[int]:
        hits = self._chat_hits.get(depth)
        if hits is None:
            # each pass for minimum activations goes one message deeper: only that one is searched anew
            shallower = self._chat_hits.get(depth - 1)
            first, hits = (0, frozenset()) if shallower is None else (depth - 1, shallower)
            hits = hits.union(*map(self.lore.index.hits, self.text.messages[first:depth]))
            self._chat_hits[depth] = hits
        return hits


_CHARACTERS_A_STEP: Final = 32
