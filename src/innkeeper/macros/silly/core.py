"""Macros that shape text: blank space, comments, conditions."""

from __future__ import annotations

import re

from msgspec import structs

from innkeeper.macros.evaluate import KEEP, Call, Macro, Span, dedent
from innkeeper.macros.silly.values import falsy
from innkeeper.text.javascript.values import strip

__all__ = ["ELSE", "MACROS", "TRIM"]

TRIM = "{{trim}}"
"""What a ``{{trim}}`` without content leaves behind: it goes last of all, with the newlines around it."""

ELSE = "\x00\x1fELSE\x1f\x00"
"""What an ``{{else}}`` outside of a condition leaves behind until the text is done."""

_COMPLETE = 2
_BARE = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]*|//")
_VARIABLE = re.compile(r"[.$][a-zA-Z](?:[a-zA-Z0-9_-]*[a-zA-Z0-9_])?")


def _repeat(name: str, text: str) -> Macro:
    return Macro(name, lambda call: call.repeated(text, call.whole_number(0, 1)), most=1, integers=frozenset({0}))


def _trim(call: Call) -> str:
    return call.arguments[0] if call.block else TRIM


def _if(call: Call) -> str:
    condition, body = call.spans
    then, other = _branches(body if body.block else call.evaluation.stripped(body), call.tag.loose)
    text = call.evaluation.branch(call.tag, then if _holds(call, condition) else other)
    if not body.block:
        return strip(text)
    return text if KEEP in call.tag.flags else dedent(text)


def _branches(body: Span, loose: int) -> tuple[Span, Span]:
    """The texts before and after the first ``{{else}}`` of this condition; without one the second is empty."""
    depth = 0
    for index in range(body.first, body.last):
        tag = body.run.tags[index]
        if body.block and tag.loose != loose:
            continue
        if tag.name == "if":
            depth += -1 if tag.closing else len(tag.arguments) < _COMPLETE
        elif tag.name == "else" and depth <= 0:
            then = structs.replace(body, last=index, end=tag.start)
            return then, structs.replace(body, first=index + 1, start=tag.end)
    return body, structs.replace(body, first=body.last, start=body.end)


def _holds(call: Call, condition: Span) -> bool:
    evaluation = call.evaluation
    condition = evaluation.stripped(condition)
    inverted = evaluation.text.startswith("!", condition.start, condition.end)
    if inverted:
        condition = evaluation.stripped(structs.replace(condition, start=condition.start + 1))
    text = evaluation.branch(call.tag, condition)
    if _VARIABLE.fullmatch(text) or (_BARE.fullmatch(text) and text.lower() in evaluation.pack.table):
        text = evaluation.nested("{{" + text + "}}")
    return falsy(text) is inverted


MACROS = (
    _repeat("space", " "),
    _repeat("newline", "\n"),
    Macro("noop", lambda _call: ""),
    Macro("trim", _trim, most=1),
    Macro("if", _if, 2, 2, lazy=True),
    Macro("else", lambda _call: ELSE),
    Macro("//", lambda _call: "", 1, 1, aliases=("comment",)),
    Macro("reverse", lambda call: call.arguments[0][::-1], 1, 1),
)
"""``space``, ``newline``, ``noop``, ``trim``, ``if``, ``else``, comments, ``reverse``."""
