"""Text completions: ``text_completion``, whole and streamed. They have text alone; a refusal's words are text here."""

from __future__ import annotations

from typing import Any, Final

from innkeeper.inference.response.events import ModelEvent, RefusalDelta, TextDelta
from innkeeper.inference.response.fold import ResponseFold
from innkeeper.inference.response.response import MessageItem, ModelResponse, RefusalPart
from innkeeper.inference.response.views.chat import DONE, envelope, finish_reason, wire_usage
from innkeeper.inference.response.views.view import ErrorFacts, ServerEvent, StreamView, View, bare_id, noted, others


class CompletionView(View):
    """The view of ``/v1/completions``."""

    def whole(self, response: ModelResponse) -> dict[str, Any]:
        """A ``text_completion``."""
        body = _body(response.id, response.created, response.model, _text(response), finish_reason(response))
        return noted({**body, "usage": wire_usage(response.usage)}, self.left_out(response))

    def stream(self, fold: ResponseFold, *, include_usage: bool = False) -> StreamView:
        """The same object again and again, each with a piece of the text."""
        return _Pieces(fold, include_usage=include_usage)

    def left_out(self, response: ModelResponse) -> list[str]:
        """Everything that is not text."""
        kinds = {"calls of tools": response.calls, "thoughts": response.reasoning}
        return [*(f"{what} are not carried" for what, there in kinds.items() if there), *others(response)]


COMPLETION: Final = CompletionView()


class _Pieces(StreamView):
    def __init__(self, fold: ResponseFold, *, include_usage: bool) -> None:
        super().__init__(fold)
        self._usage = {"usage": None} if include_usage else {}

    def take(self, event: ModelEvent) -> list[ServerEvent]:
        self.fold.take(event)
        if isinstance(event, (TextDelta, RefusalDelta)) and event.text:
            return [ServerEvent({**self._piece(event.text, None), **self._usage})]
        return []

    def end(self) -> list[ServerEvent]:
        response = self.fold.response()
        last = {**self._piece("", finish_reason(response)), **self._usage}
        events = [ServerEvent(noted(last, COMPLETION.left_out(response)))]
        if self._usage:
            usage: dict[str, Any] = {"choices": [], "usage": wire_usage(response.usage)}
            events.append(ServerEvent({**self._piece("", None), **usage}))
        return [*events, DONE]

    def fail(self, error: ErrorFacts) -> list[ServerEvent]:
        return [ServerEvent(envelope(error))]

    def _piece(self, text: str, finish: str | None) -> dict[str, Any]:
        return _body(self.fold.id, self.fold.created, self.fold.model, text, finish)


def _text(response: ModelResponse) -> str:
    parts = [part for item in response.output if isinstance(item, MessageItem) for part in item.content]
    return "".join([part.refusal if isinstance(part, RefusalPart) else part.text for part in parts])


def _body(response_id: str, created: int, model: str, text: str, finish: str | None) -> dict[str, Any]:
    choice = {"text": text, "index": 0, "logprobs": None, "finish_reason": finish}
    head = {"id": f"cmpl-{bare_id(response_id)}", "object": "text_completion", "created": created, "model": model}
    return {**head, "choices": [choice]}
