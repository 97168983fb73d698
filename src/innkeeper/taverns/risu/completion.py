"""Completion: messages as one text, in RisuAI's own templates for models without roles, marks and oddities included.

To send a plan as text take the dialect ``text``. These texts are for who must have RisuAI's own bytes: its template for Llama 2
begins with the mark of Llama 3, and Gemma gets system messages as the user's, next to whom no other of the user's may stand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

import msgspec

from innkeeper.prompt.errors import UnknownNameError, UsageError
from innkeeper.prompt.message import Message
from innkeeper.prompt.typed.once import decode
from innkeeper.text.javascript.values import strip

PLAIN: Final = "plain"
"""The template without marks: a blank line between messages, and the character's name at the end."""

_ROLES: Final = ("system", "user", "assistant")


class TextTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """The texts before and after a message of each role, at the beginning, and before the answer.

    ``default_system`` stands where no message is a system message. Without ``has_system`` those are the user's. ``turns`` says
    that user and assistant must take turns, and ``joins`` that messages are joined until they do.
    """

    user: tuple[str, str]
    assistant: tuple[str, str]
    system: tuple[str, str] = ("", "")
    start: str = ""
    reply: str = ""
    default_system: str = ""
    has_system: bool = True
    folds_system: bool = False
    """Whether a system message at the beginning is put into the message behind it."""
    strips: bool = False
    turns: bool = False
    joins: bool = False


TEMPLATES: Final = decode(Path(__file__).with_name("templates.json").read_bytes(), dict[str, TextTemplate])
"""RisuAI's templates by name; the marks and default texts are those of the models' makers."""


def completion_text(messages: Sequence[Message], template: str, *, name: str = "", goes_on: bool = False) -> str:
    r"""The messages of a plan as one text. ``name`` is the character's; with ``goes_on`` the plain text does not end in it.

    Raises `UnknownNameError` for a template that RisuAI does not have, `UsageError` for roles that a template refuses.

    >>> completion_text([Message("user", "Hi")], "chatml")
    '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n'
    """
    spoken = [message for message in messages if message.role in _ROLES]
    if template == PLAIN:
        return "\n\n".join([*map(_labelled, spoken), *([] if goes_on else [f"{name}:"])])
    if template not in TEMPLATES:
        raise UnknownNameError("template of RisuAI", template, (*TEMPLATES, PLAIN))
    form = TEMPLATES[template]
    turns = [(message.role, message.content) for message in spoken]
    if not form.has_system:
        turns = [("user", f"System: {text}") if role == "system" else (role, text) for role, text in turns]
    if form.joins:  # where the assistant begins, behind an empty turn of the user
        turns = [(role, "\n".join(text for _, text in each)) for role, each in groupby(turns, lambda turn: turn[0])]
        turns = [("user", ""), *turns] if turns[:1] and turns[0][0] != "user" else turns
    clean: Callable[[str], str] = strip if form.strips else str
    folded = turns.pop(0)[1] if form.folds_system and turns and turns[0][0] == "system" else None
    if folded is not None and turns:
        turns[0] = turns[0][0], f"{form.system[0]}{folded}{form.system[1]}{turns[0][1]}"
    if form.turns and any((role == "user") != (index % 2 == 0) for index, (role, _) in enumerate(turns)):
        hint = "send the plan by a template that takes any order, or by a dialect"
        raise UsageError(f"the template {template} wants the user and the assistant to take turns", hint=hint)
    affixes = {"user": form.user, "assistant": form.assistant, "system": form.system}
    if form.default_system and not any(role == "system" for role, _ in turns):
        turns.insert(0, ("system", form.default_system))
    parts = [f"{affixes[role][0]}{clean(text)}{affixes[role][1]}" for role, text in turns]
    return "".join([form.start if turns else "", *parts, form.reply])


def _labelled(message: Message) -> str:
    label = "system" if message.role == "system" else message.name
    return f"{label}: {message.content}" if label else message.content
