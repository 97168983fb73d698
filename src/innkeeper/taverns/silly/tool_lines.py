"""Lines of tool calls in prompts that carry no calls: what was said beside a call stays, and a note tells of the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from innkeeper.prompt.errors import Where
from innkeeper.prompt.note import NoteKind
from innkeeper.taverns.silly.line import Line

if TYPE_CHECKING:
    from innkeeper.prompt.state import State

__all__ = ["note_calls", "spoken_lines", "without_calls"]


def without_calls(line: Line) -> Line:
    """A line of tool calls as one that only says something: its text, or what is shown for the calls."""
    if not line.has_tools:
        return line
    return msgspec.structs.replace(line, text=line.text or line.shown, tool_calls=(), tool_results=())


def spoken_lines(lines: Iterable[Line]) -> Iterator[Line]:
    """The lines without tool calls; of those that only call, nothing (`sillytavern.md` 61)."""
    return (without_calls(line) for line in lines if not line.has_tools or line.text or line.attachments)


def note_calls(state: State, lines: Iterable[Line], why: str, hint: str | None = None) -> None:
    """Say of the tool calls among the lines, where there are any, that they and their results are not sent."""
    places = tuple(line.place for line in lines if line.has_tools)
    if places:
        message = f"{len(places)} of the chat's lines call tools; the calls and their results are left out: {why}"
        where = Where(asset="history", path=f"[{places[0]}]")
        state.note(NoteKind.IGNORED, message, where=where, hint=hint, data={"lines": places})
