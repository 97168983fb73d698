"""Keys and the text they are searched in: which keys of a set of books a text holds, and where.

A `Key` is plain text or a JavaScript regular expression. A `KeyIndex` finds every plain key in one pass and remembers the
texts it has seen. A `ScanWindow` is what an entry looks through: the newest ``depth`` messages, then the sources the entry
asks for, then injections, then the text of entries that fired in earlier passes. Joined (for regular expressions), each
part is preceded by U+0001 and parted by a newline, newest message first, as SillyTavern does (`sillytavern.md` 22); parts
never run together, so plain keys are found part by part.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import count
from sys import getsizeof
from typing import TYPE_CHECKING, Final

import msgspec

from innkeeper.lore.settings import MAX_MEMO_BYTES, MAX_MEMO_TEXTS
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.text.automaton import Automaton, is_unspaced
from innkeeper.text.javascript.values import SPACES, strip

if TYPE_CHECKING:
    from collections.abc import Callable


_FLAGS: Final = frozenset("gimsuy")
_SPACE: Final = re.compile(f"[{SPACES}]")
_SPECIAL: Final = frozenset("\\^$.|?*+()[]{}")
_QUANTIFIERS: Final = ("?", "*", "{")
_PLAIN: Final = re.compile(r"[ -~]+")
_BARE_SLASH: Final = re.compile(r"(?<!\\)(?:\\\\)*/")
"""A slash behind an even number of backslashes: none of them escapes it."""


class RegexKey(msgspec.Struct, frozen=True, gc=False):
    """A ``/pattern/flags`` key. ``literal`` is lower-case text every match must contain, or empty when none is sure."""

    pattern: str
    flags: str
    literal: str = ""


class Key(msgspec.Struct, frozen=True, gc=False):
    """A key as written (``text``, trimmed) and, when it has that form, as a regular expression."""

    text: str
    regex: RegexKey | None = None


def is_word(key: str) -> bool:
    """Whether a trimmed key is one word; whole-word matching holds for those only."""
    return _SPACE.search(key) is None


def parse_key(text: str) -> Key:
    """The key a text stands for. ``/…/flags`` with an unescaped slash inside, or unknown flags, is plain text."""
    trimmed = strip(text)
    end = trimmed.rfind("/")
    if not trimmed.startswith("/") or end < 2:  # noqa: PLR2004 - "//" holds no pattern
        return Key(trimmed)
    pattern, flags = trimmed[1:end], trimmed[end + 1 :]
    if not _FLAGS.issuperset(flags) or len(set(flags)) != len(flags) or _BARE_SLASH.search(pattern) is not None:
        return Key(trimmed)
    return Key(trimmed, RegexKey(pattern.replace("\\/", "/"), flags, required_literal(pattern, flags)))


def required_literal(pattern: str, flags: str) -> str:
    """The longest plain ASCII run that every match of the pattern contains, in lower case; empty when unsure.

    Only runs outside groups, classes and alternations count, so that a wrong guess cannot hide a match. With ``iu`` some
    letters match others beyond ASCII, so nothing is sure.
    """
    if "|" in pattern or ("i" in flags and ("u" in flags or "v" in flags)):
        return ""
    runs, index = [""], 0
    while index < len(pattern):
        char, following = pattern[index], pattern[index + 1 : index + 2]
        if char in "([{" or (char == "\\" and following.isalnum()):
            break  # behind a group or a class it is not known what is repeated or left out
        if char in _SPECIAL or following in _QUANTIFIERS or not _PLAIN.fullmatch(char):
            runs.append("")
        else:
            runs[-1] += char
        index += 2 if char == "\\" else 1
    best = max(runs, key=len)
    return best.lower() if len(best) > 1 else ""


MARK: Final = "\x01"


class ScanSources(msgspec.Struct, frozen=True, kw_only=True):
    """Texts besides the chat: by source name for entries that ask for one, and injections that every entry sees."""

    texts: Mapping[str, str] = {}
    injections: tuple[str, ...] = ()


class ScanWindow(msgspec.Struct, frozen=True, gc=False):
    """What one entry sees: a number of messages, these sources, with the recursion text or without."""

    depth: int
    sources: tuple[str, ...] = ()
    recursion: bool = False


class ScanText:
    """The texts of one scan. ``messages`` are newest first and as long as the deepest window; recursion text grows."""

    def __init__(self, messages: Sequence[str], sources: ScanSources) -> None:
        self.messages = tuple(messages)
        self.sources = sources
        self.recursion: list[str] = []
        self._joined: dict[ScanWindow, str] = {}
        self._joined_with = 0

    def parts(self, window: ScanWindow) -> list[str]:
        """The texts a window shows, in order."""
        return [*self.messages[: window.depth], *self.beside(window)] if window.depth > 0 else []

    def beside(self, window: ScanWindow) -> list[str]:
        """Return what a window shows besides messages, in order."""
        parts = [text for name in window.sources if (text := self.sources.texts.get(name))]
        parts += self.sources.injections
        return parts + self.recursion if window.recursion else parts

    def joined(self, window: ScanWindow) -> str:
        """The window as one text."""
        # the text of recursion grows from pass to pass, and outdates what was joined with it
        if self._joined_with != len(self.recursion):
            self._joined.clear()
            self._joined_with = len(self.recursion)
        if window not in self._joined:
            self._joined[window] = MARK + ("\n" + MARK).join(self.parts(window))
            charge("lore", 1 + len(self._joined[window]) // _CHARACTERS_A_STEP)
        return self._joined[window]

    def label(self, window: ScanWindow, index: int) -> str:
        """Describe part ``index`` of a window in words, for explanations."""
        count = len(self.messages[: window.depth])
        if index < count:
            return f"message {index + 1} from the end" if index else LAST_MESSAGE
        names = [name for name in window.sources if self.sources.texts.get(name)]
        if index - count < len(names):
            return f"the {names[index - count]}".replace("_", " ")
        rest = index - count - len(names)
        return "an injection" if rest < len(self.sources.injections) else "the text of another entry"


LAST_MESSAGE: Final = "the last message"
"""How a verdict calls the newest message; earlier ones are counted from it, which is the first."""

_WORD: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
r"""The characters of JavaScript's ``\w``: a neighbour outside this set is a word's border."""


class Pattern(msgspec.Struct, frozen=True, gc=False):
    """A plain text to find: as written or in lower case, anywhere or only as a whole word."""

    text: str
    exact_case: bool = False
    whole_word: bool = False
    unicode: bool = False
    """Whether letters beyond ASCII belong to words (see `_in_word`)."""


_HITS: Final[BoundedCache[tuple[int, str], frozenset[int]]] = BoundedCache(items=MAX_MEMO_TEXTS, size=MAX_MEMO_BYTES)
"""The patterns that hit a text, by the number of the index; one cache for all, so that many books take no more than one."""

_NUMBERS: Final = count()
_SIZE_OF_A_PATTERN: Final = 200
_CHARACTERS_A_STEP: Final = 32
_STEPS_AN_OCCURRENCE: Final = 3


class KeyIndex:
    """An automaton over patterns. `hits` gives the numbers of the patterns a text contains.

    Each text is searched once and its hits are kept, so a scan costs what is new in the chat.
    """

    __slots__ = ("_exact", "_folded", "_number", "patterns", "size", "work")

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self.patterns = tuple(patterns)
        # Two automata, since a key whose case counts must not be searched for in the text in lower case.
        self._folded, self._exact = (self._numbered(exact=exact) for exact in (False, True))
        self.work = self._folded[1].work + self._exact[1].work
        """Steps of work to build it: a cache of indexes charges them to each build alike."""
        self.size = self._folded[1].size + self._exact[1].size + _SIZE_OF_A_PATTERN * len(self.patterns)
        """Bytes that it stands for in memory, about."""
        self._number = next(_NUMBERS)

    def hits(self, text: str) -> frozenset[int]:
        """Return the numbers of the patterns that occur in ``text``."""
        charge("lore", 1 + len(text) // _CHARACTERS_A_STEP)
        known = _HITS.get((self._number, text))
        if known is not None:
            return known
        matching = self.search(text)
        return _HITS.put((self._number, text), matching, getsizeof(text) + getsizeof(matching))

    def search(self, text: str) -> frozenset[int]:
        """The same for whoever keeps the hits of a text himself."""
        (folded, lower), (exact, written) = self._folded, self._exact
        hits = [folded[index] for index in lower.contained(text.lower())] if folded else []
        return frozenset([*hits, *[exact[index] for index in written.contained(text)]] if exact else hits)

    def _numbered(self, *, exact: bool) -> tuple[list[int], Automaton]:
        """The numbers of the patterns that are searched as written or in lower case, with the automaton over their texts."""
        numbers = [number for number, pattern in enumerate(self.patterns) if pattern.exact_case is exact]
        patterns = [self.patterns[number] for number in numbers]
        return numbers, Automaton([each.text for each in patterns], [_border_of(each) for each in patterns])

    def locate(self, number: int, text: str) -> tuple[int, int] | None:
        """Return the first match of a pattern, for an explanation; ``None`` without one."""
        return first_span(self.patterns[number], text)


def first_span(pattern: Pattern, text: str) -> tuple[int, int] | None:
    """Return the span of the first match of ``pattern`` in the unfolded ``text``, or ``None``. An empty one matches at once."""
    return _first(pattern, text if pattern.exact_case else text.lower())


def _at_borders(text: str, start: int, end: int) -> bool:
    return (start == 0 or text[start - 1] not in _WORD) and (end == len(text) or text[end] not in _WORD)


def _in_word(char: str) -> bool:
    """Whether a neighbour continues a word: ASCII's word characters, and letters and digits of scripts written with spaces."""
    return char in _WORD or (char.isalnum() and not is_unspaced(char))


def _at_unicode_borders(text: str, start: int, end: int) -> bool:
    return (start == 0 or not _in_word(text[start - 1])) and (end == len(text) or not _in_word(text[end]))


def _border_of(pattern: Pattern) -> Callable[[str, int, int], bool] | None:
    """Return the test whether a match is a word, or ``None`` when it need not be one."""
    if not pattern.whole_word:
        return None
    return _at_unicode_borders if pattern.unicode else _at_borders


def _first(pattern: Pattern, text: str) -> tuple[int, int] | None:
    start, border = text.find(pattern.text), _border_of(pattern)
    while start >= 0:
        end = start + len(pattern.text)
        if border is None or border(text, start, end):
            return start, end
        charge("lore", _STEPS_AN_OCCURRENCE)
        start = text.find(pattern.text, start + 1)
    return None
