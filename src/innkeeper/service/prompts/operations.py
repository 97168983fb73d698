"""Operations on prompts: ``POST /v1/prompts/build|explain|diff|cache|timeline|count``, which workers compute.

They build either a whole ``request`` (`BuildRequest`, with its assets as data, never as names of files), or a turn over a
``profile`` with the client's ``messages``. Nothing is kept and no model is asked.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from innkeeper.gate.judgement import Judgement
from innkeeper.inference.requests.chat import read_chat
from innkeeper.operations.operation import Operation
from innkeeper.prompt import BuildRequest, UsageError, Where, fresh_seed, utc_now
from innkeeper.prompt.data import EMPTY, to_json
from innkeeper.prompt.errors import LimitError
from innkeeper.service.prompts.tasks import TurnTask, harmless, note_facts, opened, turn_of

if TYPE_CHECKING:
    from innkeeper.conversation import ProfileTurn
    from innkeeper.inference.requests.request import GenerationRequest
    from innkeeper.prompt import Note, Plan, Ports
    from innkeeper.prompt.payload.dialect import Payload
    from innkeeper.service.gateway.state import AppState


MAX_DIFF_MESSAGES: Final = 2_000
"""Messages of a prompt that is compared with another (`LimitError`)."""


class BuiltPrompt(NamedTuple):
    """A prompt: its plan, the provider's body, the notes of a turn, and the state after it."""

    plan: Plan
    body: Payload
    notes: tuple[Note, ...] = ()
    state: dict[str, Any] | None = None


class PromptSource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a prompt is made of: a whole ``request``, or a turn over a ``profile``, which all fields after the model belong to."""

    request: dict[str, Any] | None = None
    profile: str | None = None
    dialect: str | None = None
    model: str | None = None
    messages: list[Any] | None = None
    options: dict[str, Any] | None = None
    tools: list[Any] | None = None
    state: dict[str, Any] | None = None
    now: str | None = None
    seed: int | None = None
    context_window: int | None = None


class PromptPair(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two prompts that are compared."""

    a: PromptSource = PromptSource()
    b: PromptSource = PromptSource()


class CachedPair(PromptPair, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A prompt ``b``, and ``a``, the one that was sent before it, if any; whose cache, and which of its lifetimes."""

    provider: str | None = None
    lifetime: str | None = None


class TimelineSource(PromptSource, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A prompt whose chat is followed turn by turn, and whose cache is asked."""

    provider: str | None = None


class CountSource(PromptSource, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is counted: a ``text``, ``messages`` without a profile, or a whole prompt."""

    text: str | None = None


_TURN: Final = PromptSource.__struct_fields__[4:]


class WorkerScope(NamedTuple):
    """What a worker computes prompts with; ``turns`` are those that the server has resolved, by where they stand."""

    state: AppState
    ports: Ports
    turns: Mapping[str, TurnTask] = EMPTY


def build(request: PromptSource, scope: WorkerScope) -> dict[str, Any]:
    """The prompt of a request, or of a turn over a profile.

    ``{dialect, body, tokens, fingerprint, warnings, notes, plan}``, and ``state`` for a turn over a profile.
    """
    prompt = _built(request, scope)
    return {**_summary(prompt), "body": prompt.body.body, "plan": prompt.plan.to_dict(), **_state(prompt)}


def explain(request: PromptSource, scope: WorkerScope) -> dict[str, Any]:
    """What is in a prompt, and why.

    ``{explanation, text, ...}``: as data and as people read it.
    """
    prompt = _built(request, scope)
    return {**_summary(prompt), **_explanation(prompt.plan), **_state(prompt)}


def diff(request: PromptPair, scope: WorkerScope) -> dict[str, Any]:
    """What one prompt has that another has not.

    ``{same, a, b, messages, options, difference}``, message by message; ``difference`` has blocks with their words, tokens, cost,
    verdicts and what a cache keeps.
    """
    now, seed = utc_now().isoformat(), fresh_seed()  # one for both, or they would differ by it
    a, b = (_built(getattr(request, name), scope, f"{name}.", now, seed) for name in ("a", "b"))
    options = _changed_options(a.body.body, b.body.body)
    changes = _changes(_messages(a), _messages(b))
    return {
        "same": not changes and not options,
        "a": _summary(a),
        "b": _summary(b),
        "messages": changes,
        "options": options,
        "difference": a.plan.diff(b.plan).to_dict(),
    }


def cache(request: CachedPair, scope: WorkerScope) -> dict[str, Any]:
    """What a provider's cache reads, stores and costs of a prompt, after another one was sent; and why not more.

    ``{a, b, cache}``: the cache plan has the first message that differs, the text that moved it, and the mend.
    """
    now, seed = utc_now().isoformat(), fresh_seed()  # one for both, or they would differ by it
    is_first = request.a.request is None and not request.a.profile
    before = None if is_first else _built(request.a, scope, "a.", now, seed)
    after = _built(request.b, scope, "b.", now, seed)
    planned = after.plan.cache_plan(request.provider, before and before.plan, lifetime=request.lifetime)
    return {"a": before and _summary(before), "b": _summary(after), "cache": planned.to_dict()}


def timeline(request: TimelineSource, scope: WorkerScope) -> dict[str, Any]:
    """Which lorebook entries were in at each turn of a chat and why, tokens by group, and what a provider's cache keeps.

    ``{provider, turns}``: a turn has the entries that are in, or that a key or a timer brought near.
    """
    from innkeeper.taverns.timeline import CACHE
    from innkeeper.taverns.timeline import timeline as timeline_of

    built = _built(request, scope).plan.request
    return timeline_of(built or BuildRequest(), request.provider or CACHE, scope.ports).to_dict()


def count(request: CountSource, scope: WorkerScope) -> dict[str, Any]:
    """Tokens of a text, of messages, or of a prompt.

    ``{tokens, model, tokenizer, exact}``. For messages ``each`` has the tokens of one after the other; ``tokens`` has what
    stands around them, too.
    """
    if request.request is not None or request.profile:
        return {"tokens": _tokens(_built(request, scope).plan)}
    from innkeeper.budget.costing import framing_of
    from innkeeper.prompt.message import messages_of
    from innkeeper.tokens import default_counter

    counter, model = default_counter(), request.model
    facts = counter.describe(model)
    if request.text is not None:
        return {**facts, "tokens": counter.count(request.text, model)}
    if request.messages is None:
        raise UsageError("there is nothing to count", hint="send text, messages, a request, or a profile and messages")
    messages, framing = messages_of(request.messages), framing_of(request.dialect)
    each = [framing.count_message(message, counter, model) for message in messages]
    return {**facts, "tokens": framing.count_messages(messages, counter, model), "each": each}


OPERATIONS: Final[Mapping[str, Operation[Any, Any]]] = {
    "build": Operation("prompts.build", build, judged=Judgement.MADE),
    "explain": Operation("prompts.explain", explain, judged=Judgement.MADE),
    "diff": Operation("prompts.diff", diff, judged=Judgement.MADE),
    "cache": Operation("prompts.cache", cache, judged=Judgement.MADE),
    "timeline": Operation("prompts.timeline", timeline, judged=Judgement.MADE),
    "count": Operation("prompts.count", count, judged=Judgement.NONE),
}
"""The operations by the last part of their path."""


def plan_facts(turn: ProfileTurn) -> dict[str, Any]:
    """Explain a turn that was built again, for the path in a response's ``x-innkeeper-plan``."""
    again = BuiltPrompt(turn.plan, turn.body, turn.notes)
    return {**_summary(again), "body": turn.body.body, **_explanation(turn.plan)}


def _built(
    source: PromptSource, scope: WorkerScope, path: str = "", now: str | None = None, seed: int | None = None
) -> BuiltPrompt:
    """Build the prompt of a request, or of a turn over a profile; ``now`` and ``seed`` are its defaults.

    Raises what a build raises, and `UsageError`.
    """
    if (source.request is not None) == bool(source.profile):
        what = "a request and a profile are both" if source.profile else "neither a request nor a profile is"
        raise UsageError(f"{what} sent", where=Where(path=path.rstrip(".") or None), hint="send one of them")
    if source.profile:
        task = scope.turns.get(path.rstrip("."))
        if task is None:
            return _turn(source, scope, source.now or now or utc_now().isoformat(), seed)
        turn = turn_of(opened(scope.state, task.profile), task, scope.ports)
        return BuiltPrompt(turn.plan, turn.body, turn.notes, msgspec.to_builtins(turn.state))
    from innkeeper.dialects.plan_payload import plan_payload
    from innkeeper.taverns import build as build_plan

    for name in _TURN:
        if getattr(source, name) is not None:
            raise UsageError(f"{name} belongs into the request", where=Where(path=f"{path}{name}"))
    request = harmless(scope.state, BuildRequest.of(source.request))
    plan = build_plan(request if request.now is not None or now is None else request.with_(now=now), scope.ports)
    return BuiltPrompt(plan, plan_payload(plan, source.dialect))


def previewed(source: PromptSource) -> GenerationRequest:
    """Return the request of a client of which a preview is wanted. Raises what reading it raises."""
    seed = {} if source.seed is None else {"seed": source.seed}
    opening = {"role": "user", "content": "-"}
    body = {**(source.options or {}), **seed, "model": source.profile, "tools": source.tools}
    request = read_chat({**body, "messages": source.messages or [opening]})
    return request if source.messages else msgspec.structs.replace(request, messages=())


def _turn(source: PromptSource, scope: WorkerScope, now: str, seed: int | None) -> BuiltPrompt:
    """Build a turn whose route nobody has resolved: a worker without a server knows none."""
    from innkeeper.conversation import ConversationState, TurnInput, profile_turn

    turn = TurnInput.of(
        source.messages or (),
        options=source.options,
        tools=source.tools,
        model=source.model,
        dialect=source.dialect,
        context_window=source.context_window,
        now=now,
        seed=next((each for each in (source.seed, seed) if each is not None), fresh_seed()),
    )
    before = ConversationState.from_json(to_json(source.state, sort=False)) if source.state else None
    built = profile_turn(opened(scope.state, source.profile or ""), turn, before, scope.ports)
    return BuiltPrompt(built.plan, built.body, built.notes, msgspec.to_builtins(built.state))


# ---------------------------------------------------------------------------------------------------------------- writing


def _summary(prompt: BuiltPrompt) -> dict[str, Any]:
    plan, dialect = prompt.plan, prompt.plan.dialect or "openai"
    return {
        "tavern": plan.tavern,
        "model": plan.model,
        "dialect": dialect,
        "tokens": _tokens(plan),
        "fingerprint": plan.fingerprint(),
        "now": None if plan.request is None else plan.request.now,
        "seed": None if plan.request is None else plan.request.seed,
        "warnings": note_facts(plan.warnings),
        "notes": note_facts((*plan.notes, *prompt.notes, *prompt.body.notes)),
    }


def _tokens(plan: Plan) -> dict[str, Any]:
    from innkeeper.budget import accounting

    figures = accounting(plan)
    return {
        "used": figures.total,
        "reserved": figures.reserve,
        "free": figures.free,
        "window": figures.window,
        "model": figures.model,
        "tokenizer": figures.tokenizer,
        "exact": figures.exact,
    }


def _explanation(plan: Plan) -> dict[str, Any]:
    explained = plan.explain()
    return {"explanation": explained.to_dict(), "text": explained.render()}


def _state(prompt: BuiltPrompt) -> dict[str, Any]:
    return {} if prompt.state is None else {"state": prompt.state}


def _messages(prompt: BuiltPrompt) -> list[dict[str, Any]]:
    messages = [{"role": block.role, "content": block.content} for block in prompt.plan.sent_blocks()]
    if len(messages) > MAX_DIFF_MESSAGES:
        raise LimitError(
            "the messages of a prompt to compare",
            limit="MAX_DIFF_MESSAGES",
            allowed=MAX_DIFF_MESSAGES,
            found=len(messages),
        )
    return messages


def _changes(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each run of messages that is not in both: its position in each, and its messages."""
    a, b = ([to_json(message) for message in messages] for messages in (first, second))
    matcher = difflib.SequenceMatcher(None, a, b, autojunk=False)
    return [
        {"change": change, "at": [start, other_start], "a": first[start:end], "b": second[other_start:stop]}
        for change, start, end, other_start, stop in matcher.get_opcodes()
        if change != "equal"
    ]


def _changed_options(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
    names = sorted((a.keys() | b.keys()) - {"messages", "contents", "input", "prompt", "system"})
    return {name: {"a": a.get(name), "b": b.get(name)} for name in names if a.get(name) != b.get(name)}
