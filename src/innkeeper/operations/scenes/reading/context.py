"""Scene context: what a message tells of a scene, by declared rules, each find with its rule, its place and how sure it is.

`analyse` gives ``{setting, mood, actions, visual_elements, positioning}`` (dynamic-prompting reference 3.7, step 4) and the
changes of the scene's state that the message proposes. What somebody says counts for so little that no rule is sure of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal

import msgspec

from innkeeper.operations.scenes.limits import MAX_ACTIONS, MAX_FACT_CHARS, MAX_FACTS
from innkeeper.operations.scenes.reading.passages import Kind, Passage, passages
from innkeeper.operations.scenes.reading.rules import HALVED, MOODS, VERSION, ReadingRule, scene_rules
from innkeeper.operations.scenes.state import THRESHOLD, Fact, FactOrigin, StateChange
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.text import shorten

_STEPS_A_CHARACTER: Final = 40
"""What reading a character with all rules costs, in steps of the allowance."""


class Person(msgspec.Struct, frozen=True):
    """Somebody who may be in a scene. ``speaks``: the message is theirs."""

    name: str
    role: Literal["character", "user", "other"] = "other"
    speaks: bool = False


class RuleMatch(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that a rule gave: its words, how sure it is, and where it stands in the message."""

    value: str
    confidence: float
    rule: str
    start: int
    end: int


class SceneContext(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a message tells of a scene. ``setting`` is there where it is sure enough; ``changes`` are proposals, sure or not."""

    rules_version: str = VERSION
    setting: RuleMatch | None = None
    mood: str = ""
    actions: tuple[str, ...] = ()
    visual_elements: tuple[str, ...] = ()
    positioning: tuple[str, ...] = ()
    changes: tuple[StateChange, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, by the document's names."""
        return {
            "rulesVersion": self.rules_version,
            "setting": None if self.setting is None else self.setting.value,
            "settingConfidence": None if self.setting is None else self.setting.confidence,
            "mood": self.mood or None,
            "actions": list(self.actions),
            "visualElements": list(self.visual_elements),
            "positioning": list(self.positioning),
        }


def analyse(text: str, people: Sequence[Person] = (), *, message: str = "") -> SceneContext:
    """What a message tells of a scene; ``message`` is its id, for the facts that come of it."""
    parts = passages(text)
    charge("scenes", steps=_STEPS_A_CHARACTER * sum(len(part.text) for part in parts))
    finds: dict[str, list[tuple[ReadingRule, RuleMatch, Passage]]] = {}
    for rule, find, part in _finds(parts):
        finds.setdefault(rule.field, []).append((rule, find, part))
    sure = [find for _, find, _ in finds.get("location", ()) if find.confidence >= THRESHOLD]
    return SceneContext(
        setting=max(sure, key=lambda find: find.start, default=None),
        mood=_mood(parts),
        actions=_actions(parts, people),
        visual_elements=_details(finds.get("visual", ())),
        positioning=_details(finds.get("positioning", ())),
        changes=tuple(_changes(parts, finds, people, message)),
    )


def _finds(parts: Iterable[Passage]) -> Iterator[tuple[ReadingRule, RuleMatch, Passage]]:
    for part in parts:
        halved = 0.5 if HALVED.search(part.text) else 1.0
        for rule in scene_rules():
            for match in rule.pattern.finditer(part.text):
                value = shorten(" ".join(match["value"].split()), MAX_FACT_CHARS)
                confidence = round(rule.confidence * part.weight * halved, 3)
                start = part.start + match.start("value")
                yield rule, RuleMatch(value, confidence, rule.versioned, start, start + len(match["value"])), part


def _details(matches: Iterable[tuple[ReadingRule, RuleMatch, Passage]]) -> tuple[str, ...]:
    """What is told rather than said, each once, the first of it."""
    values = {find.value.casefold(): find.value for _, find, part in matches if part.kind is not Kind.SPEECH}
    return tuple(values.values())[:MAX_ACTIONS]


# ------------------------------------------------------------------------------------------------------------------- mood


def _mood(parts: Iterable[Passage]) -> str:
    """The mood that has most words, of equal ones that which comes last; what is said counts for less."""
    weights: Counter[str] = Counter()
    last: dict[str, int] = {}
    for part in parts:
        for word in _WORD.finditer(part.text):
            mood = _BY_WORD.get(word[0].casefold())
            if mood is not None:
                weights[mood] += part.weight  # type: ignore[assignment]  # a counter of weights
                last[mood] = part.start + word.start()
    return max(weights, key=lambda mood: (weights[mood], last[mood]), default="")


_WORD: Final = re.compile(r"[^\W\d_]+")
_BY_WORD: Final = {word: mood for mood, words in MOODS.items() for word in words}

# ---------------------------------------------------------------------------------------------------------------- actions

_LONGEST_ACTION: Final = 160
_SUBJECTS: Final = ("he", "she", "they")


def _actions(parts: Sequence[Passage], people: Sequence[Person]) -> tuple[str, ...]:
    """What is done: what is marked as an action, and where nothing is, what is told of a person."""
    marked = [part.text for part in parts if part.kind is Kind.ACTION]
    names = {*_SUBJECTS, *(person.name.casefold() for person in people if person.name)}
    narrated = [part.text for part in parts if part.kind is not Kind.SPEECH and part.weight >= THRESHOLD]
    chosen = marked or [text for text in narrated if _subject(text) in names]
    cleaned = (shorten(" ".join(text.split()).strip(" .,;:*"), _LONGEST_ACTION) for text in chosen)
    return tuple({text.casefold(): text for text in cleaned if _WORD.search(text)}.values())[:MAX_ACTIONS]


def _subject(sentence: str) -> str:
    first = _WORD.search(sentence)
    return "" if first is None else first[0].casefold()


# ---------------------------------------------------------------------------------------------------------------- changes

_FIELDS: Final = ("location", "time", "camera", "clothing", "props")
_COMES: Final = r"\s+(?:\w+ly\s+)?(?:enters|arrives|appears|joins|returns|steps\s+in|walks\s+in|comes\s+in)\b"
_GOES: Final = r"\s+(?:\w+ly\s+)?(?:leaves|departs|exits|vanishes|walks\s+out|walks\s+away|goes\s+away|is\s+gone)\b"
_PRESENT: Final = 0.85


def _changes(
    parts: Sequence[Passage],
    finds: dict[str, list[tuple[ReadingRule, RuleMatch, Passage]]],
    people: Sequence[Person],
    message: str,
) -> Iterator[StateChange]:
    """The changes of the state in the order of the story."""
    proposed = [
        (find.start, _change(rule, find, part, people, message))
        for field in _FIELDS
        for rule, find, part in finds.get(field, ())
    ]
    proposed += [(change.fact.start, change) for change in _comings(parts, people, message)]
    surest: dict[tuple[str, str, str, int], StateChange] = {}
    for at, change in proposed:
        key = (change.field, change.who, change.fact.value.casefold(), at)
        if (change.field != "clothing" or change.who) and change.fact.confidence > _confidence(surest.get(key)):
            surest[key] = change
    yield from sorted(surest.values(), key=lambda change: change.fact.start)[: 4 * MAX_FACTS]


def _confidence(change: StateChange | None) -> float:
    return -1.0 if change is None else change.fact.confidence


def _change(rule: ReadingRule, find: RuleMatch, part: Passage, people: Sequence[Person], message: str) -> StateChange:
    who = _wearer(part, find, people) if rule.field == "clothing" else ""
    return StateChange(rule.field, _fact(find, message), who, gone=rule.gone)  # type: ignore[arg-type]  # fields of a state


def _fact(find: RuleMatch, message: str) -> Fact:
    return Fact(
        value=find.value,
        origin=FactOrigin.EXTRACTOR,
        confidence=find.confidence,
        rule=find.rule,
        message=message,
        start=find.start,
        end=find.end,
    )


def _wearer(part: Passage, find: RuleMatch, people: Sequence[Person]) -> str:
    """Who wears it: whoever is named last before it, else the human for "you", else who speaks, else nobody that is known."""
    before = part.text[: max(0, find.start - part.start)].casefold()
    named = [(before.rfind(person.name.casefold()), person.name) for person in people if person.name]
    at, name = max(named, default=(-1, ""))
    if at >= 0:
        return name
    words = set(_WORD.findall(before))
    role = "user" if words & {"you", "your"} else None
    fits = (person.name for person in people if (person.role == role if role else person.speaks))
    return next(fits, "")


def _comings(parts: Sequence[Passage], people: Sequence[Person], message: str) -> Iterator[StateChange]:
    """Who comes and who goes, of those who are known."""
    for person in people:
        if not person.name.strip():
            continue
        name = re.escape(person.name)
        for pattern, gone in ((_COMES, False), (_GOES, True)):
            matching = re.compile(rf"(?<!\w){name}{pattern}", re.IGNORECASE)
            for part in parts:
                halved = 0.5 if HALVED.search(part.text) else 1.0
                for match in matching.finditer(part.text):
                    rule = f"present.{'goes' if gone else 'comes'}@{VERSION}"
                    start, end = part.start + match.start(), part.start + match.end()
                    find = RuleMatch(
                        person.name[:MAX_FACT_CHARS], round(_PRESENT * part.weight * halved, 3), rule, start, end
                    )
                    yield StateChange("present", _fact(find, message), gone=gone)
