"""Scene context: read a message by declared rules; each fact has its rule, its position and its confidence.

`analyse` gives ``{setting, mood, actions, visual_elements, positioning}`` (dynamic-prompting reference 3.7, step 4) and the
changes of the scene's state that the message proposes. Speech is weighted so low that no change in it is ever applied.
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
"""Steps of the allowance that reading one character with all rules costs."""


class Person(msgspec.Struct, frozen=True):
    """A person who may be in a scene. ``speaks``: the message is theirs."""

    name: str
    role: Literal["character", "user", "other"] = "other"
    speaks: bool = False


class SceneContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a message says about a scene. ``setting`` has passed the threshold; ``changes`` are all proposals."""

    setting: Fact | None = None
    mood: str = ""
    actions: tuple[str, ...] = ()
    visual_elements: tuple[str, ...] = ()
    positioning: tuple[str, ...] = ()
    changes: tuple[StateChange, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data with the document's names."""
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
    """A fact that a rule matched in a passage."""

    rule: ReadingRule
    fact: Fact
    passage: Passage


def analyse(text: str, people: Sequence[Person] = (), *, message: str = "") -> SceneContext:
    """Read a message; ``message`` is its id, which its facts refer to."""
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
    """Return the distinct values of a field outside speech."""
    facts = [match.fact for match in matches if match.rule.field == field and match.passage.kind is not Kind.SPEECH]
    return tuple({fact.value.casefold(): fact.value for fact in facts}.values())[:MAX_ACTIONS]


def _mood(parts: Iterable[Passage]) -> str:
    """Return the mood with the greatest weight of words, of equal ones the last; words in speech weigh less."""
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
    """Return the marked actions; if there are none, narrated sentences about a person."""
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
    """Return the changes in the order of the text; of several rules for the same words the one with the highest confidence."""
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
    """Return the wearer: the last person named before, else the user for "you", else the speaker, else an empty name."""
    before = part.text[: max(0, fact.start - part.start)].casefold()
    named = [(before.rfind(person.name.casefold()), person.name) for person in people if person.name]
    at, name = max(named, default=(-1, ""))
    if at >= 0:
        return name
    addressed = not {"you", "your"}.isdisjoint(_WORD.findall(before))
    fits = (person.name for person in people if (person.role == "user" if addressed else person.speaks))
    return next(fits, "")
