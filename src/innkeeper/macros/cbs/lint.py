"""Lint: what CBS leaves as it is: tags of no function, wrong numbers of arguments, tags and blocks that are not closed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

from innkeeper.content.finding import Finding
from innkeeper.macros.cbs.expansion import FUNCTIONS, LEFT_AS_TEXT, name_and_arguments
from innkeeper.prompt.near import nearest
from innkeeper.prompt.text import shorten
from innkeeper.prompt.typed.once import decode

_MARK: Final = re.compile(r"\{\{|\}\}")
_VALUE: Final = "\0"
"""Stands for a tag inside another, whose value nobody knows yet."""

BLOCKS: Final = ("if", "if_pure", "when", "each", "func", "code", "escape", "pure", "puredisplay", "pure_display")
_RAW: Final = frozenset(BLOCKS[-4:])
ARGUMENTS: Final = decode(Path(__file__).with_name("arguments.json").read_bytes(), dict[str, tuple[int, int | None]])
"""The least and the largest number of arguments by the first name of a function; no largest one is None."""

_BY_FUNCTION: Final = {FUNCTIONS[name]: bounds for name, bounds in ARGUMENTS.items()}


_TEXTS: Final = (
    "description", "personality", "scenario", "first_mes", "alternate_greetings", "group_only_greetings", "mes_example",
    "system_prompt", "post_history_instructions", "prompt", "content", "in", "out", "value", "text", "innerFormat",
    "defaultText", "mainPrompt", "jailbreak", "globalNote",
)  # fmt: skip
"""The fields whose texts RisuAI expands, in cards, entries, scripts, triggers and presets."""


def expanded_texts(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield each text of a document that RisuAI expands, with its path. What is very deep in it is not looked at."""
    named = next((key for key in reversed(path) if isinstance(key, str)), "")
    if isinstance(value, str) and named in _TEXTS:
        yield path, value
    elif isinstance(value, Mapping | list | tuple) and len(path) < _DEEPEST:
        for key, item in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from expanded_texts(item, (*path, key))


_DEEPEST: Final = 12


MAX_CBS_FINDINGS: Final = 100
"""Findings about one text (no error: further ones are left out)."""


def lint_cbs(text: str, path: str = "") -> Iterator[Finding]:
    """The first findings about the tags of a text, each with its line and column.

    >>> [finding.message for finding in lint_cbs("{{carl}}{{#if 1}}")]
    ['there is no macro {{carl}}; did you mean char?', '{{#if 1}} is not closed']
    """
    return islice(_findings(text, path), MAX_CBS_FINDINGS)


def _findings(text: str, path: str) -> Iterator[Finding]:
    tags: list[tuple[int, list[str]]] = [(0, [])]
    blocks: list[tuple[int, str]] = []
    end = 0
    for mark in _MARK.finditer(text):
        tags[-1][1].append(text[end : mark.start()])
        end = mark.end()
        if mark[0] == "{{":
            tags.append((mark.start(), []))
        elif len(tags) > 1:
            start, parts = tags.pop()
            tags[-1][1].append(_VALUE)
            tag = "".join(parts)
            if tag.startswith("/") and not tag.startswith("//"):
                if not blocks:
                    yield _finding("malformed-macro", f"{{{{{shorten(tag, 40)}}}}} closes nothing", text, start, path)
                del blocks[-1:]
            elif not (blocks and blocks[-1][1] in _RAW):
                name = re.split(r"::|[ \n]", tag[1:], maxsplit=1)[0] if tag.startswith("#") else ""
                if name in BLOCKS:
                    blocks.append((start, name))
                elif fault := _fault(tag):
                    yield _finding(*fault, text, start, path)
    for start in sorted([*(start for start, _ in tags[1:]), *(start for start, _ in blocks)]):
        opened = shorten(text[start : start + 80].split("\n", 1)[0], 40)
        yield _finding("malformed-macro", f"{opened} is not closed", text, start, path)


def _fault(tag: str) -> tuple[str, str] | None:
    """The rule and what is wrong with a tag, if anything is."""
    written = f"{{{{{shorten(tag.replace(_VALUE, '…'), 40)}}}}}"
    if tag.startswith("//"):
        return "unknown-macro", f"{written} is sent as it is: RisuAI's comment is {{{{comment::…}}}}"
    name, arguments = name_and_arguments(tag)
    if tag == ":else" or tag.startswith("? ") or _VALUE in name or name in LEFT_AS_TEXT:
        return None
    if name not in FUNCTIONS:
        near = nearest(name, FUNCTIONS)
        return "unknown-macro", f"there is no macro {written}{f'; did you mean {near}?' if near else ''}"
    least, most = _BY_FUNCTION.get(FUNCTIONS[name], (0, None))
    if least <= len(arguments) and (most is None or len(arguments) <= most):
        return None
    expected = f"{least} or more" if most is None else f"{least}" if least == most else f"{least} to {most}"
    return "malformed-macro", f"{written} has {len(arguments)} arguments, not {expected}"


def _finding(rule: str, message: str, text: str, offset: int, path: str) -> Finding:
    line, column = text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
    return Finding(rule, message, path, line=line, column=column)
