"""Operations: texts and messages with their macros replaced, and whether an entry's condition holds (`smarttavern.md` 4.7).

Each tells the variables before and after it ran.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from innkeeper.macros.smart.environment import SmartEnvironment, copied
from innkeeper.macros.smart.expansion import expand
from innkeeper.macros.smart.options import MacroOptions
from innkeeper.prompt.errors import FormatError, InnkeeperError, Where
from innkeeper.prompt.note import Note

__all__ = ["condition_holds", "condition_value", "process", "process_text", "process_text_batch"]

_DEFAULT = MacroOptions()


def process_text(
    text: Any,
    variables: Mapping[str, Any] | None = None,
    policy: Mapping[str, Any] | None = None,
    *,
    options: MacroOptions = _DEFAULT,
    notes: list[Note] | None = None,
) -> dict[str, Any]:
    """One text: ``{"text", "variables": {"initial", "final"}}``. ``notes`` gets what could not be done.

    Raises what `innkeeper.macros.smart.expansion.expand` and `SmartEnvironment.of` do.
    """
    env, initial = _begun(variables, policy, options, notes)
    return {"text": expand(text, env), "variables": {"initial": initial, "final": env.table}}


def process(
    messages: Any,
    variables: Mapping[str, Any] | None = None,
    policy: Mapping[str, Any] | None = None,
    *,
    options: MacroOptions = _DEFAULT,
    notes: list[Note] | None = None,
) -> dict[str, Any]:
    """Messages in order over one table: ``{"messages", "variables": {"initial", "final"}}``.

    Only ``content`` changes. What is no object is left out, and a message whose macros raise stays as it was: both with a
    note. Raises `FormatError` when ``messages`` is no list, and what `SmartEnvironment.of` does.
    """
    env, initial = _begun(variables, policy, options, notes)
    done = []
    for index, message in enumerate(_listed(messages, "messages")):
        if isinstance(message, Mapping):
            done.append(_processed(message, index, env))
        else:
            env.report(
                FormatError(f"a message must be an object, not {type(message).__name__}").at(path=f"messages[{index}]")
            )
    return {"messages": done, "variables": {"initial": initial, "final": env.table}}


def process_text_batch(
    texts: Any,
    variables: Mapping[str, Any] | None = None,
    policy: Mapping[str, Any] | None = None,
    *,
    options: MacroOptions = _DEFAULT,
    notes: list[Note] | None = None,
) -> dict[str, Any]:
    """Texts that each begin with the same variables: ``{"texts", "variables_list": [{"initial", "final"}, …]}``.

    They are taken in order and draw from one stream. One whose macros raise gives an empty text and leaves its
    variables as they were, with a note. Raises `FormatError` when ``texts`` is no list, and what `SmartEnvironment.of` does.
    """
    done: list[str] = []
    tables = []
    first, _ = _begun(variables, policy, options, notes)
    for index, text in enumerate(_listed(texts, "texts")):
        env = first.fork()
        env.table, env.owned = copied(variables), True
        initial = _initial(env, variables)
        written = _expanded(text, f"texts[{index}]", env, None)
        done.append("" if written is None else written)
        tables.append({"initial": initial, "final": copied(variables) if written is None else env.table})
    return {"texts": done, "variables_list": tables}


def _begun(
    variables: Mapping[str, Any] | None,
    policy: Mapping[str, Any] | None,
    options: MacroOptions,
    notes: list[Note] | None,
) -> tuple[SmartEnvironment, dict[str, Any]]:
    env = SmartEnvironment.of(variables, policy, options)
    if notes is not None:
        env.notes = notes
    return env, _initial(env, variables)


def _initial(env: SmartEnvironment, variables: Mapping[str, Any] | None) -> dict[str, Any]:
    return dict(env.table) if env.options.compat.shared_initial else copied(variables)


def _processed(message: Mapping[str, Any], index: int, env: SmartEnvironment) -> dict[str, Any]:
    content = message.get("content")
    return {**message, "content": _expanded(content, f"messages[{index}].content", env, content)}


def _expanded(text: Any, asset: str, env: SmartEnvironment, otherwise: Any) -> Any:
    """The text with its macros replaced, or something else when they raise; its notes say which text they are about."""
    first = len(env.notes)
    try:
        return expand(text, env)
    except InnkeeperError as error:
        env.report(error)
        return otherwise
    finally:
        env.notes[first:] = [replace(note, where=_of(note.where, asset)) for note in env.notes[first:]]


def _of(where: Where | None, asset: str) -> Where:
    """The place, in the text of that name."""
    return Where(asset=asset) if where is None else replace(where, asset=asset)


def _listed(given: Any, name: str) -> list[Any]:
    if given is None:
        return []
    if not isinstance(given, (list, tuple)):
        raise FormatError(f"{name} must be a list, not {type(given).__name__}").at(path=name)
    return list(given)


def condition_holds(condition: Any, env: SmartEnvironment) -> bool:
    """Whether the text of ``condition``, with its macros replaced, is ``true`` (3-smarttavern-in-chat-constructor).

    Blank space around it and case do not count; anything else is false. A condition sees the variables of ``env`` and what it
    writes is gone after it. One that fails is false, with a note.
    """
    return condition_value(condition, env).strip().lower() == "true"


def condition_value(condition: Any, env: SmartEnvironment) -> str:
    """What the text of ``condition`` comes to; nothing where it is blank or fails, which leaves a note."""
    text = "" if condition is None else str(condition)
    if not text.strip():
        return ""
    try:
        return expand(text, env.fork())
    except InnkeeperError as error:
        env.report(error)
        return ""
