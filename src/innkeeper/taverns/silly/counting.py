"""Counting: how this build counts tokens, by SillyTavern's own rule for the tokenizer that the request names.

Room is kept free for the definitions of tools.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from innkeeper.prompt.block import Block
from innkeeper.prompt.frozen import thaw
from innkeeper.prompt.state import State
from innkeeper.taverns.silly.inputs import SillyInputs
from innkeeper.tokens import SILLYTAVERN_TOKENIZERS, Framing, default_counter, framing

__all__ = ["Counting", "counted", "tool_tokens"]


def counted(block: Block) -> dict[str, Any]:
    """What is counted of a message: role, content, and name and tool calls when it has some; not the id a result answers to."""
    facts: dict[str, Any] = {"role": block.role, "content": block.content}
    if block.name:
        facts["name"] = block.name
    if block.message_metadata:
        facts |= {key: value for key, value in block.message_metadata.items() if key != "tool_call_id"}
    return facts


Message = Callable[[Mapping[str, Any]], int]


class Counting(msgspec.Struct, frozen=True):
    """``message`` counts a message with its overheads, ``text`` bare text; the rest is what the lore budget counts by.

    ``lore_part`` and ``lore_overhead`` are given where counts add up over lines (see `innkeeper.lore.budget`).
    """

    message: Message
    text: Callable[[str], int]
    lore: Callable[[str], int]
    lore_part: Callable[[str], int] | None = None
    lore_overhead: int = 0
    name: str = ""
    """What is counted by, when it is one of SillyTavern's own tokenizers: the same in every build."""

    @classmethod
    def of(cls, state: State, inputs: SillyInputs) -> Counting:
        """The counting of a build: SillyTavern's for one of its tokenizer names, otherwise the model's own.

        Raises `TokenizerUnavailableError` for a tokenizer whose vocabulary may not be shipped.
        """
        name = state.request.model or ("none" if inputs.is_text else "gpt-4o")
        if state.inputs.ports.token_counter is None and name in SILLYTAVERN_TOKENIZERS:
            return _sillytavern(name, chat=not inputs.is_text)
        counter = state.inputs.ports.token_counter or default_counter()
        return _neutral(counter, name)


_ADDING_UP: Final = frozenset({"gpt-4o", "gpt-4", "gpt-3.5-turbo"})
"""Tokenizers that count each text of a message apart and never join across a line break (see `innkeeper.lore.budget`)."""


def _sillytavern(name: str, *, chat: bool) -> Counting:
    tokenizer = SILLYTAVERN_TOKENIZERS[name]
    counter, rule = tokenizer.counter(), tokenizer.framing

    def part(text: str) -> int:
        return counter.count(text, name)

    def message(value: Mapping[str, Any]) -> int:
        return rule.count_message(value, counter, name)

    if not chat:
        return Counting(message, tokenizer.count_text, tokenizer.count_text, name=f"{name} text")
    if name not in _ADDING_UP:
        return Counting(message, tokenizer.count_text, tokenizer.count_lore, name=name)
    overhead = tokenizer.count_lore("word") - part("word")
    return Counting(_quick(message, part, rule), tokenizer.count_text, tokenizer.count_lore, part, overhead, name)


def _quick(slow: Message, part: Callable[[str], int], rule: Framing) -> Message:
    """The same counts for plain messages, without walking their fields. What may spell a special token goes the slow way."""
    roles: dict[str, int] = {}

    def message(value: Mapping[str, Any]) -> int:
        content = value["content"]
        if len(value) > PLAIN_FIELDS or "<|" in content:
            return slow(value)
        role = value["role"]
        if role not in roles:
            roles[role] = part(role) + rule.per_message
        return roles[role] + part(content)

    return message


PLAIN_FIELDS: Final = 2
"""A plain message has a role and a content."""


def _neutral(counter: Any, model: str) -> Counting:
    rule = framing("openai")

    def text(value: str) -> int:
        return int(counter.count(value, model))

    def message(value: Mapping[str, Any]) -> int:
        return int(rule.count_message(value, counter, model))

    return Counting(message, text, text)


FRAME: Final = 6
"""Tokens kept where tools may be called, even when none is offered (measured on SillyTavern 1.19)."""

OFFER: Final = 8
"""Tokens more when any is offered (measured on SillyTavern 1.19)."""

_SENT: Final = ("name", "description", "parameters")


def tool_tokens(tools: Sequence[Mapping[str, Any]], count: Callable[[Mapping[str, Any]], int]) -> int:
    """What is kept: a frame, and each definition as JSON. ``count`` counts a message."""
    empty = count({"role": "", "content": ""})
    each = sum(count({"role": "", "content": _written(tool)}) - empty for tool in tools)
    return FRAME + (OFFER if tools else 0) + each


def _written(tool: Mapping[str, Any]) -> str:
    fields = tool.get("function", tool)
    sent = {name: thaw(fields[name]) for name in _SENT if name in fields} if isinstance(fields, Mapping) else {}
    return json.dumps({"type": "function", "function": sent}, ensure_ascii=False, separators=(",", ":"), default=str)
