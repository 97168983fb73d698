"""Transforms: named repairs of what goes to a provider and of what comes back, for the ways in which providers differ.

A transform gets plain data of its own, which it may change, and may return a replacement. Registries are values: one per
kind, names in lower case with ``_`` for ``-``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from innkeeper.inference.tools.calls import take_tag_calls
from innkeeper.prompt import UnknownNameError, UsageError
from innkeeper.prompt.text import kind_of

Transform = Callable[[Any], Any]
"""``(data) -> replacement or None``. Messages, tools and calls are lists of mappings; a response is an assistant message."""

SKIP_VALIDATOR: Final = "skip_thought_signature_validator"


def transform_name(name: str) -> str:
    """A name as registries spell it."""
    return name.strip().lower().replace("-", "_")


class TransformRegistry(Mapping[str, Transform]):
    """Transforms of one kind by name. A value: `with_` makes another."""

    __slots__ = ("_by_name", "kind")

    def __init__(self, kind: str, transforms: Mapping[str, Transform]) -> None:
        self.kind = kind
        self._by_name = {transform_name(name): transform for name, transform in transforms.items()}

    def with_(self, **transforms: Transform) -> TransformRegistry:
        """A registry with further transforms; one of the same name replaces."""
        return TransformRegistry(self.kind, {**self._by_name, **transforms})

    def __getitem__(self, name: str) -> Transform:
        try:
            return self._by_name[transform_name(name)]
        except KeyError:
            raise UnknownNameError(f"{self.kind} transform", name, self._by_name) from None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and transform_name(name) in self._by_name

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def unknown(self, names: Iterable[Any]) -> list[str]:
        """Those of ``names`` that it does not have."""
        return [name for name in names if not callable(name) and name not in self]

    def chosen(self, names: Iterable[Any], *, strict: bool = False) -> tuple[Transform, ...]:
        """The transforms of these names, in order; ``names`` may hold callables of the caller's own.

        Unknown names are passed over; with ``strict`` they raise `UnknownNameError`.
        """
        for name in (names := tuple(names)):
            if not callable(name) and not isinstance(name, str):
                msg = f"a {self.kind} transform is a name or a callable, not {kind_of(name)}"
                raise UsageError(msg)
        known = [name for name in names if strict or callable(name) or name in self]
        return tuple(name if callable(name) else self[name] for name in known)

    def apply(self, names: Iterable[Any], data: Any, *, strict: bool = False) -> Any:
        """``data`` through each of the `chosen` transforms, which change it or return a replacement."""
        for transform in self.chosen(names, strict=strict):
            changed = transform(data)
            data = data if changed is None else changed
        return data


def _called(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The assistant messages that call tools."""
    return [message for message in messages if message.get("role") == "assistant" and message.get("tool_calls")]


def null_blank_content(messages: list[dict[str, Any]]) -> None:
    """Blank content beside tool calls becomes null."""
    for message in _called(messages):
        if not str(message.get("content") or "").strip():
            message["content"] = None


def empty_reasoning_content(messages: list[dict[str, Any]]) -> None:
    """Assistant messages with tool calls get ``reasoning_content``, which DeepSeek wants back, if empty."""
    for message in _called(messages):
        message.setdefault("reasoning_content", "")


def skip_signature_validator(messages: list[dict[str, Any]]) -> None:
    """Calls without a thought signature get the one that tells Gemini not to look for it."""
    for message in _called(messages):
        for call in message["tool_calls"]:
            if isinstance(call, dict):
                call.setdefault("signature", SKIP_VALIDATOR)


def function_call_to_tool_calls(message: dict[str, Any]) -> None:
    """The old ``function_call`` becomes one tool call, ``call_1``."""
    function = message.get("function_call")
    if isinstance(function, Mapping):
        del message["function_call"]
        if not message.get("tool_calls"):
            message["tool_calls"] = [{"id": "call_1", "type": "function", "function": dict(function)}]


def single_call_to_list(message: dict[str, Any]) -> None:
    """A single call where a list belongs becomes a list of one."""
    if isinstance(message.get("tool_calls"), Mapping):
        message["tool_calls"] = [message["tool_calls"]]


def object_arguments_to_text(message: dict[str, Any]) -> None:
    """Arguments given as an object become JSON text."""
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, dict) and isinstance(function.get("arguments"), Mapping):
            function["arguments"] = json.dumps(function["arguments"], ensure_ascii=False)


def blank_arguments_to_object(calls: list[dict[str, Any]]) -> None:
    """Blank arguments become ``{}``."""
    for call in calls:
        function = call.get("function")
        if isinstance(function, dict) and isinstance(function.get("arguments"), str):
            function["arguments"] = function["arguments"] if function["arguments"].strip() else "{}"


def strip_descriptions(tools: list[dict[str, Any]]) -> None:
    """Function descriptions go, to save tokens."""
    for tool in tools:
        if isinstance(tool.get("function"), dict):
            tool["function"].pop("description", None)


def compact_envelope(envelope: dict[str, Any]) -> dict[str, Any]:
    """Empty data, warnings and errors go, to save tokens."""
    return {k: v for k, v in envelope.items() if v or k not in {"data", "warnings", "errors"}}


MESSAGE_TRANSFORMS: Final = TransformRegistry(
    "message",
    {
        "assistant_tool_calls_content_null_if_blank": null_blank_content,
        "assistant_tool_calls_reasoning_content_empty_if_missing": empty_reasoning_content,
        "assistant_tool_calls_signature_skip_validator_if_missing": skip_signature_validator,
    },
)
RESPONSE_TRANSFORMS: Final = TransformRegistry(
    "response",
    {
        "assistant_function_call_to_tool_calls": function_call_to_tool_calls,
        "assistant_tool_calls_object_to_array": single_call_to_list,
        "assistant_tool_calls_arguments_json_string_if_hash": object_arguments_to_text,
        "assistant_content_tool_call_tags_to_tool_calls": take_tag_calls,
    },
)
TOOL_TRANSFORMS: Final = TransformRegistry("tool", {"openai_tools_strip_function_descriptions": strip_descriptions})
TOOL_CALL_TRANSFORMS: Final = TransformRegistry(
    "tool call", {"assistant_tool_calls_arguments_blank_to_empty_object": blank_arguments_to_object}
)
TOOL_RESULT_TRANSFORMS: Final = TransformRegistry("tool result", {"tool_result_compact_envelope": compact_envelope})
