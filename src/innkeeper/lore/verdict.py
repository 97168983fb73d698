"""Verdict: why an entry is in the prompt, or the first rule that excluded it; one type for every tavern.

While a tavern decides, it stores a reason and two or three numbers; sentences are made only when somebody reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from string import Formatter
from typing import Any, Final, Self

import msgspec


class BaseReason(StrEnum):
    """The reasons that can decide about an entry; each tavern's reasons are a subclass.

    A member is written ``NAME = "name", "the sentence with {facts}"``, with a third value ``True`` where an entry is in the
    prompt by it.
    """

    template: str
    fired: bool

    def __new__(cls, value: str, template: str, fired: bool = False) -> Self:  # noqa: FBT001, FBT002 - as members write it
        """A member with its sentence, and whether an entry is in the prompt by it."""
        member = str.__new__(cls, value)
        member._value_, member.template, member.fired = value, template, fired
        return member

    def complete(self, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        """The facts that the sentence names, of those that were stored."""
        return facts

    def sentence(self, facts: Mapping[str, Any]) -> str:
        """The decision in words; a fact that is not known is a question mark."""
        return _SENTENCES.vformat(self.template, (), self.complete(facts))

    def parameters(self, facts: Mapping[str, Any]) -> dict[str, str]:
        """The facts of the sentence as they stand in it, for whoever has a sentence in another language."""
        known = self.complete(facts)
        fields = ((name, spec or "") for _, name, spec, _ in _SENTENCES.parse(self.template) if name)
        return {
            name: str(_SENTENCES.format_field(_SENTENCES.get_value(name, (), known), spec)) for name, spec in fields
        }


class Reason(BaseReason):
    """The reasons of SillyTavern's way of scanning. The first six fire an entry; the others stop it."""

    KEY = "key", "fired by {key!r} in {place} (pass {loop})", True
    CONSTANT = "constant", "fired: constant (pass {loop})", True
    STICKY = "sticky", "fired: still sticky until message {until}", True
    DECORATOR = "decorator", "fired: decorator @@activate (pass {loop})", True
    FORCED = "forced", "fired: forced by the request", True
    SEARCHED = "searched", "fired: a search found that the chat is about it", True
    EXTERNAL = "external", "fired from outside", True

    DISABLED = "disabled", "the entry is disabled"
    TRIGGER = "trigger", "only for generation types {triggers}; this is {generation!r}"
    CHARACTER = "character", "its character filter does not let this character pass"
    DELAY = "delay", "delayed until the chat has {until} messages; it has {length}"
    COOLDOWN = "cooldown", "cooling down until message {until}"
    SUPPRESSED = "suppressed", "decorator @@dont_activate"
    ONLY_RECURSION = "only_recursion", "waits for recursion, and there was none"
    RECURSION_LEVEL = "recursion_level", "waits for recursion level {level}; {reached} was reached"
    NO_RECURSION = "no_recursion", "not in recursion passes, and no key matched before"
    NO_KEYS = "no_keys", "it has no keys and is not constant"
    NO_MATCH = "no_match", "no key matched in {searched}: {keys}"
    SECONDARY = "secondary", "{key!r} matched, but the secondary keys ({logic}) did not agree"
    NO_DEPTH = "no_depth", "its scan depth is {depth}: nothing to search"
    GROUP_LOST = "group_lost", "lost group {group!r} to {winner} ({how})"
    GROUP_TAKEN = "group_taken", "group {group!r} already has {winner}"
    GROUP_SCORE = "group_score", "group {group!r}: score {score} is below {best}"
    GROUP_STICKY = "group_sticky", "group {group!r} has a sticky entry"
    GROUP_QUIRK = "group_quirk", "removed with the second removal of a loser of two groups (SillyTavern quirk)"
    PROBABILITY = "probability", "rolled {roll:.2f} against {probability} %"
    BUDGET = "budget", "over the lore budget: {tokens} of {budget} tokens"
    UNPLACED = "unplaced", "fired, but {why}"
    VECTORIZED = "vectorized", "vectorised: needs a vector search, which no source supplied"


class Verdict(msgspec.Struct, frozen=True):
    """The decision about one entry. ``facts`` are the numbers its sentence needs (key, pass, roll, budget …)."""

    book: str
    uid: int | str
    title: str
    reason: BaseReason
    facts: Mapping[str, Any] = {}
    remark: str = ""
    """What would have let it fire, or is wrong with its keys."""

    @property
    def fired(self) -> bool:
        """Whether the entry is in the prompt."""
        return self.reason.fired

    def __str__(self) -> str:
        """The decision as a sentence."""
        sentence = self.reason.sentence(self.facts)
        return f"{sentence}; {self.remark}" if self.remark else sentence

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready facts with the sentence under ``text``."""
        return {
            "book": self.book,
            "uid": self.uid,
            "title": self.title,
            "fired": self.fired,
            "reason": self.reason.value,
            "text": str(self),
            **({"facts": dict(self.facts)} if self.facts else {}),
        }


_NEAR: Final = frozenset({"key", "roll", "group", "until", "tokens", "why"})
"""Facts of a decision that a key or a timer has led to."""


def is_near(verdict: Verdict) -> bool:
    """Whether an entry is in the prompt, or came near it: a key matched, or a timer runs."""
    return verdict.fired or not _NEAR.isdisjoint(verdict.facts)


class _Sentences(Formatter):
    """Fills sentences as people write them: quoted texts stay as they are, lists are joined, and an unknown fact is a ``?``."""

    def get_value(self, key: int | str, _args: Any, kwargs: Mapping[str, Any]) -> Any:
        return kwargs.get(str(key), _UNKNOWN)

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        return f"'{value}'" if conversion == "r" and value is not _UNKNOWN else value

    def format_field(self, value: Any, format_spec: str) -> Any:
        if isinstance(value, (list, tuple)):
            return ", ".join(map(str, value))
        return value if value is _UNKNOWN else super().format_field(value, format_spec)


_UNKNOWN: Final = "?"
_SENTENCES: Final = _Sentences()
