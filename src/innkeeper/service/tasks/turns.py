"""``/functions/v1/playground-chat`` and ``roleplay-chat`` in the document's shapes, and ``/v1/chat`` and ``/v1/roleplay``.

Both take a turn of a stored conversation, in one way; only names differ. Unlike the original's, a body's ``user_id`` is nobody,
a tier is only asked for, an intent is a field and is never guessed from words, and a system prompt or a template of one's own is
for keys with the scope ``admin``, and stands in the audit (dynamic-prompting reference 2.4, 3.1, 3.3, S7).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from datetime import timedelta
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from innkeeper.inference.response.views.view import ServerEvent
from innkeeper.inference.routing.models import Models
from innkeeper.library.log.enhancements import text_digest
from innkeeper.library.memory import NewMemory
from innkeeper.operations.operation import read_body
from innkeeper.operations.scenes.operations import GENERATE, generate
from innkeeper.operations.scope import TaskTerms
from innkeeper.operations.tasks.chat import playground_reply
from innkeeper.operations.tasks.opening import Opening, opened
from innkeeper.operations.tasks.roleplay import roleplay_reply, scene_of
from innkeeper.operations.tasks.turn import TurnAnswer, TurnRequest
from innkeeper.operations.tasks.turn_stream import TurnStream
from innkeeper.operations.tasks.turns import Turns
from innkeeper.prompt.data import freeze
from innkeeper.prompt.errors import InnkeeperError, UnavailableError, UsageError, Where
from innkeeper.service.answers import EventStream
from innkeeper.service.cancelling import Stop
from innkeeper.service.error_facts import function_facts
from innkeeper.service.errors import ScopeError
from innkeeper.service.http import over
from innkeeper.service.pages import Endpoint
from innkeeper.service.scope import CallScope
from innkeeper.service.tasks.calls import (
    Media,
    Opened,
    Served,
    flag_of,
    function,
    service,
    text_of,
)

if TYPE_CHECKING:
    from innkeeper.library.library import Library


def turn_routes(tasks: Opened, models: Models | None = None, media: Media | None = None) -> list[BaseRoute]:
    """The routes. ``models`` are what else answers, profiles among it; ``media`` the jobs that make pictures."""
    others = models, media
    return [
        Route("/functions/v1/playground-chat", _either(tasks, "chat", function, playground, others), methods=["POST"]),
        Route("/functions/v1/roleplay-chat", _either(tasks, "roleplay", function, roleplay, others), methods=["POST"]),
        Route("/v1/chat", _either(tasks, "chat", service, playground, others), methods=["POST"]),
        Route("/v1/roleplay", _either(tasks, "roleplay", service, roleplay, others), methods=["POST"]),
    ]


Reply = Callable[["Library", TurnAnswer, float], Mapping[str, Any]]
"""The reply to a turn that took so many milliseconds."""


def playground(library: Library, answer: TurnAnswer, took_ms: float) -> Mapping[str, Any]:
    """The reply of ``playground-chat``."""
    age = library.cache_age()
    read = None if age is None else (library.outside.now().now - timedelta(seconds=age)).isoformat()
    return playground_reply(answer, took_ms=took_ms, cache_read=read)


def roleplay(_library: Library, answer: TurnAnswer, took_ms: float) -> Mapping[str, Any]:
    """The reply of ``roleplay-chat``."""
    return roleplay_reply(answer, took_ms=took_ms)


def _either(
    tasks: Opened,
    operation: str,
    shape: Callable[[Opened, str, Served, Media | None], Endpoint],
    reply: Reply,
    others: tuple[Models | None, Media | None],
) -> Endpoint:
    """An endpoint that answers as a whole, or, where the body says ``stream``, as it comes."""

    async def told(call: CallScope) -> Mapping[str, Any] | Response:
        return await (_streamed if flag_of(call.body, "stream") else taken)(call, reply, others[0])

    return shape(tasks, operation, told, others[1])


async def taken(call: CallScope, reply: Reply, models: Models | None = None) -> Mapping[str, Any]:
    """A turn, and the reply to it."""
    began = perf_counter()
    profile = _profile_of(call)
    turns, request = await _asked(call)
    if profile is None:
        answer = await turns.take(request)
    else:
        answer = await _with_profile(call, turns, request, profile, models)
    return await _pictured(call, reply(turns.library, answer, (perf_counter() - began) * 1000))


async def _pictured(call: CallScope, reply: Mapping[str, Any]) -> Mapping[str, Any]:
    """The reply, with the scene that ``scene_generation`` asks for: of what was said last, begun once for each answer.

    That no scene could be begun does not undo the turn: it stands in ``scene_error``.
    """
    if not flag_of(call.body, "scene_generation"):
        return reply
    body = {name: value for name, value in call.body.items() if name not in _TURNS_OWN}
    headers = {"idempotency-key": f"scene of {reply['message_id']}"}
    try:
        request = GENERATE.read({**body, "conversation_id": reply["conversation_id"]})
        scene = await generate(request, call._replace(headers=headers))
    except InnkeeperError as error:
        return {**reply, "scene_error": function_facts(error)}
    done = scene["status"] == "completed"
    return {**reply, "scene_generated": done, "scene_generating_async": not done and scene["success"], "scene": scene}


_TURNS_OWN: Final = frozenset({"message", "content", "character", "prompt", "response", "strict", "callback_url"})
"""Fields that mean a turn, and would mean something else to a scene."""


def _profile_of(call: CallScope) -> str | None:
    """The profile that is to answer. Raises `UsageError` where the body also says what only a template has use for."""
    profile = text_of(call.body, "profile") or None
    wrong = next((name for name in _TEMPLATES_OWN if profile and call.body.get(name) is not None), None)
    if wrong is not None:
        raise UsageError(f"{wrong} has no use with a profile", where=Where(path=wrong))
    return profile


_TEMPLATES_OWN: Final = (
    "system_prompt_override",
    "prompt_template_id",
    "model_key_override",
    "character_id",
    "character",
)


async def _with_profile(
    call: CallScope, turns: Turns, request: TurnRequest, profile: str, models: Models | None
) -> TurnAnswer:
    call.ticket.grant.check("profile", profile)
    if models is None:
        raise UnavailableError("profiles answer in a service", hint="innkeeper serve --profile FOLDER")
    from innkeeper.operations.tasks.profile_turn import take_with_profile

    return await take_with_profile(turns, request, profile, models, call.ticket.caller)


async def _streamed(call: CallScope, reply: Reply, models: Models | None) -> Response:
    """The answer as server-sent events: ``delta`` with what is new, then ``done`` with the whole reply, or ``error``."""
    if _profile_of(call) is not None:
        return _at_once(await taken(call, reply, models))
    began = perf_counter()
    turns, request = await _asked(call)
    stream = await TurnStream.begin(turns, request)

    async def pieces() -> AsyncGenerator[bytes]:
        try:
            async with aclosing(stream.texts()) as texts:
                async for text in texts:
                    yield ServerEvent({"text": text}, "delta").encode()
        except InnkeeperError as error:
            yield ServerEvent(function_facts(error), "error").encode()
            return
        assert stream.answer is not None  # noqa: S101 - the texts have ended
        done = reply(turns.library, stream.answer, (perf_counter() - began) * 1000)
        yield ServerEvent(await _pictured(call, done), "done").encode()

    return EventStream(pieces(), {}, Stop(), over)


def _at_once(reply: Mapping[str, Any]) -> Response:
    """An answer that is there as a whole, as events."""

    async def pieces() -> AsyncGenerator[bytes]:
        yield ServerEvent({"text": reply["response"]}, "delta").encode()
        yield ServerEvent(reply, "done").encode()

    return EventStream(pieces(), {}, Stop(), over)


async def _asked(call: CallScope) -> tuple[Turns, TurnRequest]:
    """Whose turns they are, and which is wanted; its conversation is there."""
    turns = Turns(await call.tasks(), call.owner)
    opening = opening_of(call.body)
    fields = turn_fields(call.body)
    _check_overrides(call, turns, fields)
    row = await asyncio.to_thread(opened, turns.library, turns.owner, opening)
    fields["model"] = _model_key(turns, fields["model"])
    terms = {
        **call.terms(read_body(TaskTerms, call.body)),
        "ceilings": call.ceilings,
        "request_id": call.number or None,
    }
    return turns, TurnRequest(conversation_id=row.id, **fields, **terms)


# ------------------------------------------------------------------------------------------------------------------- reading

_TIERS: Final = ("content_tier", "contentTier", "content_mode", "contentMode", "contentType")
_MODELS: Final = ("model_key_override", "model_key", "model_id", "model_variant", "model")
_LOCAL: Final = frozenset({"", "auto", "chat_worker", "qwen-local"})
"""Names of the document for whichever model is there."""

_LONG: Final = 1_000
"""Tokens of an answer where a long one is asked for: the document's long form."""


def opening_of(body: Mapping[str, Any]) -> Opening:
    """Which conversation a body means. Raises `UsageError`, `FieldError`."""
    names = ("conversation_id", "character_id", "user_character_id", "conversation_type", "memory_tier", "project_id")
    said = {name: text for name in names if (text := text_of(body, name))}
    character = body.get("character")
    if not isinstance(character, (Mapping, type(None))):
        raise UsageError("character is an object", where=Where(path="character"))
    key = text_of(body, "client_conversation_id") or text_of(body, "client_msg_id", "clientMsgId")
    title, told = text_of(body, "title") or None, None if character is None else freeze(character)
    return Opening(**said, key=f"turn:{key}" if key else None, title=title, character=told)


def turn_fields(body: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a `TurnRequest` in a body. Raises `UsageError` for a field of another type."""
    long = any(flag_of(body, name) for name in ("long_response", "longResponse"))
    starters = body.get("scene_starters")
    if not isinstance(starters, (list, type(None))):
        raise UsageError("scene_starters is a list of texts", where=Where(path="scene_starters"))
    return {
        "message": text_of(body, "message", "content"),
        "kind": _kind(body),
        "client_msg_id": text_of(body, "client_msg_id", "clientMsgId") or None,
        "message_type": text_of(body, "message_type") or "text",
        "intent": text_of(body, "intent") or None,
        "content_mode": next((body[name] for name in _TIERS if body.get(name) is not None), None),
        "scene": scene_of(body, starters or ()),
        "remember": _memories(body.get("remember")),
        "memory": body.get("memory_enabled") is None or flag_of(body, "memory_enabled"),
        "model": text_of(body, *_MODELS) or None,
        "max_output_tokens": _LONG if long else None,
        "system": text_of(body, "system_prompt_override") or None,
        "template": text_of(body, "prompt_template_id") or None,
    }


def _kind(body: Mapping[str, Any]) -> str:
    kickoff = flag_of(body, "kickoff") or body.get("message_type") == "scene_kickoff"
    if kickoff and flag_of(body, "continue"):
        raise UsageError("a turn is a kickoff or goes on, not both", where=Where(path="continue"))
    return "kickoff" if kickoff else "continue" if flag_of(body, "continue") else "message"


def _memories(value: Any) -> tuple[NewMemory, ...]:
    """What is to be remembered: texts, or objects with ``content``, ``scope``, ``kind`` and ``pinned``. Raises `UsageError`."""
    if not isinstance(value, (list, type(None))):
        raise UsageError("remember is a list", where=Where(path="remember"))
    return tuple([_memory(one, number) for number, one in enumerate(value or ())])


def _memory(value: Any, number: int) -> NewMemory:
    fields = {"content": value} if isinstance(value, str) else value
    where = Where(path=f"remember[{number}]")
    if not isinstance(fields, Mapping) or not fields.keys() <= {"content", "scope", "kind", "pinned"}:
        raise UsageError("a memory is a text, or an object with content, scope, kind and pinned", where=where)
    kind, scope = text_of(fields, "kind") or "fact", text_of(fields, "scope") or None
    return NewMemory(content=text_of(fields, "content"), scope=scope, kind=kind, pinned=flag_of(fields, "pinned"))


def _model_key(turns: Turns, said: str | None) -> str | None:
    """The key of the model that is asked for, by its key or its id in the catalogue; None: whichever is best."""
    if said is None or said in _LOCAL:
        return None
    rows = turns.library.catalogue.models
    return next((row.model_key for row in rows if row.id == said), said)


def _check_overrides(call: CallScope, turns: Turns, fields: Mapping[str, Any]) -> None:
    """Let an administrator replace the system prompt or choose a template, and record it. Raises `ScopeError` for all others."""
    names = {"system": "system_prompt_override", "template": "prompt_template_id"}
    used = [name for name in names if fields[name] is not None]
    if not used:
        return
    if not call.ticket.grant.is_admin:
        raise ScopeError(f"this key may not set {names[used[0]]}", scope="admin", where=Where(path=names[used[0]]))
    from innkeeper.library.db.rows import AuditStore

    details = {names[name]: text_digest(fields[name]) for name in used}
    store = AuditStore(turns.library.db)
    store.append("prompt.override", actor=call.owner.user, resource=("request", call.number), details=details)
