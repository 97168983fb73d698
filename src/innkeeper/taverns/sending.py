"""Sending: a plan as the body of a provider's request, with as much room for the reply as was reserved for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from innkeeper.dialects.options import neutral

if TYPE_CHECKING:
    from innkeeper.prompt import Payload, Plan


RESERVE: Final = 256
"""Tokens kept free for a reply where nobody says how long it may be."""


def request_of(plan: Plan, dialect: str | None = None, **options: Any) -> Payload:
    """The provider's request. The reply may be as long as the tokens that were reserved for it, unless options say otherwise.

    Raises as `Plan.to_request`.
    """
    reserved = plan.request.reserved_tokens if plan.request is not None else 0
    bounded = "max_tokens" in neutral({**plan.options, **options})
    limit: dict[str, Any] = {"max_tokens": reserved} if reserved and not bounded else {}
    return plan.to_request(dialect, **options, **limit)
