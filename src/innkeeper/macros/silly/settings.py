"""Macros of what surrounds the chat: the prompt's settings and the state of the build.

Settings are the instruct sequences, context template, system prompt, author's notes and reasoning; state is the model, its
sizes, the generation type, the input, outlets and banned words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from innkeeper.macros.engine.environment import MacroEnvironment
from innkeeper.macros.engine.errors import UnknownMacroError
from innkeeper.macros.engine.macro import Call, Macro

SEQUENCES: dict[str, tuple[str, tuple[str, ...]]] = {
    "instructStoryStringPrefix": ("story_string_prefix", ()),
    "instructStoryStringSuffix": ("story_string_suffix", ()),
    "instructUserPrefix": ("input_sequence", ("instructInput",)),
    "instructUserSuffix": ("input_suffix", ()),
    "instructAssistantPrefix": ("output_sequence", ("instructOutput",)),
    "instructAssistantSuffix": ("output_suffix", ("instructSeparator",)),
    "instructSystemPrefix": ("system_sequence", ()),
    "instructSystemSuffix": ("system_suffix", ()),
    "instructFirstAssistantPrefix": ("first_output_sequence", ("instructFirstOutputPrefix",)),
    "instructLastAssistantPrefix": ("last_output_sequence", ("instructLastOutputPrefix",)),
    "instructStop": ("stop_sequence", ()),
    "instructUserFiller": ("user_alignment_message", ()),
    "instructSystemInstructionPrefix": ("last_system_sequence", ()),
    "instructFirstUserPrefix": ("first_input_sequence", ("instructFirstInput",)),
    "instructLastUserPrefix": ("last_input_sequence", ("instructLastInput",)),
}
"""The instruct setting behind each macro, and the macro's other names."""


_USUAL = {
    "first_input_sequence": "input_sequence",
    "last_input_sequence": "input_sequence",
    "first_output_sequence": "output_sequence",
    "last_output_sequence": "output_sequence",
}


def sequence(env: MacroEnvironment, key: str) -> str:
    """A setting of instruct mode; empty while the mode is off. Macros in it stay as they are.

    An empty first or last sequence is the usual one.
    """
    if not env.instruct.get("enabled"):
        return ""
    return str(env.instruct.get(key) or env.instruct.get(_USUAL.get(key, key)) or "")


def context(env: MacroEnvironment, key: str) -> str:
    """A setting of the context template."""
    return str(env.context.get(key) or "")


def system_prompt(env: MacroEnvironment, card_prompt: str = "") -> str:
    """The card's own system prompt if it has one, else that of the settings; empty when system prompts are off."""
    if not env.sysprompt.get("enabled"):
        return ""
    return card_prompt or str(env.sysprompt.get("content") or "")


def _setting(read: Callable[[MacroEnvironment, str], str], key: str) -> Callable[[Call], str]:
    return lambda call: read(call.env, key)


def _reasoning(env: MacroEnvironment, key: str) -> str:
    return str(env.reasoning.get(key) or "")


INSTRUCT_MACROS = (
    *(Macro(name, _setting(sequence, key), aliases=aliases) for name, (key, aliases) in SEQUENCES.items()),
    Macro(
        "defaultSystemPrompt", lambda call: system_prompt(call.env), aliases=("instructSystem", "instructSystemPrompt")
    ),
    Macro("systemPrompt", lambda call: system_prompt(call.env, call.evaluation.pack.table["charprompt"].run(call))),
    Macro("exampleSeparator", _setting(context, "example_separator"), aliases=("chatSeparator",)),
    Macro("chatStart", _setting(context, "chat_start")),
    Macro("authorsNote", lambda call: call.env.authors_note),
    Macro("charAuthorsNote", lambda call: call.env.char_authors_note),
    Macro("defaultAuthorsNote", lambda call: call.env.default_authors_note),
    Macro("reasoningPrefix", _setting(_reasoning, "prefix")),
    Macro("reasoningSuffix", _setting(_reasoning, "suffix")),
    Macro("reasoningSeparator", _setting(_reasoning, "separator")),
)
"""``instruct…``, ``systemPrompt``, ``chatStart``, ``authorsNote`` …"""


def unquoted(word: str) -> str:
    """A banned word without the quotation marks around it."""
    return word.removeprefix('"').removesuffix('"')


def _banned(call: Call) -> str:
    word = unquoted(call.arguments[0])
    if call.env.ban is not None and word:
        call.env.ban(word)
    return ""


EXTENSION_OF: Final = {
    "summary": ("memory", "memory"),
    "charPrefix": ("stable-diffusion", "sd"),
    "charNegativePrefix": ("stable-diffusion", "sd"),
    "lastExpression": ("expressions", "expressions"),
    "defaultExpression": ("expressions", "expressions"),
    "availableExpressions": ("expressions", "expressions"),
}
"""The macros that SillyTavern's own extensions register: each with its extension, and the extension's settings."""

_STOCK: Final = {name.lower(): name for name in EXTENSION_OF}


def unknown_macro(name: str) -> UnknownMacroError:
    """The error for a macro that there is not, or that belongs to an extension which is off."""
    extension = EXTENSION_OF.get(_STOCK.get(name.lower(), ""))
    if extension is None:
        return UnknownMacroError(f"there is no macro {{{{{name}}}}}", macro=name)
    what = f"there is no {{{{{name}}}}}: SillyTavern's extension {extension[0]} makes it, which is off"
    hint = f"give settings.{extension[1]}, which turns it on"
    return UnknownMacroError(what, macro=name, hint=hint, extension=extension[0])


def _stock(call: Call) -> str:
    value = call.env.stock.get(_STOCK[call.tag.name.lower()])
    if value is None:
        raise unknown_macro(call.tag.name)
    return value()


STOCK_MACROS = tuple(Macro(name, _stock) for name in EXTENSION_OF)
"""``summary``, ``charPrefix`` …"""


STATE_MACROS = (
    Macro("input", lambda call: call.env.input),
    Macro("maxPrompt", lambda call: f"{call.env.max_context - call.env.max_response}", aliases=("maxPromptTokens",)),
    Macro("maxContext", lambda call: f"{call.env.max_context}", aliases=("maxContextTokens",)),
    Macro("maxResponse", lambda call: f"{call.env.max_response}", aliases=("maxResponseTokens",)),
    Macro("model", lambda call: call.env.model),
    Macro("isMobile", lambda call: "true" if call.env.mobile else "false"),
    Macro("lastGenerationType", lambda call: call.env.generation),
    Macro("hasExtension", lambda call: "true" if call.arguments[0] in call.env.extensions else "false", 1, 1),
    Macro("outlet", lambda call: call.env.outlets.get(call.arguments[0], ""), 1, 1),
    Macro("banned", _banned, 1, 1),
)
"""``input``, ``maxPrompt``, ``model``, ``outlet``, ``banned`` …"""
