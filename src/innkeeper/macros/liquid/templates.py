"""Liquid templates: the texts that an application writes, with variables, conditions, loops and filters.

Assigned names, write tags and filters are those of TavernKit's LiquidMacros: a template of a build sees the character, the user
and the application's context, and deliberately not the chat's messages. Untrusted text never becomes a template: only what
the caller hands to `render` is one, and what it prints is not rendered again. Every template is bounded in size, work, time
and output (`LiquidLimits`); it reads no file, no clock of the machine and no attribute of an object.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Protocol

import msgspec

from innkeeper.lazy import require
from innkeeper.macros.engine.errors import MacroError, MacroLimitError, UnknownMacroError, where_in
from innkeeper.macros.engine.ranges import MacroRange, RangeEdit, edited
from innkeeper.macros.liquid.session import LIQUID_LIMITS, LiquidSession
from innkeeper.prompt.allowance import allowed
from innkeeper.prompt.data import EMPTY, MAX_DEPTH
from innkeeper.prompt.determinism import Clock
from innkeeper.prompt.errors import LimitError, UsageError
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.prompt.run.context import Context
from innkeeper.prompt.run.variables import StagedVariables, VariablesStore
from innkeeper.prompt.text import scalar_text

_ON_ERROR: Final = ("passthrough", "raise")
_BLANK_LINE: Final = re.compile(r"^[ \t]+$", re.MULTILINE)
_ESCAPES: Final = re.compile(r"\\(?=[{}])")


class LiquidResult(msgspec.Struct, frozen=True):
    """The result of a template. If it failed, ``text`` is the template itself and ``error`` the reason.

    ``ranges`` are what its outputs (under the variable's name) and tags (under theirs) made of the text.
    """

    text: str
    warnings: tuple[Note, ...] = ()
    error: MacroError | MacroLimitError | LimitError | None = None
    ranges: tuple[MacroRange, ...] = ()


def render(
    text: str,
    assigns: Mapping[str, Any] = EMPTY,
    *,
    variables: VariablesStore | None = None,
    strict: bool = False,
    on_error: str = "passthrough",
    registers: Mapping[str, Any] = EMPTY,
    clock: Clock | None = None,
) -> LiquidResult:
    r"""Render a template.

    What it writes to ``variables`` counts only if it renders to its end; without a store the write tags do nothing.
    Afterwards ``\{`` and ``\}`` are braces, and lines of spaces and tabs are empty lines.

    Args:
        text: the template.
        assigns: its variables, plain data; ``var`` and ``global`` are always the chat's variables.
        variables: the chat's variables.
        strict: missing variables and unknown filters are errors, and errors are raised.
        on_error: ``passthrough`` gives back the template as it is, with a warning; ``raise`` raises.
        registers: what filters read: ``context``, a mapping with ``message_index``, ``rng_word``, ``now_ms``.
        clock: the moment that ``now`` means; by default the machine's.

    Raises:
        MacroError: it cannot be parsed or rendered (only with ``strict`` or ``on_error="raise"``).
        MacroLimitError: it needs more than a limit allows (likewise).
        UsageError: ``on_error`` is something else.
        UnavailableError: the text has a tag, and the extra ``liquid`` is not installed.
    """
    if on_error not in _ON_ERROR:
        raise UsageError(f"on_error must be one of {', '.join(_ON_ERROR)}, not {on_error!r}")
    text = scalar_text(text)
    staged = None if variables is None else StagedVariables(variables)
    try:
        with allowed():
            output, session = _output(text, assigns, staged, strict, registers, clock)
    except (MacroError, LimitError) as error:
        if strict or on_error == "raise":
            raise
        message = f"the template was left as it is: {error.message}"
        return LiquidResult(text, (Note(NoteKind.MACRO, message, where=error.where, hint=error.hint),), error)
    if staged is not None:
        staged.commit()
    if session is None:
        return LiquidResult(_finished(output, []))
    return LiquidResult(_finished(output, session.ranges), tuple(session.warnings), ranges=tuple(session.ranges))


def _output(
    text: str,
    assigns: Mapping[str, Any],
    variables: StagedVariables | None,
    strict: bool,  # noqa: FBT001 - handed on as it came
    registers: Mapping[str, Any],
    clock: Clock | None,
) -> tuple[str, LiquidSession | None]:
    """The text, and the session of its rendering; a text without any tag is rendered without one."""
    if "{{" not in text and "{%" not in text and len(text) * 4 <= LIQUID_LIMITS.template_bytes:
        return text, None
    require("liquid")
    from innkeeper.macros.liquid.engine import run

    session = LiquidSession(assigns, variables, strict, registers, clock)
    return run(text, session), session


def _finished(text: str, ranges: list[MacroRange]) -> str:
    r"""Escapes resolved, blank lines emptied; ``ranges`` are moved with the text.

    >>> _finished("a\n  \n\t\nb \\{x\\}", [])
    'a\n\n\nb {x}'
    """
    for removed in (_ESCAPES, _BLANK_LINE):
        spans = [match.span() for match in removed.finditer(text)]
        if spans and ranges:
            ranges[:] = edited(ranges, [RangeEdit(start, end, 0) for start, end in spans])
        text = removed.sub("", text) if spans else text
    return scalar_text(text)


def check(text: str) -> tuple[MacroError | LimitError, ...]:
    """Return the errors of a template without rendering it: its first syntax error, or its unknown filters."""
    require("liquid")
    from innkeeper.macros.liquid.engine import analyse, filter_names

    try:
        with allowed():
            _, filters = analyse(text)
    except (MacroError, LimitError) as error:
        return (error,)
    unknown = sorted((index, name) for name, index in filters.items() if name not in filter_names())
    return tuple(
        UnknownMacroError(f"unknown filter {name!r}", macro=name, where=where_in(text, index))
        for index, name in unknown
    )


def variables_used(text: str) -> tuple[str, ...]:
    """The variables a template reads from outside, as dotted paths such as ``var.mood``, sorted.

    Raises `MacroError` and `MacroLimitError` for what cannot be parsed.
    """
    require("liquid")
    from innkeeper.macros.liquid.engine import analyse

    with allowed():
        paths, _ = analyse(text)
    return tuple(sorted({".".join(path) for path in paths}))


_CARD_FIELDS: Final = ("description", "personality", "scenario", "system_prompt", "post_history_instructions")
_CONTEXT_KEYS: Final = ("chat_index", "message_index", "model", "role")


class Participant(Protocol):
    """Somebody in the chat: a character or a user."""

    @property
    def name(self) -> str:
        """The name."""
        ...

    @property
    def persona_text(self) -> str:
        """The persona's text for a prompt."""
        ...


def liquid_assigns(character: Any, user: Participant | None, context: Context) -> dict[str, Any]:
    """The assigns: ``char``, ``user``, the card's texts, ``persona``, ``context`` and four of the context's values.

    What is not there is ``None``; a template that prints it prints nothing, strict or not.
    """
    data = plain(context)
    text = getattr(character, "mes_example", None)
    return {
        "char": getattr(character, "display_name", None) or getattr(character, "name", None),
        "user": user.name if user is not None else None,
        **{field: getattr(character, field, None) for field in _CARD_FIELDS},
        "mes_examples": text if text and text.strip() else None,
        "persona": user.persona_text if user is not None else None,
        "context": data,
        **{key: data.get(key) for key in _CONTEXT_KEYS},
    }


def liquid_registers(context: Context) -> dict[str, Any]:
    """The registers for filters."""
    return {"context": context}


def plain(value: Any, depth: int = 0) -> Any:
    """Copy as plain data with text keys. Anything else becomes ``None``: templates walk no objects.

    Raises `LimitError` beyond `MAX_DEPTH`.
    """
    if value is None or isinstance(value, (str, int, float)):
        return value
    if depth > MAX_DEPTH:
        raise LimitError("the nesting of the context", limit="MAX_DEPTH", allowed=MAX_DEPTH)
    if isinstance(value, Mapping):
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, depth + 1) for item in value]
    return None
