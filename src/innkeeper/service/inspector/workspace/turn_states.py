"""TurnStates: what earlier turns of a chat leave for a later one: timed effects and variables.

The turns of the chat, up to where it is cut, are built again in their order, each with what the one before it left, as in a
session. That is done only where something in the prompt has such effects and the chat's file does not say what they are, for the
latest turns, and each is kept as long as nothing else changes. Where no macro sets a variable, the steps that decide about lore
are enough: that is a tenth of a build.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from innkeeper.content.chat import prompt_messages
from innkeeper.content.json.text import encode_json
from innkeeper.prompt import BuildRequest, InnkeeperError
from innkeeper.prompt.allowance import apart
from innkeeper.service.inspector.views.workspace import FindingView
from innkeeper.service.inspector.workspace.working import WorkingFile, book_of
from innkeeper.taverns import TAVERNS

if TYPE_CHECKING:
    from innkeeper.content.chat import ChatLog


MAX_CARRIED: Final = 40
"""Turns before a cut that are built again for what they left (no error: a note says that there are more)."""

_STRIDE: Final = 20
"""Of more turns the first that is built is one of so many: the next turn begins where this one does, and builds itself alone."""

_VARIABLES: Final = re.compile(rb"\{\{[\s!?~>#/]*(?:\w*var|[.$\\])", re.IGNORECASE)
"""How macros begin that set or read variables; after a ``\\`` of the JSON anything may come."""


def same_fields(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether the fields of two requests are the same values: assets by identity, words and numbers by what they say."""
    return before.keys() == after.keys() and all(is_same(before[name], value) for name, value in after.items())


def is_same(before: Any, after: Any) -> bool:
    """Whether a field is the same value."""
    if isinstance(before, tuple) and isinstance(after, tuple):
        return len(before) == len(after) and all(one is other for one, other in zip(before, after, strict=True))
    return before is after or (isinstance(before, (str, int)) and bool(before == after))


class Lasting(NamedTuple):
    """What in a file has an effect beyond its turn: entries that last, or macros of variables."""

    timed: bool = False
    variables: bool = False


class TurnStates:
    """The states of one workspace's chat. ``note`` says what of the last one asked for is not as a session would have it."""

    def __init__(self) -> None:
        self.note: FindingView | None = None
        self._facts: dict[str, Any] = {}
        self._header: Any = None
        self._states: dict[int, tuple[Any, tuple[Any, Any]]] = {}
        self._lasting: dict[int, tuple[Any, Lasting]] = {}

    def request(
        self, request: BuildRequest, fields: dict[str, Any], chat: ChatLog, files: tuple[WorkingFile, ...]
    ) -> BuildRequest:
        """The request of a chat with what its turns left. ``fields`` are what it was made of, ``files`` too."""
        self.note = None
        lasting = [self._lasting_of(file) for file in files]
        if not any(one.timed or one.variables for one in lasting):
            return request
        facts = {name: value for name, value in fields.items() if name not in {"history", "message"}}
        if not same_fields(self._facts, facts) or self._header != chat.header:
            self._facts, self._header, self._states = facts, chat.header, {}
        turns = list(chat.turns)
        if turns and not request.message and turns[-1] == len(chat.messages) - 1:
            turns.pop()  # it is answered now
        left_out = max(len(turns) - MAX_CARRIED, 0) // _STRIDE * _STRIDE
        if left_out:
            text = f"only the last {len(turns) - left_out} turns were built again for what they left"
            self.note = FindingView("note", "turns", text)
        whole = "request" in fields or any(one.variables for one in lasting)
        carried, first = set(turns[left_out:]), turns[left_out] if left_out else 0
        counts = (0 if message.hidden else len(prompt_messages(message)) for message in chat.messages)
        lengths = accumulate(counts, initial=0)
        key, state = first, (None, request.variables)
        for index, (message, length) in enumerate(zip(chat.messages, lengths, strict=False)):
            key = hash((key, id(message), whole))
            if index in carried:
                if key not in self._states:
                    asked = request.with_(history=request.history[:length], message=message.text)
                    self._states[key] = (chat.messages, self._after(asked, index, state, whole=whole))
                state = self._states[key][1]
        return request.with_(lore_state=state[0], variables=state[1])

    def _after(self, asked: BuildRequest, index: int, state: tuple[Any, Any], *, whole: bool) -> tuple[Any, Any]:
        """What the turn of a message of the user's leaves."""
        asked = asked.with_(lore_state=state[0], variables=state[1])
        try:
            tavern = TAVERNS[asked.tavern]
            with apart():
                plan = tavern.build(asked, pipeline=None if whole else tavern.carrying(asked))
        except InnkeeperError as error:
            self.note = FindingView("warning", "turns", f"the turn of message {index} cannot be built: {error.message}")
            return state
        return plan.carry, plan.variables

    def _lasting_of(self, file: WorkingFile) -> Lasting:
        """What in a file has an effect beyond its turn."""
        asset = file.asset
        known = self._lasting.get(id(file))
        if known is None or known[0] is not asset:
            book = book_of(asset)
            timed = book is not None and any(entry.sticky or entry.cooldown for entry in book.entries)
            known = (asset, Lasting(timed, _VARIABLES.search(encode_json(file.tree)) is not None))
            self._lasting[id(file)] = known
        return known[1]
