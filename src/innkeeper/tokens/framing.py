"""Framing: what a message costs besides its text: role markers, names, the start of the reply.

A framing is one counting rule, selectable by name. Providers render messages in formats of their own, so these numbers are
known from measurements (OpenAI's from its documentation) or, for the ``sillytavern-*`` ones, from SillyTavern's counts.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from innkeeper.prompt.errors import UnknownNameError
from innkeeper.tokens.counter import Counter

__all__ = ["ANTHROPIC", "FIELDS", "FRAMINGS", "GOOGLE", "NO_FRAMING", "OPENAI", "Framing", "fields_of", "framing"]


FIELDS: Final = ("role", "content", "name", "tool_calls", "tool_call_id")
"""The fields of a message that are text, in the order SillyTavern counts them."""


class Framing(msgspec.Struct, frozen=True, kw_only=True):
    """A counting rule for messages. All numbers are tokens.

    ``per_message``, ``per_name`` (for a message with a name), ``reply`` (once a prompt, for the start of the answer).
    ``fields``: which texts of a message are counted, see `fields_of`. ``joiner``: they are joined by this text and counted
    together; None counts them apart. ``alone``: what a message counted as a prompt of its own has more than in a prompt.
    ``refuses_special``: a text that spells a special token counts as empty, and so do the fields after it (a fault of
    SillyTavern's counter). ``basis`` says where the numbers are from.
    """

    name: str
    per_message: int = 0
    per_name: int = 0
    reply: int = 0
    alone: int = 0
    fields: tuple[str, ...] = FIELDS
    joiner: str | None = None
    refuses_special: bool = False
    basis: str = ""

    def texts(self, message: Any) -> list[str]:
        """The texts of a message that are to be counted; one where they are joined."""
        fields = list(fields_of(message, self.fields))
        return fields if self.joiner is None else [self.joiner.join(fields)]

    def fixed(self, message: Any) -> int:
        """What a message costs besides its `texts`."""
        return self.per_message + (self.per_name if _get(message, "name") else 0)

    def count_message(self, message: Any, counter: Counter, model: str | None = None) -> int:
        """Tokens a message adds to a prompt."""
        return self.count_messages([message], counter, model) - self.reply

    def count_alone(self, message: Any, counter: Counter, model: str | None = None) -> int:
        """Tokens of a message as a prompt of its own, as SillyTavern's server counts it."""
        return self.count_message(message, counter, model) + self.alone

    def count_messages(self, messages: Iterable[Any], counter: Counter, model: str | None = None) -> int:
        """Tokens of a whole prompt: its messages and the start of the reply; one batch for all texts."""
        special = counter.special_tokens(model) if self.refuses_special else ()
        parts = [self._part(message, special) for message in messages]
        counts = counter.count_many([text for texts, _ in parts for text in texts], model)
        return sum(counts) + sum(fixed for _, fixed in parts) + self.reply

    def _part(self, message: Any, special: tuple[str, ...]) -> tuple[list[str], int]:
        """What counts of a message: all its texts, or those before one that is refused, and then its name is free."""
        texts = self.texts(message)
        for at, text in enumerate(texts if special else ()):
            if any(token in text for token in special):
                return texts[:at], self.per_message
        return texts, self.fixed(message)


def fields_of(message: Any, fields: Iterable[str] = FIELDS) -> Iterator[str]:
    """The texts of a message (ours, a mapping, or any object with the same attributes), in the order of ``fields``.

    Content is the text of its parts, tool calls are JSON; role and content always count, the others where they are there.
    """
    for field in fields:
        value = _get(message, field)
        if field == "content":
            yield _content(value)
        elif field == "tool_calls" and value:
            yield msgspec.json.encode(value, enc_hook=str).decode()
        elif field == "role" or value:
            yield str(value or "")


def _get(message: Any, field: str) -> Any:
    if isinstance(message, Mapping):
        return message.get(field)
    return getattr(message, field, None)


def _content(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        texts = [part.get("text") if isinstance(part, Mapping) else part for part in value]
        return "\n".join(text for text in texts if isinstance(text, str))
    return "" if value is None else str(value)


_SPOKEN: Final = ("content", "tool_calls", "tool_call_id")

NO_FRAMING: Final = Framing(name="none", fields=("content",), basis="the content and nothing else")
OPENAI: Final = Framing(
    name="openai",
    per_message=3,
    per_name=1,
    reply=3,
    basis="OpenAI's documentation; equal to recorded usage of gpt-4o and gpt-4.1, 1 more than that of gpt-5",
)
ANTHROPIC: Final = Framing(
    name="anthropic",
    per_message=4,
    reply=3,
    fields=_SPOKEN,
    basis="equal to recorded usage of single messages of Claude 3 and 4",
)
GOOGLE: Final = Framing(
    name="google", per_message=1, fields=_SPOKEN, basis="recorded usage of Gemini 1.5 to 2.5, within 2"
)

_SILLY: Final = "SillyTavern 1.19's counts"

FRAMINGS: Final[Mapping[str, Framing]] = MappingProxyType(
    {
        each.name: each
        for each in (
            NO_FRAMING,
            OPENAI,
            ANTHROPIC,
            GOOGLE,
            Framing(
                name="sillytavern-tiktoken",
                per_message=4,
                per_name=1,
                reply=3,
                alone=2,
                refuses_special=True,
                basis=_SILLY,
            ),
            Framing(name="sillytavern-web", per_message=-2, reply=3, alone=2, joiner="\n\n", basis=_SILLY),
            Framing(name="sillytavern-sentencepiece", per_message=-2, reply=3, alone=2, joiner="\n\n", basis=_SILLY),
            Framing(name="sillytavern-claude", reply=3, joiner="\n\n", basis=_SILLY),
        )
    }
)
"""The counting rules by name."""


def framing(name: str) -> Framing:
    """The counting rule of this name. Raises `UnknownNameError`."""
    try:
        return FRAMINGS[name]
    except KeyError:
        raise UnknownNameError("framing", name, FRAMINGS) from None
