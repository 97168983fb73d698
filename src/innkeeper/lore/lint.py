"""Lint: what is wrong with a lorebook before any chat is scanned: entries that cannot fire, keys that fire always."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from innkeeper.content.entry import LorebookEntry, LorePosition, SelectiveLogic
from innkeeper.content.finding import Finding, Level, show_path
from innkeeper.content.lorebook import Lorebook
from innkeeper.lore.decorators import ACTIVATE, SUPPRESS, split_decorators
from innkeeper.lore.matcher import RegexKey, parse_key
from innkeeper.lore.near_misses import looks_like_pattern
from innkeeper.lore.settings import LoreSettings
from innkeeper.text.javascript.values import strip
from innkeeper.text.jsregex import RegexRunner

SHORTEST_KEY: Final = 3
"""A plain Latin key shorter than this occurs inside almost any text."""

RESTATED: Final = frozenset({"no-keys"})
"""Findings of the reader that the linter reports again, as the underlying fault."""

_ATTACKS: Final = ("a", "0", " ", "_", "ab", "a ", "x")
_ATTACK_LENGTH: Final = 40
"""Texts that make badly nested repetitions try every split: one piece over and over, and an end that cannot match."""


def lint_book(
    book: Lorebook,
    *,
    settings: LoreSettings | None = None,
    budget: int | None = None,
    count: Callable[[str], int] = len,
) -> tuple[Finding, ...]:
    """Findings about a book under these settings, with paths such as ``entries.3.keys[0]``.

    ``budget`` is the lore budget in tokens and ``count`` counts them: constants that do not fit are found only with both.
    """
    rules = settings or LoreSettings()
    findings = [finding for finding in book.findings if finding.rule not in RESTATED]
    trial = _PatternTrial()
    for entry in book.entries:
        if entry.enabled:
            findings += _entry(entry, rules)
            findings += _keys(entry, trial, rules)
    findings += trial.remarks()
    findings += _groups(book.entries)
    findings += _constants(book.entries, budget, count)
    return tuple(findings)


def _finding(entry: LorebookEntry, rule: str, message: str, *rest: str | int, level: Level = Level.WARNING) -> Finding:
    return Finding(rule, f"{entry.title}: {message}", show_path(("entries", entry.id, *rest)), level)


def _entry(entry: LorebookEntry, rules: LoreSettings) -> Iterator[Finding]:
    """Settings that keep an entry out whatever the chat says."""
    decorators, text = split_decorators(entry.content)
    always = entry.constant or ACTIVATE in decorators
    if SUPPRESS in decorators:
        yield _finding(entry, "dead-entry", "@@dont_activate keeps it out", "content")
    if not strip(text):
        yield _finding(entry, "empty-entry", "it has no text", "content")
    if entry.use_probability and not entry.probability:
        yield _finding(entry, "dead-entry", "its probability is 0", "probability")
    if entry.delay_until_recursion and entry.exclude_recursion and rules.recursive:
        yield _finding(entry, "dead-entry", "it waits for recursion and is excluded from it", "delayUntilRecursion")
    if not always and entry.keys and entry.scan_depth is not None and entry.scan_depth <= 0:
        yield _finding(entry, "dead-entry", "its scan depth is 0: nothing is searched", "scanDepth")
    if not always and not any(strip(key) for key in entry.keys) and not entry.vectorized:
        yield _finding(entry, "dead-entry", "it has no keys and is not constant", "key")
    if entry.vectorized and not always and not entry.keys:
        yield _finding(entry, "needs-vectors", "it fires only through a vector search", "vectorized", level=Level.INFO)
    if entry.position is LorePosition.OUTLET and not strip(entry.outlet_name):
        yield _finding(entry, "no-slot", "its position is an outlet without a name", "outletName")
    yield from _logic(entry)


def _logic(entry: LorebookEntry) -> Iterator[Finding]:
    """Secondary keys that contradict the primary ones."""
    if not entry.selective or not entry.secondary_keys:
        return
    first = {strip(key).lower() for key in entry.keys}
    second = {strip(key).lower() for key in entry.secondary_keys}
    if entry.selective_logic is SelectiveLogic.NOT_ANY and first and first <= second:
        yield _finding(entry, "dead-entry", "each of its keys is also one it must not find", "keysecondary")
    if entry.selective_logic is SelectiveLogic.AND_ALL and "" in second:
        yield _finding(entry, "dead-entry", "an empty secondary key is never found, and all must be", "keysecondary")


def _keys(entry: LorebookEntry, trial: _PatternTrial, rules: LoreSettings) -> Iterator[Finding]:
    whole = rules.match_whole_words if entry.match_whole_words is None else entry.match_whole_words
    seen: set[str] = set()
    for index, text in enumerate(entry.keys):
        key = parse_key(text)
        if key.regex is not None:
            yield from _regex(entry, key.regex, index, trial)
        elif looks_like_pattern(text):
            yield _finding(
                entry, "plain-regex", f"'{text}' is no regular expression: it is searched as text", "key", index
            )
        elif text and not strip(text):
            yield _finding(entry, "matches-all", "a key of blanks matches every text", "key", index)
        elif text.isascii() and 0 < len(key.text) < SHORTEST_KEY and not whole and "{{" not in text:
            yield _finding(
                entry, "short-key", f"'{text}' is found inside most texts; ask for whole words", "key", index
            )
        if strip(text).lower() in seen:
            yield _finding(entry, "double-key", f"'{text}' is there twice", "key", index, level=Level.INFO)
        seen.add(strip(text).lower())


def _regex(entry: LorebookEntry, key: RegexKey, index: int, trial: _PatternTrial) -> Iterator[Finding]:
    is_valid = trial.runner.valid(key)
    if not is_valid:
        yield _finding(entry, "plain-regex", f"/{key.pattern}/ is not valid: it is searched as text", "key", index)
    elif "m" not in key.flags and (key.pattern.startswith("^") or key.pattern.endswith("$")):
        message = f"/{key.pattern}/ is anchored: it meets the ends of the whole scanned text, not of a message"
        yield _finding(entry, "anchored-regex", message, "key", index, level=Level.INFO)
    if is_valid and trial.runs_away(key):
        message = f"/{key.pattern}/ can take unbounded time; it is stopped after a while and does not match"
        yield _finding(entry, "slow-regex", message, "key", index)


class _PatternTrial:
    """The expressions of one book on texts made to be hard, within the time that a runner has for all of them."""

    def __init__(self) -> None:
        self._reasons: list[str] = []
        self._untried = 0
        self.runner = RegexRunner(lambda _what, why: self._reasons.append(why))

    def runs_away(self, key: RegexKey) -> bool:
        """Whether the expression runs out of time on a short text."""
        self._reasons.clear()
        letters = [char for char in dict.fromkeys(key.pattern) if char.isalnum()]
        for piece in (*_ATTACKS, *letters[:6]):
            if self.runner.is_spent:
                self._untried += 1
                return False
            self.runner.matches(key, piece * _ATTACK_LENGTH + "\x00!\n\x00!")
            if self._reasons:
                return True
        return False

    def remarks(self) -> Iterator[Finding]:
        """Return findings on the expressions that the time did not suffice for."""
        if self._untried:
            message = (
                f"{self._untried:,} regular expressions were not tried on hard texts: the time for that is used up"
            )
            yield Finding("untimed-regex", message, "entries", Level.INFO)


def _groups(entries: Iterable[LorebookEntry]) -> Iterator[Finding]:
    """Members that can never win their group: a constant one overrides it."""
    members: dict[str, list[LorebookEntry]] = {}
    for entry in entries:
        for name in entry.groups if entry.enabled else ():
            members.setdefault(name, []).append(entry)
    for name, group in members.items():
        certain = [entry for entry in group if not entry.use_probability or entry.probability == CERTAIN]
        kings = [entry for entry in certain if entry.group_override and entry.constant]
        if not kings:
            continue
        king = max(kings, key=lambda item: item.order or 0)
        for entry in group:
            if entry is not king and not (entry.group_override and (entry.order or 0) > (king.order or 0)):
                message = f"the constant entry {king.title!r} overrides its group {name!r}: it never wins"
                yield _finding(entry, "shadowed-entry", message, "group")


CERTAIN: Final = 100


def _constants(entries: Iterable[LorebookEntry], budget: int | None, count: Callable[[str], int]) -> Iterator[Finding]:
    if budget is None:
        return
    used = 0
    for entry in sorted((e for e in entries if e.enabled and e.constant), key=lambda item: -(item.order or 0)):
        used += count(split_decorators(entry.content)[1])
        if used >= budget and not entry.ignore_budget:
            message = f"constants reach {used:,} of {budget:,} lore tokens here: it and later ones are left out"
            yield _finding(entry, "constants-over-budget", message)
            return
