"""Counting: how this build counts tokens: by SillyTavern's own rule for the tokenizer the request names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from innkeeper.prompt.state import State
from innkeeper.taverns.silly.inputs import SillyInputs
from innkeeper.tokens import SILLYTAVERN_TOKENIZERS, default_counter, framing

__all__ = ["Counting"]


class Counting(msgspec.Struct, frozen=True):
    """``message`` counts a message with its overheads, ``text`` bare text; the rest is what the lore budget counts by.

    ``lore_part`` and ``lore_overhead`` are given where counts add up over lines (see `innkeeper.lore.ledger`).
    """

    message: Callable[[Mapping[str, Any]], int]
    text: Callable[[str], int]
    lore: Callable[[str], int]
    lore_part: Callable[[str], int] | None = None
    lore_overhead: int = 0

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


ROLE: Final = 1
"""What the role of a message costs: the lore budget does not count it where tiktoken counts."""


def _sillytavern(name: str, *, chat: bool) -> Counting:
    tokenizer = SILLYTAVERN_TOKENIZERS[name]
    counter = tokenizer.counter()
    adds_up = name in ("gpt-4o", "gpt-4", "gpt-3.5-turbo")

    def part(text: str) -> int:
        return counter.count(text, name)

    def lore(text: str) -> int:
        if not chat:
            return tokenizer.count_text(text)
        return tokenizer.count_alone({"role": "system", "content": text}) - (ROLE if adds_up else 0)

    if not chat:
        return Counting(tokenizer.count_message, tokenizer.count_text, lore)
    overhead = lore("word") - part("word") if adds_up else 0
    return Counting(tokenizer.count_message, tokenizer.count_text, lore, part if adds_up else None, overhead)


def _neutral(counter: Any, model: str) -> Counting:
    rule = framing("openai")

    def text(value: str) -> int:
        return int(counter.count(value, model))

    def message(value: Mapping[str, Any]) -> int:
        return int(rule.count_message(value, counter, model))

    return Counting(message, text, text)
