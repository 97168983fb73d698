"""The rules for reading scenes, from ``rules.toml``, which documents them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cached_property
from importlib.resources import files
from typing import Any, Final

import msgspec

from innkeeper.prompt.once import once

_REFERENCE: Final = re.compile(r"\{\{([\w ]+)\}\}")
_PERSON: Final = "{{person}}"
_FLAGS: Final = re.IGNORECASE | re.MULTILINE


class ReadingRule(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One rule. ``name`` ends in the version of all rules; ``gone``: its matches are removed from the state."""

    name: str
    field: str
    source: str
    confidence: float
    gone: bool = False

    @property
    def of_persons(self) -> bool:
        """Whether the rule is about a person by name."""
        return _PERSON in self.source

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The pattern of a rule that is not about persons."""
        return re.compile(self.source, _FLAGS)

    def pattern_for(self, person: str) -> re.Pattern[str]:
        """The pattern of a rule about persons, for one of them."""
        return re.compile(self.source.replace(_PERSON, re.escape(person)), _FLAGS)


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

    def written(pattern: str) -> str:
        return _REFERENCE.sub(lambda match: referenced(match[1]), pattern.replace("\n", ""))

    def referenced(name: str) -> str:
        if name == "person":
            return _PERSON
        return written(parts[name]) if name in parts else _any_of(" ".join(words[list_] for list_ in name.split()))

    def rule(name: str, fields: Mapping[str, Any]) -> ReadingRule:
        source = written(fields["pattern"])
        more = {key: value for key, value in fields.items() if key != "pattern"}
        return ReadingRule(name=f"{name}@{version}", field=name.partition(".")[0], source=source, **more)

    return SceneRules(
        version=version,
        rules=tuple(rule(name, fields) for name, fields in data["rules"].items()),
        elsewhere=re.compile(written(data["elsewhere"]), re.IGNORECASE),
        garments=re.compile(written(r"\b{{garments}}"), re.IGNORECASE),
        moods={word: mood for mood, listed in data["moods"].items() for word in listed.split()},
    )


def _any_of(words: str) -> str:
    """A pattern for one of the words, the longest first."""
    return "(?:" + "|".join(sorted(map(re.escape, words.split()), key=len, reverse=True)) + r")\b"
