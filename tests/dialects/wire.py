"""Reads provider request bodies back into neutral messages, tools and options: the other way round, for tests only."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from innkeeper.prompt import Message, Tool

__all__ = ["READERS", "Request", "canonical", "read"]

META: Final = ("model", "messages", "input", "instructions", "system", "contents", "systemInstruction", "tools")


SHARED_OPTIONS: Final = {"temperature": "temperature", "stream": "stream", "tool_choice": "tool_choice"}
OWN_OPTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "openai": {
        "max_completion_tokens": "max_tokens",
        "response_format": "response_format",
        "stream_options": "stream_options",
        "n": "n",
    },
    "openrouter": {"reasoning.effort": "reasoning_effort", "stream_options": "stream_options", "n": "n"},
    "responses": {"reasoning.effort": "reasoning_effort", "text.verbosity": "verbosity", "include": "include"},
    "anthropic": {"max_tokens": "max_tokens", "top_k": "top_k", "thinking": "thinking"},
    "gemini": {
        "generationConfig.temperature": "temperature",
        "generationConfig.maxOutputTokens": "max_tokens",
        "generationConfig.responseMimeType": "response_type",
        "generationConfig.responseJsonSchema": "response_schema",
        "generationConfig.responseModalities": "modalities",
        "generationConfig.thinkingConfig": "thinking",
        "safetySettings": "safety_settings",
    },
}
"""How recorded bodies spell options that have a neutral name: path -> name."""


@dataclass(frozen=True)
class Request:
    """One request in neutral terms."""

    messages: tuple[Message, ...]
    model: str | None
    tools: tuple[Tool, ...]
    options: dict[str, Any]


def read(dialect: str, body: dict[str, Any]) -> Request:
    """The request that a body says. Options that are no function tools or messages go under ``extra``."""
    messages = tuple(READERS[dialect](body))
    tools, native = _tools(body.get("tools") or [])
    rest = {key: value for key, value in body.items() if key not in META}
    options = _neutral(dialect, rest)
    options["extra"] = {**rest, **({"tools": native} if native else {})}
    return Request(messages, body.get("model"), tools, options)


def _neutral(dialect: str, rest: dict[str, Any]) -> dict[str, Any]:
    """The options that have a neutral name, taken out of ``rest``."""
    options = {
        neutral: _taken(rest, *native.split("."))
        for native, neutral in {**SHARED_OPTIONS, **OWN_OPTIONS[dialect]}.items()
        if _has(rest, *native.split("."))
    }
    if "response_schema" in options:
        options.pop("response_type", None)
        options["response_format"] = {"type": "json_schema", "schema": options.pop("response_schema")}
    elif options.pop("response_type", None):
        options["response_format"] = "json_object"
    return {name: value for name, value in options.items() if value is not None}


def _has(data: Any, *path: str) -> bool:
    for key in path:
        if not isinstance(data, dict) or key not in data:
            return False
        data = data[key]
    return True


def _taken(data: dict[str, Any], *path: str) -> Any:
    for key in path[:-1]:
        data = data[key]
    return data.pop(path[-1])


def _tools(found: list[dict[str, Any]]) -> tuple[tuple[Tool, ...], list[dict[str, Any]]]:
    functions = []
    for tool in found:
        declared = tool.get("functionDeclarations") or [tool.get("function", tool)]
        for each in declared:
            schema = next(
                (each[key] for key in ("parameters", "input_schema", "parameters_json_schema") if key in each), None
            )
            if schema is None or tool.get("type", "function") != "function":
                return (), found
            functions.append(Tool(each["name"], each.get("description") or "", schema, each.get("strict")))
    return tuple(functions), []


def _openai(body: dict[str, Any]) -> Iterator[Message]:
    for message in body["messages"]:
        yield Message.of({"content": "", **message})


def _responses(body: dict[str, Any]) -> Iterator[Message]:
    if body.get("instructions"):
        yield Message("system", body["instructions"])
    answer: dict[str, Any] = {}
    for item in body["input"]:
        kind = item.get("type", "message")
        if kind == "message" and item["role"] != "assistant":
            yield from _said(answer)
            yield Message.of(item)
        elif kind == "function_call_output":
            yield from _said(answer)
            yield Message.of({"role": "tool", "content": item["output"], "tool_call_id": item["call_id"]})
        elif kind == "message":
            yield from _said(answer)
            answer["content"] = item["content"]
        elif kind == "reasoning":
            yield from _said(answer)
            answer.setdefault("reasoning", []).append({key: item[key] for key in item if key != "type"})
        else:
            function = {"name": item["name"], "arguments": item["arguments"]}
            call = {"id": item["call_id"], "item_id": item.get("id"), "type": "function", "function": function}
            answer.setdefault("tool_calls", []).append(call)
    yield from _said(answer)


def _said(answer: dict[str, Any]) -> Iterator[Message]:
    """The assistant message gathered so far, if any."""
    if answer:
        yield Message.of({"role": "assistant", "content": "", **answer})
        answer.clear()


def _anthropic(body: dict[str, Any]) -> Iterator[Message]:
    for text in _texts(body.get("system") or []):
        yield Message("system", text)
    for message in body["messages"]:
        fields: dict[str, Any] = {"role": message["role"], "content": [], "attachments": []}
        for block in _blocks(message["content"]):
            match block["type"]:
                case "text":
                    fields["content"].append(block["text"])
                case "thinking":
                    thought = {"text": block["thinking"], "signature": block["signature"]}
                    fields.setdefault("reasoning", []).append(thought)
                case "tool_use":
                    call = {"id": block["id"], "name": block["name"], "arguments": block["input"]}
                    fields.setdefault("tool_calls", []).append(call)
                case "tool_result":
                    yield Message.of(
                        {"role": "tool", "content": block["content"], "tool_call_id": block["tool_use_id"]}
                    )
                case "image":
                    source = block["source"]
                    media = {"kind": "image", "data": source["data"], "media_type": source["media_type"]}
                    fields["attachments"].append(media)
        if len(fields) > 3 or fields["content"] or fields["attachments"]:
            yield Message.of(fields)


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _texts(system: Any) -> list[str]:
    return [system] if isinstance(system, str) else [block["text"] for block in system]


def _gemini(body: dict[str, Any]) -> Iterator[Message]:
    for part in body.get("systemInstruction", {}).get("parts", []):
        yield Message("system", part["text"])
    for content in body["contents"]:
        role = "assistant" if content["role"] == "model" else "user"
        fields: dict[str, Any] = {"role": role, "content": []}
        for part in content["parts"]:
            if "functionResponse" in part:
                found = part["functionResponse"]
                text = json.dumps(found["response"])
                yield Message.of({"role": "tool", "content": text, "name": found["name"], "tool_call_id": found["id"]})
            elif "functionCall" in part:
                found = part["functionCall"]
                call = {"id": found["id"], "name": found["name"], "arguments": found["args"]}
                call["signature"] = part.get("thoughtSignature")
                fields.setdefault("tool_calls", []).append(call)
            else:
                fields["content"].append(part["text"])
        if len(fields) > 2 or fields["content"]:
            yield Message.of(fields)


READERS: Final[Mapping[str, Callable[[dict[str, Any]], Iterator[Message]]]] = {
    "openai": _openai,
    "openrouter": _openai,
    "responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
}

SAME: Final = {"systemInstruction": "system_instruction", "parameters_json_schema": "parametersJsonSchema"}
"""Two spellings of one protocol buffer field, both of which the API takes."""


NOTHING: Final[tuple[tuple[str, Any], ...]] = (
    ("description", ""),
    ("instructions", ""),
    ("is_error", False),
    ("generationConfig", {}),
    ("reasoning", {}),
)


def canonical(value: Any, key: str = "") -> Any:
    """A body without what means nothing: nulls, empty descriptions and instructions, ``is_error: false``, one spelling a field.

    An answer that only calls tools may have no content, null, or an empty text; an assistant item without text may be left
    out of a Responses input; a system text may be one block or plain text.
    """
    if isinstance(value, list):
        items = [canonical(item) for item in value]
        return [item for item in items if item != {"role": "assistant", "content": ""}] if key == "input" else items
    if not isinstance(value, dict):
        return value
    made = {SAME.get(name, name): canonical(item, name) for name, item in value.items() if item is not None}
    for name, nothing in NOTHING:
        if made.get(name, ...) == nothing:
            del made[name]
    if "tool_calls" in made and not made.get("content"):
        made.pop("content", None)
    if key == "systemInstruction":
        made.pop("role", None)
    if "parameters" in made and "name" in made and "type" not in made:
        made["parametersJsonSchema"] = made.pop("parameters")
    if isinstance(made.get("system"), list) and len(made["system"]) == 1:
        made["system"] = made["system"][0]["text"]
    return made
