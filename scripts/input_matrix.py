"""Input matrix: every field of every input varied in every tavern; what a build then does is the table of the documentation.

A `Variation` is a request and the same request with one field more, or another value in it. Its `Outcome` in a tavern is read
from two builds: ``used`` where anything that leaves a build is another, ``noted`` where a note names the field, ``refused``
where an error does. A ``silent`` one is a fault. The variations are in `scripts.input_cases`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from innkeeper.dialects import DIALECTS
from innkeeper.prompt import InnkeeperError, Note, NoteKind, Ports
from innkeeper.prompt.typed.once import once
from innkeeper.taverns import TAVERNS

MARK: Final = "Quartz"
"""A word that is in no text of the requests here."""

DIALECT_NAMES: Final = ("openai", "anthropic", "gemini", "sillytavern")
"""The dialects that a plan is rendered in: what one of them alone sends is used."""


@dataclass(frozen=True, kw_only=True)
class Variation:
    """The field ``name`` is what the request ``after`` has more than ``before``, or has another value of.

    ``ports`` are those of both builds, ``more`` of the second alone; ``calls`` is what these have recorded.
    """

    name: str
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any]
    ports: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    calls: list[Any] = field(default_factory=list)
    optional: bool = False
    """Whether it is one of several requests of which one must count."""
    enforced: bool = False
    """Whether an error is what the value is there for."""


@dataclass(frozen=True)
class Outcome:
    """What became of a variation: ``used``, ``noted``, ``refused`` or ``silent``, and the reason in words.

    ``warned``: whether the second build has warnings, which ``strict`` must refuse.
    """

    kind: str
    reason: str = ""
    warned: bool = False


def outcome(tavern: str, variation: Variation) -> Outcome:
    """Build without and with it, and compare all that leaves the builds."""
    try:
        before, _, notes = _seen_before(tavern, variation)
    except InnkeeperError:  # a setting that this tavern refuses: without any
        alone = _without_settings(variation.before)
        if alone == variation.before:
            raise
        return outcome(tavern, replace(variation, before=alone, after=_without_settings(variation.after)))
    variation.calls.clear()
    try:
        after, warned, others = _seen(tavern, variation.after, Ports(**variation.ports, **variation.more))
    except InnkeeperError as error:
        return Outcome("used" if variation.enforced else "refused", str(error))
    exact = next(
        (note for note in others if note.data.get("input") == variation.name and "fields" not in note.data), None
    )
    if exact is not None and exact.kind is NoteKind.IGNORED:
        return Outcome("noted", reason_of(exact), warned=warned)
    if after != before or variation.calls:
        return Outcome("used", warned=warned)
    earlier = {str(note) for note in notes}
    for note in others:
        if (str(note) not in earlier or "input" in note.data) and names_field(note, variation.name):
            return Outcome("noted", reason_of(note), warned=warned)
    return Outcome("silent", "; ".join(str(note) for note in others if str(note) not in earlier))


def _without_settings(fields: Mapping[str, Any]) -> dict[str, Any]:
    settings = fields.get("settings") or {}
    stored = {"chat_metadata": settings["chat_metadata"]} if "chat_metadata" in settings else {}
    return {**fields, "settings": stored}


def names_field(note: Note, name: str) -> bool:
    """Whether a note is about an input, or the asset that it is in, by this name or by the one that it is read as."""
    return any(_is_about(note, other) for other in (name, *_SAME.get(name, ())))


def _is_about(note: Note, name: str) -> bool:
    named = note.data.get("input")
    if isinstance(named, str):
        inside = name == named or name.startswith(f"{named}.")
        return inside and ("fields" not in note.data or name.removeprefix(f"{named}.") in note.data["fields"])
    last = "extra" if name.startswith("history.extra.") else name.rpartition(".")[2]
    text = f"{note.where or ''} {note.message} {note.hint or ''}"
    return re.search(rf"(?<![a-z]){re.escape(last)}(?![a-z])|{MARK}", text) is not None


_SAME: Final[Mapping[str, tuple[str, ...]]] = {
    **{f"chat_metadata.{name}": (f"character.{name}",) for name in ("scenario", "mes_example", "system_prompt")},
    "history.content.refusal": ("history.refusal",),
    "history.content.tool_use": ("history.tool_calls", "tool calls"),
    "history.content.thinking": ("history.reasoning", "thoughts"),
}
"""Inputs that are read as others, or are called so in notes."""


def reason_of(note: Note) -> str:
    """What a note gives as the reason."""
    return re.split("ha(?:s|ve) no effect(?: in this tavern)?: ", note.message)[-1]


def _seen_before(tavern: str, variation: Variation) -> _Seen:
    """What leaves the first build, made once of a request that several fields vary."""
    key = (tavern, repr(variation.before), repr(variation.ports))
    if key not in _BEFORE:
        _BEFORE[key] = _seen(tavern, variation.before, Ports(**variation.ports))
    return _BEFORE[key]


_Seen: TypeAlias = tuple[Any, bool, tuple[Note, ...]]
_BEFORE: Final[dict[tuple[str, str, str], _Seen]] = {}


def _seen(tavern: str, fields: Mapping[str, Any], ports: Ports) -> _Seen:
    """All that leaves a build, whether it warns, and its notes."""
    plan = TAVERNS[tavern].build(fields, ports)
    bodies, notes = [], [*plan.warnings, *plan.notes]
    for name in DIALECT_NAMES if plan.dialect != "text" else ("text",):
        try:
            payload = plan.to_request(name, dialects=ports.dialects or DIALECTS)
        except InnkeeperError as error:
            bodies.append(str(error))
        else:
            bodies.append(payload.body)
            notes += payload.notes
    bodies.append(plan.to_messages(dialects=ports.dialects or DIALECTS))
    verdicts = [
        (verdict.uid, str(verdict), verdict.title, verdict.book) for verdict in getattr(plan.lore, "verdicts", ())
    ]
    speakers = [note.data["speakers"] for note in plan.notes if "speakers" in note.data]
    moment = plan.request.now if plan.request else None
    left = (moment, speakers, plan.greeting, plan.carry, plan.stored, plan.variables, plan.stop, plan.outlets, verdicts)
    return (bodies, *left), bool(plan.warnings), tuple(notes)


@once
def outcomes() -> tuple[tuple[Variation, str, Outcome], ...]:
    """Every variation in every tavern, with what becomes of it."""
    from scripts.input_cases import variations

    return tuple((variation, tavern, outcome(tavern, variation)) for variation in variations() for tavern in TAVERNS)


def rows() -> Mapping[str, Mapping[str, Outcome]]:
    """What becomes of each field in each tavern; of several variations the one that says most, or a silent one."""
    listed: dict[str, dict[str, list[tuple[Outcome, Variation]]]] = {}
    for variation, tavern, made in outcomes():
        listed.setdefault(variation.name, {}).setdefault(tavern, []).append((made, variation))
    return {name: {tavern: _together(cell) for tavern, cell in row.items()} for name, row in listed.items()}


def _together(cell: list[tuple[Outcome, Variation]]) -> Outcome:
    silent = [made for made, variation in cell if made.kind == "silent" and not variation.optional]
    ranked = sorted((made for made, _ in cell), key=lambda made: _RANKS.index(made.kind))
    return silent[0] if silent else ranked[0]


_RANKS: Final = ("used", "noted", "refused", "silent")
