"""Stand-ins for the commands that talk: a model that says what it is told to, plans without files."""

from collections.abc import Generator
from typing import Any

from innkeeper.inference.adapters.adapter import ModelRequest
from innkeeper.inference.response.events import Finished, ModelEvent, TextDelta, UsageReport
from innkeeper.inference.response.response import Usage

__all__ = ["FakeModel"]


class FakeModel:
    """Says its lines one after the other, word by word; an exception among them is raised, after ``before`` words of the next.

    What it was asked is in ``asked``: model, messages and options of each call. ``cached`` are tokens
    that it says a cache served.
    """

    def __init__(self, *lines: str | BaseException, before: int = 0, cached: int | None = None) -> None:
        self.cached = cached
        self.lines = list(lines)
        self.before = before
        self.asked: list[dict[str, Any]] = []
        self.closed = False

    def events(self, request: ModelRequest) -> Generator[ModelEvent]:
        body = request.body
        self.asked.append({name: value for name, value in body.items() if name not in {"stream", "stream_options"}})
        line = self.lines.pop(0) if self.lines else f"Reply {len(self.asked)}."
        if isinstance(line, BaseException):
            for number in range(self.before):
                yield TextDelta(text=f"word{number} ")
            raise line
        words = line.split(" ")
        for word in words[:-1]:
            yield TextDelta(text=word + " ")
        yield TextDelta(text=words[-1])
        yield UsageReport(usage=Usage(input_tokens=9, output_tokens=len(line.split()), cached_tokens=self.cached))
        yield Finished(reason="stop")

    def close(self) -> None:
        self.closed = True

    def said(self) -> list[str]:
        """The text of the last message that it was sent, call by call."""
        return [str(call["messages"][-1]["content"]) for call in self.asked]
