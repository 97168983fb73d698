"""WorkerState: the states of a worker, which may follow which, and the rows of workers and invitations. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from innkeeper.gate.tier import Tier
from innkeeper.library.rows import StoredRow
from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.prompt.errors import UsageError


class WorkerStateError(UsageError):
    """A worker cannot become that from what it is in."""

    http_status = 409


class WorkerState(StrEnum):
    """A worker's state. Requests go to one that is ready or degraded, and holds a lease."""

    STARTING = "starting"
    READY = "ready"
    DEGRADED = "degraded"
    """It answers, though its last answers failed."""
    DRAINING = "draining"
    """It finishes what it has, and takes nothing more."""
    DEAD = "dead"
    QUARANTINED = "quarantined"
    """It did not execute what it was sent; only an operator lets it back."""

    @property
    def working(self) -> bool:
        """Whether requests may go there."""
        return self in {WorkerState.READY, WorkerState.DEGRADED}

    def become(self, state: WorkerState) -> WorkerState:
        """The next state. Raises `WorkerStateError` where it cannot follow."""
        if state is not self and state not in TRANSITIONS[self]:
            raise WorkerStateError(f"a worker that is {self} does not become {state}")
        return state

    def reported(self, state: WorkerState) -> WorkerState:
        """What it is in after it said that it is in ``state``: it cannot talk itself out of quarantine, nor out of draining."""
        if self is WorkerState.QUARANTINED or state is WorkerState.QUARANTINED:
            return self
        return state if state in TRANSITIONS[self] else self


_ALIVE: Final = frozenset({WorkerState.READY, WorkerState.DEGRADED, WorkerState.DRAINING, WorkerState.DEAD})

TRANSITIONS: Final[Mapping[WorkerState, frozenset[WorkerState]]] = MappingProxyType(
    {
        WorkerState.STARTING: _ALIVE | {WorkerState.QUARANTINED},
        WorkerState.READY: _ALIVE | {WorkerState.QUARANTINED},
        WorkerState.DEGRADED: _ALIVE | {WorkerState.QUARANTINED},
        WorkerState.DRAINING: frozenset({WorkerState.DEAD, WorkerState.QUARANTINED}),
        WorkerState.DEAD: frozenset({WorkerState.STARTING, WorkerState.READY, WorkerState.DEGRADED}),
        WorkerState.QUARANTINED: frozenset({WorkerState.DEAD}),
    }
)
"""By state: those that may follow. A dead one lives again when it takes up its lease; an operator releases from quarantine."""


class WorkerRow(StoredRow, frozen=True, kw_only=True):
    """A row of ``workers`` without its token; ``lease_seconds`` is what is left of the lease, 0 where it is over."""

    id: str
    kind: str = "chat"
    url: str
    hosts: tuple[str, ...] = ()
    state: WorkerState
    reason: str = ""
    capabilities: FrozenDict = EMPTY
    slots: int = 1
    priority: int = 0
    tier_ceiling: Tier = Tier.SFW
    lease_until: str = ""
    beat_at: str = ""
    created_at: str = ""
    lease_seconds: float = 0.0


class InvitationRow(StoredRow, frozen=True, kw_only=True):
    """A row of ``worker_invitations``."""

    token_sha256: str
    hosts: tuple[str, ...] = ()
    tier_ceiling: Tier = Tier.SFW
    priority: int = 0
    created_by: str = ""
    created_at: str = ""
    expires_at: str
    used_at: str | None = None
    used_by: str | None = None
