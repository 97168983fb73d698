"""ScriptRule: a regex script made ready to run: its pattern read, its replacement taken apart, the texts it needs known.

A pattern, a trim or a replacement whose macros can only give names is expanded here, once; others when the script runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from innkeeper.content.regex_script import PatternMacros, RegexScript
from innkeeper.macros.engine.ranges import MacroRange
from innkeeper.macros.silly import is_plain
from innkeeper.text.jsregex_needs import needs_of


class Find(msgspec.Struct, frozen=True):
    """The pattern of a script: a JavaScript pattern and its flags."""

    pattern: str
    flags: str = ""


_FIND: Final = re.compile(r"(/?)([^\n\r\u2028\u2029]+)\1([a-zA-Z]*)")
_FLAGS: Final = frozenset("gmixXsuUAJ")
"""Letters that pass for flags; JavaScript knows g, i, m, s and u of them."""


def read_find(text: str) -> Find | None:
    """The pattern of a script: of the first line that has any text, between slashes or bare (`sillytavern.md` A10).

    Where the letters behind the last slash cannot be flags, all of the text is the pattern. ``None`` for an empty one.
    """
    match = _FIND.search(text)
    if match is None:
        return None
    letters = match[3]
    if letters and not (set(letters) <= _FLAGS and len(set(letters)) == len(letters)):
        return Find(text)
    return Find(match[2], letters)


Part = str | int | tuple[str]
"""A part of a replacement: text, the number of what is put in, or, in a tuple, the name of a group."""

Template = tuple[Part, ...]

_MATCH: Final = re.compile(r"\{\{match\}\}", re.IGNORECASE)
_REFERENCE: Final = re.compile(r"\$([0-9]+)|\$<([^>]+)>")


def read_template(text: str) -> Template:
    """A replacement taken apart. ``$0`` and ``{{match}}`` are the whole match; no other dollar sign is special (A13)."""
    text, parts, position = _MATCH.sub("$0", text), list[Part](), 0
    for match in _REFERENCE.finditer(text):
        if match.start() > position:
            parts.append(text[position : match.start()])
        parts.append(_number(match[1]) if match[1] else (match[2],))
        position = match.end()
    return (*parts, text[position:]) if position < len(text) else tuple(parts)


_LONGEST_NUMBER: Final = 9


def _number(digits: str) -> int:
    """A group's number, cut to one that no pattern can have."""
    digits = digits.lstrip("0")[: _LONGEST_NUMBER + 1]
    return int(digits[:_LONGEST_NUMBER] or "0")


_ESCAPES: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v", "\f": r"\f", "\0": r"\0"}
_SPECIAL: Final = frozenset(".^$*+?{}[]\\/|()")


def escaped(text: str, ranges: Sequence[MacroRange]) -> str:
    """Escape the output of macros in a pattern, so that it matches literally (A11)."""
    parts, position = [], 0
    for macro in ranges:
        value = text[macro.start : macro.end]
        parts += [text[position : macro.start], *(_ESCAPES.get(c) or (f"\\{c}" if c in _SPECIAL else c) for c in value)]
        position = macro.end
    return "".join([*parts, text[position:]])


_NAMES: Final = re.compile(r"\{\{(?:user|char)\}\}", re.IGNORECASE)
"""Macros that are the same text everywhere in one build."""


@dataclass(frozen=True, slots=True)
class ScriptExpander:
    """How macros are replaced: ``text`` in a text, ``ranged`` with the range of each. ``names`` are fixed for the build."""

    text: Callable[[str], str]
    ranged: Callable[[str], tuple[str, Sequence[MacroRange]]]
    names_are_fixed: bool = True

    def is_fixed(self, text: str) -> bool:
        """Whether the macros in a text, if there are any, always give the same and do nothing else."""
        if not self.names_are_fixed:
            return is_plain(text)
        return "{{" not in text or "{{" not in _NAMES.sub("", text)

    def pattern(self, script: RegexScript) -> str:
        """A script's pattern with its macros replaced as it wants that."""
        if script.pattern_macros is PatternMacros.RAW:
            return self.text(script.find)
        if script.pattern_macros is PatternMacros.ESCAPED:
            return escaped(*self.ranged(script.find))
        return script.find


class ScriptRule(msgspec.Struct, frozen=True):
    """A script ready to run, and its owner. ``find`` and ``trim`` are ``None`` where macros decide them anew each time.

    ``constant`` is the replacement where it is the same text for each match, free of macros.

    ``needs`` are texts without one of which it cannot match, in lower case where ``fold`` is set.
    """

    script: RegexScript
    source: str
    template: Template
    find: Find | None = None
    trim: tuple[str, ...] | None = None
    needs: tuple[str, ...] = ()
    fold: bool = False
    constant: str | None = None


def rule_of(script: RegexScript, source: str, expander: ScriptExpander) -> ScriptRule:
    """A script made ready."""
    is_fixed = script.pattern_macros is PatternMacros.NONE or expander.is_fixed(script.find)
    find = read_find(expander.pattern(script)) or Find("") if is_fixed else None
    trim = (
        tuple([cut for text in script.trim if (cut := expander.text(text))])
        if all(map(expander.is_fixed, script.trim))
        else None
    )
    needs = needs_of(find.pattern, find.flags) if find is not None else ()
    fold = find is not None and "i" in find.flags
    template = read_template(script.replace)
    texts = [part for part in template if isinstance(part, str)]
    constant = "".join(texts) if len(texts) == len(template) and all(map(is_plain, texts)) else None
    return ScriptRule(script, source, template, find, trim, needs, fold, constant)
