"""The worker's answers about prompts: public operations in JSON, and the tasks of the server."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from innkeeper.content.errors import LIMITS
from innkeeper.content.json.text import decode_json
from innkeeper.gate.bodies import texts_of_made
from innkeeper.gate.gate import TierGate, TierPolicy, default_gate
from innkeeper.gate.judgement import Judgement
from innkeeper.gate.tier import Ceilings, Tier
from innkeeper.prompt import Ports, UsageError
from innkeeper.prompt.allowance import BuildLimits, allowed
from innkeeper.prompt.errors import InnkeeperError, LimitError, UnknownNameError
from innkeeper.prompt.typed.once import unpack
from innkeeper.service.door_gate import GATE, TIER
from innkeeper.service.error_facts import defect_reply, refusal
from innkeeper.service.errors import memory_error
from innkeeper.service.exchange import HttpReply, Request, json_reply
from innkeeper.service.gateway.state import AppState, GatewayCall
from innkeeper.service.guard.grants import Grant
from innkeeper.service.prompts.operations import OPERATIONS, WorkerScope, plan_facts
from innkeeper.service.prompts.tasks import (
    COUNTS,
    PLANS,
    REPLIES,
    TURN,
    TURNS,
    PreviewTask,
    ProfileChangedError,
    TurnTask,
    failed,
    made_count,
    made_reply,
    made_turn,
    opened,
    turn_of,
)

PREFIX: Final = "/v1/prompts/"
"""The prefix of the paths of this surface."""

PROFILES_HEADER: Final = "x-innkeeper-profiles"
"""The header from the server with the profiles that the caller may use: patterns with commas between them."""

HIDDEN_HEADER: Final = "x-innkeeper-hidden-profiles"
"""The header from the server with the profiles that are hidden from the caller: names with commas between them."""

LOG: Final = logging.getLogger("innkeeper.service")


def answer(state: AppState, request: Request, limits: BuildLimits | None = None) -> HttpReply:
    """Return the reply to a request at a path that begins with `PREFIX`."""
    is_task = request.method == TURN and request.path in _TASKS and request.path != PLANS
    fail = failed if is_task else lambda error: refusal(PREFIX, error)
    try:
        most = GatewayCall.of(state, request.headers, limits).limits
        with allowed(most):
            reply = _reply(state, request, Ports(max_limits=most))
        return _within(reply, state.settings.max_reply)
    except InnkeeperError as error:
        return fail(error)
    except MemoryError:
        return fail(memory_error(state.settings.worker_memory))
    except Exception as error:  # noqa: BLE001 - a defect of ours: the caller gets an answer all the same
        LOG.error("%s: %s", request.path, type(error).__name__)  # noqa: TRY400 - a traceback may quote a prompt
        return defect_reply(PREFIX, type(error).__name__)


def _reply(state: AppState, request: Request, ports: Ports) -> HttpReply:
    if request.method == TURN and request.path in _TASKS:
        return _TASKS[request.path](state, request, ports)
    turns: Mapping[str, TurnTask] = {}
    if request.method == TURN:
        preview = unpack(request.body, PreviewTask)
        request, turns = msgspec.structs.replace(request, body=preview.body), preview.turns
    name, body = request.path.removeprefix(PREFIX), _body(request, state)
    if name not in OPERATIONS:
        raise UnknownNameError("operation on prompts", name, OPERATIONS)
    grant = Grant(profile=tuple(request.headers.get(PROFILES_HEADER, "*").split(",")))
    hidden = request.headers.get(HIDDEN_HEADER, "").split(",")
    for part in (body, body.get("a"), body.get("b")):
        if isinstance(part, dict) and isinstance(part.get("profile"), str):
            grant.check("profile", part["profile"])
            if part["profile"] in hidden or part["profile"] not in state.profiles:
                visible = [
                    profile for profile in state.profiles if profile not in hidden and grant.allows("profile", profile)
                ]
                raise UnknownNameError("profile", part["profile"], visible)
    operation = OPERATIONS[name]
    made = operation.run(operation.read(body), WorkerScope(state, ports, turns))
    if operation.judged is Judgement.MADE:
        _judge(made, request.headers)
    return json_reply(made)


def _judge(made: Any, headers: Mapping[str, str]) -> None:
    """Let pass what was made, as the server's headers say. Raises `TierBlockedError`."""
    tier = Tier.of(headers.get(TIER))
    gate = TierGate.of(TierPolicy(adult_enabled=True), default_gate().detector)
    observe = headers.get(GATE) == "observe"
    gate.require(texts_of_made(made), tier, Ceilings(account=tier), observe=observe)


def _plan(state: AppState, request: Request, ports: Ports) -> HttpReply:
    """Build the plan of an earlier turn again and explain it. Raises `ProfileChangedError`."""
    digest, task = request.query, unpack(request.body, TurnTask)
    profile = opened(state, task.profile) if task.profile in state.profiles else None
    if profile is None or profile.digest != digest:
        raise ProfileChangedError(f"the profile {task.profile!r} is not what it was when this plan was made")
    return json_reply({"profile": task.profile, **plan_facts(turn_of(profile, task, ports))})


_TASKS: Final[Mapping[str, Callable[[AppState, Request, Ports], HttpReply]]] = {
    TURNS: made_turn,
    REPLIES: made_reply,
    COUNTS: made_count,
    PLANS: _plan,
}


def _body(request: Request, state: AppState) -> dict[str, Any]:
    limits = msgspec.structs.replace(LIMITS, json_depth=state.settings.max_depth, file_bytes=state.settings.max_body)
    value = decode_json(request.body, limits, name="body")
    if not isinstance(value, dict):
        raise UsageError("the body must be a JSON object")
    return value


def _within(reply: HttpReply, most: int) -> HttpReply:
    if len(reply.body) > most:
        raise LimitError(
            "the reply", limit="MAX_REPLY", allowed=most, found=len(reply.body), hint="ask for less at once"
        )
    return reply
