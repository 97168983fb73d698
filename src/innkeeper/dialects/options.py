"""Request options: one neutral name each, and, per provider, a table of how it is written into a request body.

Neutral names are those of OpenAI's Chat Completions where it has one, else the most common: ``temperature``, ``top_p``,
``top_k``, ``min_p``, ``max_tokens``, ``stop``, ``seed``, ``frequency_penalty``, ``presence_penalty``, ``repetition_penalty``,
``response_format``, ``tool_choice``, ``parallel_tool_calls``, ``stream``, ``reasoning_effort``, ``n``, ``logprobs``, ``user``.
``extra`` is merged over the finished body: whatever a provider has that has no neutral name. `ResponseFormat` reads the
shapes in which callers write ``response_format``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf, isfinite
from typing import Any, Final

import msgspec

from innkeeper.dialects.report import Report, jsonable, option_error
from innkeeper.prompt.data import deep_merge
from innkeeper.prompt.near import did_you_mean
from innkeeper.prompt.note import NoteKind

Writer = Callable[[dict[str, Any], Any, Report], None]
"""Writes one option's value into a request body."""

Table = Mapping[str, Writer]
"""A provider's options in the order in which they stand in its bodies."""

_ALIASES: Final = {
    "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "max_new_tokens": "max_tokens",
    "stop_sequences": "stop",
    "stopping_strings": "stop",
    "repeat_penalty": "repetition_penalty",
    "freq_pen": "frequency_penalty",
    "pres_pen": "presence_penalty",
    "extra_body": "extra",
}

_ABOUT_TOOLS: Final = frozenset({"tool_choice", "parallel_tool_calls"})


def neutral(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options by their neutral names, without those that are ``None``; a neutral name wins over another for the same.

    A schema of the answer has the shape of Chat Completions, in which protocol it may have come.
    """
    settings = {key: value for key, value in options.items() if value is not None}
    form = settings.get("response_format")
    if isinstance(form, Mapping) and form.get("type") == "json_schema" and "json_schema" not in form:
        inner = {key: value for key, value in form.items() if key != "type"}
        settings["response_format"] = {"type": "json_schema", "json_schema": inner}
    renamed = {_ALIASES[key]: value for key, value in settings.items() if key in _ALIASES}
    return {**renamed, **{key: value for key, value in settings.items() if key not in _ALIASES}}


def put(*path: str) -> Writer:
    """A writer that puts the value at a path of keys, making objects on the way."""

    def write(body: dict[str, Any], value: Any, _report: Report) -> None:
        for key in path[:-1]:
            body = body.setdefault(key, {})
        body[path[-1]] = value

    return write


def as_is(*names: str) -> dict[str, Writer]:
    """Table rows for options that a provider calls by their neutral names."""
    return {name: put(name) for name in names}


def renamed(*path: str, **names: str) -> dict[str, Writer]:
    """Table rows for options that a provider calls by other names, at a path of keys."""
    return {name: put(*path, native) for name, native in names.items()}


def in_address(_body: dict[str, Any], _value: Any, _report: Report) -> None:
    """A writer for streaming where that is another address, not a field."""


def stop_list(value: Any) -> list[str]:
    """Stop strings as a list: of one text or of several; empty and repeated ones left out."""
    texts = [value] if isinstance(value, str) else value if isinstance(value, (list, tuple)) else []
    return list(dict.fromkeys(jsonable(str(item)) for item in texts if item is not None and str(item)))


def stops(*path: str, most: int | None = None, blank: bool = True) -> Writer:
    """A writer for stop strings: at most ``most`` of them, and with ``blank=False`` none that is only white space."""

    def write(body: dict[str, Any], value: Any, report: Report) -> None:
        texts = stop_list(value)
        selected = [text for text in texts if blank or text.strip()][:most]
        if len(selected) < len(texts):
            report.loss(f"{len(texts) - len(selected)} of {len(texts)} stop strings are not sent")
        if selected:
            put(*path)(body, selected, report)

    return write


def apply(
    body: dict[str, Any], options: Mapping[str, Any], table: Table, report: Report, *, others: Iterable[str]
) -> dict[str, Any]:
    """``body`` with the options written into it in the table's order, then ``extra`` merged over it.

    Options without a row are reported as lost, except ``others``, which are not for the body.
    """
    settings = neutral(options)
    extra = settings.pop("extra", None) or {}
    if not isinstance(extra, Mapping):
        raise option_error(report.dialect, "extra", extra, ["an object"])
    tools = bool(body.get("tools")) or "tools" in extra
    for name, write in table.items():
        if name not in settings:
            continue
        if name in _ABOUT_TOOLS and not tools:
            report.add(NoteKind.IGNORED, f"option {name!r} has no effect without tools")
            continue
        value = _sound(name, jsonable(settings[name]), report)
        if value is not None:
            write(body, value, report)
    for name in sorted(set(settings) - set(table) - set(others)):
        hint = "what only this provider has goes under 'extra'"
        report.loss(f"option {jsonable(name)[:60]!r} is not sent", hint=hint)
    return deep_merge(body, jsonable(extra)) if extra else body


_NUMBERS: Final = frozenset(
    {
        "frequency_penalty", "max_tokens", "min_p", "n", "presence_penalty", "repetition_penalty", "seed", "temperature",
        "top_k", "top_p",
    }
)  # fmt: skip


def _sound(name: str, value: Any, report: Report) -> Any:
    """The value of an option; a number written as text becomes one. ``None`` for a value that is invalid, which is reported."""
    if name not in _NUMBERS:
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _in_range(name, value, report)
    number = _number(value) if isinstance(value, str) else None
    if number is None:
        report.loss(f"option {name!r} is not sent: {'that' if value is None else f'{value!r:.60}'} is not a number")
        return None
    report.repair(f"option {name!r} was a text and is a number now")
    return _in_range(name, number, report)


_RANGES: Final = {"max_tokens": (0, inf), "n": (1, inf), "temperature": (0, inf), "top_p": (0, 1), "min_p": (0, 1)}
"""The least and the most that any provider takes."""


def _in_range(name: str, number: float, report: Report) -> float | None:
    least, most = _RANGES.get(name, (-inf, inf))
    if least <= number <= most:
        return number
    bounds = f"at least {least}" if most == inf else f"from {least} to {most}"
    report.loss(f"option {name!r} is not sent: it must be {bounds}, not {number}")
    return None


def _number(text: str) -> int | float | None:
    try:
        number: int | float = int(text) if text.strip().lstrip("+-").isdecimal() else float(text)
        return number if isfinite(number) else None
    except (ValueError, OverflowError):
        return None


def report_unknown(options: Mapping[str, Any], table: Table, known: Sequence[str], report: Report) -> None:
    """Report options that neither shape messages nor belong to a request: misspelt ones, most likely."""
    for name in sorted(set(neutral(options)) - set(table) - set(known) - {"extra"}):
        report.add(NoteKind.IGNORED, f"option {jsonable(name)[:60]!r} is not known", hint=did_you_mean(name, known))


DEFAULT_NAME = "response"


class ResponseFormat(msgspec.Struct, frozen=True):
    """``kind`` is text, json_object, json_schema, or the word as written; the rest belongs to json_schema."""

    kind: str
    name: str = DEFAULT_NAME
    schema: Mapping[str, Any] | None = None
    strict: bool | None = None
    description: str | None = None

    @classmethod
    def of(cls, value: Any) -> ResponseFormat:
        """Read ``"json"``, ``{"type": ...}`` in the shape of Chat Completions or Responses, or a bare JSON Schema."""
        if not isinstance(value, Mapping):
            text = str(value)
            return cls({"json": "json_object"}.get(text, text))
        kind = str(value.get("type", "json_schema"))
        if kind not in ("text", "json_object", "json_schema"):
            return cls("json_schema", schema=jsonable(value))
        if kind != "json_schema":
            return cls(kind)
        schema = value.get("json_schema")
        body = schema if isinstance(schema, Mapping) else value
        shape = body.get("schema")
        return cls(
            kind,
            name=str(body.get("name") or DEFAULT_NAME),
            schema=jsonable(shape) if isinstance(shape, Mapping) else {},
            strict=body.get("strict"),
            description=body.get("description"),
        )

    def fields(self) -> dict[str, Any]:
        """Name, description, schema and strictness, as OpenAI has them; without those that were not given."""
        known = {"name": self.name, "description": self.description, "schema": self.schema, "strict": self.strict}
        return {key: value for key, value in known.items() if value is not None}
