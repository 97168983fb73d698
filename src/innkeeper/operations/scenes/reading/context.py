"""Scene context: what a message tells of a scene, by declared rules, each fact with its rule, its place and how sure it is.

`analyse` gives ``{setting, mood, actions, visual_elements, positioning}`` (dynamic-prompting reference 3.7, step 4) and the
changes of the scene's state that the message proposes. What somebody says counts for so little that no rule is sure of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from innkeeper.operations.scenes.limits import MAX_ACTIONS, MAX_FACT_CHARS, MAX_FACTS
from innkeeper.operations.scenes.reading.passages import Kind, Passage, passages
from innkeeper.operations.scenes.reading.rules import ReadingRule, scene_rules
from innkeeper.operations.scenes.state import THRESHOLD, Fact, FactOrigin, SceneState, StateChange
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.text import shorten

_STEPS_A_CHARACTER: Final = 40
"""What reading a character with all rules costs, in steps of the allowance."""


class Person(msgspec.Struct, frozen=True):
    """Somebody who may be in a scene. ``speaks``: the message is theirs."""

    name: str
    role: Literal["character", "user", "other"] = "other"
    speaks: bool = False


class SceneContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a message tells of a scene. ``setting`` is there where it is sure enough; ``changes`` are proposals, sure or not."""

    setting: Fact | None = None
    mood: str = ""
    actions: tuple[str, ...] = ()
    visual_elements: tuple[str, ...] = ()
    positioning: tuple[str, ...] = ()
    changes: tuple[StateChange, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, by the document's names."""
        return {
            "rulesVersion": scene_rules().version,
            "setting": None if self.setting is None else self.setting.value,
            "settingConfidence": None if self.setting is None else self.setting.confidence,
            "mood": self.mood or None,
            "actions": list(self.actions),
            "visualElements": list(self.visual_elements),
            "positioning": list(self.positioning),
        }


class _Match(NamedTuple):
    """What a rule read in a passage."""

    rule: ReadingRule
    fact: Fact
    passage: Passage


def analyse(text: str, people: Sequence[Person] = (), *, message: str = "") -> SceneContext:
    """What a message tells of a scene; ``message`` is its id, for the facts that come of it."""
    parts = passages(text)
    charge("scenes", steps=_STEPS_A_CHARACTER * sum(len(part.text) for part in parts))
    matches = [*_matches(parts, people, message)]
    locations = [match.fact for match in matches if match.rule.field == "location"]
    sure = [fact for fact in locations if fact.confidence >= THRESHOLD]
    return SceneContext(
        setting=max(sure, key=lambda fact: fact.start, default=None),
        mood=_mood(parts),
        actions=_actions(parts, people),
        visual_elements=_details(matches, "visual"),
        positioning=_details(matches, "positioning"),
        changes=_changes(matches, people),
    )


def _matches(parts: Sequence[Passage], people: Iterable[Person], message: str) -> Iterator[_Match]:
    rules = scene_rules()
    tried = [(rule, rule.pattern, "") for rule in rules.rules if not rule.of_persons]
    for person in people:
        if person.name.strip():
            name = person.name[:MAX_FACT_CHARS]
            tried += [(rule, rule.pattern_for(person.name), name) for rule in rules.rules if rule.of_persons]
    for part in parts:
        weight = part.weight * (0.5 if rules.elsewhere.search(part.text) else 1.0)
        for rule, pattern, name in tried:
            for match in pattern.finditer(part.text):
                fact = Fact(
                    value=name or shorten(" ".join(match["value"].split()), MAX_FACT_CHARS),
                    origin=FactOrigin.EXTRACTOR,
                    confidence=round(rule.confidence * weight, 3),
                    rule=rule.name,
                    message=message,
                    start=part.start + match.start("value"),
                    end=part.start + match.end("value"),
                )
                yield _Match(rule, fact, part)


def _details(matches: Iterable[_Match], field: str) -> tuple[str, ...]:
    """What is told rather than said, each once, the first of it."""
    facts = [match.fact for match in matches if match.rule.field == field and match.passage.kind is not Kind.SPEECH]
    return tuple({fact.value.casefold(): fact.value for fact in facts}.values())[:MAX_ACTIONS]


def _mood(parts: Iterable[Passage]) -> str:
    """The mood that has most words, of equal ones that which comes last; what is said counts for less."""
    moods = scene_rules().moods
    weights: Counter[str] = Counter()
    last: dict[str, int] = {}
    for part in parts:
        for word in _WORD.finditer(part.text):
            mood = moods.get(word[0].casefold())
            if mood is not None:
                weights[mood] += part.weight  # type: ignore[assignment]  # a counter of weights
                last[mood] = part.start + word.start()
    return max(weights, key=lambda mood: (weights[mood], last[mood]), default="")


_WORD: Final = re.compile(r"[^\W\d_]+")

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


def _changes(matches: Iterable[_Match], people: Sequence[Person]) -> tuple[StateChange, ...]:
    """The changes of the state in the order of the story; of several rules for the same words the surest."""
    surest: dict[tuple[str, str, str, int], StateChange] = {}
    for rule, fact, part in matches:
        worn = rule.field == "clothing"
        who = _wearer(part, fact, people) if worn else ""
        if rule.field not in SceneState.__struct_fields__ or (worn and not who):
            continue
        key = (rule.field, who, fact.value.casefold(), fact.start)
        if key not in surest or fact.confidence > surest[key].fact.confidence:
            surest[key] = StateChange(rule.field, fact, who, gone=rule.gone)  # type: ignore[arg-type]  # a field of the state
    return tuple(sorted(surest.values(), key=lambda change: change.fact.start)[: 4 * MAX_FACTS])


def _wearer(part: Passage, fact: Fact, people: Sequence[Person]) -> str:
    """Who wears it: whoever is named last before it, else the human for "you", else who speaks, else nobody that is known."""
    before = part.text[: max(0, fact.start - part.start)].casefold()
    named = [(before.rfind(person.name.casefold()), person.name) for person in people if person.name]
    at, name = max(named, default=(-1, ""))
    if at >= 0:
        return name
    addressed = not {"you", "your"}.isdisjoint(_WORD.findall(before))
    fits = (person.name for person in people if (person.role == "user" if addressed else person.speaks))
    return next(fits, "")
