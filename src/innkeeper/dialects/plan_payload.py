"""From a plan to a provider's body: the one rule for how long an answer may be, and which options go with a prompt.

It lives beside the dialects so that every layer above can use it: conversations, which know no network, and the model stack,
whose `innkeeper.inference.requests.request.request_for` makes a request of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from innkeeper.dialects.options import neutral
from innkeeper.prompt.data import EMPTY

if TYPE_CHECKING:
    from innkeeper.prompt import Payload, Plan


RESERVE: Final = 256
"""Tokens set aside for an answer of unlimited length."""


def answer_limit(plan: Plan, options: Mapping[str, Any] = EMPTY, *, default: int = 0) -> dict[str, Any]:
    """Return the option that limits the answer: ``max_tokens`` as many as the plan reserved, empty where options set a limit.

    ``default`` counts where the plan reserved nothing; with 0 the answer is not limited then.
    """
    if "max_tokens" in neutral({**plan.options, **options}):
        return {}
    reserved = (plan.request is not None and plan.request.reserved_tokens) or default
    return {"max_tokens": reserved} if reserved else {}


def plan_payload(plan: Plan, dialect: str | None = None, **options: Any) -> Payload:
    """Return the provider's body of a plan, whose answer may be as long as the tokens that were reserved for it.

    The limit has the name that the dialect and the model take. Options win over the plan's. Raises as `Plan.to_request`.
    """
    return plan.to_request(dialect, **options, **answer_limit(plan, options))
