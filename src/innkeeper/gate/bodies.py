"""Bodies: the texts of a provider's request, whatever its protocol is, named by where they enter.

What a model reads as text is read here too: system prompts, messages with the results of tools, a text to go on with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

_SYSTEM: Final = ("system", "instructions", "systemInstruction", "system_instruction", "preamble")
_SPOKEN: Final = ("messages", "contents", "input", "chat_history")
_WHOLE: Final = ("prompt", "inputs", "message", "text")
_SYSTEM_ROLES: Final = frozenset({"system", "developer"})
_USER: Final = "user"

_NO_TEXT: Final = frozenset(
    {
        "type",
        "role",
        "id",
        "name",
        "url",
        "image_url",
        "data",
        "media_type",
        "mime_type",
        "mimeType",
        "detail",
        "format",
    }
    | {"signature", "cache_control", "tool_call_id", "tool_use_id", "call_id", "inline_data", "inlineData", "status"}
)
"""Fields whose texts no model reads as words."""

_PLAIN: Final = _NO_TEXT | {"content", "source"}
"""The fields of a message that says nothing but its content; ``source`` is where a message of the gateway comes from."""


def texts_of_body(body: Any) -> dict[str, str]:
    """The texts of a request: ``system_prompt``, ``history`` and ``user_text``, with a number behind where there are several."""
    texts: dict[str, str] = {}
    if not isinstance(body, Mapping):
        return texts
    system = [_joined(body[name]) for name in _SYSTEM if name in body]
    messages = [message for name in _SPOKEN for message in _messages(body.get(name))]
    messages += [(_USER, _joined(body[name])) for name in _WHOLE if name in body]
    last = max((at for at, (role, _) in enumerate(messages) if role == _USER), default=-1)
    for at, (role, text) in enumerate(messages):
        if role in _SYSTEM_ROLES:
            system.append(text)
        elif text:
            texts["user_text" if at == last else f"history:{at}"] = text
    texts.update({f"system_prompt:{at}": text for at, text in enumerate(system) if text})
    return texts


def _messages(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield _USER, value
    elif isinstance(value, (list, tuple)):
        for item in value:
            if isinstance(item, Mapping):
                role, content = str(item.get("role") or ""), item.get("content")
                if isinstance(content, str) and item.keys() <= _PLAIN:  # most messages
                    yield role, content
                else:
                    yield role, _joined(item)
            elif isinstance(item, str):
                yield _USER, item


def _joined(value: Any) -> str:
    return "\n".join(leaves(value))


def texts_of_made(made: Any) -> dict[str, str]:
    """The texts of what an operation made: those of a request for a provider in it, or all there are."""
    body = made.get("body", made) if isinstance(made, Mapping) else made
    if texts := texts_of_body(body):
        return texts
    text = _joined(made)
    return {f"history:{at}": text[at : at + _PIECE] for at in range(0, len(text), _PIECE)}


_PIECE: Final = 1_000_000
"""Characters of a long text that are judged as one."""


def leaves(value: Any) -> Iterator[str]:
    """The texts in plain data, in their order; those of fields that name or point to something are left out."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            written = _NO_TEXT - {"data"} if item.get("type") == "text" else _NO_TEXT  # a document may be plain text
            waiting += [each for name, each in reversed(list(item.items())) if name not in written]
        elif isinstance(item, (list, tuple)):
            waiting += reversed(item)
