"""From a request to a prompt that is ready to be sent."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.library.prepare.answers import PreparedPrompt as PreparedPrompt
    from innkeeper.library.prepare.answers import RenderedAnswer as RenderedAnswer
    from innkeeper.library.prepare.answers import Resolved as Resolved
    from innkeeper.library.prepare.answers import resolution_facts as resolution_facts
    from innkeeper.library.prepare.answers import template_facts as template_facts
    from innkeeper.library.prepare.answers import tier_facts as tier_facts
    from innkeeper.library.prepare.budgets import Budget as Budget
    from innkeeper.library.prepare.budgets import Fitted as Fitted
    from innkeeper.library.prepare.budgets import budget_of as budget_of
    from innkeeper.library.prepare.budgets import chat_budget as chat_budget
    from innkeeper.library.prepare.budgets import fit_text as fit_text
    from innkeeper.library.prepare.preparation import OPERATOR as OPERATOR
    from innkeeper.library.prepare.preparation import Preparation as Preparation
    from innkeeper.library.prepare.request import PrepareRequest as PrepareRequest
    from innkeeper.library.prepare.request import texts_of as texts_of

_HOMES: Final = {
    "Budget": "budgets",
    "Fitted": "budgets",
    "OPERATOR": "preparation",
    "Preparation": "preparation",
    "PrepareRequest": "request",
    "PreparedPrompt": "answers",
    "RenderedAnswer": "answers",
    "Resolved": "answers",
    "budget_of": "budgets",
    "chat_budget": "budgets",
    "fit_text": "budgets",
    "resolution_facts": "answers",
    "template_facts": "answers",
    "texts_of": "request",
    "tier_facts": "answers",
}

__all__ = [
    "OPERATOR",
    "Budget",
    "Fitted",
    "Preparation",
    "PrepareRequest",
    "PreparedPrompt",
    "RenderedAnswer",
    "Resolved",
    "budget_of",
    "chat_budget",
    "fit_text",
    "resolution_facts",
    "template_facts",
    "texts_of",
    "tier_facts",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
