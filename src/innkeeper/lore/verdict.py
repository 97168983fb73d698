"""Verdict: why an entry is in the prompt, or the first rule that kept it out.

While a scan decides, it stores a `Reason` and two or three numbers; sentences are made only when somebody reads them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import msgspec

__all__ = ["Reason", "Verdict"]


class Reason(StrEnum):
    """What decided about an entry. The first six fired it; the others stopped it."""

    KEY = "key"
    CONSTANT = "constant"
    STICKY = "sticky"
    DECORATOR = "decorator"
    FORCED = "forced"
    EXTERNAL = "external"

    DISABLED = "disabled"
    TRIGGER = "trigger"
    CHARACTER = "character"
    DELAY = "delay"
    COOLDOWN = "cooldown"
    SUPPRESSED = "suppressed"
    ONLY_RECURSION = "only_recursion"
    RECURSION_LEVEL = "recursion_level"
    NO_RECURSION = "no_recursion"
    NO_KEYS = "no_keys"
    NO_MATCH = "no_match"
    SECONDARY = "secondary"
    NO_DEPTH = "no_depth"
    GROUP_LOST = "group_lost"
    GROUP_TAKEN = "group_taken"
    GROUP_SCORE = "group_score"
    GROUP_STICKY = "group_sticky"
    GROUP_QUIRK = "group_quirk"
    PROBABILITY = "probability"
    BUDGET = "budget"
    VECTORIZED = "vectorized"


FIRED: Final = frozenset({Reason.KEY, Reason.CONSTANT, Reason.STICKY, Reason.DECORATOR, Reason.FORCED, Reason.EXTERNAL})

_SENTENCES: Final = {
    Reason.KEY: "fired by {key!r} in {place} (pass {loop})",
    Reason.CONSTANT: "fired: constant (pass {loop})",
    Reason.STICKY: "fired: still sticky until message {until}",
    Reason.DECORATOR: "fired: decorator @@activate (pass {loop})",
    Reason.FORCED: "fired: forced by the request",
    Reason.EXTERNAL: "fired from outside",
    Reason.DISABLED: "the entry is disabled",
    Reason.TRIGGER: "only for generation types {triggers}; this is {generation!r}",
    Reason.CHARACTER: "its character filter does not let this character pass",
    Reason.DELAY: "delayed until the chat has {until} messages; it has {length}",
    Reason.COOLDOWN: "cooling down until message {until}",
    Reason.SUPPRESSED: "decorator @@dont_activate",
    Reason.ONLY_RECURSION: "waits for recursion, and there was none",
    Reason.RECURSION_LEVEL: "waits for recursion level {level}; {reached} was reached",
    Reason.NO_RECURSION: "not in recursion passes, and no key matched before",
    Reason.NO_KEYS: "it has no keys and is not constant",
    Reason.NO_MATCH: "no key matched in {depth} messages",
    Reason.SECONDARY: "{key!r} matched, but the secondary keys ({logic}) did not agree",
    Reason.NO_DEPTH: "its scan depth is {depth}: nothing to search",
    Reason.GROUP_LOST: "lost group {group!r} to {winner} ({how})",
    Reason.GROUP_TAKEN: "group {group!r} already has {winner}",
    Reason.GROUP_SCORE: "group {group!r}: score {score} is below {best}",
    Reason.GROUP_STICKY: "group {group!r} has a sticky entry",
    Reason.GROUP_QUIRK: "removed with the second removal of a loser of two groups (SillyTavern quirk)",
    Reason.PROBABILITY: "rolled {roll:.2f} against {probability} %",
    Reason.BUDGET: "over the lore budget: {tokens} of {budget} tokens",
    Reason.VECTORIZED: "vectorised: needs a vector search, which no source supplied",
}


class Verdict(msgspec.Struct, frozen=True):
    """The decision about one entry. ``facts`` are the numbers its sentence needs (key, pass, roll, budget …)."""

    book: str
    uid: int | str
    title: str
    reason: Reason
    facts: dict[str, Any] = {}

    @property
    def fired(self) -> bool:
        """Whether the entry is in the prompt."""
        return self.reason in FIRED

    def __str__(self) -> str:
        """The decision as a sentence."""
        return _SENTENCES[self.reason].format_map(_Facts(self.facts))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready facts with the sentence under ``text``."""
        return {
            "book": self.book,
            "uid": self.uid,
            "title": self.title,
            "fired": self.fired,
            "reason": self.reason.value,
            "text": str(self),
            **({"facts": self.facts} if self.facts else {}),
        }


class _Facts(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return "?"
