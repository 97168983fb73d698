"""From a request to a prompt that is ready to be sent."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.library.prepare.budgets import Budget as Budget
    from innkeeper.library.prepare.budgets import Dropped as Dropped
    from innkeeper.library.prepare.budgets import Fitted as Fitted
    from innkeeper.library.prepare.budgets import budget_of as budget_of
    from innkeeper.library.prepare.budgets import chat_budget as chat_budget
    from innkeeper.library.prepare.budgets import fit_text as fit_text
    from innkeeper.library.prepare.conversation import NAMES as NAMES
    from innkeeper.library.prepare.conversation import ROUTES as ROUTES
    from innkeeper.library.prepare.conversation import ContextRoute as ContextRoute
    from innkeeper.library.prepare.conversation import conversation_request as conversation_request
    from innkeeper.library.prepare.conversation import pronouns_of as pronouns_of
    from innkeeper.library.prepare.conversation import template_values as template_values
    from innkeeper.library.prepare.conversation import use_case_for as use_case_for
    from innkeeper.library.prepare.preparation import OPERATOR as OPERATOR
    from innkeeper.library.prepare.preparation import Preparation as Preparation
    from innkeeper.library.prepare.request import PreparedPrompt as PreparedPrompt
    from innkeeper.library.prepare.request import PrepareRequest as PrepareRequest
    from innkeeper.library.prepare.request import RenderedAnswer as RenderedAnswer
    from innkeeper.library.prepare.request import Resolved as Resolved
    from innkeeper.library.prepare.request import resolution_facts as resolution_facts
    from innkeeper.library.prepare.request import template_facts as template_facts
    from innkeeper.library.prepare.request import texts_of as texts_of
    from innkeeper.library.prepare.request import tier_facts as tier_facts
    from innkeeper.library.prepare.segments import DROP_ORDER as DROP_ORDER
    from innkeeper.library.prepare.segments import Compressed as Compressed
    from innkeeper.library.prepare.segments import Repair as Repair
    from innkeeper.library.prepare.segments import Role as Role
    from innkeeper.library.prepare.segments import Segment as Segment
    from innkeeper.library.prepare.segments import compress as compress
    from innkeeper.library.prepare.segments import fit_segments as fit_segments

_HOMES: Final = {
    "Budget": "budgets",
    "Compressed": "segments",
    "ContextRoute": "conversation",
    "DROP_ORDER": "segments",
    "Dropped": "budgets",
    "Fitted": "budgets",
    "NAMES": "conversation",
    "OPERATOR": "preparation",
    "Preparation": "preparation",
    "PrepareRequest": "request",
    "PreparedPrompt": "request",
    "ROUTES": "conversation",
    "RenderedAnswer": "request",
    "Repair": "segments",
    "Resolved": "request",
    "Role": "segments",
    "Segment": "segments",
    "budget_of": "budgets",
    "chat_budget": "budgets",
    "compress": "segments",
    "conversation_request": "conversation",
    "fit_segments": "segments",
    "fit_text": "budgets",
    "pronouns_of": "conversation",
    "resolution_facts": "request",
    "template_facts": "request",
    "template_values": "conversation",
    "texts_of": "request",
    "tier_facts": "request",
    "use_case_for": "conversation",
}

__all__ = [
    "DROP_ORDER",
    "NAMES",
    "OPERATOR",
    "ROUTES",
    "Budget",
    "Compressed",
    "ContextRoute",
    "Dropped",
    "Fitted",
    "Preparation",
    "PrepareRequest",
    "PreparedPrompt",
    "RenderedAnswer",
    "Repair",
    "Resolved",
    "Role",
    "Segment",
    "budget_of",
    "chat_budget",
    "compress",
    "conversation_request",
    "fit_segments",
    "fit_text",
    "pronouns_of",
    "resolution_facts",
    "template_facts",
    "template_values",
    "texts_of",
    "tier_facts",
    "use_case_for",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
