"""SceneState: where a scene is, when, who is there, what they wear and hold, and from where it is seen.

Each fact says how sure it is and where it comes from. Changes are proposed (by the extractor, a template, a person); only those
that are sure enough are applied, and none to what a person has pinned. Nothing is guessed in between: what is not applied is told
with its reason (dynamic-prompting reference 3.9).
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
from innkeeper.prompt.once import convert

THRESHOLD: Final = 0.7
"""How sure a change must be to be applied."""


class FactOrigin(StrEnum):
    """Where a fact comes from."""

    USER = "user"
    TEMPLATE = "template"
    CONVERSATION = "conversation"
    EXTRACTOR = "extractor"
    CARD = "card"


class Fact(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One thing that is known. ``rule`` is the extractor's and its version; ``start`` and ``end`` are places in ``message``.

    What is ``pinned`` changes only by hand.
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
        """Refuse what cannot be stored or is no confidence. Raises `FieldError`, `LimitError`."""
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
    """What a scene is like. ``clothing`` is by the name of who wears it."""

    location: Fact | None = None
    time: Fact | None = None
    camera: Fact | None = None
    present: tuple[Fact, ...] = ()
    props: tuple[Fact, ...] = ()
    clothing: Mapping[str, Fact] = EMPTY

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, as it is stored."""
        fields: dict[str, Any] = msgspec.to_builtins(self)
        return fields

    def worn_by(self, name: str) -> Fact | None:
        """What somebody wears; names are compared without case."""
        folded = name.casefold()
        return next((fact for who, fact in self.clothing.items() if who.casefold() == folded), None)


class StateChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change that is proposed. ``who`` is whose clothes; ``gone``: the value is there no more."""

    field: Field
    fact: Fact
    who: str = ""
    gone: bool = False


class Ignored(msgspec.Struct, frozen=True):
    """A change that was not applied, and why."""

    change: StateChange
    reason: Literal["below_threshold", "pinned", "unchanged", "unknown", "full"]


class Applied(msgspec.Struct, frozen=True):
    """A state after changes, and what became of each of them."""

    state: SceneState
    applied: tuple[StateChange, ...] = ()
    ignored: tuple[Ignored, ...] = ()


def apply_changes(state: SceneState, changes: Iterable[StateChange], threshold: float = THRESHOLD) -> Applied:
    """The state with those changes that are at least as sure as ``threshold``, in their order."""
    applied: list[StateChange] = []
    ignored: list[Ignored] = []
    for change in changes:
        reason = "below_threshold" if change.fact.confidence < threshold else None
        after = state if reason else _STEPS[change.field](state, change)
        if isinstance(after, str):
            reason, after = after, state
        if reason is None:
            applied.append(change)
        else:
            ignored.append(Ignored(change, reason))  # type: ignore[arg-type]  # one of the reasons by construction
        state = after
    return Applied(state, tuple(applied), tuple(ignored))


def _single(state: SceneState, change: StateChange) -> SceneState | str:
    before: Fact | None = getattr(state, change.field)
    if before is not None and before.pinned:
        return "pinned"
    if change.gone:
        return "unknown" if before is None else msgspec.structs.replace(state, **{change.field: None})
    if before is not None and _same(before.value, change.fact.value):
        return "unchanged"
    return msgspec.structs.replace(state, **{change.field: change.fact})


def _listed(state: SceneState, change: StateChange) -> SceneState | str:
    facts: tuple[Fact, ...] = getattr(state, change.field)
    before = next((fact for fact in facts if _same(fact.value, change.fact.value)), None)
    if change.gone:
        if before is None:
            return "unknown"
        if before.pinned:
            return "pinned"
        return msgspec.structs.replace(state, **{change.field: tuple(one for one in facts if one is not before)})
    if before is not None:
        return "unchanged"
    if len(facts) >= MAX_FACTS:
        return "full"
    return msgspec.structs.replace(state, **{change.field: (*facts, change.fact)})


def _worn(state: SceneState, change: StateChange) -> SceneState | str:
    before = state.worn_by(change.who)
    if before is not None and before.pinned:
        return "pinned"
    others = {who: fact for who, fact in state.clothing.items() if fact is not before}
    if change.gone:
        left = "" if before is None else _without(before.value, change.fact.value)
        if before is None or left == before.value:
            return "unknown"
        more = {change.who: msgspec.structs.replace(change.fact, value=left)} if left else {}
        return msgspec.structs.replace(state, clothing=FrozenDict({**others, **more}))
    if before is not None and _same(before.value, change.fact.value):
        return "unchanged"
    if len(others) >= MAX_FACTS:
        return "full"
    return msgspec.structs.replace(state, clothing=FrozenDict({**others, change.who: change.fact}))


def _without(worn: str, taken_off: str) -> str:
    """What is left of clothes that are listed, once some of them are taken off."""
    parts = [part.strip() for part in worn.replace(" and ", ", ").split(",")]
    gone = taken_off.casefold().split()[-1:]
    left = [part for part in parts if part and not (gone and gone[0] in part.casefold().split())]
    return worn if len(left) == len(parts) else ", ".join(left)


def _same(one: str, other: str) -> bool:
    return one.casefold().split() == other.casefold().split()


_STEPS: Final = {
    **dict.fromkeys(_SINGLE, _single),
    **dict.fromkeys(_LISTS, _listed),
    "clothing": _worn,
}

# ------------------------------------------------------------------------------------------------------------------ by hand


def edited(state: SceneState, edits: Mapping[str, Any]) -> SceneState:
    """The state as a person wants it.

    Each edit is by the name of a field: a text, or ``{"value": …, "pinned": …}``, or null, which forgets it; ``present`` and
    ``props`` are lists of those, ``clothing`` an object by name. ``{"pinned": …}`` alone pins what is there, or lets it go.

    Raises `FieldError`, `LimitError`.
    """
    unknown = edits.keys() - set(SceneState.__struct_fields__)
    if unknown:
        known = ", ".join(SceneState.__struct_fields__)
        raise FieldError(
            f"a scene has no {min(map(str, unknown))!r:.60}", where=Where(path="state"), hint=f"fields: {known}"
        )
    changes: dict[str, Any] = {}
    for name, edit in edits.items():
        before = getattr(state, name)
        if name in _SINGLE:
            changes[name] = _edit(edit, before, name)
        elif name in _LISTS:
            changes[name] = _edits(edit, before, name)
        else:
            changes[name] = _clothes(edit, before)
    return msgspec.structs.replace(state, **changes)


def _edits(edits: Any, before: tuple[Fact, ...], path: str) -> tuple[Fact, ...]:
    if edits is None:
        return ()
    if not isinstance(edits, (list, tuple)):
        raise FieldError("must be a list", where=Where(path=path))
    known = {fact.value.casefold(): fact for fact in before}
    facts = (_edit(one, known.get(_name_of(one)), path) for one in edits)
    return _bounded({fact.value.casefold(): fact for fact in facts if fact is not None}, path)


def _name_of(edit: Any) -> str:
    name = edit.get("value") if isinstance(edit, Mapping) else edit
    return name.casefold() if isinstance(name, str) else ""


def _clothes(edits: Any, before: Mapping[str, Fact]) -> Mapping[str, Fact]:
    if edits is None:
        return EMPTY
    if not isinstance(edits, Mapping):
        raise FieldError("must be an object by name", where=Where(path="clothing"))
    worn: dict[str, Fact | None] = {**before}
    for who, one in edits.items():
        same = next((name for name in worn if name.casefold() == str(who).casefold()), str(who))
        worn[same] = _edit(one, worn.get(same), "clothing")
    clothes = {who: fact for who, fact in worn.items() if fact is not None}
    for who in clothes:
        Fact(value=who, origin=FactOrigin.USER)
    _bounded(clothes, "clothing")
    return FrozenDict(clothes)


def _bounded(facts: Mapping[str, Fact], path: str) -> tuple[Fact, ...]:
    if len(facts) > MAX_FACTS:
        raise LimitError(f"facts of {path}", limit="MAX_FACTS", allowed=MAX_FACTS, found=len(facts))
    return tuple(facts.values())


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
    """A state as it is stored. Raises `FormatError` for what is none."""
    try:
        return convert(thaw(stored), SceneState)
    except msgspec.ValidationError as error:
        raise FormatError(f"the stored state of a scene cannot be read: {error}") from error
