"""build: one request through one pipeline. Every tavern's ``build`` is this function with its own pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from innkeeper.prompt.allowance import BuildLimits, allowed
from innkeeper.prompt.data import FrozenDict, freeze
from innkeeper.prompt.determinism import Clock, Randomness, noticed
from innkeeper.prompt.errors import UsageError, Where
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.payload.dialect import Dialects, read_tools
from innkeeper.prompt.plan import Plan
from innkeeper.prompt.request import ASSET_FIELDS, GENERATION_TYPES, BuildRequest
from innkeeper.prompt.run.context import Context
from innkeeper.prompt.run.state import Inputs, Ports, State
from innkeeper.prompt.run.variables import InMemoryVariables, StagedVariables
from innkeeper.prompt.text import MendingWatch, lone_in, shorten, watching

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from innkeeper.prompt.run.pipeline import Pipeline


def build(
    request: BuildRequest,
    pipeline: Pipeline,
    ports: Ports | None = None,
    *,
    commit: bool = True,
    assets: Callable[[State], Any] | None = None,
    dialects: Dialects | None = None,
) -> Plan:
    """Run ``pipeline`` over ``request`` and return its plan; with ``commit`` write variables back to the caller's store.

    ``assets`` reads the request's assets before the first step, which finds them in ``state.inputs.assets``.
    ``dialects`` renders the plan where the ports have no other registry. A request without ``now`` takes the wall clock,
    which the plan's request then records. A failed build writes nothing.
    The work of all steps is charged to one allowance (`innkeeper.prompt.allowance`): ``limits`` of the request, none above
    ``max_limits`` of the ports.
    Raises `ConfigError`, `PipelineError`, `MaxTokensExceededError`, `AllowanceError`.
    """
    ports = ports or Ports()
    limits = (request.limits or BuildLimits()).within(ports.max_limits or BuildLimits())
    with allowed(limits), watching() as watch:
        state = start(request, ports, dialects)
        pipeline.run(state, assets)
    _note_mending(state, watch)
    if state.result.plan is None:
        raise UsageError("the pipeline made no plan", hint="its last steps must set state.result.plan")
    plan = finished_plan(state, state.result.plan)
    if commit:
        state.variables.commit()
    state.close()
    return plan


def start(request: BuildRequest, ports: Ports, dialects: Dialects | None = None) -> State:
    """The state a build begins with: the clock read, chance seeded, variables staged and recorded in the request."""
    clock = Clock.at(request.now, request.locale)
    store = ports.variables if ports.variables is not None else InMemoryVariables(request.variables)
    if ports.variables is not None:
        request = request.with_(variables=store.to_dict())
    now = clock.now.isoformat()
    if request.mended:
        request = request.with_(now=now)
    elif request.now != now:
        request = msgspec.structs.replace(request, now=now)
    clock, chance = noticed(clock, (ports.random or Randomness)(request.seed))
    context = Context(type="app") if request.context is None else request.context
    dialects = dialects if ports.dialects is None else ports.dialects
    inputs = Inputs(request, context, clock, chance, ports, dialects=dialects)
    read_tools(request.tools)  # what is none is an error of the request, not of a step
    state = State(inputs, StagedVariables(store))
    state.result.options.update(request.options)
    if request.generation not in GENERATION_TYPES:
        known = ", ".join(GENERATION_TYPES)
        message = f"generation {shorten(request.generation, 40)!r} is not known: the prompt is that of a normal one"
        state.note(NoteKind.IGNORED, message, hint=f"one of {known}", data={"input": "generation"})
    return state


def _note_mending(state: State, watch: MendingWatch) -> None:
    """One note of all lone surrogates that reading the request, or its assets in this build, turned into U+FFFD."""
    request = state.request
    halves = [(mended.first, mended.count) for mended in request.mended]
    if watch.count:  # by an asset's reader, or a counter; assets stand in the request as they came
        halves += [half for name in ASSET_FIELDS for half in lone_in(getattr(request, name), name)]
    if halves:
        count, first = sum(number for _, number in halves), halves[0][0]
        message = f"{count} lone surrogate{'s' if count > 1 else ''} became U+FFFD"
        where = Where(asset="request", path=first)
        state.note(NoteKind.REPAIR, message, where=where, data={"count": count, "first": first})


def finished_plan(state: State, plan: Plan) -> Plan:
    """The plan with everything the build collected: warnings, notes, trace, variables, the request that made it."""
    result, request, ports = state.result, state.request, state.inputs.ports
    to_trace = getattr(ports.instrumenter, "to_trace", None)
    return plan.with_(
        tavern=request.tavern,
        profile=request.profile or plan.profile,
        model=result.model or request.model,
        dialect=request.dialect,
        warnings=tuple(result.warnings),
        notes=tuple(result.notes),
        options=freeze(result.options),
        stop=result.stop,
        tools=state.tools,
        outlets=FrozenDict(result.outlets),
        greeting=result.greeting,
        greeting_index=result.greeting_index,
        lore=result.lore,
        carry=result.carry,
        stored=None if result.stored is None else freeze(result.stored),
        trim_report=result.trim_report,
        trace=to_trace() if to_trace is not None else None,
        variables=freeze(state.variables.to_dict()),
        request=request,
        unreplayable=_unreplayable(state),
        counted_by=getattr(ports.token_counter, "source", ""),
        dialects=state.inputs.dialects if plan.dialects is None or ports.dialects is not None else plan.dialects,
        dialect_options=freeze(result.dialect_options),
    )


def _unreplayable(state: State) -> tuple[str, ...]:
    """Return the ports in use that affect the plan. Whether the request is plain data is checked when a replay is written."""
    ports = state.inputs.ports
    deciding = [name for name in _DECIDING_PORTS if getattr(ports, name) is not None]
    if getattr(ports.token_counter, "source", ""):
        deciding.remove("token_counter")
    return (*deciding, *(("media",) if state.result.media_read else ()))


_DECIDING_PORTS: Final = ("hooks", "injections", "random", "dialects", "token_counter", "vectors")
"""Ports that decide whenever they are there; that for media does where it gave something."""
