"""``chat.turn`` and ``roleplay.turn``: take a turn of a stored conversation, in the requirement document's fields and spellings.

Only their replies differ. Unlike in the original, a body's ``user_id`` has no effect, a tier is only a request, an intent is a
field and is never guessed from words, and a system prompt or a template of one's own is for callers with the scope ``admin``, and
is recorded in the audit (dynamic-prompting reference 2.4, 3.1, 3.3, S7).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from datetime import timedelta
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Literal, Required, cast

import msgspec

from innkeeper.conversation.client_turn import CLIENT_OPTIONS
from innkeeper.gate.judgement import Judgement
from innkeeper.gate.tier import Tier
from innkeeper.inference.requests.chat import read_chat
from innkeeper.inference.response.views.view import ServerEvent
from innkeeper.library.log.enhancements import text_digest
from innkeeper.library.memory import NewMemory
from innkeeper.operations.operation import Operation
from innkeeper.operations.refusals import function_facts
from innkeeper.operations.scenes.operations import GENERATE, generate
from innkeeper.operations.scope import Scope, TaskTerms
from innkeeper.operations.stored import MemoryTier
from innkeeper.operations.tasks.answer import TaskOutcome
from innkeeper.operations.tasks.opening import Opening, opened
from innkeeper.operations.tasks.turn import TurnAnswer, TurnRequest
from innkeeper.operations.tasks.turn_replies import playground_reply, roleplay_reply
from innkeeper.operations.tasks.turn_writers import profile_writer
from innkeeper.operations.tasks.turns import TurnEvents, Turns, events_of
from innkeeper.prompt.data import EMPTY, freeze
from innkeeper.prompt.errors import InnkeeperError, UsageError, Where
from innkeeper.prompt.near import did_you_mean
from innkeeper.prompt.text import scalar_text

if TYPE_CHECKING:
    from innkeeper.library.library import Library

_LOCAL: Final = frozenset({"", "auto", "chat_worker", "qwen-local"})
"""The document's names for any model."""

_LONG: Final = 1_000
"""Tokens of a long answer: the document's long form."""

Events = AsyncGenerator[ServerEvent | None]
"""A reply as it comes: ``delta`` with each new text, then ``done`` with the whole reply."""


class TurnMemory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something to remember from now on."""

    content: str | None = None
    scope: MemoryTier | None = None
    kind: str | None = None
    pinned: bool | None = None


class TakeTurn(TaskTerms, frozen=True, kw_only=True, rename={"goes_on": "continue"}):
    """A turn: what is said, in which conversation, and with what.

    ``kickoff``: the character speaks first. ``continue``: it goes on. ``profile`` names who answers in the place of a template.
    ``scene_generation``: have a picture made of what was said last; further fields are those of a scene. Options of a model have
    the names of Chat Completions; tools are refused, since what a turn keeps is a text.
    """

    message: str = ""
    kickoff: bool = False
    goes_on: bool = False
    conversation_id: str | None = None
    client_conversation_id: str | None = None
    character_id: str | None = None
    user_character_id: str | None = None
    character: dict[str, Any] | None = None
    conversation_type: str | None = None
    memory_tier: MemoryTier | None = None
    project_id: str | None = None
    title: str | None = None
    client_msg_id: str | None = None
    message_type: str = "text"
    profile: str | None = None
    intent: str | None = None
    content_tier: Any = None
    model_key_override: str | None = None
    model: str | None = None
    long_response: bool = False
    memory_enabled: bool = True
    remember: tuple[str | TurnMemory, ...] = ()
    setting: str = ""
    actions: str = ""
    positioning: str = ""
    conversation_context: str = ""
    scene_context: str = ""
    scene_description: str = ""
    scene_system_prompt: str = ""
    scene_starters: tuple[Any, ...] = ()
    scene_content_rating: str = ""
    system_prompt_override: str | None = None
    prompt_template_id: str | None = None
    scene_generation: bool = False
    stream: bool = False
    others: Mapping[str, Any] = EMPTY


class TurnFacts(TaskOutcome, total=False):
    """The part that the replies of all turns have."""

    success: Required[Literal[True]]
    response: Required[str]
    conversation_id: Required[str]
    message_id: Required[str]
    replayed: Required[bool]
    memory: Required[dict[str, Any]]
    context: Required[dict[str, Any]]
    post_processing: dict[str, Any]
    notes: list[dict[str, str]]


class PlaygroundTurn(TurnFacts, total=False):
    """A turn of a conversation of any kind."""

    context_type: Required[str]
    content_tier: Required[str]
    template_meta: Required[dict[str, Any]]
    enforcement_diagnostics: dict[str, Any]


class RoleplayTurn(TurnFacts, total=False):
    """A turn with a character."""

    memory_updated: Required[bool]
    usedFallback: Required[bool]  # noqa: N815 - the document's key


async def chat(request: TakeTurn, scope: Scope) -> PlaygroundTurn | Events:
    """Take a turn of a conversation."""
    return cast("PlaygroundTurn", await _taken(request, scope, _playground))


async def roleplay(request: TakeTurn, scope: Scope) -> RoleplayTurn | Events:
    """Take a turn with a character."""
    return cast("RoleplayTurn", await _taken(request, scope, _roleplay))


Reply = Callable[["Library", TurnAnswer, float], Mapping[str, Any]]
"""Writes the reply to a turn that took so many milliseconds."""


def _playground(library: Library, answer: TurnAnswer, took_ms: float) -> Mapping[str, Any]:
    age = library.cache_age()
    read = None if age is None else (library.outside.now().now - timedelta(seconds=age)).isoformat()
    return playground_reply(answer, took_ms=took_ms, cache_read=read)


def _roleplay(_library: Library, answer: TurnAnswer, took_ms: float) -> Mapping[str, Any]:
    return roleplay_reply(answer, took_ms=took_ms)


async def _taken(request: TakeTurn, scope: Scope, reply: Reply) -> Mapping[str, Any] | Events:
    """Take a turn; return the whole reply, or the reply as it comes."""
    began = perf_counter()
    _check_profile(request)
    turns = Turns(await scope.tasks(), scope.owner)
    turn = await _turn(request, scope, turns)

    async def replied(answer: TurnAnswer) -> Mapping[str, Any]:
        facts = reply(turns.library, answer, (perf_counter() - began) * 1000)
        if not answer.replayed:
            from innkeeper.operations.scenes.following import follow_talk

            tier = Tier.SFW if answer.answer is None else answer.answer.tier
            await asyncio.to_thread(follow_talk, turns.library, scope.owner, answer.conversation.id, tier)
        return await _pictured(request, scope, {**facts, **_unread(request)})

    if request.profile is not None:
        writer = profile_writer(scope.profile_models(request.profile), request.profile, scope.caller)
        answer = await turns.take(turn, writer)
        return _events(events_of(answer), replied) if request.stream else await replied(answer)
    if request.stream:
        return _events(await turns.stream(turn), replied)
    return await replied(await turns.take(turn))


def _unread(request: TakeTurn) -> dict[str, Any]:
    """Return the notes of a reply: of each field that neither the turn nor the scene that it asks for reads."""
    known = CHAT.names | _OPTIONS | (GENERATE.names if request.scene_generation else frozenset())
    notes = []
    for name in sorted(set(request.others) - known):
        parts = (f"there is no field {name!r:.60}; it changes nothing", did_you_mean(name, known))
        notes.append({"path": name[:60], "message": "; ".join(filter(None, parts))})
    return {"notes": notes} if notes else {}


async def _events(turn: TurnEvents, replied: Callable[[TurnAnswer], Awaitable[Mapping[str, Any]]]) -> Events:
    async with aclosing(turn) as events:
        async for event in events:
            if isinstance(event, str):
                yield ServerEvent({"text": event}, "delta")
            else:
                yield ServerEvent(await replied(event), "done")


async def _pictured(request: TakeTurn, scope: Scope, reply: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the reply with the scene that ``scene_generation`` asks for: of the last messages, begun once for each answer.

    An error of the scene does not undo the turn: it is in ``scene_error``.
    """
    if not request.scene_generation:
        return reply
    body = {name: value for name, value in request.others.items() if name not in _TURNS_OWN}
    body |= {name: getattr(request, name) for name in _SHARED}
    try:
        picture = GENERATE.read({**body, "conversation_id": reply["conversation_id"]})
        scene = await generate(picture, scope.again(f"scene of {reply['message_id']}"))
    except InnkeeperError as error:
        return {**reply, "scene_error": function_facts(error)}
    done = scene["status"] == "completed"
    return {**reply, "scene_generated": done, "scene_generating_async": not done and scene["success"], "scene": scene}


_TURNS_OWN: Final = frozenset({"prompt", "response", "callback_url"})
"""Fields with another meaning for a scene."""

_SHARED: Final = (
    *("character_id", "user_character_id", "scene_context", "scene_description", "content_tier", "max_cost"),
)
"""Fields that a turn and a scene have in common."""


# --------------------------------------------------------------------------------------------------------------- the request


def _check_profile(request: TakeTurn) -> None:
    """Raise `UsageError` for a profile together with a field that only a template uses."""
    wrong = next((name for name in _TEMPLATES_OWN if request.profile and getattr(request, name) is not None), None)
    if wrong is not None:
        raise UsageError(f"{wrong} has no use with a profile", where=Where(path=wrong))


_OVERRIDES: Final = ("system_prompt_override", "prompt_template_id")
_TEMPLATES_OWN: Final = (*_OVERRIDES, "model_key_override", "character_id", "character")


async def _turn(request: TakeTurn, scope: Scope, turns: Turns) -> TurnRequest:
    """Open the conversation and return the turn."""
    key = request.client_conversation_id or request.client_msg_id
    names = ("conversation_id", "character_id", "user_character_id", "conversation_type", "memory_tier", "project_id")
    opening = Opening(
        **{name: getattr(request, name) for name in (*names, "title")},
        key=f"turn:{key}" if key else None,
        character=None if request.character is None else freeze(request.character),
    )
    fields = _fields(request, turns.library) | _options(request)
    _check_overrides(request, scope, turns.library)
    row = await asyncio.to_thread(opened, turns.library, turns.owner, opening)
    terms = {**scope.terms(request), "ceilings": scope.ceilings, "request_id": scope.number or None}
    return TurnRequest(conversation_id=row.id, **fields, **terms)


def _fields(request: TakeTurn, library: Library) -> dict[str, Any]:
    return {
        "message": request.message,
        "kind": _kind(request),
        "client_msg_id": request.client_msg_id,
        "message_type": request.message_type,
        "intent": request.intent,
        "content_mode": request.content_tier,
        "scene": _scene(request),
        "remember": tuple(map(_memory, request.remember)),
        "memory": request.memory_enabled,
        "model": _model_key(library, request.model_key_override or request.model),
        "max_output_tokens": _LONG if request.long_response else None,
        "system": request.system_prompt_override,
        "template": request.prompt_template_id,
    }


def _options(request: TakeTurn) -> dict[str, Any]:
    """Return the options of the model that a body holds, read as those of Chat Completions. Raises `UsageError` for tools."""
    tools = next((name for name in _TOOLS if request.others.get(name)), None)
    if tools is not None:
        hint = "ask the profile at /v1/chat/completions: it gives the calls back"
        raise UsageError(f"a stored conversation calls no tools: {tools}", where=Where(path=tools), hint=hint)
    scenes = GENERATE.names if request.scene_generation else frozenset()
    body = {name: value for name, value in request.others.items() if name in _OPTIONS - scenes}
    if not body:
        return {}
    options = dict(read_chat({**body, "model": "-", "messages": [{"role": "user", "content": "-"}]}).options)
    limit = options.pop("max_tokens", None)
    return {"options": freeze(options), **({} if limit is None else {"max_output_tokens": limit})}


_TOOLS: Final = ("tools", "functions", "tool_choice", "function_call")
_OPTIONS: Final = (CLIENT_OPTIONS | {"max_completion_tokens"}) - {"user", "tool_choice", "parallel_tool_calls"}
"""Fields that are options of the model."""


def _kind(request: TakeTurn) -> str:
    kickoff = request.kickoff or request.message_type == "scene_kickoff"
    if kickoff and request.goes_on:
        raise UsageError("a turn is a kickoff or goes on, not both", where=Where(path="continue"))
    return "kickoff" if kickoff else "continue" if request.goes_on else "message"


def _memory(memory: str | TurnMemory) -> NewMemory:
    fields = TurnMemory(content=memory) if isinstance(memory, str) else memory
    return NewMemory(
        content=scalar_text(fields.content or ""),
        scope=fields.scope or None,
        kind=fields.kind or "fact",
        pinned=fields.pinned or False,
    )


def _scene(request: TakeTurn) -> dict[str, Any]:
    """Return the scene of a turn by the columns that templates read: place, events, how it may begin.

    All of it is a client's text: it is set off as material, and never an instruction.
    """
    lines = [scalar_text(line) for line in request.scene_starters if isinstance(line, str) and line.strip()]
    numbered = "\n".join(f"{number}. {line.strip()}" for number, line in enumerate(lines, 1))
    starters = f"Ways to begin:\n{numbered}" if numbered else ""
    texts = (request.scene_context, request.scene_description, request.scene_system_prompt, starters)
    fields = {name: getattr(request, name) for name in ("setting", "actions", "positioning", "conversation_context")}
    fields["scene_context"] = "\n\n".join(dict.fromkeys(text for text in texts if text.strip()))
    fields["content_rating"] = request.scene_content_rating
    return {name: value for name, value in fields.items() if value}


def _model_key(library: Library, name: str | None) -> str | None:
    """Return the key of a model by its key or its id in the catalogue; None for the best."""
    if name is None or name in _LOCAL:
        return None
    return next((row.model_key for row in library.catalogue.models if row.id == name), name)


def _check_overrides(request: TakeTurn, scope: Scope, library: Library) -> None:
    """Let an administrator replace the system prompt or choose a template, and record it. Raises `ScopeError` for all others."""
    used = {name: value for name in _OVERRIDES if (value := getattr(request, name)) is not None}
    if not used:
        return
    scope.check_admin(next(iter(used)))
    from innkeeper.library.db.rows import AuditStore

    details = {name: text_digest(text) for name, text in used.items()}
    store = AuditStore(library.db)
    store.append("prompt.override", actor=scope.owner.user, resource=("request", scope.number), details=details)


_SPELLINGS: Final = {
    "message": ("content",),
    "client_msg_id": ("clientMsgId",),
    "content_tier": ("contentTier", "content_mode", "contentMode", "contentType"),
    "model": ("model_key", "model_id", "model_variant", "model"),
    "long_response": ("longResponse",),
}
_EXAMPLES: Final = ({"message": "What is a ferry bell for?"},)

CHAT: Final = Operation("chat.turn", chat, _SPELLINGS, whole="others", examples=_EXAMPLES, judged=Judgement.TASK)
ROLEPLAY: Final = Operation(
    "roleplay.turn", roleplay, _SPELLINGS, whole="others", examples=_EXAMPLES, judged=Judgement.TASK
)
