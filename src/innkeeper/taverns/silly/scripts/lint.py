"""Lint of regex scripts: those that never change anything, or not what they seem to, and those that can take very long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from time import thread_time
from typing import Final

from innkeeper.content.finding import Finding, Level
from innkeeper.content.regex_script import PatternMacros, RegexScript, RegexScripts, ScriptPlacement
from innkeeper.taverns.silly.scripts.rules import Find, read_find
from innkeeper.text.jsreplace import MAX_PATTERN, ReplaceRunner, valid


def lint_scripts(scripts: RegexScripts, path: str) -> Iterator[Finding]:
    """Findings about the scripts that are on. ``path`` is where the list stands, as ``data.extensions.regex_scripts``."""
    for finding in scripts.findings:
        yield Finding(finding.rule, finding.message, f"{path}{finding.path}", finding.level)
    until, untimed = thread_time() + MAX_SECONDS, 0
    for script in scripts.scripts:
        if not script.disabled:
            remarks = [*_never(script), *_pattern(script, until)]
            for rule, message, level in remarks:
                yield Finding(rule, f"{script.title}: {message}", f"{path}[{script.index}]", level)
            untimed += thread_time() >= until and "slow-script" not in {rule for rule, *_ in remarks}
    if untimed:
        message = f"{untimed:,} scripts were not tried on hard texts: the {MAX_SECONDS:g} s for that are used up"
        yield Finding("untimed-scripts", message, path, Level.INFO)


MAX_SECONDS: Final = 0.75
"""Processor seconds that scripts of one list may take on texts made to be hard (no error: others are not tried)."""

Remark = tuple[str, str, Level]


def _never(script: RegexScript) -> Iterator[Remark]:
    """Return why a script can reach no text, whatever its pattern."""
    known = script.placement & frozenset(ScriptPlacement)
    low, high = script.min_depth, script.max_depth
    if not script.find:
        yield "dead-script", "it looks for nothing", Level.WARNING
    if not known:
        yield "dead-script", "none of its placements is one: it never runs", Level.WARNING
    elif known == {ScriptPlacement.SLASH_COMMAND}:
        yield "dead-script", "it is for slash commands alone, which are not run here", Level.WARNING
    elif known == {ScriptPlacement.WORLD_INFO} and not script.prompt_only:
        yield "dead-script", "lore is rewritten for prompts alone: it wants promptOnly", Level.WARNING
    if low is not None and high is not None and 0 <= high < low:
        yield "dead-script", f"no message is at least {low:g} and at most {high:g} deep", Level.WARNING


def _pattern(script: RegexScript, until: float) -> Iterator[Remark]:
    """Return the defects of a pattern without macros; it is timed before ``until``."""
    text = script.find
    if "{{" in text and script.pattern_macros is not PatternMacros.NONE:
        return
    lines = [line for line in text.splitlines() if line]
    if len(lines) > 1:
        yield (
            "first-line-only",
            f"only {lines[0]!r} is its pattern: what follows the line break is dropped",
            Level.WARNING,
        )
    find = read_find(text)
    if find is None:
        return
    closed = text.startswith("/") and text.count("/") > 1
    if closed and find.pattern.startswith("/") and len(lines) == 1:
        flags = text.rpartition("/")[2]
        message = f"{flags!r} are no flags: the slashes are part of what it looks for"
        yield "bad-flags", message, Level.WARNING
    if len(find.pattern) > MAX_PATTERN or not valid(find):
        yield "dead-script", "JavaScript does not accept its pattern: it does nothing", Level.WARNING
    elif pace := _pace(find, until):
        yield pace


_ATTACKS: Final = ("a", "0", " ", "\n", "_", "ab", "a ", "x", "*", '"')
_SHORT: Final = 40
_LONG: Final = 200_000
"""Characters of hard texts: on short ones only exponential patterns run out of time, on long ones also quadratic ones."""

_PREFIX: Final = re.compile(r"[^\\\[\](){}.*+?|^$]+")
_LETTERS: Final = 6


def _pace(find: Find, until: float) -> Remark | None:
    """Return a finding for a pattern that takes very long on a text made to be hard for it; ``None`` also without time left."""
    prefix = _PREFIX.match(find.pattern)
    letters = [char for char in dict.fromkeys(find.pattern) if char.isalnum()][:_LETTERS]
    pieces = list(dict.fromkeys((*_ATTACKS, *letters, *([prefix[0]] if prefix else []))))
    if any(_runs_out(find, piece * _SHORT + "\x00!", until) for piece in pieces):
        return "slow-script", "its pattern can take unbounded time: it is stopped and changes nothing", Level.WARNING
    if any(_runs_out(find, piece * (_LONG // len(piece)) + "\x00!", until) for piece in pieces):
        return "slow-script", "on long texts the time of its pattern grows with the square of their length", Level.INFO
    return None


def _runs_out(find: Find, text: str, until: float) -> bool:
    """Whether a search for the pattern is stopped because of the time it takes. None is begun after ``until``."""
    if thread_time() >= until:
        return False
    trips: list[str] = []
    runner = ReplaceRunner(lambda _what, why: trips.append(why))
    runner.split(Find(find.pattern, find.flags.replace("g", "")), text)
    return any("took" in why for why in trips)
