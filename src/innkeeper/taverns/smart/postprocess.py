"""Post-process: the messages of a prompt as one view sees them: regex rules, macros, regex rules.

SmartTavern's ``prompt_postprocess``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from innkeeper.prompt.errors import InnkeeperError
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.taverns.smart.errors import ShapeError
from innkeeper.taverns.smart.options import SmartOptions
from innkeeper.taverns.smart.regex_rules import apply_messages
from innkeeper.taverns.smart.values import copied

__all__ = ["postprocess_apply"]


def postprocess_apply(
    messages: Any,
    regex_rules: Any,
    view: Any,
    variables: Mapping[str, Any] | None = None,
    *,
    options: SmartOptions | None = None,
    notes: list[Note] | None = None,
) -> dict[str, Any]:
    """``{"message": […], "variables": {"initial": …, "final": …}}``: new messages, and the variables around the macros.

    Rules of ``before_macro`` run, then the macros of every message in their order, sharing one table, then rules of
    ``after_macro``. Conditions of rules see ``variables`` as they came in, both times. ``{{python:…}}`` does not run in what
    users and models wrote: messages whose source is the history, and messages of no source that are not the system's (with
    `Compat.chat_python` it does). What is no message is left out with a note. The arguments are not changed. Raises as
    `apply_messages`.
    """
    chosen, told = options or SmartOptions(), [] if notes is None else notes
    own = _objects(copied(messages, "messages"), told)
    before = apply_messages(regex_rules, "before_macro", view, own, variables, options=chosen, notes=told)["message"]
    expanded, around = _expanded(before, variables, chosen, told)
    after = apply_messages(regex_rules, "after_macro", view, expanded, variables, options=chosen, notes=told)
    return {"message": after["message"], "variables": around}


def _objects(messages: Any, notes: list[Note]) -> list[dict[str, Any]]:
    listed = messages if isinstance(messages, list) else []
    for index, message in enumerate(listed):
        if not isinstance(message, dict):
            error = ShapeError(f"messages[{index}]", "an object", message)
            notes.append(Note(NoteKind.WARNING, f"a message is left out: {error.message}", where=error.where))
    return [message for message in listed if isinstance(message, dict)]


def _expanded(
    messages: list[dict[str, Any]], variables: Mapping[str, Any] | None, options: SmartOptions, notes: list[Note]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The messages with their macros replaced, and the variables before and after."""
    from innkeeper.macros.smart import MacroEnvironment, expand, process

    if options.compat.chat_python:
        done = process(messages, variables, options=options.macros, notes=notes)
        return done["messages"], done["variables"]
    initial = process([], variables, options=options.macros)["variables"]["initial"]
    env = MacroEnvironment.of(variables, options=options.macros)
    env.notes = notes
    quiet = msgspec.structs.replace(options.macros, python=False)
    expanded = []
    for index, message in enumerate(messages):
        env.options = quiet if _is_written_in_chat(message) else options.macros
        content = message.get("content")
        try:
            content = expand(content, env)
        except InnkeeperError as error:
            env.report(error.at(path=f"messages[{index}].content"))
        expanded.append({**message, "content": content})
    return expanded, {"initial": initial, "final": env.table}


_CHAT_ROLES: Final = frozenset({"user", "assistant", "thinking"})


def _is_written_in_chat(message: Mapping[str, Any]) -> bool:
    source = message.get("source")
    kind = source.get("type") if isinstance(source, Mapping) else None
    if isinstance(kind, str):
        return kind.lower().partition(".")[0] == "history"
    return str(message.get("role", "")).lower() in _CHAT_ROLES
