"""Typed: the chat at the start of a generation: the user's message, the beginning of the reply, the visible lines.

New input is appended, a reply to regenerate or to swipe is left out (`sillytavern.md` 2, 53), hidden lines are not shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from innkeeper.prompt.errors import InnkeeperError
from innkeeper.taverns.silly.expansion import Expander, text_of
from innkeeper.taverns.silly.inputs import SillyInputs
from innkeeper.taverns.silly.lines.line import Line
from innkeeper.text.javascript.values import strip
from innkeeper.text.javascript.values import text_of as text_of_value


def as_typed(text: str) -> str:
    """A text as the text field of a page has it, where line breaks are of one kind."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def chat_lines(inputs: SillyInputs) -> tuple[Line, ...]:
    """The chat as this generation finds it: new input appended, a reply to regenerate taken away (`sillytavern.md` 2, 53).

    A dry run takes nothing away, and says nothing where the user says nothing.
    """
    lines = inputs.lines
    if inputs.type == "regenerate" and lines and not lines[-1].is_user and not inputs.generation.dry_run:
        lines = lines[:-1]
    text = as_typed(inputs.message)
    if not text and inputs.type == "normal" and not inputs.generation.dry_run:
        text = strip(inputs.preset.send_if_empty) if not inputs.is_text else ""
    if not text or inputs.type not in ("normal", "continue"):
        return lines
    new = bool(inputs.message)
    bias = typed_bias(text) if new and inputs.type == "normal" else None
    return (*lines, Line(index=len(lines), name=inputs.user, text=text, is_user=True, is_new=new, bias=bias or ""))


def shown_lines(inputs: SillyInputs, lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """The lines the prompt shows: without hidden ones, and without the reply that a swipe replaces.

    Lines that only call tools are hidden, too, where calls are not sent.
    """
    if inputs.type != "swipe" and "hidden" not in inputs.rare and not (lines and lines[-1].hidden):
        return lines
    visible = [line for line in lines if not line.hidden]
    if inputs.type == "swipe":
        while visible and visible[-1].has_tools and not visible[-1].text and not inputs.calls_tools:
            visible.pop()
        return tuple(visible[:-1])
    return tuple(visible)


_TAG: Final = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_HELPERS: Final = frozenset({"bias", "if", "unless", "each", "with", "lookup", "log"})


def typed_bias(text: str) -> str | None:
    """The beginning of the reply that a typed text sets, as ``{{bias "Well,"}}``; ``None`` without one.

    It is read as a Handlebars template: one that is none, or calls what does not exist, asks for nothing.

    >>> typed_bias('Go on. {{bias "Well,"}}'), typed_bias("Go on."), typed_bias('{{.x = 3}} {{bias "Well,"}}')
    (' Well,', None, None)
    """
    if "bias" not in text or "{{" not in text:
        return None
    from innkeeper.macros.handlebars.syntax import parse
    from innkeeper.macros.handlebars.tree import MustacheStatement

    try:
        calls = [
            node.call for node in parse(text).body if isinstance(node, MustacheStatement) and node.call is not None
        ]
    except InnkeeperError:
        return None
    names = [(".".join(call.path.parts), call) for call in calls]
    if any(call.params and name not in _HELPERS for name, call in names):
        return None
    shown = [_shown(call.params) for name, call in names if name == "bias"]
    return f" {' '.join(shown)}" if shown else None


def _shown(params: Sequence[object]) -> str:
    """The first argument of a helper: without parameters, that is the object of its options."""
    if not params:
        return "[object Object]"
    from innkeeper.macros.handlebars.tree import Literal

    return text_of_value(params[0].value) if isinstance(params[0], Literal) else ""


def untagged(text: str) -> str:
    """The text besides the beginning of a reply: without anything in double braces."""
    # behind the last closing braces nothing matches: left in, each opening there would be searched to the end
    closed, braces, rest = text.rpartition("}}")
    return strip(_TAG.sub("", closed + braces) + rest)


def bias_text(inputs: SillyInputs, typed: Line | None) -> tuple[str, bool]:
    """The beginning of the reply that the user wants, as it is written, and whether it is a message's own.

    It is the one that is ``typed`` now or, where nothing is typed, the one kept with the chat's newest line that is the user's,
    the narrator's or hidden; else the setting. There is none where the user speaks or a message is continued. The line that a
    swipe replaces does not count.
    """
    if inputs.type in ("continue", "impersonate"):
        return "", False
    line = typed
    if typed is None:
        earlier = inputs.lines[:-1] if inputs.type == "swipe" else inputs.lines
        line = next((line for line in reversed(earlier) if line.is_user or line.narrator or line.hidden), None)
    if line is not None and (strip(line.bias) or (typed is not None and line.bias)):
        return line.bias, True
    return inputs.power.user_prompt_bias, False


def expanded(line: Line, expand: Expander) -> Line:
    """The line with its macros replaced."""
    if expand.is_settled(line.text):
        return line
    pieces = expand.written(line.text, line.origin)
    return msgspec.structs.replace(line, text=text_of(pieces), pieces=pieces)
