"""text-completion: one text goes on. OpenAI's ``/v1/completions``, and two that servers have of their own.

`TextCompletion` is OpenAI's shape, as vLLM, llama.cpp, KoboldCpp, TabbyAPI and others answer it. `LlamaCppCompletion` is
llama.cpp's ``/completion``, `KoboldCpp` KoboldCpp's ``/api/v1/generate``; both take further fields and tell more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from innkeeper.inference.adapters.adapter import Adapter, Reading, count, mapping, mappings, text
from innkeeper.inference.adapters.openai_chat import FINISH, usage_of
from innkeeper.inference.errors import DecodeError
from innkeeper.inference.response.events import Finished, ModelEvent, TextDelta, UsageReport
from innkeeper.inference.response.response import Usage
from innkeeper.prompt.data import FrozenDict, freeze

_Data: TypeAlias = Mapping[str, Any]
_Events: TypeAlias = Iterator[ModelEvent]


class TextCompletion(Adapter):
    """Completions as OpenAI has them."""

    name = "text-completion"
    dialect = "text"
    base_url = "http://localhost:8000"
    endpoint = "/completions"
    ignored = frozenset({"object", "created", "index"})

    def body(self, body: _Data, *, stream: bool) -> dict[str, Any]:
        """With a stream, usage is asked for unless the body says otherwise."""
        if not stream:
            return dict(body)
        return {**body, "stream": True, "stream_options": {"include_usage": True, **(body.get("stream_options") or {})}}

    def reading(self) -> Reading:
        """Reads one answer."""
        return _Completion()


_TOP: Final = TextCompletion.ignored | {"id", "model", "choices", "error"}
_CHOICE: Final = TextCompletion.ignored | {"text", "finish_reason", "logprobs"}


class _Completion(Reading):
    def whole(self, body: _Data) -> _Events:
        if not mappings(body.get("choices")):
            msg = "the provider's answer has no text (choices[0].text)"
            raise DecodeError(msg, hint="is this a text completions endpoint?")
        yield from self.chunk(body, "message")
        yield from self.end(marked=True)

    def chunk(self, data: _Data, kind: str) -> _Events:
        yield from self.started(data.get("id"), data.get("model"), self.facts(data, _TOP))
        for choice in mappings(data.get("choices")):
            if not choice.get("index"):
                yield from self._choice(choice)
        if isinstance(data.get("usage"), Mapping):
            yield UsageReport(usage=usage_of(data["usage"]))

    def end(self, *, marked: bool) -> _Events:
        """An answer that is marked as whole without a reason has ended by itself."""
        if marked and not self.finished:
            self.finished = True
            yield Finished(reason="stop")

    def _choice(self, choice: _Data) -> _Events:
        self.has_message = True
        logprobs = _logprobs(choice.get("logprobs"))
        if (written := text(choice.get("text"))) or logprobs:
            yield TextDelta(text=written, logprobs=logprobs)
        yield from self.started(facts=self.facts(choice, _CHOICE))
        if why := text(choice.get("finish_reason")):
            self.finished = True
            yield Finished(reason=FINISH.get(why, "stop"), word=why)


def _logprobs(logprobs: Any) -> tuple[FrozenDict, ...]:
    """One object a token: the old shape has a list for each field, the new one is that of chat completions."""
    if not isinstance(logprobs, Mapping):
        return ()
    if "content" in logprobs:
        return tuple(map(freeze, mappings(logprobs["content"])))
    tokens = logprobs.get("tokens")
    if not isinstance(tokens, list):
        return ()
    lists = {name: logprobs[field] for name, field in _COLUMNS.items() if isinstance(logprobs.get(field), list)}
    rows = ({name: row[at] for name, row in lists.items() if at < len(row)} for at in range(len(tokens)))
    return tuple(map(freeze, rows))


_COLUMNS: Final = {
    "token": "tokens",
    "logprob": "token_logprobs",
    "top_logprobs": "top_logprobs",
    "text_offset": "text_offset",
}


class LlamaCppCompletion(Adapter):
    """llama.cpp's ``/completion``."""

    name = "llamacpp-completion"
    dialect = "llamacpp"
    base_url = "http://localhost:8080"
    endpoint = "/completion"
    prefix = ""
    ignored = frozenset({"index", "id_slot", "prompt", "generation_settings", "tokens", "stop", "has_new_line"})

    def reading(self) -> Reading:
        """Reads one answer."""
        return _LlamaCpp()


_LLAMACPP: Final = LlamaCppCompletion.ignored | {"content", "model", "completion_probabilities", "error"}


class _LlamaCpp(Reading):
    def whole(self, body: _Data) -> _Events:
        if not isinstance(body.get("content"), str):
            msg = "the provider's answer has no text (content)"
            raise DecodeError(msg, hint="is this llama.cpp's /completion?")
        yield from self.chunk({"stop": True, **body}, "message")

    def chunk(self, data: _Data, kind: str) -> _Events:
        logprobs = tuple(map(freeze, mappings(data.get("completion_probabilities"))))
        if (content := text(data.get("content"))) or logprobs:
            yield TextDelta(text=content, logprobs=logprobs)
        if not data.get("stop"):
            return
        self.finished = True
        yield from self.started(None, data.get("model"), self.facts(data, _LLAMACPP))
        cached = count(mapping(data.get("timings")).get("cache_n"))
        read, written = count(data.get("tokens_evaluated")), count(data.get("tokens_predicted"))
        yield UsageReport(usage=Usage(input_tokens=read, output_tokens=written, cached_tokens=cached))
        why = text(data.get("stop_type")) or ("limit" if data.get("stopped_limit") else "")
        yield Finished(reason="length" if why == "limit" else "stop", word=why)


class KoboldCpp(Adapter):
    """KoboldCpp's ``/api/v1/generate``, and ``/api/extra/generate/stream``."""

    name = "koboldcpp"
    dialect = "koboldcpp"
    base_url = "http://localhost:5001"
    prefix = "/api"
    ignored = frozenset()

    def path(self, model: str, *, stream: bool) -> str:
        """Streams have an address of their own."""
        return "/extra/generate/stream" if stream else "/v1/generate"

    def body(self, body: _Data, *, stream: bool) -> dict[str, Any]:
        """As it is: the address asks for a stream."""
        return dict(body)

    def reading(self) -> Reading:
        """Reads one answer."""
        return _KoboldCpp()


_KOBOLD: Final = frozenset({"token", "text", "finish_reason", "logprobs", "prompt_tokens", "completion_tokens"})


class _KoboldCpp(Reading):
    def whole(self, body: _Data) -> _Events:
        results = mappings(body.get("results"))
        if not results:
            msg = "the provider's answer has no text (results[0].text)"
            raise DecodeError(msg, hint="is this KoboldCpp's /api/v1/generate?")
        yield from self.chunk({**results[0], "token": results[0].get("text")}, "message")
        yield from self.end(marked=True)

    def chunk(self, data: _Data, kind: str) -> _Events:
        yield from self.started(facts=self.facts(data, _KOBOLD))
        logprobs = _logprobs(data.get("logprobs"))
        if (token := text(data.get("token"))) or logprobs:
            yield TextDelta(text=token, logprobs=logprobs)
        read, written = count(data.get("prompt_tokens")), count(data.get("completion_tokens"))
        if read is not None or written is not None:
            yield UsageReport(usage=Usage(input_tokens=read, output_tokens=written))
        why = text(data.get("finish_reason"))
        if why and why != "null":
            self.finished = True
            yield Finished(reason=FINISH.get(why, "stop"), word=why)

    def end(self, *, marked: bool) -> _Events:
        """An answer that came at once has ended, with a reason or without."""
        if marked and not self.finished:
            self.finished = True
            yield Finished(reason="stop")
