"""A provider that answers every protocol of the document's, and remembers what it was sent."""

import json
from collections.abc import Mapping
from typing import Any

import httpx

__all__ = ["Provider"]

USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
CALL = {"id": "c1", "type": "function", "function": {"name": "sum", "arguments": '{"a": 1}'}}


class Provider:
    """Gives the text ``Hello``, after a call of ``sum`` where tools are offered; ``usage`` off: it tells no tokens."""

    def __init__(self, *, usage: bool = True, status: int = 200) -> None:
        self.sent: list[httpx.Request] = []
        self.usage, self.status = usage, status
        self.transport = httpx.MockTransport(self._answer)

    @property
    def body(self) -> dict[str, Any]:
        """What was sent last."""
        body: dict[str, Any] = json.loads(self.sent[-1].content)
        return body

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        if self.status != 200:
            return httpx.Response(self.status, json={"error": {"message": "no", "code": "x"}})
        body, path = json.loads(request.content), request.url.path
        if path.endswith("/api/chat"):
            return httpx.Response(200, json=self._ollama(body))
        if path.endswith("generateContent"):
            return httpx.Response(200, json=self._gemini())
        if body.get("stream"):
            return self._stream(body)
        return httpx.Response(200, json=self._chat(body))

    def _chat(self, body: Mapping[str, Any]) -> dict[str, Any]:
        calls = {"tool_calls": [CALL]} if body.get("tools") else {}
        message = {"role": "assistant", "content": "Hello", **calls}
        usage = {"usage": USAGE} if self.usage else {}
        return {"id": "x", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], **usage}

    def _stream(self, body: Mapping[str, Any]) -> httpx.Response:
        calls = [{"tool_calls": [{"index": 0, **CALL}]}] if body.get("tools") else []
        deltas = [{"content": "Hel"}, {"content": "lo"}, *calls]
        chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        chunks += [{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}, {"choices": [], "usage": USAGE}]
        raw = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=raw + b"data: [DONE]\n\n")

    def _ollama(self, body: Mapping[str, Any]) -> dict[str, Any]:
        figures = {"prompt_eval_count": 3, "eval_count": 2} if self.usage else {}
        message = {"role": "assistant", "content": "Hello"}
        return {"model": body["model"], "message": message, "done": True, "done_reason": "stop", **figures}

    def _gemini(self) -> dict[str, Any]:
        figures = {"usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5}}
        candidate = {"content": {"role": "model", "parts": [{"text": "Hello"}]}, "finishReason": "STOP"}
        return {"candidates": [candidate], **(figures if self.usage else {})}
