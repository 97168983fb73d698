"""RegexScript: a rule that rewrites texts of a chat, as SillyTavern keeps them in settings, presets and cards.

A script is read leniently: what would stop the original (no placement, no replacement, no list of trims) is a finding here, and
the script is left out or mended.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any, Final

import msgspec

from innkeeper.content.errors import LIMITS
from innkeeper.content.finding import Finding, Level, shown
from innkeeper.content.json import ABSENT
from innkeeper.content.json.document import Document, remembered
from innkeeper.content.json.record import FindingCollector, Record, as_number
from innkeeper.prompt.bounded_cache import BoundedCache


class ScriptPlacement(IntEnum):
    """The texts a script is for, by SillyTavern's numbers."""

    USER_INPUT = 1
    AI_OUTPUT = 2
    SLASH_COMMAND = 3
    WORLD_INFO = 5
    REASONING = 6


class PatternMacros(IntEnum):
    """How macros in a script's pattern are treated."""

    NONE = 0
    """They are part of the pattern."""
    RAW = 1
    """Their values are."""
    ESCAPED = 2
    """Their values are, as plain text."""


class RegexScript(msgspec.Struct, frozen=True, kw_only=True):
    """One script. ``find`` is ``/pattern/flags`` or a bare pattern, ``trim`` is cut out of each inserted text.

    ``prompt_only`` scripts change what is sent, ``markdown_only`` ones what is shown; without either a script changes the text
    that is stored. ``min_depth`` and ``max_depth`` are in messages from the end, ``None`` for no limit. ``index`` is its place
    in its list.
    """

    name: str = ""
    id: str = ""
    index: int = 0
    find: str = ""
    replace: str = ""
    trim: tuple[str, ...] = ()
    placement: frozenset[int] = frozenset()
    disabled: bool = False
    prompt_only: bool = False
    markdown_only: bool = False
    run_on_edit: bool = False
    pattern_macros: PatternMacros = PatternMacros.NONE
    min_depth: float | None = None
    max_depth: float | None = None

    @property
    def title(self) -> str:
        """The script's label for users."""
        return self.name or self.id or f"script {self.index}"

    def reaches(self, depth: float | None) -> bool:
        """Whether a message at this depth is within its limits. A text without a depth always is (`sillytavern.md` A6)."""
        if depth is None:
            return True
        if self.min_depth is not None and self.min_depth >= LOWEST_MIN_DEPTH and depth < self.min_depth:
            return False
        return not (self.max_depth is not None and self.max_depth >= 0 and depth > self.max_depth)


LOWEST_MIN_DEPTH: Final = -1
"""The depth of a message that is continued; a lower limit is none."""


class RegexScripts(msgspec.Struct, frozen=True, dict=True):
    """The scripts of one source in their order. ``key`` is the same for equal content."""

    scripts: tuple[RegexScript, ...] = ()
    findings: tuple[Finding, ...] = ()
    key: str = ""

    @classmethod
    def of(cls, value: Any, *, legacy: bool = False) -> RegexScripts:
        """Scripts from a list of them, one of them, JSON text of either, or nothing. Remembered by content.

        With ``legacy`` the placements that SillyTavern gave up are read as those it turns them into in its settings.
        Raises `FormatError` for JSON text that is not JSON.
        """
        if isinstance(value, RegexScripts):
            return value
        if value is None or value in ([], (), {}):
            return NO_SCRIPTS
        if not isinstance(value, (str, bytes, dict, list, tuple)) and not hasattr(value, "keys"):
            return cls(findings=(Finding("wrong-type", f"{shown(value)} is not a list of scripts"),))
        cache = _LEGACY if legacy else _READ
        return remembered(cache, value, lambda document: _read(document, legacy=legacy), what="regex scripts")

    def __bool__(self) -> bool:
        return bool(self.scripts)


NO_SCRIPTS: Final = RegexScripts()

DEPRECATED_DISPLAY: Final = 0
"""A placement that meant: change nothing but what is shown."""

DEPRECATED_SENDAS: Final = 4
"""A deprecated placement: what a command sends in another character's name."""


def _read(document: Document, *, legacy: bool) -> RegexScripts:
    findings = FindingCollector(LIMITS.findings, document.findings)
    listed = document.tree if isinstance(document.tree, list) else [document.tree]
    scripts: list[RegexScript] = []
    for index, raw in enumerate(listed):
        if not isinstance(raw, dict):
            findings.add("wrong-type", f"{shown(raw)} is not an object; left out", (index,))
            continue
        script = _script(Record(raw, (index,), findings), index)
        if script is not None:
            scripts.append(_converted(script) if legacy else script)
    return RegexScripts(tuple(scripts), findings.done(), f"{document.digest}{'+' * legacy}")


def _script(record: Record, index: int) -> RegexScript | None:
    raw, path = record.raw, record.path
    if not isinstance(raw.get("placement"), list):
        why = "a regex script says in `placement` what it is for; this one does not, which stops SillyTavern: left out"
        record.findings.add("no-placement", why, path)
        return None
    if not isinstance(raw.get("replaceString"), str):
        record.findings.add("no-replacement", "a regex script without a replacement: nothing is put in", path)
    if not isinstance(raw.get("trimStrings"), list):
        record.findings.add(
            "no-trims", "a regex script without a list of trims: nothing is cut out", path, level=Level.INFO
        )
    return RegexScript(
        name=record.text("scriptName"),
        id=record.text("id"),
        index=index,
        find=record.text("findRegex"),
        replace=record.text("replaceString"),
        trim=record.texts("trimStrings"),
        placement=frozenset(
            value for value in raw["placement"] if isinstance(value, int) and not isinstance(value, bool)
        ),
        disabled=record.flag("disabled"),
        prompt_only=record.flag("promptOnly"),
        markdown_only=record.flag("markdownOnly"),
        run_on_edit=record.flag("runOnEdit"),
        pattern_macros=_macros(record),
        min_depth=_limit(record, "minDepth"),
        max_depth=_limit(record, "maxDepth"),
    )


def _macros(record: Record) -> PatternMacros:
    number = record.integer("substituteRegex", default=0)
    return PatternMacros(number) if number in set(PatternMacros) else PatternMacros.NONE


def _limit(record: Record, name: str) -> float | None:
    """Read a limit of depths as JavaScript compares it: a blank text is 0, any other text that is no number sets no limit."""
    _, value = record.get(name)
    if value is ABSENT:
        return None
    if isinstance(value, str) and not value.strip():
        return 0
    number = as_number(value)
    if number is None:
        record.wrong(name, value, "a number of messages")
    return None if number is None or math.isnan(number) else number


def _converted(script: RegexScript) -> RegexScript:
    """With today's placements in the place of those that were given up."""
    placement, only = script.placement, False
    if DEPRECATED_DISPLAY in placement:
        only = True
        alone = placement == {DEPRECATED_DISPLAY}
        placement = frozenset(ScriptPlacement) if alone else placement - {DEPRECATED_DISPLAY}
    if DEPRECATED_SENDAS in placement:
        alone = placement == {DEPRECATED_SENDAS}
        placement = frozenset({ScriptPlacement.SLASH_COMMAND}) if alone else placement - {DEPRECATED_SENDAS}
    if placement == script.placement:
        return script
    return msgspec.structs.replace(
        script, placement=placement, prompt_only=script.prompt_only or only, markdown_only=script.markdown_only or only
    )


_READ: Final[BoundedCache[str, RegexScripts]] = BoundedCache(items=256)
_LEGACY: Final[BoundedCache[str, RegexScripts]] = BoundedCache(items=64)
