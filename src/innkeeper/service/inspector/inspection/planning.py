"""Planning: the plan of a workspace, and the body that a route's provider is sent for it, with the inspection.

A plan that does not fit its window is made all the same: what is to be seen is how far it does not. A profile's turn is settled
as the service settles it, for the route that answers it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from innkeeper.conversation import TurnInput, settled_request
from innkeeper.conversation.greetings import opening_messages
from innkeeper.conversation.reply import ReplyRules, answered_request, finished_reply
from innkeeper.dialects.plan_payload import plan_payload
from innkeeper.prompt import BuildRequest, InnkeeperError, MaxTokensExceededError, Plan, deep_merge
from innkeeper.prompt.note import Instrumenter, Note, NoteKind
from innkeeper.service.inspector.inspection.inspection import inspected
from innkeeper.service.inspector.views.workspace import SettingsChange, Variation
from innkeeper.taverns import build
from innkeeper.taverns.participants import speaker_of

if TYPE_CHECKING:
    from innkeeper.service.inspector.workspace.workspace import OpenWorkspace


def planned(
    workspace: OpenWorkspace,
    variation: Variation | None = None,
    route: RouteTurn | None = None,
    instrumenter: Instrumenter | None = None,
) -> Plan:
    """The plan, for the ``route`` that is asked, by default a profile's own, and counted as that counts.

    ``instrumenter`` is told of its steps.
    One that does not fit is made all the same, with a warning. Raises what building raises otherwise.
    """
    notes: tuple[Note, ...] = ()
    request = workspace.request(variation)
    route, ports = route or _profile_route(workspace, request), workspace.ports
    if route is not None:
        from innkeeper.inference.local.vocabulary import counting_ports

        ports = counting_ports(route.adapter, route.turn["model"], ports)
        request, notes = settled_request(request, TurnInput.of((), **route.turn, seed=request.seed))
    if workspace.greeting is not None and not (request.history or workspace.has_begun(variation)):
        request = request.with_(history=tuple(opening_messages(request, workspace.greeting, ports)))
    if workspace.installed is not None:
        notes = (*notes, *workspace.installed.notes)
    ports = replace(ports, instrumenter=instrumenter)
    try:
        plan = build(request, ports)
    except MaxTokensExceededError as error:
        options = deep_merge(request.step_options, {"trimming": {"on_overflow": "warn"}})
        plan = build(request.with_(step_options=options), ports)
        note = Note(NoteKind.LIMIT, error.message, hint=error.hint)
        plan = plan.with_(warnings=(note, *plan.warnings))
    return plan.with_(notes=(*notes, *plan.notes)) if notes else plan


def _profile_route(workspace: OpenWorkspace, request: BuildRequest) -> RouteTurn | None:
    """Return the route that a profile names, unless the page counts for another model."""
    from innkeeper.inference.routing.route import Routes

    if workspace.profile is None or request.model != workspace.profile.profile.model:
        return None
    profile = workspace.profile.profile
    with suppress(InnkeeperError):
        route = Routes.read().of_profile(profile)
        return RouteTurn(message=None, adapter=route.adapter, turn=route.turn_fields(request.dialect))
    return None


class RouteTurn(msgspec.Struct, frozen=True, kw_only=True):
    """The route that a prompt is made for: who writes its bodies, and the fields of a turn that it settles (JSON).

    ``variation`` is of the workspace, with ``message`` in place of its own.
    """

    message: str | None
    adapter: str
    turn: dict[str, Any]
    variation: Variation = Variation()


class Sending(msgspec.Struct, frozen=True):
    """The body (JSON) and the inspection (JSON) of one prompt, and the rules of its answer.

    ``request`` (JSON) is that by which scripts finish the answer; it is empty where there are none.
    """

    content: bytes
    inspection: bytes
    rules: ReplyRules
    request: bytes = b""


class AnswerText(msgspec.Struct, frozen=True):
    """An answer to be finished by scripts, with the request of its `Sending` and who speaks."""

    request: bytes
    speaker: str
    text: str


def sending(workspace: OpenWorkspace, asked: RouteTurn) -> Sending:
    """Return what a route's provider is sent; what the body could not say is among the notes. Raises what building raises."""
    from innkeeper.inference.adapters.adapter import ModelRequest
    from innkeeper.inference.adapters.registry import ADAPTERS

    settings = asked.variation.settings or SettingsChange()
    own = {"dialect": asked.turn.get("dialect", UNSET), **({} if asked.message is None else {"message": asked.message})}
    changed = msgspec.structs.replace(asked.variation, settings=msgspec.structs.replace(settings, **own))
    plan = planned(workspace, changed, asked)
    request = plan.request or BuildRequest()
    rules = ReplyRules.of(request, speaker_of(plan, request))
    payload = plan_payload(plan, plan.dialect)
    shown = plan.with_(notes=(*plan.notes, *payload.notes)) if payload.notes else plan
    return Sending(
        content=ModelRequest.of(ADAPTERS[asked.adapter], payload.body, stream=True).content,
        inspection=msgspec.json.encode(inspected(workspace, shown, changed)),
        rules=rules,
        request=answered_request(request, plan.variables).to_json() if rules.scripts else b"",
    )


def finished(answer: AnswerText) -> str:
    """Return the answer as the tavern keeps it. Raises what building raises."""
    return finished_reply(BuildRequest.from_json(answer.request), answer.text, speaker=answer.speaker).text
