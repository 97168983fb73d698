"""gemini-generateContent: ``POST /v1beta/models/MODEL:generateContent``, and ``:streamGenerateContent?alt=sse``.

Each piece of a stream has the shape of a whole answer. Usage is told with each piece; here ``output_tokens`` includes thoughts,
and ``input_tokens`` what the provider's own tools read, so that both make up the total. A prompt or an answer that the
provider's filter stops ends with ``content_filter``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias
from urllib.parse import quote

from innkeeper.inference.adapters.adapter import (
    Adapter,
    Reading,
    arguments_text,
    count,
    mapping,
    mappings,
    others,
    text,
    total,
)
from innkeeper.inference.errors import DecodeError
from innkeeper.inference.response.events import (
    CallDelta,
    Finished,
    ModelEvent,
    OtherOutput,
    ReasoningDelta,
    TextDelta,
    UsageReport,
)
from innkeeper.inference.response.response import FinishReason, Usage
from innkeeper.prompt.data import freeze

_Data: TypeAlias = Mapping[str, Any]
_Events: TypeAlias = Iterator[ModelEvent]


class Gemini(Adapter):
    """Content of Google's models."""

    name = "gemini-generateContent"
    dialect = "gemini"
    base_url = "https://generativelanguage.googleapis.com"
    prefix = "/v1beta"
    ignored = frozenset({"role", "index", "createTime"})

    def headers(self, key: str) -> dict[str, str]:
        """``x-goog-api-key``."""
        return {"x-goog-api-key": key} if key else {}

    def path(self, model: str, *, stream: bool) -> str:
        """``/models/MODEL:generateContent``; models that were tuned say ``tunedModels/NAME``."""
        kind, sign, name = model.rpartition("/")
        room = kind if sign and kind == "tunedModels" else "models"
        name = name if kind in ("models", "tunedModels") else model
        verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
        return f"/{room}/{quote(name, safe='')}:{verb}"

    def body(self, body: _Data, *, stream: bool) -> dict[str, Any]:
        """As it is: the address asks for a stream."""
        return dict(body)

    def reading(self) -> Reading:
        """Reads one answer."""
        return _GeminiReading()


_TOP: Final = Gemini.ignored | {"responseId", "modelVersion", "candidates", "error"}
_CANDIDATE: Final = Gemini.ignored | {"content", "finishReason"}
_BESIDE: Final = frozenset({"text", "thought", "thoughtSignature"})


class _GeminiReading(Reading):
    def __init__(self) -> None:
        self._calls = 0
        self._signature: str | None = None

    def whole(self, body: _Data) -> _Events:
        if not (mappings(body.get("candidates")) or "promptFeedback" in body):
            msg = "the provider's answer has no candidates"
            raise DecodeError(msg, hint="is this a generateContent endpoint?")
        yield from self.chunk(body, "message")

    def chunk(self, data: _Data, kind: str) -> _Events:
        yield from self.started(data.get("responseId"), data.get("modelVersion"), self.facts(data, _TOP))
        if isinstance(data.get("usageMetadata"), Mapping):
            yield UsageReport(usage=gemini_usage(data["usageMetadata"]))
        for candidate in mappings(data.get("candidates")):
            if not candidate.get("index"):
                yield from self._candidate(candidate)
        if word := text(mapping(data.get("promptFeedback")).get("blockReason")):
            yield from self._finish("content_filter", word)

    def _candidate(self, candidate: _Data) -> _Events:
        for part in mappings(mapping(candidate.get("content")).get("parts")):
            yield from self._part(part)
        yield from self.started(facts=self.facts(candidate, _CANDIDATE))
        if ending := text(candidate.get("finishReason")):
            reason = _FINISH.get(ending, "error")
            yield from self._finish("tool_calls" if reason == "stop" and self._calls else reason, ending)

    def _finish(self, reason: FinishReason, word: str) -> _Events:
        """The end; before it the signature that stood beside a text: it goes back with the answer as a whole."""
        self.finished = True
        if self._signature is not None:
            yield ReasoningDelta(signature=self._signature)
            self._signature = None
        yield Finished(reason=reason, word=word)

    def _part(self, part: _Data) -> _Events:
        signature, written = text(part.get("thoughtSignature")) or None, text(part.get("text"))
        if isinstance(part.get("functionCall"), Mapping):
            yield self._call(part["functionCall"], signature)
        elif part.get("thought"):
            yield ReasoningDelta(text=written, summary=True, signature=signature)
        else:
            self._signature = signature or self._signature
            if written:
                yield TextDelta(text=written)
        rest = others(part, _BESIDE | {"functionCall"})
        if rest:
            yield OtherOutput(item=freeze({"type": next(iter(rest)), **rest}))

    def _call(self, call: _Data, signature: str | None) -> CallDelta:
        self._calls += 1
        return CallDelta(
            index=self._calls - 1,
            call_id=text(call.get("id")),
            name=text(call.get("name")),
            arguments=arguments_text(call.get("args") or {}),
            signature=signature,
        )


_FINISH: Final[Mapping[str, FinishReason]] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    **dict.fromkeys(
        (
            *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR"),
            *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
        ),
        "content_filter",
    ),
}
"""What is not here (a call that is not well formed, and others) is an error."""


def gemini_usage(usage: _Data) -> Usage:
    """Tokens as Google counts them."""
    thoughts = count(usage.get("thoughtsTokenCount"))
    return Usage(
        input_tokens=total(count(usage.get("promptTokenCount")), count(usage.get("toolUsePromptTokenCount"))),
        output_tokens=total(count(usage.get("candidatesTokenCount")), thoughts),
        total_tokens=count(usage.get("totalTokenCount")),
        cached_tokens=count(usage.get("cachedContentTokenCount")),
        reasoning_tokens=thoughts,
    )
