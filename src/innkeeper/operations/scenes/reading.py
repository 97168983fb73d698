"""Read a scene from a message by the rules of ``rules.toml``; each fact has its rule, its position and its confidence.

`analyse` gives ``{setting, mood, actions, visual_elements, positioning}`` (dynamic-prompting reference 3.7, step 4) and the
changes of the scene's state that the message proposes. Speech is weighted so low that no change in it is ever applied.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from importlib.resources import files
from typing import Any, Final, Literal, NamedTuple

import msgspec

from innkeeper.operations.scenes.limits import MAX_ACTIONS, MAX_FACT_CHARS, MAX_FACTS, MAX_SCENE_CHARS
from innkeeper.operations.scenes.state import THRESHOLD, Fact, FactOrigin, SceneState, StateChange
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.text import shorten
from innkeeper.prompt.typed.once import once

# -------------------------------------------------------------------------------------------------------------------- rules

_REFERENCE: Final = re.compile(r"\{\{([\w ]+)\}\}")
_PERSON: Final = "{{person}}"
_FLAGS: Final = re.IGNORECASE | re.MULTILINE


class ReadingRule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule. ``name`` ends in the version of all rules; ``gone``: its matches are removed from the state.

    ``pattern`` is None for a rule about persons, whose ``source`` is compiled for the name of each.
    """

    name: str
    field: str
    source: str
    confidence: float
    gone: bool = False
    pattern: re.Pattern[str] | None = None


class SceneRules(msgspec.Struct, frozen=True, kw_only=True):
    """All rules, in the order in which they are tried. ``moods`` has the mood of each word."""

    version: str
    rules: tuple[ReadingRule, ...]
    elsewhere: re.Pattern[str]
    garments: re.Pattern[str]
    moods: Mapping[str, str]


@once
def scene_rules() -> SceneRules:
    """The rules of ``rules.toml``."""
    data = tomllib.loads(files(__package__).joinpath("rules.toml").read_text("utf-8"))
    words, parts, version = data["words"], data["parts"], data["version"]

    def expand(pattern: str) -> str:
        return _REFERENCE.sub(lambda match: resolve(match[1]), pattern.replace("\n", ""))

    def resolve(name: str) -> str:
        if name == "person":
            return _PERSON
        if name in parts:
            return expand(parts[name])
        alternatives = [re.escape(word) for group in name.split() for word in words[group].split()]
        return "(?:" + "|".join(sorted(alternatives, key=len, reverse=True)) + r")\b"

    def rule(name: str, fields: Mapping[str, Any]) -> ReadingRule:
        source = expand(fields["pattern"])
        return ReadingRule(
            name=f"{name}@{version}",
            field=name.partition(".")[0],
            source=source,
            confidence=fields["confidence"],
            gone=fields.get("gone", False),
            pattern=None if _PERSON in source else re.compile(source, _FLAGS),
        )

    return SceneRules(
        version=version,
        rules=tuple(rule(name, fields) for name, fields in data["rules"].items()),
        elsewhere=re.compile(expand(data["elsewhere"]), re.IGNORECASE),
        garments=re.compile(expand(r"\b{{garments}}"), re.IGNORECASE),
        moods={word: mood for mood, listed in data["moods"].items() for word in listed.split()},
    )


# ----------------------------------------------------------------------------------------------------------------- passages


class Kind(StrEnum):
    """The kind of a passage."""

    NARRATION = "narration"
    ACTION = "action"
    SPEECH = "speech"
    UNMARKED = "unmarked"


class Passage(NamedTuple):
    """A part of a message and its position. ``weight``, from 0 to 1, scales the confidence of facts in it."""

    kind: Kind
    text: str
    start: int
    weight: float


_WEIGHT: Final = {Kind.NARRATION: 1.0, Kind.ACTION: 1.0, Kind.SPEECH: 0.4, Kind.UNMARKED: 0.6}
_THIRD_PERSON: Final = 0.9
_MARKED: Final = re.compile(
    r"(?P<speech>\"[^\"\n]*(?:\"|$)|“[^”\n]*(?:”|$)|„[^“”\n]*(?:[“”]|$)|«[^»\n]*(?:»|$)|「[^」\n]*(?:」|$))"
    r"|(?P<bold>\*\*[^*\n]*\*\*)"
    r"|(?P<action>\*[^*\n]+\*|\([^()\n]+\))",
    re.MULTILINE,
)
_CLOSING: Final = '"”“»」*)'
_SENTENCE: Final = re.compile(r"[^.!?…\n]+[.!?…]*[ \t]*")
_SUBJECT: Final = re.compile(
    r"^\W*(?:(?:then|now|suddenly|slowly|quietly|finally|as)\W+)?(?:he|she|they|[A-Z][\w'-]+)\s+\w+s\b"
)


def passages(text: str) -> tuple[Passage, ...]:
    """Split a message into narration, actions and speech; of a long one the end is read.

    Text in quotation marks is speech (an apostrophe is no quotation mark), text in asterisks or round brackets an action. The
    rest is narration if the message marks its speech, and speech if it marks only its actions; if it marks neither, the rest
    has less weight, except for sentences in the third person.
    """
    position = max(0, len(text) - MAX_SCENE_CHARS)
    marks = list(_MARKED.finditer(text, position))
    spoken = any(mark.lastgroup == "speech" for mark in marks)
    acted = any(mark.lastgroup == "action" and mark[0].startswith("*") for mark in marks)
    plain = Kind.NARRATION if spoken else Kind.SPEECH if acted else Kind.UNMARKED
    parts: list[Passage] = []
    for mark in marks:
        parts += _sentences(text, position, mark.start(), plain)
        if mark.lastgroup != "bold":  # the label of who speaks
            kind = Kind.SPEECH if mark.lastgroup == "speech" else Kind.ACTION
            inner = mark[0][1:-1] if mark[0][-1] in _CLOSING and len(mark[0]) > 1 else mark[0][1:]
            parts.append(Passage(kind, inner, mark.start() + 1, _WEIGHT[kind]))
        position = mark.end()
    parts += _sentences(text, position, len(text), plain)
    return tuple(part for part in parts if part.text.strip())


def _sentences(text: str, start: int, end: int, kind: Kind) -> Iterator[Passage]:
    """Yield unmarked text sentence by sentence, since each may be narration or speech."""
    for sentence in _SENTENCE.finditer(text, start, end):
        narrated = kind is Kind.UNMARKED and _SUBJECT.match(sentence[0])
        yield Passage(kind, sentence[0], sentence.start(), _THIRD_PERSON if narrated else _WEIGHT[kind])


# ------------------------------------------------------------------------------------------------------------------ context

_STEPS_A_CHARACTER: Final = 40
"""Steps of the allowance that reading one character with all rules costs."""

_WORD: Final = re.compile(r"[^\W\d_]+")
_LONGEST_ACTION: Final = 160
_PRONOUNS: Final = frozenset({"he", "she", "they"})


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
    return SceneContext(
        setting=max(
            (fact for fact in locations if fact.confidence >= THRESHOLD), key=lambda fact: fact.start, default=None
        ),
        mood=_mood(parts),
        actions=_actions(parts, people),
        visual_elements=_details(matches, "visual"),
        positioning=_details(matches, "positioning"),
        changes=_changes(matches, people),
    )


def _matches(parts: Sequence[Passage], people: Iterable[Person], message: str) -> Iterator[_Match]:
    rules = scene_rules()
    patterns = [(rule, rule.pattern, "") for rule in rules.rules if rule.pattern is not None]
    for person in people:
        if person.name.strip():
            name, escaped = person.name[:MAX_FACT_CHARS], re.escape(person.name)
            about = [rule for rule in rules.rules if rule.pattern is None]
            patterns += [(rule, re.compile(rule.source.replace(_PERSON, escaped), _FLAGS), name) for rule in about]
    for part in parts:
        weight = part.weight * (0.5 if rules.elsewhere.search(part.text) else 1.0)
        for rule, pattern, name in patterns:
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
    values = (m.fact.value for m in matches if m.rule.field == field and m.passage.kind is not Kind.SPEECH)
    return _distinct(values)


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple({text.casefold(): text for text in texts}.values())[:MAX_ACTIONS]


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


def _actions(parts: Sequence[Passage], people: Sequence[Person]) -> tuple[str, ...]:
    """Return the marked actions; if there are none, narrated sentences about a person."""
    actions = [part.text for part in parts if part.kind is Kind.ACTION]
    if not actions:
        subjects = _PRONOUNS | {person.name.casefold() for person in people if person.name}
        narrated = (part.text for part in parts if part.kind is not Kind.SPEECH and part.weight >= THRESHOLD)
        actions = [text for text in narrated if (word := _WORD.search(text)) and word[0].casefold() in subjects]
    shortened = (shorten(" ".join(text.split()).strip(" .,;:*"), _LONGEST_ACTION) for text in actions)
    return _distinct(text for text in shortened if _WORD.search(text))


def _changes(matches: Iterable[_Match], people: Sequence[Person]) -> tuple[StateChange, ...]:
    """Return the changes in the order of the text; of several rules for the same words the one with the highest confidence."""
    surest: dict[tuple[str, str, str, int], StateChange] = {}
    for rule, fact, part in matches:
        clothing = rule.field == "clothing"
        wearer = _wearer(part, fact, people) if clothing else ""
        if rule.field not in SceneState.__struct_fields__ or (clothing and not wearer):
            continue
        key = (rule.field, wearer, fact.value.casefold(), fact.start)
        if key not in surest or fact.confidence > surest[key].fact.confidence:
            surest[key] = StateChange(rule.field, fact, wearer, gone=rule.gone)  # type: ignore[arg-type]  # a field of the state
    return tuple(sorted(surest.values(), key=lambda change: change.fact.start)[: 4 * MAX_FACTS])


def _wearer(part: Passage, fact: Fact, people: Sequence[Person]) -> str:
    """Return the wearer: the last person named before, else the user for "you", else the speaker, else an empty name."""
    before = part.text[: max(0, fact.start - part.start)].casefold()
    named = [(before.rfind(person.name.casefold()), person.name) for person in people if person.name]
    position, name = max(named, default=(-1, ""))
    if position >= 0:
        return name
    addressed = not {"you", "your"}.isdisjoint(_WORD.findall(before))
    return next((one.name for one in people if (one.role == "user" if addressed else one.speaks)), "")
