"""Macros of the build's state: model, sizes, generation type, input, outlets, banned words."""

from __future__ import annotations

from innkeeper.macros.evaluate import Call, Macro

__all__ = ["MACROS", "unquoted"]


def unquoted(word: str) -> str:
    """A banned word without the quotation marks around it."""
    return word.removeprefix('"').removesuffix('"')


def _banned(call: Call) -> str:
    word = unquoted(call.arguments[0])
    if call.env.ban is not None and word:
        call.env.ban(word)
    return ""


def _extension(call: Call) -> str:
    return "true" if call.arguments[0] in call.env.extensions else "false"


MACROS = (
    Macro("input", lambda call: call.env.input),
    Macro("maxPrompt", lambda call: f"{call.env.max_context - call.env.max_response}", aliases=("maxPromptTokens",)),
    Macro("maxContext", lambda call: f"{call.env.max_context}", aliases=("maxContextTokens",)),
    Macro("maxResponse", lambda call: f"{call.env.max_response}", aliases=("maxResponseTokens",)),
    Macro("model", lambda call: call.env.model),
    Macro("isMobile", lambda call: "true" if call.env.mobile else "false"),
    Macro("lastGenerationType", lambda call: call.env.generation),
    Macro("hasExtension", _extension, 1, 1),
    Macro("outlet", lambda call: call.env.outlets.get(call.arguments[0], ""), 1, 1),
    Macro("banned", _banned, 1, 1),
)
"""``input``, ``maxPrompt``, ``model``, ``outlet``, ``banned`` …"""
