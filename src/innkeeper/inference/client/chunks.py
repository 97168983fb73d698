"""ChatFold: the pieces of a streamed chat completion, put together as the answer that would have come whole.

Providers differ in what they repeat: tool call ids and names come once or with every piece, arguments as text, ``null`` or
not at all, usage in a last chunk without choices or beside the finish. The fold takes them all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.inference.errors import MAX_TOOL_CALLS

_TEXTS: Final = ("content", "reasoning", "reasoning_content", "refusal")
_APART: Final = frozenset({"object", "choices", "usage", "obfuscation"})
_DELTA: Final = frozenset({*_TEXTS, "role", "tool_calls", "function_call"})
_CHOICE: Final = frozenset({"index", "delta", "message", "finish_reason", "logprobs"})


class _Choice:
    """One alternative as far as it has come."""

    def __init__(self) -> None:
        self.role = "assistant"
        self.texts: dict[str, list[str]] = {}
        self.calls: dict[int, dict[str, Any]] = {}
        self.extra: dict[str, Any] = {}
        self.beside: dict[str, Any] = {}
        self.finish_reason: str | None = None

    def take(self, choice: Mapping[str, Any]) -> str:
        delta = choice.get("delta")
        added = self._delta(delta) if isinstance(delta, Mapping) else ""
        if isinstance(choice.get("finish_reason"), str):
            self.finish_reason = choice["finish_reason"]
        _keep(self.beside, {name: value for name, value in choice.items() if name not in _CHOICE})
        if isinstance(choice.get("logprobs"), Mapping):
            _keep(self.beside.setdefault("logprobs", {}), choice["logprobs"])
        return added

    def _delta(self, delta: Mapping[str, Any]) -> str:
        if isinstance(delta.get("role"), str):
            self.role = delta["role"]
        texts = {name: text_of(delta.get(name)) for name in _TEXTS}
        for name, text in texts.items():
            if text:
                self.texts.setdefault(name, []).append(text)
        calls = delta.get("tool_calls")
        for place, call in enumerate(calls if isinstance(calls, list) else ()):
            if isinstance(call, Mapping):
                self._call(call, place)
        _keep(self.extra, {name: value for name, value in delta.items() if name not in _DELTA})
        if isinstance(delta.get("function_call"), Mapping):
            _grow(self.extra.setdefault("function_call", {"name": "", "arguments": ""}), delta["function_call"])
        return texts["content"]

    def _call(self, piece: Mapping[str, Any], place: int) -> None:
        index = piece.get("index")
        key = index if isinstance(index, int) else self._unnumbered(piece, place)
        if key not in self.calls and len(self.calls) >= MAX_TOOL_CALLS:
            return
        call = self.calls.setdefault(key, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
        call["id"] = call["id"] or piece.get("id") or ""
        call |= {name: value for name, value in piece.items() if name not in {"index", "id", "type", "function"}}
        if isinstance(piece.get("function"), Mapping):
            _grow(call["function"], piece["function"])

    def _unnumbered(self, piece: Mapping[str, Any], place: int) -> int:
        """The number of a call that has none: that of its id, else a new one for a new id, else its place."""
        known = {call["id"]: index for index, call in self.calls.items() if call["id"]}
        if piece.get("id"):
            return known.get(piece["id"], max(self.calls, default=-1) + 1)
        return max(place, max(self.calls, default=0))

    def message(self) -> dict[str, Any]:
        """The message so far, its texts whole; ``content`` is null beside tool calls when there was no text."""
        texts = {name: whole_text("".join(pieces)) for name, pieces in self.texts.items()}
        calls = [self.calls[index] for index in sorted(self.calls)]
        content = texts.pop("content", None if calls else "")
        called = {"tool_calls": calls} if calls else {}
        return {"role": self.role, "content": content, **texts, **called, **self.extra}


def _keep(kept: dict[str, Any], new: Mapping[str, Any]) -> None:
    """Keep what has no rule of its own: lists grow, of anything else the last that is not null counts."""
    for name, value in new.items():
        if isinstance(value, list) and isinstance(kept.get(name), list):
            kept[name].extend(value)
        elif value is not None:
            kept[name] = list(value) if isinstance(value, list) else value


def _grow(function: dict[str, Any], piece: Mapping[str, Any]) -> None:
    """Add a piece of a call: the name where there is none yet, arguments at the end (whole where they are an object)."""
    name, arguments = piece.get("name"), piece.get("arguments")
    if isinstance(name, str) and not function["name"]:
        function["name"] = name
    if isinstance(arguments, str) and isinstance(function["arguments"], str):
        function["arguments"] += arguments
    elif isinstance(arguments, Mapping):
        function["arguments"] = dict(arguments)


def text_of(content: Any) -> str:
    """The text of a message's content: itself, or its text parts joined; nothing for anything else."""
    if isinstance(content, str):
        return content
    parts = [part for part in (content if isinstance(content, list) else ()) if isinstance(part, Mapping)]
    return "".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def whole_text(text: str) -> str:
    """``text`` with surrogate halves joined to the characters they were cut from; halves left over become U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def whole_texts(value: Any) -> Any:
    """JSON data with `whole_text` for each text in it, keys too."""
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, dict):
        return {whole_text(key): whole_texts(item) for key, item in value.items()}
    return [whole_texts(item) for item in value] if isinstance(value, list) else value


class ChatFold:
    """Take chunks one by one; ask for the text each added, and at the end for the whole body."""

    def __init__(self) -> None:
        self._top: dict[str, Any] = {}
        self._choices: dict[int, _Choice] = {}
        self._shown: list[str] = []
        self._half = ""
        self.usage: Mapping[str, Any] | None = None

    def take(self, chunk: Mapping[str, Any]) -> str:
        """The text that this chunk adds to choice 0. Unknown fields and odd shapes are passed over.

        Half a character (a provider may cut between two surrogates) waits for its other half.
        """
        _keep(self._top, {name: value for name, value in chunk.items() if name not in _APART})
        if isinstance(chunk.get("usage"), Mapping):
            self.usage = chunk["usage"]
        choices = chunk.get("choices")
        added = self._half + "".join(self._choice(choice) for choice in (choices if isinstance(choices, list) else ()))
        self._half = added[-1] if added and "\ud800" <= added[-1] <= "\udbff" else ""
        return self._show(added[: len(added) - len(self._half)])

    def end(self) -> str:
        """The text held back for a half that never came."""
        added, self._half = self._half, ""
        return self._show(added)

    def _show(self, text: str) -> str:
        text = whole_text(text)
        self._shown.append(text)
        return text

    def _choice(self, choice: Any) -> str:
        if not isinstance(choice, Mapping):
            return ""
        index = choice.get("index")
        index = index if isinstance(index, int) else 0
        added = self._choices.setdefault(index, _Choice()).take(choice)
        return added if index == 0 else ""

    @property
    def text(self) -> str:
        """The text of choice 0 that `take` has given so far."""
        return "".join(self._shown)

    @property
    def finish_reason(self) -> str | None:
        """Why choice 0 ended, once it has."""
        return self._choices[0].finish_reason if 0 in self._choices else None

    def body(self) -> dict[str, Any]:
        """The whole answer in the shape of an unstreamed chat completion."""
        choices = [
            {"index": index, "message": choice.message(), "finish_reason": choice.finish_reason, **choice.beside}
            for index, choice in sorted(self._choices.items())
        ]
        usage = {} if self.usage is None else {"usage": dict(self.usage)}
        return {"object": "chat.completion", **self._top, "choices": choices, **usage}


def chunk_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """An unstreamed completion as the one chunk it would have been."""
    choices = body.get("choices")
    parts = [choice for choice in (choices if isinstance(choices, list) else ()) if isinstance(choice, Mapping)]
    return {
        **body,
        "object": "chat.completion.chunk",
        "choices": [
            {**{k: v for k, v in part.items() if k != "message"}, "delta": part.get("message")} for part in parts
        ],
    }
