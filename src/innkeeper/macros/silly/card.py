"""Macros of who is who: names, the fields of the card and the persona, and how fields are resolved.

A field may hold macros. It is resolved when it is asked for, once a text, and inside it the other fields are empty.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

from innkeeper.macros.environment import Field, MacroEnvironment
from innkeeper.macros.evaluate import Call, Macro
from innkeeper.macros.silly.examples import examples_text
from innkeeper.text.javascript.values import strip

__all__ = ["BARE", "MACROS", "resolved_field", "tidied"]

BARE = "bare"
"""The key of an evaluation's memory that says that card fields are not to be filled in."""

_ORIGINAL = "original"
_NEWLINES = re.compile(r"\n+")


def resolved_field(env: MacroEnvironment, written: Field, resolve: Callable[[str, MacroEnvironment], str]) -> str:
    """A field with its macros resolved: a text, or the parts of a group's members, each on lines of its own."""
    if isinstance(written, str):
        return _clean(strip(written), env, resolve)
    parts = []
    for voice in written:
        own = dataclasses.replace(env, char=voice.char)
        parts.append("".join(_clean(text, own, resolve) for text in (voice.before, strip(voice.text), voice.after)))
    return "\n".join(part for part in parts if part)


def _clean(text: str, env: MacroEnvironment, resolve: Callable[[str, MacroEnvironment], str]) -> str:
    return tidied(env, resolve(text, env)) if text else ""


def tidied(env: MacroEnvironment, text: str) -> str:
    """A resolved field without carriage returns and, where the settings say so, without empty lines."""
    if env.collapse_newlines:
        text = _NEWLINES.sub("\n", text)
    return text.replace("\r", "")


def _resolved(call: Call, name: str, written: Field) -> str:
    memory = call.evaluation.memory
    if memory.get(BARE) or not written:
        return ""
    if name not in memory:
        apart = call.evaluation.apart
        memory[name] = resolved_field(call.env, written, lambda text, env: apart(text, env, {BARE: True}))
    found: str = memory[name]
    return found


def _field(name: str) -> Callable[[Call], str]:
    return lambda call: _resolved(call, name, getattr(call.env.card, name))


def _preferred(name: str, switch: str) -> Callable[[Call], str]:
    return lambda call: _resolved(call, name, getattr(call.env.card, name)) if getattr(call.env, switch) else ""


def _version(call: Call) -> str:
    return "" if call.evaluation.memory.get(BARE) else call.env.card.version


def _greeting(call: Call) -> str:
    index, card = call.whole_number(0, 0), call.env.card
    greetings = (card.first_message, *card.alternate_greetings)
    return _resolved(call, f"greeting {index}", greetings[index]) if 0 <= index < len(greetings) else ""


def _examples(call: Call) -> str:
    raw = _resolved(call, "mes_examples", call.env.card.mes_examples)
    return examples_text(raw, call.env, lambda text: call.evaluation.apart(text, call.env, {}))


def _original(call: Call) -> str:
    memory = call.evaluation.memory
    if memory.get(_ORIGINAL) is None:
        call.keep("there is no original text here")
    text: str = memory[_ORIGINAL]
    memory[_ORIGINAL] = ""
    return text


def _group(call: Call) -> str:
    return ", ".join(call.env.group) or call.env.char


def _group_active(call: Call) -> str:
    return ", ".join(call.env.group_active) if call.env.group else call.env.char


def _others(call: Call) -> str:
    env = call.env
    return ", ".join(name for name in env.group_active if name != env.char) if env.group else env.user


MACROS = (
    Macro("user", lambda call: call.env.user),
    Macro("char", lambda call: call.env.char),
    Macro("group", _group, aliases=("charIfNotGroup",)),
    Macro("groupNotMuted", _group_active),
    Macro("notChar", _others),
    Macro("charPrompt", _preferred("system_prompt", "prefer_card_prompt")),
    Macro("charInstruction", _preferred("post_history", "prefer_card_instruction")),
    Macro("charDescription", _field("description"), aliases=("description",)),
    Macro("charPersonality", _field("personality"), aliases=("personality",)),
    Macro("charScenario", _field("scenario"), aliases=("scenario",)),
    Macro("persona", lambda call: _resolved(call, "persona", call.env.persona)),
    Macro("mesExamplesRaw", _field("mes_examples")),
    Macro("mesExamples", _examples),
    Macro("charDepthPrompt", _field("depth_prompt")),
    Macro("charCreatorNotes", _field("creator_notes"), aliases=("creatorNotes",)),
    Macro("charFirstMessage", _greeting, most=1, integers=frozenset({0}), aliases=("greeting",)),
    Macro("charVersion", _version, aliases=("version", "char_version")),
    Macro("original", _original),
)
"""Names, card fields, ``mesExamples`` and ``original``."""
