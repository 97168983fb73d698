"""RoutePolicy: in which order deployments are tried, how often, for how long and for how much; a row of ``route_policies``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

Criterion: TypeAlias = Literal["busy", "price", "priority"]
"""``busy``: the share of its slots that is taken. ``price``: the cheapest. ``priority``: the lowest number. First is best."""

MAX_ATTEMPTS: Final = 10
"""Attempts that one request may take, whatever a policy says (`ConfigError`)."""

_POSITIVE: Final = msgspec.Meta(gt=0)


class RoutePolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How requests are routed. ``modality`` and ``task`` say for which; None for any.

    ``seconds``, until an answer begins, and ``money`` bound all attempts of a request together; ``first_seconds`` is how long
    the first word of one attempt is waited for. After ``strikes`` failures in a row a deployment is left alone for
    ``open_seconds``, doubled each time it fails again. ``lower_tier``: a request may go to a deployment of a lower tier, planned
    for that tier; it is said then.
    """

    name: str = "default"
    modality: str | None = None
    task: str | None = None
    criteria: tuple[Criterion, ...] = ("busy", "price", "priority")
    attempts: Annotated[int, msgspec.Meta(ge=1, le=MAX_ATTEMPTS)] = 3
    seconds: Annotated[float, _POSITIVE] = 60.0
    first_seconds: Annotated[float, _POSITIVE] = 30.0
    money: Annotated[float, _POSITIVE] | None = None
    strikes: Annotated[int, msgspec.Meta(ge=1)] = 3
    open_seconds: Annotated[float, _POSITIVE] = 2.0
    lower_tier: bool = False

    def fits(self, modality: str, task: str) -> bool:
        """Whether requests of this kind go by it."""
        return self.modality in {None, modality} and self.task in {None, task}


DEFAULT_POLICY: Final = RoutePolicy()
"""Where no row says otherwise: least busy, then cheapest, then by priority."""


def policy_for(policies: Iterable[RoutePolicy], modality: str, task: str) -> RoutePolicy:
    """The policy for requests of a kind: the one that names the task, else the modality, else neither; by name among equals."""
    fitting = [policy for policy in policies if policy.fits(modality, task)]
    return min(fitting, key=lambda it: (it.task is None, it.modality is None, it.name), default=DEFAULT_POLICY)
