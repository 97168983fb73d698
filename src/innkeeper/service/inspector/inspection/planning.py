"""Planning: the plan of a workspace, also where it does not fit its window: what is to be seen is how far it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from innkeeper.prompt import MaxTokensExceededError, Plan, deep_merge
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.taverns import build

if TYPE_CHECKING:
    from innkeeper.service.inspector.views import Variation
    from innkeeper.service.inspector.workspace.workspace import OpenWorkspace

__all__ = ["planned"]


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
