"""Answers as bytes, read by an adapter; and one answer in the words of each protocol, whole and streamed."""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from innkeeper.inference.adapters.decoding import AnswerDecoder
from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.inference.client.endpoint import Endpoint
from innkeeper.inference.response.events import ModelEvent
from innkeeper.inference.response.fold import response_of
from innkeeper.inference.response.response import ModelResponse

__all__ = ["ENDPOINT", "JSON", "LINES", "SAID", "SSE", "WIRES", "Said", "answer", "cut", "events", "sse"]

ENDPOINT = Endpoint.of({"base_url": "http://provider", "api_key": ""}, None)
JSON, SSE, LINES = "application/json", "text/event-stream", "application/x-ndjson"


def events(adapter: str, pieces: Sequence[bytes] | bytes, kind: str = JSON) -> list[ModelEvent]:
    """The events of an answer that comes in these pieces."""
    decoder = AnswerDecoder(ADAPTERS[adapter].reading(), ENDPOINT, 200, {"content-type": kind})
    given = [pieces] if isinstance(pieces, bytes) else pieces
    found = [event for piece in given for event in decoder.feed(piece)]
    return [*found, *decoder.close()]


def answer(adapter: str, pieces: Sequence[bytes] | bytes, kind: str = JSON) -> ModelResponse:
    """The response that an answer is."""
    return response_of(events(adapter, pieces, kind), response_id="resp_1", model="m", created=0)


def cut(raw: bytes, places: Sequence[int]) -> list[bytes]:
    """``raw`` in pieces, cut at these places."""
    edges = sorted({0, len(raw), *(place % (len(raw) + 1) for place in places)})
    return [raw[start:end] for start, end in itertools.pairwise(edges)]


def sse(*data: Any, named: bool = False, done: bool = False) -> bytes:
    """Server-sent events; ``named`` gives each the type that its data has."""
    heads = [f"event: {one['type']}\n" if named else "" for one in data]
    told = [f"{head}data: {json.dumps(one)}\n\n" for head, one in zip(heads, data, strict=True)]
    return "".join([*told, *(["data: [DONE]\n\n"] if done else [])]).encode()


@dataclass(frozen=True)
class Said:
    """One answer, whatever the protocol: texts and thoughts in pieces, calls as (id, name, arguments)."""

    text: tuple[str, ...] = ("It is late.",)
    thoughts: tuple[str, ...] = ()
    calls: tuple[tuple[str, str, dict[str, Any]], ...] = ()
    usage: tuple[int, int] = (7, 3)
    length: bool = False


_TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12), max_size=3).map(tuple)
_CALLS = st.lists(
    st.tuples(
        st.just(""),
        st.sampled_from(["add", "look_up", "größe"]),
        st.dictionaries(st.text("abcé", min_size=1, max_size=3), st.integers(-9, 9) | st.text(max_size=4), max_size=2),
    ),
    max_size=3,
).map(lambda calls: tuple((f"call_{number}", name, given) for number, (_, name, given) in enumerate(calls)))
SAID = st.builds(
    Said, text=_TEXTS, thoughts=_TEXTS, calls=_CALLS, usage=st.tuples(st.integers(0, 99), st.integers(0, 99))
)
"""Answers of every shape."""


@dataclass(frozen=True)
class Wire:
    """How one protocol writes an answer. ``thinks`` and ``calls``: whether it has thoughts, and calls."""

    adapter: str
    whole: Any
    stream: Any
    kind: str = SSE
    thinks: bool = True
    calls: bool = True

    def fit(self, said: Said) -> Said:
        """What of an answer the protocol can say."""
        return Said(
            said.text,
            said.thoughts if self.thinks else (),
            said.calls if self.calls else (),
            said.usage,
            said.length,
        )


def _chat_usage(said: Said) -> dict[str, Any]:
    read, written = said.usage
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _chat_reason(said: Said) -> str:
    return "length" if said.length else "tool_calls" if said.calls else "stop"


def _chat_calls(said: Said) -> list[dict[str, Any]]:
    return [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        for call_id, name, given in said.calls
    ]


def _chat_whole(said: Said) -> bytes:
    message: dict[str, Any] = {"role": "assistant", "content": "".join(said.text) or None}
    message |= {"reasoning_content": "".join(said.thoughts)} if said.thoughts else {}
    message |= {"tool_calls": _chat_calls(said)} if said.calls else {}
    choice = {"index": 0, "message": message, "finish_reason": _chat_reason(said)}
    return json.dumps({"id": "a", "model": "real", "choices": [choice], "usage": _chat_usage(said)}).encode()


def _chat_stream(said: Said) -> bytes:
    deltas: list[dict[str, Any]] = [{"reasoning_content": text} for text in said.thoughts]
    deltas += [{"content": text} for text in said.text]
    for number, call in enumerate(_chat_calls(said)):
        function = call["function"]
        half = len(function["arguments"]) // 2
        deltas.append({"tool_calls": [{"index": number, **call, "function": {**function, "arguments": ""}}]})
        for part in (function["arguments"][:half], function["arguments"][half:]):
            deltas.append({"tool_calls": [{"index": number, "function": {"arguments": part}}]})
    head = {"id": "a", "model": "real", "object": "chat.completion.chunk"}
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": _chat_reason(said)}]})
    return sse(*chunks, {**head, "choices": [], "usage": _chat_usage(said)}, done=True)


def _items(said: Said) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if said.thoughts:
        content = [{"type": "reasoning_text", "text": "".join(said.thoughts)}]
        items.append({"type": "reasoning", "id": "rs_a", "summary": [], "content": content})
    if said.text:
        spoken: list[dict[str, Any]] = [{"type": "output_text", "text": "".join(said.text), "annotations": []}]
        items.append({"type": "message", "id": "msg_a", "role": "assistant", "content": spoken})
    for call_id, name, given in said.calls:
        call = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name}
        items.append({**call, "arguments": json.dumps(given)})
    return items


def _response(said: Said, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    read, written = said.usage
    usage = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
    ended = status in ("completed", "incomplete")
    details = {"reason": "max_output_tokens"} if status == "incomplete" else None
    head = {"id": "a", "object": "response", "model": "real", "status": status, "error": None}
    return {**head, "output": output, "incomplete_details": details, "usage": usage if ended else None}


def _responses_whole(said: Said) -> bytes:
    return json.dumps(_response(said, "incomplete" if said.length else "completed", _items(said))).encode()


def _responses_stream(said: Said) -> bytes:
    return sse(*_responses_events(said), named=True)


def _responses_events(said: Said) -> Iterator[dict[str, Any]]:
    yield {"type": "response.created", "response": _response(said, "in_progress", [])}
    pieces = {
        "reasoning": ("response.reasoning_text.delta", said.thoughts),
        "message": ("response.output_text.delta", said.text),
    }
    for index, item in enumerate(_items(said)):
        empty: dict[str, Any] = {**item, **({"content": []} if "content" in item else {"arguments": ""})}
        yield {"type": "response.output_item.added", "output_index": index, "item": empty}
        texts: tuple[str, ...]
        if item["type"] == "function_call":
            kind, texts = "response.function_call_arguments.delta", (item["arguments"][:2], item["arguments"][2:])
        else:
            kind, texts = pieces[item["type"]]
        at = {"output_index": index, "item_id": item["id"], "content_index": 0}
        for text in texts:
            yield {"type": kind, "delta": text, **at}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    ended = "incomplete" if said.length else "completed"
    yield {"type": f"response.{ended}", "response": _response(said, ended, _items(said))}


def _anthropic_reason(said: Said) -> str:
    return "max_tokens" if said.length else "tool_use" if said.calls else "end_turn"


def _messages_whole(said: Said) -> bytes:
    content: list[dict[str, Any]] = []
    content += [{"type": "thinking", "thinking": "".join(said.thoughts), "signature": "s"}] if said.thoughts else []
    content += [{"type": "text", "text": "".join(said.text)}] if said.text else []
    content += [{"type": "tool_use", "id": i, "name": name, "input": given} for i, name, given in said.calls]
    usage = {"input_tokens": said.usage[0], "output_tokens": said.usage[1]}
    body = {"id": "a", "type": "message", "role": "assistant", "model": "real", "content": content}
    return json.dumps({**body, "stop_reason": _anthropic_reason(said), "usage": usage}).encode()


def _messages_stream(said: Said) -> bytes:
    return sse(*_messages_events(said), named=True)


def _messages_events(said: Said) -> Iterator[dict[str, Any]]:
    head = {"id": "a", "type": "message", "role": "assistant", "model": "real", "content": []}
    yield {"type": "message_start", "message": {**head, "usage": {"input_tokens": said.usage[0], "output_tokens": 0}}}
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if said.thoughts:
        deltas: list[dict[str, Any]] = [{"type": "thinking_delta", "thinking": text} for text in said.thoughts]
        signed = {"type": "signature_delta", "signature": "s"}
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signed]))
    if said.text:
        blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": text} for text in said.text]))
    for call_id, name, given in said.calls:
        text = json.dumps(given, ensure_ascii=False) if given else ""
        parts = [{"type": "input_json_delta", "partial_json": part} for part in ("", text[:3], text[3:])]
        blocks.append(({"type": "tool_use", "id": call_id, "name": name, "input": {}}, parts))
    for index, (block, more) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "ping"}
        for delta in more:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": _anthropic_reason(said)},
        "usage": {"output_tokens": said.usage[1]},
    }
    yield {"type": "message_stop"}


def _gemini(said: Said, parts: list[dict[str, Any]], *, last: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    candidate |= {"finishReason": "MAX_TOKENS" if said.length else "STOP"} if last else {}
    usage = {"promptTokenCount": said.usage[0], "candidatesTokenCount": said.usage[1]}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "real", "responseId": "a"}


def _gemini_parts(said: Said) -> list[dict[str, Any]]:
    calls = [{"functionCall": {"id": i, "name": name, "args": given}} for i, name, given in said.calls]
    thoughts = [{"text": text, "thought": True} for text in said.thoughts]
    return [*thoughts, *({"text": text} for text in said.text), *calls]


def _gemini_whole(said: Said) -> bytes:
    return json.dumps(_gemini(said, _gemini_parts(said), last=True)).encode()


def _gemini_stream(said: Said) -> bytes:
    pieces = [_gemini(said, [part], last=False) for part in _gemini_parts(said)]
    return sse(*pieces, _gemini(said, [{"text": ""}], last=True))


def _ollama(said: Said, message: dict[str, Any], *, last: bool) -> dict[str, Any]:
    ended = {"done_reason": "length" if said.length else "stop"} if last else {}
    figures = {"prompt_eval_count": said.usage[0], "eval_count": said.usage[1]} if last else {}
    return {"model": "real", "message": {"role": "assistant", **message}, "done": last, **ended, **figures}


def _ollama_calls(said: Said) -> dict[str, Any]:
    calls = [{"id": i, "function": {"name": name, "arguments": given}} for i, name, given in said.calls]
    return {"tool_calls": calls} if calls else {}


def _ollama_whole(said: Said) -> bytes:
    thoughts = {"thinking": "".join(said.thoughts)} if said.thoughts else {}
    message = {"content": "".join(said.text), **thoughts, **_ollama_calls(said)}
    return json.dumps(_ollama(said, message, last=True)).encode()


def _ollama_stream(said: Said) -> bytes:
    messages = [{"content": "", "thinking": text} for text in said.thoughts] + [{"content": text} for text in said.text]
    lines = [_ollama(said, message, last=False) for message in messages]
    lines += [_ollama(said, {"content": "", **_ollama_calls(said)}, last=False)] if said.calls else []
    lines.append(_ollama(said, {"content": ""}, last=True))
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()


def _completion_whole(said: Said) -> bytes:
    choice = {"index": 0, "text": "".join(said.text), "finish_reason": "length" if said.length else "stop"}
    return json.dumps({"id": "a", "model": "real", "choices": [choice], "usage": _chat_usage(said)}).encode()


def _completion_stream(said: Said) -> bytes:
    head = {"id": "a", "model": "real", "object": "text_completion"}
    chunks = [{**head, "choices": [{"index": 0, "text": text, "finish_reason": None}]} for text in said.text]
    reason = "length" if said.length else "stop"
    chunks.append({**head, "choices": [{"index": 0, "text": "", "finish_reason": reason}]})
    return sse(*chunks, {**head, "choices": [], "usage": _chat_usage(said)}, done=True)


def _llamacpp_last(said: Said, text: str) -> dict[str, Any]:
    figures = {"tokens_evaluated": said.usage[0], "tokens_predicted": said.usage[1]}
    return {"content": text, "stop": True, "stop_type": "limit" if said.length else "eos", "model": "real", **figures}


def _llamacpp_whole(said: Said) -> bytes:
    return json.dumps(_llamacpp_last(said, "".join(said.text))).encode()


def _llamacpp_stream(said: Said) -> bytes:
    return sse(*({"content": text, "stop": False} for text in said.text), _llamacpp_last(said, ""))


def _kobold_whole(said: Said) -> bytes:
    figures = {"prompt_tokens": said.usage[0], "completion_tokens": said.usage[1]}
    reason = "length" if said.length else "stop"
    return json.dumps({"results": [{"text": "".join(said.text), "finish_reason": reason, **figures}]}).encode()


def _kobold_stream(said: Said) -> bytes:
    reason = "length" if said.length else "stop"
    figures = {"prompt_tokens": said.usage[0], "completion_tokens": said.usage[1]}
    tokens = [{"token": text, "finish_reason": None} for text in said.text]
    return sse(*tokens, {"token": "", "finish_reason": reason, **figures})


def _worker_facts(said: Said) -> dict[str, Any]:
    read, written = said.usage
    usage = {"prompt_tokens": read, "completion_tokens": written}
    return {"finish_reason": "length" if said.length else "stop", "usage": usage}


_WORKER_HEAD = {"request_id": "a", "model": "real", "prompt_sha256": "0" * 64}


def _worker_whole(said: Said) -> bytes:
    output = "".join(said.text)
    return json.dumps({**_WORKER_HEAD, "output": output, "response": output, **_worker_facts(said)}).encode()


def _worker_stream(said: Said) -> bytes:
    return sse(_WORKER_HEAD, *({"delta": text} for text in said.text), _worker_facts(said), done=True)


WIRES: Mapping[str, Wire] = {
    wire.adapter: wire
    for wire in (
        Wire("openai-chat", _chat_whole, _chat_stream),
        Wire("openai-responses", _responses_whole, _responses_stream),
        Wire("anthropic-messages", _messages_whole, _messages_stream),
        Wire("gemini-generateContent", _gemini_whole, _gemini_stream),
        Wire("ollama-chat", _ollama_whole, _ollama_stream, kind=LINES),
        Wire("text-completion", _completion_whole, _completion_stream, thinks=False, calls=False),
        Wire("llamacpp-completion", _llamacpp_whole, _llamacpp_stream, thinks=False, calls=False),
        Wire("koboldcpp", _kobold_whole, _kobold_stream, thinks=False, calls=False),
        Wire("local", _chat_whole, _chat_stream),
        Wire("worker", _worker_whole, _worker_stream, thinks=False, calls=False),
    )
}
"""Every adapter's protocol."""
