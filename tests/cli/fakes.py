"""Stand-ins for the commands that talk: a model that says what it is told to, plans without files."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from innkeeper.inference.client.chat import ChatReply
from innkeeper.inference.client.wire import Response

__all__ = ["FakeModel"]


class FakeModel:
    """Says its lines one after the other, word by word; an exception among them is raised, after ``before`` words of the next.

    What it was asked is in ``asked``: model, messages and options of each call.
    """

    def __init__(self, *lines: str | BaseException, before: int = 0) -> None:
        self.lines = list(lines)
        self.before = before
        self.asked: list[dict[str, Any]] = []
        self.closed = False

    def chat(
        self,
        model: str,
        messages: Sequence[Mapping[str, Any]],
        *,
        stream: bool = False,
        include_usage: bool = False,
        on_delta: Callable[[str], Any] | None = None,
        **options: Any,
    ) -> ChatReply:
        self.asked.append({"model": model, "messages": list(messages), **options})
        line = self.lines.pop(0) if self.lines else f"Reply {len(self.asked)}."
        hear = on_delta or (lambda _: None)
        if isinstance(line, BaseException):
            for number in range(self.before):
                hear(f"word{number} ")
            raise line
        for word in line.split(" "):
            hear(word if word == line.split(" ")[-1] else word + " ")
        usage = {"prompt_tokens": 9, "completion_tokens": len(line.split())}
        return ChatReply(line, usage, "stop", Response(200, {}, {}))

    def close(self) -> None:
        self.closed = True

    def said(self) -> list[str]:
        """The text of the last message that it was sent, call by call."""
        return [str(call["messages"][-1]["content"]) for call in self.asked]
