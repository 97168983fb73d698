"""Framing: the tokens of a message besides its text: role markers, names, the start of the reply; and those of tools.

A framing is one counting rule, selectable by name. Providers render messages in formats of their own, so these numbers are
known from measurements (OpenAI's from its documentation) or, for the ``sillytavern-*`` ones, from SillyTavern's counts. The cost
of tool definitions is an estimate, since each provider renders them in a way it does not publish.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import msgspec

from innkeeper.prompt.errors import UnknownNameError
from innkeeper.prompt.typed.once import decode
from innkeeper.tokens.counter import Counter

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
        fields = fields_of(message, self.fields)
        return fields if self.joiner is None else [self.joiner.join(fields)]

    def fixed(self, message: Any) -> int:
        """Return the fixed cost of a message besides its `texts`."""
        return self.per_message + (self.per_name if _getter(message)("name") else 0)

    def count_message(self, message: Any, counter: Counter, model: str | None = None) -> int:
        """Tokens a message adds to a prompt."""
        return self.count_messages([message], counter, model) - self.reply

    def count_alone(self, message: Any, counter: Counter, model: str | None = None) -> int:
        """Tokens of a message as a prompt of its own, as SillyTavern's server counts it."""
        return self.count_message(message, counter, model) + self.alone

    def count_messages(self, messages: Iterable[Any], counter: Counter, model: str | None = None) -> int:
        """Tokens of a whole prompt: its messages and the start of the reply; one batch for all texts."""
        special = counter.special_tokens(model) if self.refuses_special else ()
        texts, fixed = [], self.reply
        for message in messages:
            counted, beside = self._part(message, special)
            texts += counted
            fixed += beside
        return sum(counter.count_many(texts, model)) + fixed

    def _part(self, message: Any, special: tuple[str, ...]) -> tuple[list[str], int]:
        """Return the counted texts of a message: all, or those before a refused one, after which its name is free."""
        texts = self.texts(message)
        for at, text in enumerate(texts if special else ()):
            if any(token in text for token in special):
                return texts[:at], self.per_message
        return texts, self.fixed(message)


def fields_of(message: Any, fields: Iterable[str] = FIELDS) -> list[str]:
    """The texts of a message (ours, a mapping, or any object with the same attributes), in the order of ``fields``.

    Content is the text of its parts, tool calls are JSON; role and content always count, the others where they are there.
    """
    get, texts = _getter(message), []
    for field in fields:
        value = get(field)
        if field == "content":
            texts.append(value if type(value) is str else _content(value))
        elif field == "tool_calls" and value:
            texts.append(msgspec.json.encode(value, enc_hook=str).decode())
        elif field == "role" or value:
            texts.append(str(value or ""))
    return texts


def _getter(message: Any) -> Callable[[str], Any]:
    """Return a reader of a field of a message, or None."""
    if isinstance(message, (dict, Mapping)):  # most are dicts, which is quick to see
        return message.get
    return lambda field: getattr(message, field, None)


def _content(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        texts = [part.get("text") if isinstance(part, Mapping) else part for part in value]
        return "\n".join(text for text in texts if isinstance(text, str))
    return "" if value is None else str(value)


class ToolRule(msgspec.Struct, frozen=True, kw_only=True):
    """How tool definitions are rendered as text and counted.

    ``form``: ``json`` (the definition), ``typescript`` (as OpenAI's models are believed to see it) or ``texts`` (names,
    descriptions and property names). ``once``: tokens for having tools at all; ``per_tool``: for each; ``scale``: of the
    text's tokens; ``error``: ± percent.
    """

    name: str
    form: str = "json"
    once: int = 0
    per_tool: int = 0
    scale: float = 1.0
    error: float = 30.0
    basis: str = ""


class ToolCount(msgspec.Struct, frozen=True):
    """Estimated tokens of tool definitions, and how far they may be off, in percent."""

    tokens: int
    error_percent: float
    rule: str


class _FramingTables(msgspec.Struct, frozen=True):
    """The contents of ``framings.json``."""

    framings: tuple[Framing, ...]
    tools: tuple[ToolRule, ...]


_TABLES: Final = decode(Path(__file__).with_name("table").joinpath("framings.json").read_bytes(), _FramingTables)

FRAMINGS: Final[Mapping[str, Framing]] = MappingProxyType({each.name: each for each in _TABLES.framings})
"""The counting rules by name."""

NO_FRAMING: Final = FRAMINGS["none"]
OPENAI: Final = FRAMINGS["openai"]
ANTHROPIC: Final = FRAMINGS["anthropic"]
GOOGLE: Final = FRAMINGS["google"]

TOOL_RULES: Final[Mapping[str, ToolRule]] = MappingProxyType({rule.name: rule for rule in _TABLES.tools})
"""The rules for tools by the name of the framing they go with."""


def framing(name: str) -> Framing:
    """The counting rule of this name. Raises `UnknownNameError`."""
    try:
        return FRAMINGS[name]
    except KeyError:
        raise UnknownNameError("framing", name, FRAMINGS) from None


def count_tools(
    tools: Iterable[Any], counter: Counter, model: str | None = None, rule: ToolRule | str = "none"
) -> ToolCount:
    """Tokens of tool definitions: ours, OpenAI's, Anthropic's or Google's shape. No tools cost nothing.

    ``rule`` is a rule or the name of one; an unknown name is the rule ``none``.
    """
    chosen = TOOL_RULES.get(rule, TOOL_RULES["none"]) if isinstance(rule, str) else rule
    listed = [_plain(tool) for tool in tools]
    if not listed:
        return ToolCount(0, 0.0, chosen.name)
    text = sum(counter.count_many(_RENDER[chosen.form](listed), model))
    return ToolCount(
        chosen.once + chosen.per_tool * len(listed) + round(chosen.scale * text), chosen.error, chosen.name
    )


def _plain(tool: Any) -> dict[str, Any]:
    """Return a definition as name, description and parameters; an object is read by its attributes."""
    facts = tool if isinstance(tool, Mapping) else {name: getattr(tool, name, None) for name in _FIELDS}
    inner = facts.get("function")
    facts = inner if isinstance(inner, Mapping) else facts
    schemas = [schema for key in _SCHEMAS if isinstance(schema := facts.get(key), Mapping)]
    return {
        "name": str(facts.get("name") or facts.get("type") or ""),
        "description": str(facts.get("description") or ""),
        "parameters": schemas[0] if schemas else {},
    }


_FIELDS: Final = ("name", "description", "parameters")
_SCHEMAS: Final = ("parameters", "input_schema", "parameters_json_schema", "parametersJsonSchema", "schema")


def _json(tools: list[dict[str, Any]]) -> list[str]:
    try:
        return [msgspec.json.encode(tool, enc_hook=str).decode() for tool in tools]
    except UnicodeEncodeError:  # half a character, which is sent as U+FFFD
        return [json.dumps(tool, ensure_ascii=False, separators=(",", ":"), default=str) for tool in tools]


def _texts(tools: list[dict[str, Any]]) -> list[str]:
    return [text for tool in tools for text in (tool["name"], tool["description"], *_words(tool["parameters"]))]


def _words(schema: Mapping[str, Any]) -> Iterator[str]:
    for name, inner in _properties(schema):
        yield str(name)
        yield str(inner.get("description") or "")
        yield from _words(inner)


def _typescript(tools: list[dict[str, Any]]) -> list[str]:
    blocks = [
        "".join(_comment(tool["description"])) + f"type {tool['name']} = ({_arguments(tool['parameters'])}) => any;\n\n"
        for tool in tools
    ]
    return ["# Tools\n\n## functions\n\nnamespace functions {\n\n", *blocks, "} // namespace functions"]


def _arguments(schema: Mapping[str, Any]) -> str:
    return f"_: {_object(schema)}" if any(_properties(schema)) else ""


def _object(schema: Mapping[str, Any]) -> str:
    required = schema.get("required") or ()
    lines = [
        "".join(_comment(inner.get("description"))) + f"{name}{'' if name in required else '?'}: {_type(inner)},\n"
        for name, inner in _properties(schema)
    ]
    return "{\n" + "".join(lines) + "}"


def _type(schema: Mapping[str, Any]) -> str:
    values = schema.get("enum")
    if isinstance(values, (list, tuple)):
        return " | ".join(msgspec.json.encode(value, enc_hook=str).decode() for value in values)
    kind = schema.get("type")
    if kind == "object":
        return _object(schema)
    if kind == "array":
        items = schema.get("items")
        return f"{_type(items) if isinstance(items, Mapping) else 'any'}[]"
    return "number" if kind == "integer" else str(kind or "any")


def _comment(text: Any) -> Iterator[str]:
    for line in str(text or "").splitlines():
        yield f"// {line}\n"


def _properties(schema: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    properties = schema.get("properties")
    return (
        [(name, inner) for name, inner in properties.items() if isinstance(inner, Mapping)]
        if isinstance(properties, Mapping)
        else []
    )


_RENDER: Final = MappingProxyType({"json": _json, "texts": _texts, "typescript": _typescript})
