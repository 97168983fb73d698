"""Fitting: a tavern's plan, fitted to its window by the counting rule of the model that gets it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from innkeeper.prompt import BuildRequest, Plan, Ports

if TYPE_CHECKING:
    from innkeeper.budget import Accounting
    from innkeeper.tokens import Framing

__all__ = ["build_fitting", "count_plan"]


def build_fitting(request: BuildRequest, ports: Ports, framing: Framing | None = None, *, commit: bool = True) -> Plan:
    """The plan of the tavern that ``request`` names, fitted by ``framing``. Raises what `Tavern.build` raises."""
    from innkeeper.budget import FIT
    from innkeeper.taverns import TAVERNS

    tavern = TAVERNS[request.tavern]
    pipeline = tavern.pipeline_for(request).append(FIT, framing=framing)
    return tavern.build(request, ports, pipeline=pipeline, commit=commit)


def count_plan(
    plan: Plan, ports: Ports | None = None, framing: Framing | None = None, *, window: int | None = None
) -> Accounting:
    """What each message of a plan costs, and what is left of ``window``, or else of the window it was built for."""
    from innkeeper.budget import accounting

    figures = accounting(plan, ports.token_counter if ports is not None else None, framing)
    if window is None:
        return figures
    return msgspec.structs.replace(figures, window=window, free=window - figures.reserve - figures.total)
