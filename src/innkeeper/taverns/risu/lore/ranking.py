"""Ranking: which entries that fired are used, within the budget, in which order (`risuai.md` 9.3), and why others are not."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cmp_to_key

import msgspec

from innkeeper.lore.verdict import BaseReason
from innkeeper.taverns.risu.lore.compiled import ReadyEntry
from innkeeper.taverns.risu.lore.decorators import LoreInjection


class RisuReason(BaseReason):
    """The first five fire an entry; the others stop it."""

    KEY = "key", "fired by {key!r} in {place} (pass {loop})", True
    CONSTANT = "constant", "fired: always active (pass {loop})", True
    ACTIVATED = "activated", "fired: decorator @@activate (pass {loop})", True
    MATCHED_BEFORE = "matched_before", "fired: it matched before, and stays (@@keep_activate_after_match)", True
    MERGED = "merged", "fired, and merged into {target!r}", True

    NO_KEYS = "no_keys", "it has no keys and is not always active"
    CHILD = "child", "it stands in for an earlier entry with its id, which is active or missing"
    SUPPRESSED = "suppressed", "decorator @@dont_activate"
    MATCHED_ONCE = "matched_once", "it matched before, and fires once (@@dont_activate_after_match)"
    LENGTH = "length", "@@{name} {number:g}: the chat has {length} messages, with the greeting"
    GREETING = "greeting", "@@is_greeting {number:g}: the chat began with greeting {greeting}"
    PROBABILITY = "probability", "rolled {roll:.2f} against {probability:g} %"
    NO_DEPTH = "no_depth", "its scan depth is {depth:g}: nothing to search"
    NO_MATCH = "no_match", "no key matched: {keys}"
    SECONDARY = "secondary", "a key matched, but none of its secondary keys: {keys}"
    ADDITIONAL = "additional", "none of @@additional_keys matched: {keys}"
    EXCLUDED = "excluded", "@@{name} matched: {keys}"
    BUDGET = "budget", "over the lore budget: {tokens} tokens behind {used} of {budget}"
    NO_TARGET = "no_target", "fired, but no active entry is called {target!r} (@@inject_lore)"
    UNPLACED = "unplaced", "fired, but {why}"


class ActiveLore(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An entry that fired. ``text`` is before macros; ``position`` is empty, ``depth``, ``reverse_depth`` or a named one."""

    compiled: ReadyEntry
    text: str
    position: str
    depth: int
    role: str
    order: float
    priority: float
    tokens: int
    injection: LoreInjection | None = None
    name: str = ""
    """How the log calls its text."""

    @classmethod
    def of(cls, entry: ReadyEntry, tokens: int) -> ActiveLore:
        """An entry that fires, whose text has so many tokens."""
        head, order = entry.head, entry.entry.insertorder
        return cls(
            compiled=entry,
            text=head.text,
            position=head.position,
            depth=head.depth,
            role=head.role,
            order=order,
            priority=order if head.priority is None else head.priority,
            tokens=tokens,
            injection=head.injection,
            name=f"lorebook {entry.source}",
        )

    @property
    def source(self) -> str:
        """The name of the entry."""
        return self.compiled.source

    @property
    def book(self) -> str:
        """The book that it is from."""
        return self.compiled.entry.book

    @property
    def uid(self) -> int | str:
        """Its number in the book."""
        return self.compiled.entry.uid

    @property
    def content(self) -> str:
        """Its text, by the name that entries of other taverns have for it."""
        return self.text


def within_budget(fired: Iterable[ActiveLore], budget: float) -> tuple[list[ActiveLore], dict[int, int]]:
    """The entries that fit, by priority; those that do not by their indexes, each with the tokens that were spent before it.

    One that does not fit is left out, and smaller ones behind it may fit.
    """
    used, chosen, over = 0, list[ActiveLore](), dict[int, int]()
    for active in _descending(fired, lambda item: item.priority):
        if used + active.tokens <= budget:
            used += active.tokens
            chosen.append(active)
        else:
            over[active.compiled.index] = used
    return chosen, over


def in_order(chosen: Iterable[ActiveLore]) -> tuple[tuple[ActiveLore, ...], dict[int, tuple[str, bool]]]:
    """The entries in ascending order, and by index, into which entry each of the others is merged, and whether it is there."""
    ordered = _descending(chosen, lambda item: item.order)
    merging = [item for item in ordered if item.injection is not None and item.injection.lore]
    result = [item for item in ordered if item.injection is None or not item.injection.lore]
    targets: dict[int, tuple[str, bool]] = {}
    for item in merging:
        injection = item.injection or LoreInjection()
        at = next((at for at, other in enumerate(result) if other.source == injection.location), None)
        targets[item.compiled.index] = injection.location, at is not None
        if at is not None:
            result[at] = msgspec.structs.replace(result[at], text=injection.merged(result[at].text, item.text))
    return tuple(reversed(result)), targets


def _descending(items: Iterable[ActiveLore], value: Callable[[ActiveLore], float]) -> list[ActiveLore]:
    """The entries from the largest number down, as JavaScript sorts: what is no number is equal to any."""
    listed = list(items)
    if not any(math.isnan(value(item)) for item in listed):
        return sorted(listed, key=value, reverse=True)  # stable in both directions

    def compare(one: ActiveLore, other: ActiveLore) -> int:
        difference = value(other) - value(one)
        return 0 if math.isnan(difference) else (difference > 0) - (difference < 0)

    return sorted(listed, key=cmp_to_key(compare))
