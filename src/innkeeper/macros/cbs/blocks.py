"""Blocks: what ``{{#if …}}``, ``{{#when …}}``, ``{{#each …}}`` and the others test, and do with the text up to their closer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from operator import ge, gt, le, lt
from typing import Final, NamedTuple

from innkeeper.macros.cbs.escapes import escaped
from innkeeper.macros.cbs.run import UNDEFINED, CbsRun
from innkeeper.text.javascript.substitution import replaced
from innkeeper.text.javascript.values import json_text, parse_float, parse_json, strip, strip_start, text_of

_COMPARISONS: Final[Mapping[str, Callable[[float, float], bool]]] = {">": gt, "<": lt, ">=": ge, "<=": le}
_MODES: Final = ("keep", "legacy")

_WITH_LEFT: Final[Mapping[str, Callable[[str, str, CbsRun], bool]]] = {
    "and": lambda left, right, _: is_true(left) and is_true(right),
    "or": lambda left, right, _: is_true(left) or is_true(right),
    "is": lambda left, right, _: left == right,
    "isnot": lambda left, right, _: left != right,
    "vis": lambda left, right, run: run.variable(left) == right,
    "visnot": lambda left, right, run: run.variable(left) != right,
    "tis": lambda left, right, run: run.scope.global_variable("toggle_" + left) == right,
    "tisnot": lambda left, right, run: run.scope.global_variable("toggle_" + left) != right,
}
_ALONE: Final[Mapping[str, Callable[[str, CbsRun], bool]]] = {
    "not": lambda right, _: not is_true(right),
    "var": lambda right, run: is_true(run.variable(right)),
    "toggle": lambda right, run: is_true(run.scope.global_variable("toggle_" + right)),
}


def is_true(text: str) -> bool:
    """Whether a text counts as true: ``1`` and ``true`` do, nothing else."""
    return text in {"1", "true"}


def when(parts: list[str], run: CbsRun) -> tuple[bool, str]:
    """Return whether the parts of a condition hold, and the mode of white space that they name."""
    stack, mode = list(parts), ""
    while len(stack) > 1:
        right, operator = stack.pop(), stack.pop()
        if operator in _MODES:
            mode = operator
            stack += [right] if run.scope.compat.whitespace_modes else []
        else:
            stack.append(_reduced(operator, right, stack, run))
    return bool(stack) and is_true(stack[0]), mode


def _reduced(operator: str, right: str, stack: list[str], run: CbsRun) -> str:
    if operator in _ALONE:
        holds = _ALONE[operator](right, run)
    elif operator in _WITH_LEFT or operator in _COMPARISONS:
        left = stack.pop() if stack else UNDEFINED
        if operator in _WITH_LEFT:
            holds = _WITH_LEFT[operator](left, right, run)
        else:
            pair = (left, right) if run.scope.compat.ordered_comparisons else (right, left)
            holds = _COMPARISONS[operator](parse_float(pair[0]), parse_float(pair[1]))
    else:
        holds = is_true(right)
    return "1" if holds else "0"


ELSE: Final = "{{:else}}"
_UNICODE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")
_ESCAPE: Final = re.compile(r"\\(.)")
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "x": "\0"}
_BREAKS: Final = str.maketrans("", "", "\n\t")
_EACH: Final = "#each"
_KEEP: Final = "::keep"


class OpenBlock(NamedTuple):
    """An open block: what becomes of its text, whether its tags stay text, whether its result is expanded again."""

    finish: Callable[[str], str]
    is_pure: bool = False
    inserts: bool = False


def block_of(tag: str, run: CbsRun) -> OpenBlock | None:  # noqa: PLR0911 - one line a block
    """Return the block that a tag opens; ``None`` for a tag that opens none."""
    keeps = run.scope.compat.block_keep
    if tag.startswith("#if_pure"):
        return OpenBlock(str) if is_true(_second_word(tag)) else _NOTHING
    if tag.startswith("#if"):
        return OpenBlock(tidied) if is_true(_second_word(tag)) else _NOTHING
    if tag.startswith("#when"):
        return _when_block(tag, run)
    if tag.startswith(_EACH):
        return _each_block(tag[len(_EACH) :], run)
    if tag.startswith("#func") and " " in tag:
        name = _second_word(tag)
        return OpenBlock(lambda body: run.functions.update({name: strip(body)}) or "", is_pure=True)
    if keeps and tag == "#escape" + _KEEP:
        return OpenBlock(escaped, is_pure=True)
    return _SIMPLE.get(tag)


def tidied(body: str) -> str:
    """A body without the white space before its lines and around it."""
    return strip("\n".join(map(strip_start, body.split("\n"))))


def legacy_block(tag: str) -> str | None:
    """The result of ``{#if CONDITION⏎body#}``; ``None`` for any other tag."""
    head, _, body = tag.partition("\n")
    if head.split(" ")[0] != "if":
        return None
    return "" if _second_word(head) in ("", "0", "-1") else strip(body)


def _second_word(tag: str) -> str:
    return [*tag.split(" ", 2), ""][1]


def decoded(body: str) -> str:
    """A body without line breaks and tabs, its escapes decoded."""
    text = _UNICODE.sub(lambda match: chr(int(match[1], 16)), strip(body).translate(_BREAKS))
    return _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[1]), text)


_NOTHING: Final = OpenBlock(lambda _: "", is_pure=True)
_SIMPLE: Final = {
    "#pure": OpenBlock(strip, is_pure=True),
    "#puredisplay": (
        _display := OpenBlock(lambda body: strip(body).replace("{{", "\\{\\{").replace("}}", "\\}\\}"), is_pure=True)
    ),
    "#pure_display": _display,
    "#escape": OpenBlock(lambda body: escaped(strip(body)), is_pure=True),
    "#code": OpenBlock(decoded),
}


# ------------------------------------------------------------------------------------------------------------------ #when


def _when_block(tag: str, run: CbsRun) -> OpenBlock:
    if tag.startswith("#when::"):
        test, mode = when(tag.split("::")[1:], run)
    else:
        test, mode = tag.startswith("#when ") and is_true(_second_word(tag)), ""
    if mode == "legacy":
        return OpenBlock(tidied) if test else _NOTHING
    return OpenBlock(partial(_branch, test, mode == "keep"))


def _branch(test: bool, keep: bool, body: str) -> str:  # noqa: FBT001 - bound by `_when_block`
    """The branch of a body that a test chooses. In a body of several lines, ``:else`` has a line of its own."""
    if "\n" not in body:
        first, _, second = body.partition(ELSE)
        return first if test else second
    lines = body.split("\n")
    middle = next((index for index, line in enumerate(lines) if strip(line) == ELSE), len(lines))
    lines = lines[:middle] if test else lines[middle + 1 :]
    if keep:
        return "\n".join(lines)
    full = [index for index, line in enumerate(lines) if strip(line)]
    return "\n".join(lines[full[0] : full[-1] + 1]) if full else ""


# ------------------------------------------------------------------------------------------------------------------ #each


def parse_list(text: str) -> list[object]:
    """A list as CBS reads it: JSON, else the parts between ``§``."""
    try:
        value = parse_json(text)
    except ValueError:
        value = None
    return value if isinstance(value, list) else list(text.split("§"))


def _each_block(header: str, run: CbsRun) -> OpenBlock:
    compat = run.scope.compat
    keep = compat.block_keep and header.startswith(_KEEP)
    header = strip(header[len(_KEEP) :] if keep else header)
    if header.startswith("as "):
        header = strip(header[len("as ") :])
    before, separator, name = header.rpartition(" as ") if compat.each_as else ("", "", "")
    if not separator:
        before, separator, name = header.rpartition(" ")
    if compat.each_as and not separator:
        return _NOTHING
    write = json_text if compat.json_items else text_of
    items = [item if isinstance(item, str) else write(item) for item in parse_list(before)]
    return OpenBlock(partial(_repeated, run, items, f"{{{{slot::{name}}}}}", keep), is_pure=True, inserts=True)


def _repeated(run: CbsRun, items: list[str], slot: str, keep: bool, body: str) -> str:  # noqa: FBT001 - bound by `_each_block`
    body = body if keep else tidied(body)
    texts = []
    for item in items:
        run.count_tag(len(body))
        texts.append(replaced(body, slot, item, run.spend))
    joined = "".join(texts)
    return joined if keep else strip(joined)
