"""Composition: from the parts of a scene to one prompt with numbered figures that fits what its model reads.

Every part is a segment with a role, so that what goes for want of room is what matters least, and is listed. What is said of
figures and of how many persons there are never goes. A picture that is gone on from gets what has changed; what it shows already
is left out (dynamic-prompting reference 3.7 step 9, 4.5, 9 items 5 to 8).
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
from innkeeper.operations.scenes.reading.rules import scene_rules
from innkeeper.operations.scenes.state import SceneState
from innkeeper.prompt.text import shorten

JOINER: Final = "; "
"""Between two parts: no word of one makes a figure of a number in the next."""


class SceneStyle(StrEnum):
    """Who is seen, and by whom."""

    CHARACTER_ONLY = "character_only"
    POV = "pov"
    BOTH_CHARACTERS = "both_characters"


ClothingSource = Literal["state", "override", "scene_default", "card", "none"]


class Clothing(msgspec.Struct, frozen=True):
    """What somebody wears, and who says so."""

    text: str = ""
    source: ClothingSource = "none"

    @property
    def directed(self) -> bool:
        """Whether it is said of this scene, and not of the person at all times."""
        return self.source in {"state", "override", "scene_default"}


class CastMember(msgspec.Struct, frozen=True, kw_only=True):
    """A person of a scene as the prompt needs them. ``id`` is that of their row."""

    name: str
    role: FigureRole
    appearance: tuple[str, ...] = ()
    clothing: Clothing = Clothing()
    id: str = ""


def clothing_of(
    member: CastMember, state: SceneState, overrides: Mapping[str, str], default: str, tags: Iterable[str]
) -> Clothing:
    """What a person wears: by the state of the scene, else by the request, else by the scene, else by the card."""
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
    """What a prompt is composed of. ``before`` is the state that the picture that is gone on from was made with."""

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
    """A part that was left out before anything was measured, and why."""

    role: str
    text: str
    reason: Literal["unchanged", "shown_by_picture", "clothing_contradiction", "said_already"]


class Composition(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt that fits, and what became of every part. ``negative`` is what a model with such an input is told beside it."""

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
        """JSON-ready facts."""
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
    """The prompt of a scene within its budget.

    Args:
        parts: what it is made of.
        budget: the room there is.
        measure: what measures it.
        apart: what must not be seen is said beside the prompt, for models that read it so.

    Raises:
        OverBudgetError: what must stay (figures, persons, the first words of what happens) does not fit.
    """
    work = _Work(parts, measure)
    rules = work.rules()
    segments = [*work.segments(), *(() if apart or not rules else (Segment(rules, Role.TECHNICAL),))]
    done = compress(segments, budget, measure, joiner=JOINER)
    if set(numbers_in(done.text)) != {figure.number for figure in parts.plan.figures}:
        raise OverBudgetError(measure.most(done.text), budget.target, budget.unit)
    return Composition(
        prompt=done.text,
        negative=work.unwanted() if apart else "",
        tokens=done.tokens,
        budget=budget,
        figures=parts.plan,
        people=parts.people,
        dropped=done.dropped,
        omitted=tuple(work.omitted),
        rewrites=tuple(work.rewrites),
    )


_COUNTS: Final = ("exactly one person is", "exactly two persons are")
_NO: Final = "no mirror images of persons, no doubles, no bystanders"
_UNWANTED: Final = "duplicate person, mirror image, bystanders"


class _Work:
    """The segments of one prompt while they are made: what was left out, and which marks were put right."""

    def __init__(self, parts: SceneParts, measure: Measure) -> None:
        self.parts, self.measure = parts, measure
        self.omitted: list[Omitted] = []
        self.rewrites: list[Rewrite] = []

    def segments(self) -> Iterator[Segment]:
        """The segments in the order in which they are read."""
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
        """What is not to be seen, as a sentence of the prompt."""
        number = self.parts.plan.number
        directed = [one for one in self.parts.people if one.clothing.directed and number(one.role) is not None]
        clothes = "clothes as described here, not as in the figures of persons" if directed else ""
        return ", ".join(part for part in (_NO, clothes) if part) if self.parts.people else ""

    def unwanted(self) -> str:
        """What is not to be seen, as words of a negative prompt."""
        return _UNWANTED if self.parts.people else ""

    # ------------------------------------------------------------------------------------------------------------- segments

    def _fixed(self, text: str) -> Segment:
        return Segment(text, Role.IDENTITY, droppable=False, min=self.measure.count(text))

    def _figure(self, figure: Figure) -> str:
        setting = {
            SceneMode.MODIFICATION: "the picture to change",
            SceneMode.CONTINUATION: "the place, from the picture before",
        }.get(self.parts.mode, "the place")
        words = [setting if role is FigureRole.ENVIRONMENT else self._whom(role) for role in figure.roles]
        return f"Figure {figure.number} is {' and '.join(words)}"

    def _whom(self, role: FigureRole) -> str:
        member = next((one for one in self.parts.people if one.role is role), None)
        return (self._own(member.name) if member else "") or "the character"

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
        """The first features; those that speak of clothes only where the card is who says what is worn."""
        distinct: list[str] = []
        for tag in member.appearance:
            if member.clothing.directed and scene_rules().garments.search(tag):
                self.omitted.append(Omitted("identity", tag, "clothing_contradiction"))
            elif tag.strip():
                distinct.append(shorten(" ".join(tag.split()), MAX_FACT_CHARS))
        return distinct[:MAX_APPEARANCE]

    def _around(self, text: str) -> Iterator[Segment]:
        """What else is known of the moment, where the text does not say it already."""
        parts, state = self.parts, self.parts.state
        folded = text.casefold()
        matching = (
            (Role.ACTION, parts.action),
            (Role.SETTING, "" if state.location is None else state.location.value),
            (Role.SETTING, "" if state.time is None else state.time.value),
            *((Role.SETTING, prop.value) for prop in state.props),
            (Role.MOOD, f"{parts.mood} mood" if parts.mood else ""),
            (Role.STYLE, "" if state.camera is None else state.camera.value),
        )
        for role, value in matching:
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

    # -------------------------------------------------------------------------------------------------------------- helpers

    def _own(self, text: str) -> str:
        """A text that somebody wrote: on one line, its marks of figures put right, without a stop at its end."""
        plain, rewrites = self.parts.plan.renumbered(" ".join(text.split()))
        self.rewrites += rewrites
        return _END.sub("", plain)


_END: Final = re.compile(r"(?<![\s.;,:])[\s.;,:]+$")


def people_of(style: SceneStyle, members: Sequence[CastMember]) -> tuple[CastMember, ...]:
    """Those who are seen."""
    roles = {FigureRole.CHARACTER, *((FigureRole.USER,) if style is SceneStyle.BOTH_CHARACTERS else ())}
    return tuple(member for member in members if member.role in roles)
