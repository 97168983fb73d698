"""Reading a Responses request: ``input`` as a text or as items; and an answer as the messages that the next request goes on from.

Items of one answer (thoughts, what was said, calls of tools) are one message of the assistant.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.inference.requests.request import (
    Fields,
    GenerationRequest,
    option_fields,
    read_message,
    read_tools,
    tool_choice,
)
from innkeeper.inference.response.response import ModelResponse, item_dict
from innkeeper.inference.response.views.view import is_own_id
from innkeeper.prompt.data import freeze
from innkeeper.prompt.errors import UnsupportedError, UsageError, Where
from innkeeper.prompt.message import Message

_OPTIONS: Final = (
    *("temperature", "top_p", "top_k", "seed", "frequency_penalty", "presence_penalty", "stop"),
    *("parallel_tool_calls", "top_logprobs", "service_tier"),
)
_ECHO: Final = (
    *("instructions", "max_output_tokens", "metadata", "parallel_tool_calls", "previous_response_id", "temperature"),
    *("text", "tool_choice", "tools", "top_p", "truncation", "user", "reasoning", "service_tier", "max_tool_calls"),
)


def read_responses(body: Mapping[str, Any]) -> GenerationRequest:
    """The request that a body of ``/v1/responses`` is. What came before (`previous_response_id`) is for the caller to add.

    Raises:
        UsageError: a field of the wrong type, or no input.
        UnsupportedError: an answer in the background, or an item by reference, which is for the caller to replace.
    """
    fields = Fields(body)
    echo = {name: body[name] for name in _ECHO if body.get(name) is not None}
    model, stream = fields.model(), bool(fields.flag("stream"))
    if fields.flag("background"):
        hint = "leave background out, or stream"
        raise UnsupportedError("answers in the background are not given", where=Where(path="background"), hint=hint)
    tools = read_tools(fields.items("tools"))
    messages = _input(fields.take("input"), fields.text("instructions"))
    user, metadata = fields.text("user"), fields.mapping("metadata")
    options = _options(fields) | ({} if user is None else {"user": user})
    return GenerationRequest(
        surface="openai-responses",
        model=model,
        messages=messages,
        options=freeze(options),
        **tools._asdict(),
        stream=stream,
        include_usage=True,
        user=user,
        metadata=freeze(metadata),
        previous_response_id=fields.text("previous_response_id"),
        store=fields.flag("store"),
        echo=freeze(echo),
        extra=fields.rest(),
    )


def _options(fields: Fields) -> dict[str, Any]:
    options = option_fields(fields, _OPTIONS)
    text, reasoning = fields.fields("text"), fields.fields("reasoning")
    chosen = {
        "max_tokens": fields.number("max_output_tokens"),
        "response_format": text.take("format"),
        "verbosity": text.take("verbosity"),
        "reasoning_effort": reasoning.take("effort"),
        "reasoning_summary": reasoning.take("summary"),
        "tool_choice": tool_choice(fields),
    }
    fields.restore("text", text.rest())
    fields.restore("reasoning", reasoning.rest())
    return options | {name: value for name, value in chosen.items() if value is not None}


def _input(value: Any, instructions: str | None) -> tuple[Message, ...]:
    top = (Message("system", instructions),) if instructions else ()
    if isinstance(value, str) and not value.strip():
        raise UsageError("input is empty", where=Where(path="input"), hint="send a text, or a list of items")
    if isinstance(value, str):
        return (*top, read_message({"role": "user", "content": value}, "input"))
    if not isinstance(value, list) or not value:
        raise UsageError("input must be a text or a list of items", where=Where(path="input"))
    return (*top, *items_messages(value))


def items_messages(items: list[Any], path: str = "input") -> tuple[Message, ...]:
    """The messages that items are. Raises `UsageError`, `UnsupportedError`."""
    reader = _Items()
    for index, item in enumerate(items):
        reader.take(item, f"{path}[{index}]")
    return tuple(reader.end())


def response_messages(response: ModelResponse) -> tuple[Message, ...]:
    """An answer as messages: what the next request of the same conversation has before its own input."""
    items = [item_dict(item) for item in response.output]
    own = [_unnamed(item) if is_own_id(str(item.get("id")), response.id) else item for item in items]
    return items_messages(own, "output")


def _unnamed(item: dict[str, Any]) -> dict[str, Any]:
    """An item without the id that it was given here, which no provider knows."""
    return {name: value for name, value in item.items() if name not in ("id", "status")}


class _Items:
    """Items as they come, and the message of the assistant that they are parts of."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._open: dict[str, Any] = {}

    def take(self, item: Any, path: str) -> None:
        if isinstance(item, str):
            item = {"role": "user", "content": item}
        if not isinstance(item, Mapping):
            raise UsageError("an item must be an object", where=Where(path=path))
        kind = item.get("type", "message")
        if kind in ("message", "text"):
            self._message({"role": "user", "content": [item]} if kind == "text" else item, path)
        elif kind == "reasoning":
            self._thought(item, path)
        elif kind == "function_call":
            self._call(item)
        elif kind == "function_call_output":
            self._result(item, path)
        elif kind == "item_reference":
            hint = "send the item itself, or previous_response_id"
            raise UnsupportedError("an item by reference is not read", where=Where(path=path), hint=hint)
        else:
            self._close()
            part = {"type": "other", "shape": "responses", "block": item}
            self._messages.append(read_message({"role": "assistant", "content": None, "parts": [part]}, path))

    def end(self) -> list[Message]:
        self._close()
        return self._messages

    def _message(self, item: Mapping[str, Any], path: str) -> None:
        fields = _message_fields(item)
        if fields["role"] != "assistant":
            self._close()
            self._messages.append(read_message(fields, path))
            return
        if self._open.keys() & {"content", "tool_calls"}:
            self._close()
        self._open |= fields

    def _thought(self, item: Mapping[str, Any], path: str) -> None:
        for name in ("summary", "content"):
            if not isinstance(item.get(name) or [], (list, tuple)):
                raise UsageError(f"{name} must be a list", where=Where(path=f"{path}.{name}"))
        if self._open.keys() & {"content", "tool_calls"}:
            self._close()
        self._open.setdefault("reasoning", []).append(_thought(item))

    def _call(self, item: Mapping[str, Any]) -> None:
        function = {"name": item.get("name"), "arguments": item.get("arguments", "")}
        call = {"id": item.get("call_id") or item.get("id"), "type": "function", "function": function}
        signed = {"signature": item["signature"]} if item.get("signature") else {}
        own = _own(item, "call_id", "name", "arguments", "signature")
        self._open.setdefault("tool_calls", []).append({**call, **signed, **({"item": own} if own else {})})

    def _result(self, item: Mapping[str, Any], path: str) -> None:
        self._close()
        fields = {"content": item.get("output"), "role": "tool"}
        if own := _own(item, "call_id", "output"):
            fields["item"] = own
        self._messages.append(read_message({**fields, "tool_call_id": item.get("call_id")}, path))

    def _close(self) -> None:
        if self._open:
            self._messages.append(read_message({"role": "assistant", "content": None, **self._open}, "input"))
        self._open = {}


def _message_fields(item: Mapping[str, Any]) -> dict[str, Any]:
    role = item.get("role") or "user"
    own = _own(item, "role", "content")
    if role in ("system", "developer"):
        own = {"type": "message", **own}  # it stays in its place, where instructions go to the top
    return {"role": role, "content": item.get("content"), **({"item": own} if own else {})}


def _own(item: Mapping[str, Any], *known: str) -> dict[str, Any]:
    """What an item says of itself."""
    return {name: value for name, value in item.items() if name not in ("type", *known) and value is not None}


def _thought(item: Mapping[str, Any]) -> dict[str, Any]:
    """Thoughts under the names that each provider's dialect looks for."""
    summary, content = item.get("summary") or [], item.get("content") or []
    sealed = item.get("encrypted_content")
    texts = [part.get("text") for part in (content or summary) if isinstance(part, Mapping)]
    text = "\n\n".join([text for text in texts if isinstance(text, str)])
    named = {"id": item.get("id"), "status": item.get("status"), "encrypted_content": sealed}
    fields = {**named, "summary": summary, "content": content}
    thought = {"text": text, "signature": sealed} if text else {"data": sealed}
    return {name: value for name, value in {**fields, **thought}.items() if value}
