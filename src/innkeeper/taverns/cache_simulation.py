"""CacheSimulation: the turns of a chat, built again under several settings, and what a provider's cache would do for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from innkeeper.budget import CachePlan, cache_plan, prefix_report
from innkeeper.budget.diff import money
from innkeeper.prompt import BuildRequest, Plan, Ports
from innkeeper.prompt.report import TextTable, sparkline, svg_plot
from innkeeper.taverns.registry import TAVERNS
from innkeeper.taverns.timeline import built_turns

_FRIENDLY: Final = "cache_friendly"

LAYOUTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "sliding": {},
    "stepped": {"step_options": {"trimming": {"strategy": "stepped"}}},
    "friendly": {"settings": {_FRIENDLY: True}},
    "frozen": {"settings": {_FRIENDLY: {"freeze": True}}},
}
"""The settings that are compared: the tavern's own, a chat that is cut in steps, texts that stand still, lore that stays."""


class SimulatedTurn(msgspec.Struct, frozen=True):
    """One turn: the index of the user's message, tokens of the prompt, those that the cache serves, and those that it could.

    ``reusable`` is the part of the prompt that the one before begins with, from 0 to 1, whatever the provider's rules.
    ``cost`` is in US dollars by the catalogue, ``uncached_cost`` without any cache; ``None`` where nobody knows a price.
    ``reported`` are the tokens that a real cache has served, where one was asked, from the second turn on.
    """

    message: int
    tokens: int
    read: int
    reusable: float
    cost: float | None
    uncached_cost: float | None
    why: str | None = None
    reported: int | None = None


class SimulatedLayout(msgspec.Struct, frozen=True):
    """All turns under one setting."""

    name: str
    turns: tuple[SimulatedTurn, ...]

    @property
    def reusable(self) -> float:
        """The mean of what the turns after the first begin with, from 0 to 1."""
        later = self.turns[1:]
        return sum(turn.reusable for turn in later) / len(later) if later else 0.0

    @property
    def tokens(self) -> int:
        """Tokens of all prompts together."""
        return sum(turn.tokens for turn in self.turns)

    @property
    def read(self) -> int:
        """Tokens that the cache serves in all turns together."""
        return sum(turn.read for turn in self.turns)

    @property
    def reported(self) -> int | None:
        """Tokens that a real cache has served in all turns together; ``None`` where none was asked."""
        known = [turn.reported for turn in self.turns if turn.reported is not None]
        return sum(known) if known else None

    def costs(self) -> tuple[float, float] | None:
        """What all turns cost in US dollars, with and without the cache; ``None`` where nobody knows a price."""
        known = [(turn.cost, turn.uncached_cost) for turn in self.turns]
        if any(cost is None or full is None for cost, full in known):
            return None
        return sum(cost or 0.0 for cost, _ in known), sum(full or 0.0 for _, full in known)


class CacheSimulation(msgspec.Struct, frozen=True):
    """A chat under several settings, with one provider's cache."""

    provider: str
    model: str | None
    layouts: tuple[SimulatedLayout, ...]

    def table(self) -> TextTable:
        """The settings as rows, with a line of the reusable part turn after turn."""
        names = ["setting", "reusable", "tokens", "read from the cache", "cost", "without a cache", "turn after turn"]
        rows = [_row(layout) for layout in self.layouts]
        if any(layout.reported is not None for layout in self.layouts):
            names.insert(4, "reported")
            rows = [(*row[:4], layout.reported, *row[4:]) for row, layout in zip(rows, self.layouts, strict=True)]
        return TextTable(f"cache of {self.provider}, {len(self.layouts[0].turns)} turns", tuple(names), tuple(rows))

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON-ready data."""
        facts: dict[str, Any] = msgspec.to_builtins(self)
        for fields, layout in zip(facts["layouts"], self.layouts, strict=True):
            fields |= {"reusable": layout.reusable, "tokens": layout.tokens, "read": layout.read}
        return facts

    def to_svg(self) -> str:
        """The reusable part of each turn as a plot, a line for each setting."""
        lines = {layout.name: [turn.reusable for turn in layout.turns[1:]] for layout in self.layouts}
        return svg_plot("reusable part of the prompt, turn after turn", lines)


def _row(layout: SimulatedLayout) -> tuple[str | int | None, ...]:
    costs = layout.costs()
    shown = (None, None) if costs is None else tuple(map(money, costs))
    line = sparkline([turn.reusable for turn in layout.turns[1:]])
    return (layout.name, f"{layout.reusable:.1%}", layout.tokens, layout.read, *shown, line)


def simulate_cache(
    request: BuildRequest,
    provider: str,
    ports: Ports | None = None,
    *,
    layouts: Mapping[str, Mapping[str, Any]] = LAYOUTS,
    serve: Callable[[Plan], int | None] | None = None,
) -> CacheSimulation:
    """Build each turn of a request's chat under every setting that its tavern knows, and plan the provider's cache for it.

    ``serve`` sends a plan to a real cache and returns the tokens that it reports as read from there.

    Raises:
        UsageError: the chat has no message of the user.
        UnknownNameError: no rule is known for the provider.
        LimitError: more than `MAX_TIMELINE_TURNS` turns.
        InnkeeperError: what building raises.
    """
    known = TAVERNS[request.tavern].inputs.settings or ()
    chosen = {name: fields for name, fields in layouts.items() if "settings" not in fields or _FRIENDLY in known}
    results = [
        SimulatedLayout(name, tuple(_turns(request, provider, ports, fields, serve))) for name, fields in chosen.items()
    ]
    return CacheSimulation(provider, request.model, tuple(results))


def _turns(
    request: BuildRequest,
    provider: str,
    ports: Ports | None,
    fields: Mapping[str, Any],
    serve: Callable[[Plan], int | None] | None,
) -> Iterator[SimulatedTurn]:
    settings = {**request.settings, **fields.get("settings", {})}
    step_options = {**request.step_options, **fields.get("step_options", {})}
    before: Plan | None = None
    for end, plan in built_turns(request, ports, {"settings": settings, "step_options": step_options}):
        turn = _turn(end, plan, before, cache_plan(plan, provider, before))
        reported = None if serve is None else serve(plan)
        yield turn if before is None else msgspec.structs.replace(turn, reported=reported)
        before = plan


def _turn(end: int, plan: Plan, before: Plan | None, cached: CachePlan) -> SimulatedTurn:
    reusable = 0.0 if before is None else prefix_report(before, plan).token_share
    why = None if cached.cause is None else cached.cause.why
    return SimulatedTurn(end, cached.total, cached.read, round(reusable, 4), cached.cost, cached.uncached_cost, why)
