"""SceneState: the place, time, camera, persons, clothes and props of a scene.

Each fact has a confidence and an origin. Changes are proposed (by the extractor, a template, a person); only those above the
threshold are applied, and none to a pinned fact. A change that is not applied is reported with its reason (dynamic-prompting
reference 3.9).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final, Literal

import msgspec

from innkeeper.library.errors import FieldError, need_texts
from innkeeper.operations.scenes.limits import MAX_FACT_CHARS, MAX_FACTS
from innkeeper.prompt.data import EMPTY, FrozenDict, thaw
from innkeeper.prompt.errors import FormatError, LimitError, Where
from innkeeper.prompt.typed.once import convert

THRESHOLD: Final = 0.7
"""The least confidence of a change that is applied."""


class FactOrigin(StrEnum):
    """The source of a fact."""

    USER = "user"
    TEMPLATE = "template"
    CONVERSATION = "conversation"
    EXTRACTOR = "extractor"
    CARD = "card"


class Fact(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One fact. ``rule`` is the extractor's rule with its version; ``start`` and ``end`` are offsets in ``message``.

    A ``pinned`` fact changes only by hand.
    """

    value: str
    origin: FactOrigin
    confidence: float = 1.0
    rule: str = ""
    message: str = ""
    start: int = 0
    end: int = 0
    pinned: bool = False

    def __post_init__(self) -> None:
        """Check that the fact can be stored. Raises `FieldError`, `LimitError`."""
        need_texts(self, ("value", "rule", "message"), ())
        if not 0 <= self.confidence <= 1:
            raise FieldError("a confidence is between 0 and 1", where=Where(path="confidence"))
        if len(self.value) > MAX_FACT_CHARS:
            length, allowed = len(self.value), MAX_FACT_CHARS
            raise LimitError("characters of a scene's fact", limit="MAX_FACT_CHARS", allowed=allowed, found=length)


Field = Literal["location", "time", "camera", "present", "props", "clothing"]
_SINGLE: Final = ("location", "time", "camera")
_LISTS: Final = ("present", "props")


class SceneState(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The state of a scene. ``clothing`` is by the wearer's name."""

    location: Fact | None = None
    time: Fact | None = None
    camera: Fact | None = None
    present: tuple[Fact, ...] = ()
    props: tuple[Fact, ...] = ()
    clothing: Mapping[str, Fact] = EMPTY

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data, as it is stored."""
        fields: dict[str, Any] = msgspec.to_builtins(self)
        return fields

    @property
    def location_text(self) -> str:
        """The location; empty if it is not known."""
        return "" if self.location is None else self.location.value

    def worn_by(self, name: str) -> Fact | None:
        """Return a person's clothes; names are compared without case."""
        folded = name.casefold()
        return next((fact for who, fact in self.clothing.items() if who.casefold() == folded), None)


class StateChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """A proposed change. ``who`` is the wearer of clothes; ``gone``: the value is removed."""

    field: Field
    fact: Fact
    who: str = ""
    gone: bool = False


Reason = Literal["below_threshold", "pinned", "unchanged", "unknown", "full"]
"""Why a change is not applied."""


class Ignored(msgspec.Struct, frozen=True):
    """A change that was not applied, and why."""

    change: StateChange
    reason: Reason


class Applied(msgspec.Struct, frozen=True):
    """A state after changes, and the outcome of each change."""

    state: SceneState
    applied: tuple[StateChange, ...] = ()
    ignored: tuple[Ignored, ...] = ()


def apply_changes(state: SceneState, changes: Iterable[StateChange]) -> Applied:
    """Apply the changes whose confidence reaches `THRESHOLD`, in order."""
    applied: list[StateChange] = []
    ignored: list[Ignored] = []
    for change in changes:
        after = "below_threshold" if change.fact.confidence < THRESHOLD else _changed(state, change)
        if isinstance(after, SceneState):
            applied.append(change)
            state = after
        else:
            ignored.append(Ignored(change, after))
    return Applied(state, tuple(applied), tuple(ignored))


def _changed(state: SceneState, change: StateChange) -> SceneState | Reason:
    """Return the state after one change, or the reason why it is ignored."""
    listed, worn, fact = change.field in _LISTS, change.field == "clothing", change.fact
    facts = _facts(state, change.field)
    name = fact.value if listed else change.who
    before = facts.pop(next((key for key in facts if _same(key, name)), name), None)
    if before is not None and before.pinned and (change.gone or not listed):
        return "pinned"
    if change.gone:
        left = _without(before.value, fact.value) if before is not None and worn else ""
        if before is None or left == before.value:
            return "unknown"
        if not left:
            return _with_facts(state, change.field, facts)
        fact = msgspec.structs.replace(fact, value=left)
    elif before is not None and _same(before.value, fact.value):
        return "unchanged"
    elif len(facts) >= MAX_FACTS:
        return "full"
    return _with_facts(state, change.field, {**facts, name: fact})


def _facts(state: SceneState, field: str) -> dict[str, Fact]:
    """Return the facts of a field by key: the value in a list, the wearer for clothes, else an empty text."""
    value = getattr(state, field)
    if field in _SINGLE:
        return {} if value is None else {"": value}
    return {fact.value: fact for fact in value} if field in _LISTS else {**value}


def _with_facts(state: SceneState, field: str, facts: Mapping[str, Fact]) -> SceneState:
    value: Any = FrozenDict(facts)
    if field in _SINGLE:
        value = facts.get("")
    elif field in _LISTS:
        value = tuple(facts.values())
    return msgspec.structs.replace(state, **{field: value})


def _without(worn: str, taken_off: str) -> str:
    """Return the listed clothes that remain after some are taken off."""
    parts = [part.strip() for part in worn.replace(" and ", ", ").split(",")]
    gone = taken_off.casefold().split()[-1:]
    left = [part for part in parts if part and not (gone and gone[0] in part.casefold().split())]
    return worn if len(left) == len(parts) else ", ".join(left)


def _same(one: str, other: str) -> bool:
    return one.casefold().split() == other.casefold().split()


# ------------------------------------------------------------------------------------------------------------------ by hand


def edited(state: SceneState, edits: Mapping[str, Any]) -> SceneState:
    """Apply a person's edits to the state.

    Each edit is named by its field: a text, or ``{"value": …, "pinned": …}``, or null, which deletes it; ``present`` and
    ``props`` are lists of those, ``clothing`` an object by name. ``{"pinned": …}`` alone pins or unpins the existing fact.

    Raises `FieldError`, `LimitError`.
    """
    unknown = edits.keys() - set(SceneState.__struct_fields__)
    if unknown:
        known = ", ".join(SceneState.__struct_fields__)
        raise FieldError(
            f"a scene has no {min(map(str, unknown))!r:.60}", where=Where(path="state"), hint=f"fields: {known}"
        )
    for name, edit in edits.items():
        if edit is None:
            state = msgspec.structs.replace(state, **{name: getattr(SceneState(), name)})
        else:
            state = _with_facts(state, name, _edited(_facts(state, name), edit, name))
    return state


def _edited(before: dict[str, Fact], edits: Any, field: str) -> dict[str, Fact]:
    """Return the facts of a field after an edit: a list replaces all of them, an object those it names."""
    after: dict[str, Fact | None] = {}
    if field in _SINGLE:
        after[""] = _edit(edits, before.get(""), field)
    elif field in _LISTS:
        if not isinstance(edits, (list, tuple)):
            raise FieldError("must be a list", where=Where(path=field))
        known = {value.casefold(): fact for value, fact in before.items()}
        for edit in edits:
            value = edit.get("value") if isinstance(edit, Mapping) else edit
            fact = _edit(edit, known.get(str(value).casefold()), field)
            after[fact.value.casefold() if fact is not None else ""] = fact
    else:
        if not isinstance(edits, Mapping):
            raise FieldError("must be an object by name", where=Where(path=field))
        after.update(before)
        for who, edit in edits.items():
            name = next((name for name in after if name.casefold() == str(who).casefold()), str(who))
            after[name] = _edit(edit, after.get(name), field)
    facts = {name: fact for name, fact in after.items() if fact is not None}
    for name in facts:
        Fact(value=name, origin=FactOrigin.USER)  # who wears something is checked as a fact is
    if len(facts) > MAX_FACTS:
        raise LimitError(f"facts of {field}", limit="MAX_FACTS", allowed=MAX_FACTS, found=len(facts))
    return facts


def _edit(edit: Any, before: Fact | None, path: str) -> Fact | None:
    if edit is None:
        return None
    fields = {"value": edit} if isinstance(edit, str) else edit
    if not isinstance(fields, Mapping) or not fields.keys() <= {"value", "pinned"}:
        raise FieldError("must be a text, or an object with value and pinned", where=Where(path=path))
    value, pinned = fields.get("value", None if before is None else before.value), fields.get("pinned", False)
    if not isinstance(value, str) or not value.strip() or not isinstance(pinned, bool):
        raise FieldError("needs a value that is a text; pinned is true or false", where=Where(path=path))
    if before is not None and value == before.value:
        return msgspec.structs.replace(before, pinned=pinned)
    return Fact(value=" ".join(value.split()), origin=FactOrigin.USER, pinned=pinned)


def read_state(stored: Mapping[str, Any]) -> SceneState:
    """Read a stored state. Raises `FormatError` if it is not a state."""
    try:
        return convert(thaw(stored), SceneState)
    except msgspec.ValidationError as error:
        raise FormatError(f"the stored state of a scene cannot be read: {error}") from error
