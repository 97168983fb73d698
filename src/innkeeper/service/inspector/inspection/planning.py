"""Planning: the plan of a workspace, and what a model is to be asked of it: messages and options, with the inspection.

A plan that does not fit its window is made all the same: what is to be seen is how far it does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from innkeeper.conversation.reply import ReplyRules, answered_request, finished_reply
from innkeeper.dialects.plan_payload import RESERVE, plan_options
from innkeeper.prompt import BuildRequest, MaxTokensExceededError, Plan, deep_merge
from innkeeper.prompt.data import plain_data, thaw
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.service.inspector.inspection.inspection import inspected
from innkeeper.service.inspector.views.workspace import SettingsChange, Variation
from innkeeper.taverns import build
from innkeeper.taverns.participants import speaker_of

if TYPE_CHECKING:
    from innkeeper.service.inspector.workspace.workspace import OpenWorkspace


def planned(workspace: OpenWorkspace, variation: Variation | None = None) -> Plan:
    """The plan. One that does not fit is made all the same, with a warning. Raises what building raises otherwise."""
    request = workspace.request(variation)
    try:
        return build(request)
    except MaxTokensExceededError as error:
        options = deep_merge(request.step_options, {"trimming": {"on_overflow": "warn"}})
        plan = build(request.with_(step_options=options))
        note = Note(NoteKind.LIMIT, error.message, hint=error.hint)
        return plan.with_(warnings=(note, *plan.warnings))


class Sending(msgspec.Struct, frozen=True):
    """Messages, options, tools and the inspection (JSON) of one prompt, and the rules of its answer.

    ``request`` (JSON) is that by which scripts finish the answer; it is empty where there are none.
    """

    messages: list[dict[str, Any]]
    options: dict[str, Any]
    tools: list[dict[str, Any]]
    model: str | None
    inspection: bytes
    rules: ReplyRules
    request: bytes = b""


class AnswerText(msgspec.Struct, frozen=True):
    """An answer to be finished by scripts, with the request of its `Sending` and who speaks."""

    request: bytes
    speaker: str
    text: str


def sending(workspace: OpenWorkspace, message: str | None) -> Sending:
    """Return what a model is asked with ``message`` in place of the settings' own. Raises what building raises."""
    changed = Variation(settings=SettingsChange(message=message)) if message is not None else None
    plan = planned(workspace, changed)
    request = plan.request or BuildRequest()
    rules = ReplyRules.of(request, speaker_of(plan, request))
    return Sending(
        messages=[one.to_dict() for one in plan.messages],
        options=plan_options(plan, default=RESERVE),
        tools=[thaw(plain_data(tool)) for tool in plan.tools],
        model=plan.model,
        inspection=msgspec.json.encode(inspected(workspace, plan, changed)),
        rules=rules,
        request=answered_request(request, plan.variables).to_json() if rules.scripts else b"",
    )


def finished(answer: AnswerText) -> str:
    """Return the answer as the tavern keeps it. Raises what building raises."""
    return finished_reply(BuildRequest.from_json(answer.request), answer.text, speaker=answer.speaker).text
