"""Session: a chat whose prompt is built again after each change, with its branches; it can be stored and opened again.

A session holds what a build depends on as typed values, so that a turn reads nothing twice, and hands them to the one
`innkeeper.taverns.build`. A plan is therefore the same as that of a build from nothing, byte for byte. It is quicker because
messages, books, texts and token counts are known to the engine by their content.
"""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from threading import RLock
from typing import Any, Final, Self, Unpack

import msgspec

from innkeeper.prompt import (
    Block,
    BuildRequest,
    FormatError,
    LimitError,
    Message,
    Plan,
    Ports,
    UnsupportedError,
    UsageError,
)
from innkeeper.prompt.block import OriginAsset
from innkeeper.prompt.data import FrozenDict, parse_json, to_json
from innkeeper.prompt.determinism import noticing
from innkeeper.prompt.errors import UnknownNameError, Where
from innkeeper.prompt.request import ASSET_FIELDS
from innkeeper.prompt.typed.misfit import Misfit
from innkeeper.prompt.typed.once import convert
from innkeeper.taverns.inputs import read_keywords
from innkeeper.taverns.keywords import BuildInputs, lists_inputs
from innkeeper.taverns.registry import TAVERNS, Taverns
from innkeeper.version import VERSION

MAX_SESSION_BRANCHES: Final = 1_000
"""Branches of a session (`LimitError`)."""

MAX_SESSION_BYTES: Final = 64 * 1024 * 1024
"""Bytes of a stored session (`LimitError`)."""

FIRST_BRANCH: Final = "main"
"""The branch that a session begins with."""

_FORMAT: Final = b"innkeeper-session 1"
_ASSET: Final = "session"

History = tuple[Message, ...]


_INPUTS: Final[dict[str, str]] = {
    OriginAsset.PERSONA: "user",
    OriginAsset.LOREBOOK: "lorebooks",
    OriginAsset.INJECTION: "injections",
}
"""The inputs of assets whose origins have another name."""


class Rebuilt(msgspec.Struct, frozen=True):
    """A part of a prompt that was built anew: the origin of its text, and why the text before could not be kept."""

    part: str
    why: str


@dataclass(frozen=True)
class SessionBuild:
    """The last build of a session: its plan, that of the build before, and the inputs that changed between them.

    ``kept`` says that nothing had changed, and the plan is the one before; ``volatile``, that the build has read the time or
    drawn a number.
    """

    plan: Plan
    before: Plan | None = None
    changed: tuple[str, ...] = ()
    volatile: bool = False
    kept: bool = False

    @cached_property
    def rebuilt(self) -> tuple[Rebuilt, ...]:
        """The parts that were built anew, in the order of the prompt; none where nothing had changed."""
        if self.kept:
            return ()
        known = set() if self.before is None else {(block.role, block.content) for block in self.before.enabled_blocks}
        new = [block for block in self.plan.enabled_blocks if (block.role, block.content) not in known]
        return tuple([Rebuilt(str(block.origin or block.slot or block.id), self._why(block)) for block in new])

    def _why(self, block: Block) -> str:
        if self.before is None:
            return "nothing was built before"
        macros = dict.fromkeys(piece.origin.macro for piece in block.pieces or () if piece.origin.macro)
        if macros:
            names = ", ".join(f"{{{{{macro}}}}}" for macro in macros)
            return f"{names} may give another text each time"
        own = "" if block.origin is None else _INPUTS.get(block.origin.asset, block.origin.asset)
        if self.changed:
            return f"changed: {own if own in self.changed else ', '.join(self.changed)}"
        return "the build reads the time or draws numbers" if self.volatile else "the step that made it ran again"


@dataclass(frozen=True)
class _Branches:
    """The inputs of a session: one request, whose history is that of the branch with the name, and the other histories."""

    request: BuildRequest
    name: str
    histories: Mapping[str, History]

    def with_history(self, history: History) -> _Branches:
        """The same with another history of this branch."""
        request = msgspec.structs.replace(self.request, history=history)
        return _Branches(request, self.name, {**self.histories, self.name: history})


def _owned(request: BuildRequest) -> BuildRequest:
    """The request with copies of the assets that the caller could change: read once, they are known by their identity."""
    return msgspec.structs.replace(request, **{name: _copied(getattr(request, name)) for name in ASSET_FIELDS})


def _copied(asset: Any) -> Any:
    """A copy of plain data that nobody changes, with each text as it is; what holds other objects stays itself."""
    if isinstance(asset, (list, tuple)):
        return tuple(map(_copied, asset))
    if type(asset) is not dict:
        return asset
    try:
        plain = marshal.loads(marshal.dumps(asset))  # noqa: S302 - written by this very process
    except ValueError:
        return asset
    return FrozenDict({name: FrozenDict(item) if type(item) is dict else item for name, item in plain.items()})


class _Stored(msgspec.Struct, frozen=True):
    """What a stored session holds."""

    version: str
    owner: str
    branch: str
    request: dict[str, Any]
    histories: dict[str, list[Any]]


class Session:
    """A chat with everything its prompt depends on. Safe to use from several threads: each call sees one whole state.

    Args:
        request: the inputs, or a mapping of their fields.
        ports: objects that are not data, for every build; they are not stored.
        inputs: every keyword of a build, over the request.
    """

    @lists_inputs
    def __init__(
        self,
        request: BuildRequest | Mapping[str, Any] | None = None,
        ports: Ports | None = None,
        /,
        *,
        taverns: Taverns = TAVERNS,
        **inputs: Unpack[BuildInputs],
    ) -> None:
        read = read_keywords(request, ports, inputs)
        self._taverns, self._ports, self._lock = taverns, read.ports, RLock()
        self._now = _Branches(_owned(read.request), FIRST_BRANCH, {FIRST_BRANCH: read.request.history})
        self._built: tuple[_Branches, Plan] | None = None
        self._last: SessionBuild | None = None

    @property
    def request(self) -> BuildRequest:
        """The inputs as they are now, with the history of the current branch."""
        return self._now.request

    @property
    def history(self) -> History:
        """The messages of the current branch, oldest first."""
        return self._now.request.history

    @property
    def last(self) -> SessionBuild:
        """The last build. Raises `UsageError` before the first."""
        if self._last is None:
            raise UsageError("this session has built no plan", hint="call plan() first")
        return self._last

    # ------------------------------------------------------------------------------------------------------------ edits

    def append(self, *messages: Any) -> Self:
        """Add messages at the end; a text is the user's. Raises `FormatError`."""
        return self._edit(lambda history: (*history, *map(_message, messages)))

    def edit(self, index: int, message: Any) -> Self:
        """Replace a message, or its text alone where a text is given. Raises `UsageError` for an index that is not there."""

        def edited(history: History) -> History:
            old = history[_index(history, index)]
            return _replaced(
                history, index, _with_text(old, message) if isinstance(message, str) else Message.of(message)
            )

        return self._edit(edited)

    def delete(self, index: int, count: int = 1) -> Self:
        """Remove messages, from one on. Raises `UsageError` for an index that is not there."""

        def shorter(history: History) -> History:
            first = _index(history, index)
            if count < 0:
                raise UsageError(f"{count} messages cannot be removed", hint="give how many, 0 or more")
            return (*history[:first], *history[first + count :])

        return self._edit(shorter)

    def swipe(self, choice: int | str, index: int = -1) -> Self:
        """Show another alternative of a message, by its number from 0, or a new one by its text. Raises `UsageError`."""

        def swiped(history: History) -> History:
            old = history[_index(history, index)]
            swipes = old.swipes or (old.content,)
            if isinstance(choice, str):
                swipes = (*swipes, choice)
            number = len(swipes) - 1 if isinstance(choice, str) else choice
            if not 0 <= number < len(swipes):
                raise UsageError(
                    f"the message has no alternative {number}", hint=f"numbers go from 0 to {len(swipes) - 1}"
                )
            new = msgspec.structs.replace(old, content=swipes[number], swipes=swipes, swipe_id=number)
            return _replaced(history, index, new)

        return self._edit(swiped)

    @lists_inputs
    def set(self, **inputs: Unpack[BuildInputs]) -> Self:
        """Set any input of the build. Raises `UsageError` for an unknown one, `FormatError` for a value that does not fit."""
        with self._lock:
            read = read_keywords(self._now.request, self._ports, inputs)
            self._ports = read.ports
            now = _Branches(_owned(read.request), self._now.name, self._now.histories)
            self._now = now.with_history(read.request.history)
        return self

    def carry(self, plan: Plan) -> Self:
        """Begin the next turn with the state that a plan left: its variables, and the lasting effects of its lore."""
        return self.set(variables=plan.variables, lore_state=plan.carry)

    def _edit(self, change: Callable[[History], History]) -> Self:
        with self._lock:
            self._now = self._now.with_history(change(self._now.request.history))
        return self

    # --------------------------------------------------------------------------------------------------------- branches

    @property
    def branches(self) -> tuple[str, ...]:
        """The names of all branches, the first one first."""
        return tuple(self._now.histories)

    def branch(self, name: str, length: int | None = None) -> Self:
        """Begin a branch with so many messages of the current one, by default all, and go to it.

        Raises `UsageError` for a name that is taken or a length that is not there, `LimitError` for too many branches.
        """
        with self._lock:
            now = self._now
            if length is not None and not 0 <= length <= len(now.request.history):
                raise UsageError(f"the chat has no first {length} messages", hint=f"it has {len(now.request.history)}")
            if name in now.histories:
                raise UsageError(f"there is a branch {name!r} already", hint="choose another name")
            if len(now.histories) >= MAX_SESSION_BRANCHES:
                raise LimitError(
                    "the branches of a session", limit="MAX_SESSION_BRANCHES", allowed=MAX_SESSION_BRANCHES
                )
            self._now = _Branches(now.request, name, now.histories).with_history(now.request.history[:length])
        return self

    def switch(self, name: str) -> Self:
        """Go to another branch. Raises `UnknownNameError`."""
        with self._lock:
            if name not in self._now.histories:
                raise UnknownNameError("branch", name, self._now.histories)
            self._now = _Branches(self._now.request, name, self._now.histories).with_history(self._now.histories[name])
        return self

    # ------------------------------------------------------------------------------------------------------------ plans

    @lists_inputs
    def plan(self, **inputs: Unpack[BuildInputs]) -> Plan:
        """Build the plan of the current branch, with inputs for this build alone. Raises what `innkeeper.build` raises."""
        with self._lock:
            now, ports, before = self._now, self._ports, self._built
        if before is not None and not inputs and before[0] is now and ports == Ports() and now.request.now is not None:
            self._last = SessionBuild(before[1], before[1], kept=True)
            return before[1]
        read = read_keywords(now.request, ports, inputs)
        with noticing() as seen:
            plan = self._taverns[read.request.tavern].build(read.request, read.ports)
        changed = () if before is None else _changed(before[0].request, read.request)
        with self._lock:
            self._built = (now, plan) if not inputs else None
            self._last = SessionBuild(plan, before and before[1], changed, volatile=seen.moment)
        return plan

    # ---------------------------------------------------------------------------------------------------------- storage

    def to_bytes(self, *, owner: str = "") -> bytes:
        """Store the inputs and branches for their ``owner``. Raises `UsageError` for inputs that are not data, `LimitError`."""
        now = self._now
        fields = {
            "version": VERSION,
            "owner": _digest(owner.encode()),
            "branch": now.name,
            "request": msgspec.structs.replace(now.request, history=()).to_dict(),
            "histories": {name: [message.to_dict() for message in history] for name, history in now.histories.items()},
        }
        content = to_json(fields, sort=False)
        if len(content) > MAX_SESSION_BYTES:
            raise LimitError("a stored session", limit="MAX_SESSION_BYTES", allowed=MAX_SESSION_BYTES)
        return b"\n".join((_FORMAT, _digest(content).encode(), content))

    @classmethod
    def from_bytes(
        cls, data: bytes, ports: Ports | None = None, *, owner: str = "", taverns: Taverns = TAVERNS
    ) -> Session:
        """Open what `to_bytes` stored.

        Raises:
            LimitError: more than `MAX_SESSION_BYTES`.
            FormatError: no session, or one that is cut or changed.
            UnsupportedError: a session of another version of Innkeeper.
            UsageError: a session of another owner.
        """
        if len(data) > MAX_SESSION_BYTES + 200:
            raise LimitError("a stored session", limit="MAX_SESSION_BYTES", allowed=MAX_SESSION_BYTES)
        form, _, rest = data.partition(b"\n")
        digest, _, content = rest.partition(b"\n")
        if form != _FORMAT or digest.decode("ascii", "replace") != _digest(content):
            raise FormatError("not a whole stored session", where=Where(asset=_ASSET), hint="build the session again")
        try:
            stored = convert(parse_json(content, asset=_ASSET), _Stored)
        except Misfit as error:
            raise FormatError(f"not a stored session: {error}", where=Where(asset=_ASSET)) from error
        if stored.version != VERSION:
            message = f"a session of version {stored.version}; this is {VERSION}"
            raise UnsupportedError(message, where=Where(asset=_ASSET), hint="build the session again from its chat")
        if stored.owner != _digest(owner.encode()):
            raise UsageError("this session belongs to another owner", hint="open it with the owner it was stored for")
        if stored.branch not in stored.histories:
            raise FormatError(f"the session has no branch {stored.branch!r:.60}", where=Where(asset=_ASSET))
        if len(stored.histories) > MAX_SESSION_BRANCHES:
            raise LimitError("the branches of a session", limit="MAX_SESSION_BRANCHES", allowed=MAX_SESSION_BRANCHES)
        session = cls(stored.request, ports, taverns=taverns)
        histories = {name: tuple(map(Message.of, history)) for name, history in stored.histories.items()}
        session._now = _Branches(session.request, stored.branch, histories).with_history(histories[stored.branch])
        return session


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _message(value: Any) -> Message:
    return Message("user", value) if isinstance(value, str) else Message.of(value)


def _with_text(message: Message, text: str) -> Message:
    """The message with another text, which the alternative that is shown has from now on."""
    swipes, number = message.swipes, message.swipe_id
    if number is not None and 0 <= number < len(swipes):
        swipes = (*swipes[:number], text, *swipes[number + 1 :])
    return msgspec.structs.replace(message, content=text, swipes=swipes)


def _index(history: History, index: int) -> int:
    """The place of a message from 0; negative ones count from the end."""
    if not -len(history) <= index < len(history):
        raise UsageError(f"there is no message {index}", hint=f"the chat has {len(history)} messages, the first is 0")
    return index % len(history)


def _replaced(history: History, index: int, message: Message) -> History:
    at = _index(history, index)
    return (*history[:at], message, *history[at + 1 :])


def _changed(before: BuildRequest, after: BuildRequest) -> tuple[str, ...]:
    """The names of the inputs that differ."""
    return tuple(
        name
        for name in after.__struct_fields__
        if (one := getattr(before, name)) is not (other := getattr(after, name)) and one != other
    )
