"""Composition: from the parts of a scene to one prompt with numbered figures that fits its model's window.

Every part is a segment with a role, so that the least important parts are dropped first, and listed. Figures and the number of
persons always stay. A scene that continues a picture describes what has changed and omits what the picture shows already
(dynamic-prompting reference 3.7 step 9, 4.5, 9 items 5 to 8).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, Literal

import msgspec

from innkeeper.library.errors import OverBudgetError
from innkeeper.library.models.facts import Measure
from innkeeper.library.prepare.budget import Budget, Dropped
from innkeeper.library.prepare.segments import Role, Segment, compress
from innkeeper.operations.scenes.figures import Figure, FigurePlan, FigureRole, Rewrite, numbers_in
from innkeeper.operations.scenes.limits import MAX_APPEARANCE, MAX_FACT_CHARS
from innkeeper.operations.scenes.modes import SceneMode
from innkeeper.operations.scenes.reading import scene_rules
from innkeeper.operations.scenes.state import SceneState
from innkeeper.prompt.text import shorten

JOINER: Final = "; "
"""Separates two parts, so that the end of one and a number at the start of the next do not read as a figure."""


class SceneStyle(StrEnum):
    """Which persons are in the picture, and the point of view."""

    CHARACTER_ONLY = "character_only"
    POV = "pov"
    BOTH_CHARACTERS = "both_characters"


ClothingSource = Literal["state", "override", "scene_default", "card", "none"]


class Clothing(msgspec.Struct, frozen=True):
    """The clothes of a person, and where they come from."""

    text: str = ""
    source: ClothingSource = "none"

    @property
    def directed(self) -> bool:
        """Whether the clothes belong to this scene rather than to the person in general."""
        return self.source in {"state", "override", "scene_default"}


class CastMember(msgspec.Struct, frozen=True, kw_only=True):
    """A person of a scene as the prompt describes them. ``id`` is that of their row."""

    name: str
    role: FigureRole
    appearance: tuple[str, ...] = ()
    clothing: Clothing = Clothing()
    id: str = ""


def clothing_of(
    member: CastMember, state: SceneState, overrides: Mapping[str, str], default: str, tags: Iterable[str]
) -> Clothing:
    """Return a person's clothes: from the scene's state, else the request, else the scene's default, else the card."""
    worn = state.worn_by(member.name)
    own = {"user"} if member.role is FigureRole.USER else set()
    names = {member.id, member.name.casefold(), *own} - {""}
    override = next((text for who, text in overrides.items() if who in names or who.casefold() in names), "")
    listed = ", ".join(" ".join(tag.split()) for tag in tags if tag.strip())
    choices: tuple[tuple[ClothingSource, str], ...] = (
        ("state", "" if worn is None else worn.value),
        ("override", override),
        ("scene_default", default),
        ("card", listed),
    )
    for source, text in choices:
        if text.strip():
            return Clothing(shorten(" ".join(text.split()), MAX_FACT_CHARS), source)
    return Clothing()


class SceneParts(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a prompt. ``before`` is the state of the scene that this one continues."""

    text: str
    style: SceneStyle
    mode: SceneMode
    plan: FigurePlan
    people: tuple[CastMember, ...] = ()
    viewer: str = ""
    action: str = ""
    mood: str = ""
    state: SceneState = SceneState()
    before: SceneState | None = None


class Omitted(msgspec.Struct, frozen=True):
    """A part that was left out before measuring, and why."""

    role: str
    text: str
    reason: Literal["unchanged", "shown_by_picture", "clothing_contradiction", "said_already"]


class Composition(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt that fits, and what became of every part. ``negative`` is its negative prompt, for models that take one."""

    prompt: str
    negative: str
    tokens: int
    budget: Budget
    figures: FigurePlan
    people: tuple[CastMember, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    omitted: tuple[Omitted, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        plain = msgspec.to_builtins
        return {
            "tokens": self.tokens,
            "budget": plain(self.budget),
            "clothing": {member.name: plain(member.clothing) for member in self.people},
            "dropped": plain(self.dropped),
            "dropped_figures": [
                {"role": one.candidate.role.value, "reason": one.reason} for one in self.figures.dropped
            ],
            "omitted": plain(self.omitted),
            "rewrites": plain(self.rewrites),
        }


def compose(parts: SceneParts, budget: Budget, measure: Measure, *, apart: bool = False) -> Composition:
    """Compose the prompt of a scene within its budget.

    Args:
        parts: the parts of the prompt.
        budget: the available room.
        measure: counts the tokens or characters of a text.
        apart: put what must not be seen into the negative prompt, for models that take one.

    Raises:
        OverBudgetError: the parts that must stay (figures, persons, the first words of the action) do not fit.
    """
    writer = _SegmentWriter(parts, measure)
    segments = [*writer.segments()]
    if parts.people and not apart:
        segments.append(Segment(writer.rules(), Role.TECHNICAL))
    compressed = compress(segments, budget, measure, joiner=JOINER)
    if set(numbers_in(compressed.text)) != {figure.number for figure in parts.plan.figures}:
        raise OverBudgetError(measure.most(compressed.text), budget.target, budget.unit)
    return Composition(
        prompt=compressed.text,
        negative=_UNWANTED if parts.people and apart else "",
        tokens=compressed.tokens,
        budget=budget,
        figures=parts.plan,
        people=parts.people,
        dropped=compressed.dropped,
        omitted=tuple(writer.omitted),
        rewrites=tuple(writer.rewrites),
    )


_END: Final = re.compile(r"(?<![\s.;,:])[\s.;,:]+$")
_COUNTS: Final = ("exactly one person is", "exactly two persons are")
_NO: Final = "no mirror images of persons, no doubles, no bystanders"
_UNWANTED: Final = "duplicate person, mirror image, bystanders"


class _SegmentWriter:
    """The segments of one prompt in the making, with the omitted parts and the rewritten figure numbers."""

    def __init__(self, parts: SceneParts, measure: Measure) -> None:
        self.parts, self.measure = parts, measure
        self.omitted: list[Omitted] = []
        self.rewrites: list[Rewrite] = []

    def segments(self) -> Iterator[Segment]:
        """Yield the segments in reading order."""
        parts = self.parts
        changing = parts.mode is SceneMode.MODIFICATION
        yield from (self._fixed(self._figure(figure)) for figure in parts.plan.figures)
        text = self._own(parts.text)
        yield Segment(text, Role.ACTION if changing else Role.SETTING, droppable=False)
        if not changing:
            for member in parts.people:
                yield from self._person(member)
            yield from self._around(text)
        if parts.people:  # of others nobody knows how many there are
            yield self._fixed(self._count())

    def rules(self) -> str:
        """Return what must not be seen, as a sentence of the prompt."""
        number = self.parts.plan.number
        directed = any(one.clothing.directed and number(one.role) is not None for one in self.parts.people)
        return f"{_NO}, clothes as described here, not as in the figures of persons" if directed else _NO

    def _fixed(self, text: str) -> Segment:
        return Segment(text, Role.IDENTITY, droppable=False, min=self.measure.count(text))

    def _figure(self, figure: Figure) -> str:
        setting = {
            SceneMode.MODIFICATION: "the picture to change",
            SceneMode.CONTINUATION: "the place, from the picture before",
        }.get(self.parts.mode, "the place")
        names = {member.role: member.name for member in self.parts.people}
        words = [
            setting if role is FigureRole.ENVIRONMENT else self._own(names.get(role, "")) or "the character"
            for role in figure.roles
        ]
        return f"Figure {figure.number} is {' and '.join(words)}"

    def _person(self, member: CastMember) -> Iterator[Segment]:
        name, features = member.name or "the character", ", ".join(self._appearance(member))
        yield Segment(self._own(f"{name}: {features}" if features else name), Role.IDENTITY)
        clothing, before = member.clothing, self.parts.before
        if not clothing.text:
            return
        worn = None if before is None else before.worn_by(member.name)
        known = worn is not None and worn.value.casefold() == clothing.text.casefold()
        if self.parts.mode is SceneMode.CONTINUATION and known:
            self.omitted.append(Omitted("clothing", clothing.text, "unchanged"))
            return
        weight = 2.0 if clothing.directed else 1.0
        yield Segment(self._own(f"{name} wears {clothing.text}"), Role.CLOTHING, weight=weight)

    def _appearance(self, member: CastMember) -> list[str]:
        """Return the first features; those about clothes only if the card decides about clothes."""
        distinct: list[str] = []
        for tag in member.appearance:
            if member.clothing.directed and scene_rules().garments.search(tag):
                self.omitted.append(Omitted("identity", tag, "clothing_contradiction"))
            elif tag.strip():
                distinct.append(shorten(" ".join(tag.split()), MAX_FACT_CHARS))
        return distinct[:MAX_APPEARANCE]

    def _around(self, text: str) -> Iterator[Segment]:
        """Yield what else is known of the moment and not part of the text yet."""
        parts, state = self.parts, self.parts.state
        folded = text.casefold()
        known = (
            (Role.ACTION, parts.action),
            (Role.SETTING, state.location_text),
            (Role.SETTING, "" if state.time is None else state.time.value),
            *((Role.SETTING, prop.value) for prop in state.props),
            (Role.MOOD, f"{parts.mood} mood" if parts.mood else ""),
            (Role.STYLE, "" if state.camera is None else state.camera.value),
        )
        for role, value in known:
            own = self._own(value)
            if not own:
                continue
            if own.casefold() in folded:
                self.omitted.append(Omitted(role.value, own, "said_already"))
            else:
                folded = f"{folded}; {own.casefold()}"
                yield Segment(own, role)

    def _count(self) -> str:
        style, people = self.parts.style, self.parts.people
        counted = f"{_COUNTS[min(len(people), len(_COUNTS)) - 1]} in the picture"
        if style is not SceneStyle.POV:
            return counted
        viewer = self._own(self.parts.viewer) or "the viewer"
        return f"seen through the eyes of {viewer}, who is not in the picture, {counted}"

    def _own(self, text: str) -> str:
        """Return a written text on one line, with the right figure numbers and without a final stop."""
        plain, rewrites = self.parts.plan.renumbered(" ".join(text.split()))
        self.rewrites += rewrites
        return _END.sub("", plain)


def people_of(style: SceneStyle, members: Sequence[CastMember]) -> tuple[CastMember, ...]:
    """Return the persons in the picture."""
    roles = {FigureRole.CHARACTER, *((FigureRole.USER,) if style is SceneStyle.BOTH_CHARACTERS else ())}
    return tuple(member for member in members if member.role in roles)
