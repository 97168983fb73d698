"""Tasks of turns: messages between the server and a worker for a turn over a profile, in MessagePack.

The server keeps states and asks models; a worker reads profiles, builds, and runs scripts. Bodies for providers come back as the
bytes to send, so that the server never decodes them.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.conversation.reply import ReplyRules
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import InnkeeperError, ReplayError, Where
from innkeeper.prompt.note import Note
from innkeeper.prompt.typed.once import convert, unpack
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
COUNTS: Final = "/v1/prompts/counts"


class ProfileChangedError(ReplayError):
    """The profile of a plan has changed: its prompt cannot be shown any more."""

    HINT = "plans can be looked at until a file of their profile changes"


class TurnTask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn to build: the fields of `TurnInput` as JSON, whose numbers may be of any size.

    ``state`` is that of the conversation before it. ``adapter`` writes the body; with ``stream`` it asks for a stream. ``notes``
    are of the request and of the conversation.
    """

    profile: str
    turn: bytes
    state: bytes = b""
    adapter: str = "openai-chat"
    stream: bool = False
    notes: list[dict[str, Any]] = []


class PreviewTask(msgspec.Struct, frozen=True, kw_only=True):
    """An operation on prompts: its body, and the turns over profiles in it, as they would be sent, by where they stand."""

    body: bytes
    turns: dict[str, TurnTask]


class TurnMade(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A built turn: the provider's body as bytes, the state after it, and the rules for the answer."""

    content: bytes
    state: bytes
    speaker: str
    digest: str
    rules: ReplyRules
    notes: list[dict[str, Any]] = []


class ReplyTask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An answer to finish by the scripts of its profile; ``state`` is that after the turn."""

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
    """Return the profile of this name, without the macro that runs code if the service forbids it. Raises as `Profiles`."""
    profile = state.profiles[name]
    return msgspec.structs.replace(profile, request=harmless(state, profile.request))


def harmless(state: AppState, request: BuildRequest) -> BuildRequest:
    """Return the request, without the macro that runs code if the service forbids it."""
    if state.settings.python or request.tavern != "smart":
        return request
    return request.with_(settings={**request.settings, "python": False})


def turn_of(profile: OpenProfile, task: TurnTask, ports: Ports) -> ProfileTurn:
    """Build the turn of a task over its profile, counted as the model on this machine does where it answers.

    Raises what building does.
    """
    from innkeeper.conversation import ConversationState, profile_turn
    from innkeeper.inference.local.shared import LOCAL

    asked = _input(task)
    if task.adapter == LOCAL:
        from innkeeper.inference.local.vocabulary import counting_ports

        ports = counting_ports(task.adapter, asked.model, ports)
    turn = profile_turn(profile, asked, ConversationState.from_json(task.state), ports)
    return msgspec.structs.replace(turn, notes=(*turn.notes, *notes_of(task.notes)))


def read_profiles(state: AppState) -> None:
    """Read all profiles and build a turn of each, so that the first calls are as fast as others. Errors are left to the calls."""
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
        rules=turn.rules,
        notes=note_facts(notes),
    )
    return HttpReply(200, msgspec.msgpack.encode(made))


def made_count(state: AppState, request: Request, ports: Ports) -> HttpReply:
    """Count the tokens of a turn's prompt."""
    from innkeeper.budget import accounting

    task = unpack(request.body, TurnTask)
    total = accounting(turn_of(opened(state, task.profile), task, ports).plan).total
    return HttpReply(200, msgspec.msgpack.encode(total))


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
    """Return notes as data."""
    return [note.to_dict() for note in notes]


_NOTES: Final = tuple[Note, ...]


def notes_of(facts: list[dict[str, Any]]) -> tuple[Note, ...]:
    """Return the notes of a worker's data."""
    return convert(facts, _NOTES, dec_hook=lambda _, data: FrozenDict(data))


def failed(error: InnkeeperError) -> HttpReply:
    """Return the reply that carries an error to the server."""
    return HttpReply(error.http_status, msgspec.msgpack.encode(error.to_dict()))


def error_of(reply: HttpReply) -> InnkeeperError:
    """Return the error of a worker's reply, of the same class, so that every surface can word it."""
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
