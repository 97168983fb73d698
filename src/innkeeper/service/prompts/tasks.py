"""Tasks of turns: what the server sends a worker for a turn over a profile, and what comes back, in MessagePack.

The server keeps states and asks models; a worker reads profiles, builds, and runs scripts. Bodies of providers come back as the
bytes that are sent, so that the server never looks into them.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import InnkeeperError, ReplayError, Where
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.prompt.once import unpack
from innkeeper.service.exchange import HttpReply, Request

if TYPE_CHECKING:
    from innkeeper.conversation import ProfileTurn
    from innkeeper.prompt import BuildRequest, Ports
    from innkeeper.service.gateway.state import AppState
    from innkeeper.taverns.profiles import OpenProfile


TURN: Final = "TURN"
"""The method of requests that only the server makes to its workers."""

TURNS: Final = "/v1/prompts/turns"
REPLIES: Final = "/v1/prompts/replies"
PLANS: Final = "/v1/prompts/plans/"


class ProfileChangedError(ReplayError):
    """A plan is asked for whose profile is not what it was: its prompt cannot be shown any more."""

    HINT = "plans can be looked at until a file of their profile changes"


class TurnTask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn to be built: the fields of `TurnInput` as JSON, whose numbers may be of any size.

    ``state`` is that of the conversation before it. ``adapter`` writes the body, ``stream`` says whether it asks for a stream.
    """

    profile: str
    turn: bytes
    state: bytes = b""
    adapter: str = "openai-chat"
    stream: bool = False


class TurnMade(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn that is built: the provider's body as bytes, the state after it, and how the answer is to be finished."""

    content: bytes
    state: bytes
    speaker: str
    digest: str
    rules: dict[str, Any]
    notes: list[dict[str, Any]] = []


class ReplyTask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An answer to be finished by the scripts of its profile; ``state`` is what the turn left."""

    task: TurnTask
    state: bytes
    speaker: str
    text: str


class ReplyMade(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An answer as the tavern keeps it, and the state after it."""

    text: str
    state: bytes
    notes: list[dict[str, Any]] = []


# ------------------------------------------------------------------------------------------------------------ in a worker


def opened(state: AppState, name: str) -> OpenProfile:
    """The profile of this name, without the macro that runs code where the service has none. Raises as `Profiles`."""
    profile = state.profiles[name]
    return msgspec.structs.replace(profile, request=harmless(state, profile.request))


def harmless(state: AppState, request: BuildRequest) -> BuildRequest:
    """The request, without the macro that runs code where the service was started without it."""
    if state.settings.python or request.tavern != "smart":
        return request
    return request.with_(settings={**request.settings, "python": False})


def turn_of(profile: OpenProfile, task: TurnTask, ports: Ports) -> ProfileTurn:
    """The turn of a task over its profile. Raises what building does."""
    from innkeeper.conversation import ConversationState, profile_turn

    return profile_turn(profile, _input(task), ConversationState.from_json(task.state), ports)


def read_profiles(state: AppState) -> None:
    """Read all profiles and build a turn of each, so that the first calls are as fast as others; what fails will say so then."""
    from innkeeper.prompt import Ports

    for name in state.profiles:
        task = TurnTask(profile=name, turn=b'{"messages":[{"role":"user","content":"Hello."}]}')
        with suppress(InnkeeperError):
            made_turn(state, Request(TURN, TURNS, body=msgspec.msgpack.encode(task)), Ports())


def made_turn(state: AppState, request: Request, ports: Ports) -> HttpReply:
    """Build a turn."""
    from innkeeper.inference.adapters.adapter import ModelRequest
    from innkeeper.inference.adapters.registry import ADAPTERS

    task = unpack(request.body, TurnTask)
    profile = opened(state, task.profile)
    turn = turn_of(profile, task, ports)
    sent = ModelRequest.of(ADAPTERS[task.adapter], turn.body.body, stream=task.stream)
    notes = (*turn.plan.warnings, *turn.plan.notes, *turn.notes, *turn.body.notes)
    made = TurnMade(
        content=sent.content,
        state=turn.state.to_json(),
        speaker=turn.speaker,
        digest=profile.digest,
        rules=msgspec.structs.asdict(turn.rules),
        notes=note_facts(notes),
    )
    return HttpReply(200, msgspec.msgpack.encode(made))


def made_reply(state: AppState, request: Request, ports: Ports) -> HttpReply:
    """Finish an answer."""
    from innkeeper.conversation import ConversationState
    from innkeeper.conversation.client_turn import turn_answered

    asked = unpack(request.body, ReplyTask)
    profile, after = opened(state, asked.task.profile), ConversationState.from_json(asked.state)
    reply, left = turn_answered(profile, _input(asked.task), after, asked.text, speaker=asked.speaker, ports=ports)
    return HttpReply(
        200, msgspec.msgpack.encode(ReplyMade(text=reply.text, state=left.to_json(), notes=note_facts(reply.notes)))
    )


def _input(task: TurnTask) -> Any:
    from innkeeper.conversation import TurnInput

    fields = msgspec.json.decode(task.turn)
    return TurnInput.of(fields.pop("messages", ()), **fields)


# ------------------------------------------------------------------------------------------------------- errors and notes


def note_facts(notes: Any) -> list[dict[str, Any]]:
    """Notes as data."""
    return [note.to_dict() for note in notes]


def notes_of(facts: list[dict[str, Any]]) -> tuple[Note, ...]:
    """Notes as a worker told them."""
    return tuple(
        Note(
            NoteKind(fact["kind"]),
            fact["message"],
            step=fact.get("step"),
            where=Where(**fact["where"]) if fact.get("where") else None,
            hint=fact.get("hint"),
            data=FrozenDict(fact.get("data") or {}),
        )
        for fact in facts
    )


def failed(error: InnkeeperError) -> HttpReply:
    """An error on its way to the server."""
    return HttpReply(error.http_status, msgspec.msgpack.encode(error.to_dict()))


def error_of(reply: HttpReply) -> InnkeeperError:
    """The error that a worker told: of the same class, so that every surface has its own words for it."""
    facts: dict[str, Any] = unpack(reply.body, dict[str, Any])
    kind = next((each for each in _tree(InnkeeperError) if _kind(each) == facts["kind"]), InnkeeperError)
    error = kind.__new__(kind, facts["message"])
    where = facts.get("where")
    error.message, error.hint = facts["message"], facts.get("hint")
    error.where = Where(**where) if where else None
    error.details = details = facts.get("details") or {}
    vars(error).update({name: value for name, value in details.items() if name not in _OWN})
    error.http_status = reply.status
    return error


_OWN: Final = frozenset({"message", "hint", "where", "details", "http_status"})


def _tree(kind: type[InnkeeperError]) -> list[type[InnkeeperError]]:
    return [kind, *(each for below in kind.__subclasses__() for each in _tree(below))]


def _kind(kind: type[InnkeeperError]) -> str:
    name = kind.__name__.removesuffix("Error")
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")
