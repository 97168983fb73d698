"""From a request to a prompt that is ready to be sent."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.library.prepare.budget import Budget as Budget
    from innkeeper.library.prepare.budget import Fitted as Fitted
    from innkeeper.library.prepare.budget import budget_of as budget_of
    from innkeeper.library.prepare.budget import chat_budget as chat_budget
    from innkeeper.library.prepare.budget import fit_text as fit_text
    from innkeeper.library.prepare.conversation import ContextRoute as ContextRoute
    from innkeeper.library.prepare.conversation import conversation_request as conversation_request
    from innkeeper.library.prepare.conversation import template_values as template_values
    from innkeeper.library.prepare.conversation import use_case_for as use_case_for
    from innkeeper.library.prepare.preparation import Preparation as Preparation
    from innkeeper.library.prepare.request import PreparedPrompt as PreparedPrompt
    from innkeeper.library.prepare.request import PrepareRequest as PrepareRequest
    from innkeeper.library.prepare.request import RenderedAnswer as RenderedAnswer
    from innkeeper.library.prepare.request import Resolved as Resolved
    from innkeeper.library.prepare.segments import Compressed as Compressed
    from innkeeper.library.prepare.segments import Role as Role
    from innkeeper.library.prepare.segments import Segment as Segment
    from innkeeper.library.prepare.segments import compress as compress
    from innkeeper.library.prepare.segments import fit_segments as fit_segments

_HOMES: Final = {
    "Budget": "budget",
    "Compressed": "segments",
    "ContextRoute": "conversation",
    "Fitted": "budget",
    "Preparation": "preparation",
    "PrepareRequest": "request",
    "PreparedPrompt": "request",
    "RenderedAnswer": "request",
    "Resolved": "request",
    "Role": "segments",
    "Segment": "segments",
    "budget_of": "budget",
    "chat_budget": "budget",
    "compress": "segments",
    "conversation_request": "conversation",
    "fit_segments": "segments",
    "fit_text": "budget",
    "template_values": "conversation",
    "use_case_for": "conversation",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
