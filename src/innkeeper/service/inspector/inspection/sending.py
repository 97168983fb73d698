"""Sending: what a model is to be asked of a workspace's prompt: messages and options, with the inspection of the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from innkeeper.prompt.data import plain_data, thaw
from innkeeper.service.inspector.inspection.inspection import inspected
from innkeeper.service.inspector.inspection.planning import planned
from innkeeper.service.inspector.views import SettingsPatch, Variation
from innkeeper.taverns.sending import RESERVE

if TYPE_CHECKING:
    from innkeeper.service.inspector.workspace.workspace import OpenWorkspace

__all__ = ["Sending", "sending"]


class Sending(msgspec.Struct, frozen=True):
    """Messages, options, tools and the inspection (JSON) of one prompt."""

    messages: list[dict[str, Any]]
    options: dict[str, Any]
    tools: list[dict[str, Any]]
    model: str | None
    inspection: bytes


def sending(workspace: OpenWorkspace, message: str | None) -> Sending:
    """What is asked with ``message`` in place of the settings' own. Raises what building raises."""
    changed = Variation(settings=SettingsPatch(message=message)) if message is not None else None
    plan = planned(workspace, changed)
    options: dict[str, Any] = thaw(plan.options)
    if plan.stop:
        options["stop"] = list(plan.stop)
    reserved = plan.request.reserved_tokens if plan.request is not None else 0
    if not options.keys() & {"max_tokens", "max_completion_tokens"}:
        options["max_tokens"] = reserved or RESERVE
    return Sending(
        messages=[one.to_dict() for one in plan.messages],
        options=options,
        tools=[thaw(plain_data(tool)) for tool in plan.tools],
        model=plan.model,
        inspection=msgspec.json.encode(inspected(workspace, plan, changed)),
    )
