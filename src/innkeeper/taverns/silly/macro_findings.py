"""MacroFindings: tags of a text that neither macro engine of SillyTavern evaluates, found without evaluating any."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Final

from innkeeper.content.finding import Finding
from innkeeper.macros.evaluate import Macro
from innkeeper.macros.silly.legacy import NAMES as LEGACY
from innkeeper.macros.silly.modern import PACK
from innkeeper.macros.syntax import Run, Tag, parse
from innkeeper.prompt.display import shorten

__all__ = ["macro_findings", "story_findings"]

MOST: Final = 20
"""How many findings one text can have; more say the same again."""

_OPENER: Final = re.compile(r"(?<!\\)\{\{+")
_SHOWN: Final = 40


def macro_findings(text: str, path: str, *, also: frozenset[str] = frozenset()) -> list[Finding]:
    """Unknown macros, wrong numbers of arguments, openers that begin no tag. ``also`` are further names (lower case) to know.

    A macro that only the legacy engine knows is known: which engine runs is the user's setting.
    """
    if "{{" not in text:
        return []
    text = PACK.before(text)
    tree = parse(text, PACK.grammar)
    found = [*_run(tree.run, text, path, also), *_openers(text, {tag.start for tag in _tags(tree.run)}, path)]
    return found[:MOST]


def story_findings(text: str, path: str) -> list[Finding]:
    """A story string that cannot be read as Handlebars; names in it may be macros or helpers, so none is unknown."""
    from innkeeper.macros.handlebars_syntax import parse as parse_story
    from innkeeper.prompt.errors import InnkeeperError

    try:
        parse_story(text)
    except InnkeeperError as error:
        line = error.where.line if error.where is not None else None
        return [Finding("malformed-macro", f"the story string stops the build: {error.message}", path, line=line)]
    return []


def _tags(run: Run) -> Iterator[Tag]:
    for tag in run.tags:
        yield tag
        for argument in tag.arguments:
            yield from _tags(argument)


def _run(run: Run, text: str, path: str, also: frozenset[str]) -> Iterator[Finding]:
    closers = set(run.partners.values())
    for index, tag in enumerate(run.tags):
        for argument in tag.arguments:
            yield from _run(argument, text, path, also)
        if tag.closing and index not in closers:
            yield _found("malformed-macro", f"{{{{/{tag.name}}}}} closes nothing", text, tag.start, path)
        elif not tag.closing and tag.shorthand is None and tag.key not in also:
            yield from _tag(tag, text, path, blocks=int(index in run.partners))


def _tag(tag: Tag, text: str, path: str, *, blocks: int) -> Iterator[Finding]:
    macro = PACK.table.get(tag.key)
    if macro is None and tag.key not in LEGACY and not tag.key.startswith("time_utc"):
        near = difflib.get_close_matches(tag.key, PACK.table, n=1)
        hint = f"did you mean {{{{{_spelled(near[0])}}}}}?" if near else None
        yield _found(
            "unknown-macro", f"there is no macro {{{{{shorten(tag.name, _SHOWN)}}}}}", text, tag.start, path, hint
        )
    elif macro is not None and not macro.rest and not macro.least <= len(tag.arguments) + blocks <= macro.most:
        count = len(tag.arguments) + blocks
        yield _found(
            "malformed-macro", f"{{{{{tag.name}}}}} takes {_wanted(macro)}, not {count}", text, tag.start, path
        )


def _spelled(key: str) -> str:
    """A name of the table with its capitals."""
    macro = PACK.table[key]
    return next(name for name in (macro.name, *macro.aliases) if name.lower() == key)


def _wanted(macro: Macro) -> str:
    if macro.least == macro.most:
        return f"{macro.most} arguments" if macro.most else "no argument"
    return f"{macro.least} to {macro.most} arguments"


def _openers(text: str, starts: set[int], path: str) -> Iterator[Finding]:
    """Braces that are opened and begin no tag: it is not closed, or has no name."""
    for match in _OPENER.finditer(text):
        if not starts & set(range(match.start(), match.end())):
            shown = shorten(text[match.start() :].split("\n", 1)[0], _SHOWN)
            yield _found("malformed-macro", f"{shown!r} opens braces and is no macro", text, match.start(), path)


def _found(rule: str, message: str, text: str, place: int, path: str, hint: str | None = None) -> Finding:
    line = text.count("\n", 0, place) + 1 if "\n" in text else None
    return Finding(rule, message, path, line=line, hint=hint)
