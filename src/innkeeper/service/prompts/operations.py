"""Operations on prompts: ``POST /v1/prompts/build|explain|diff|count``, each a function of a JSON object in a worker.

What they build is either a whole ``request`` (`BuildRequest`, with its assets as data, never as names of files), or a turn over a
``profile`` with the client's ``messages``. Nothing is kept and no model is asked.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from innkeeper.prompt import BuildRequest, UsageError, Where, fresh_seed, utc_now
from innkeeper.prompt.data import EMPTY, to_json
from innkeeper.prompt.errors import LimitError
from innkeeper.service.prompts.tasks import harmless, note_facts, opened

if TYPE_CHECKING:
    from innkeeper.prompt import Note, Plan, Ports
    from innkeeper.prompt.dialect import Payload
    from innkeeper.service.gateway.state import AppState


MAX_DIFF_MESSAGES: Final = 2_000
"""Messages of a prompt that is compared with another (`LimitError`)."""


class Made(NamedTuple):
    """A prompt: its plan, the provider's body, what a turn says of itself, and the state that it leaves."""

    plan: Plan
    body: Payload
    notes: tuple[Note, ...] = ()
    state: dict[str, Any] | None = None


def build(state: AppState, asked: Mapping[str, Any], ports: Ports) -> dict[str, Any]:
    """``{dialect, body, tokens, fingerprint, warnings, notes, plan}``, and ``state`` for a turn over a profile."""
    _check(asked, _MAKING)
    made = _made(state, asked, ports)
    return {**_summary(made), "body": made.body.body, "plan": made.plan.to_dict(), **_state(made)}


def explain(state: AppState, asked: Mapping[str, Any], ports: Ports) -> dict[str, Any]:
    """``{explanation, text, ...}``: what is in the prompt and why, as data and as people read it."""
    _check(asked, _MAKING)
    made = _made(state, asked, ports)
    return {**_summary(made), **_explanation(made.plan), **_state(made)}


def diff(state: AppState, asked: Mapping[str, Any], ports: Ports) -> dict[str, Any]:
    """``{same, a, b, messages, options}``: two prompts, and what the second has that the first has not, message by message."""
    _check(asked, ("a", "b"))
    moment = {"now": utc_now().isoformat(), "seed": fresh_seed()}  # one for both, or they would differ by it
    one, other = (_made(state, _object(asked, name), ports, f"{name}.", moment) for name in ("a", "b"))
    first, second = _messages(one), _messages(other)
    options = _changed_options(one.body.body, other.body.body)
    changes = _changes(first, second)
    return {
        "same": not changes and not options,
        "a": _summary(one),
        "b": _summary(other),
        "messages": changes,
        "options": options,
    }


def count(state: AppState, asked: Mapping[str, Any], ports: Ports) -> dict[str, Any]:
    """``{tokens, model, tokenizer, exact}`` of a ``text``, of ``messages``, or of a whole prompt.

    For messages ``each`` has the tokens of one after the other; ``tokens`` has what stands around them, too.
    """
    _check(asked, ("text", *_MAKING))
    if "request" in asked or "profile" in asked:
        return {"tokens": _tokens(_made(state, asked, ports).plan)}
    from innkeeper.budget.costing import framing_of
    from innkeeper.prompt.message import messages_of
    from innkeeper.tokens import default_counter

    counter, model = default_counter(), _text(asked, "model")
    facts = counter.describe(model)
    if isinstance(asked.get("text"), str):
        return {**facts, "tokens": counter.count(asked["text"], model)}
    if not isinstance(asked.get("messages"), list):
        raise UsageError("there is nothing to count", hint="send text, messages, a request, or a profile and messages")
    messages, framing = messages_of(asked["messages"]), framing_of(_text(asked, "dialect"))
    each = [framing.count_message(message, counter, model) for message in messages]
    return {**facts, "tokens": framing.count_messages(messages, counter, model), "each": each}


Operation = Callable[["AppState", Mapping[str, Any], "Ports"], dict[str, Any]]

OPERATIONS: Final[Mapping[str, Operation]] = {"build": build, "explain": explain, "diff": diff, "count": count}
"""The operations by the last part of their path."""


def plan_facts(made: Any) -> dict[str, Any]:
    """A turn that was built again, explained: what a response's ``x-innkeeper-plan`` leads to."""
    again = Made(made.plan, made.body, made.notes)
    return {**_summary(again), "body": made.body.body, **_explanation(made.plan)}


# ---------------------------------------------------------------------------------------------------------------- reading

_TURN: Final = ("messages", "options", "tools", "state", "now", "seed", "context_window")
_MAKING: Final = ("request", "profile", "dialect", "model", *_TURN)


def _check(asked: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for name in asked:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"fields: {', '.join(known)}"
            raise UsageError(f"there is no field {str(name)[:60]!r}", where=Where(path=str(name)[:60]), hint=hint)


def _object(asked: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = asked.get(name)
    if not isinstance(value, Mapping):
        raise UsageError(f"{name} must be an object", where=Where(path=name), hint="send a request or a profile in it")
    _check(value, _MAKING)
    return value


def _text(asked: Mapping[str, Any], name: str, path: str = "") -> str | None:
    value = asked.get(name)
    if value is None or isinstance(value, str):
        return value
    raise UsageError(f"{name} must be a text", where=Where(path=f"{path}{name}"))


def _made(
    state: AppState, asked: Mapping[str, Any], ports: Ports, path: str = "", moment: Mapping[str, Any] = EMPTY
) -> Made:
    """The prompt of a request, or of a turn over a profile. Raises what a build raises, and `UsageError`."""
    profile = _text(asked, "profile", path)
    if ("request" in asked) == (profile is not None):
        what = "neither a request nor a profile is" if profile is None else "a request and a profile are both"
        raise UsageError(f"{what} sent", where=Where(path=path.rstrip(".") or None), hint="send one of them")
    if profile is not None:
        return _turn(state, profile, {**moment, **asked}, ports, path)
    from innkeeper.dialects.plan_payload import plan_payload
    from innkeeper.taverns import build as build_plan

    for name in _TURN:
        if name in asked:
            raise UsageError(f"{name} belongs into the request", where=Where(path=f"{path}{name}"))
    request = harmless(state, BuildRequest.of(asked["request"]))
    plan = build_plan(request if request.now is not None or not moment else request.with_(now=moment["now"]), ports)
    return Made(plan, plan_payload(plan, _text(asked, "dialect", path)))


def _turn(state: AppState, name: str, asked: Mapping[str, Any], ports: Ports, path: str) -> Made:
    from innkeeper.conversation import ConversationState, TurnInput, profile_turn

    seed, window = asked.get("seed"), asked.get("context_window")
    for field, value in (("seed", seed), ("context_window", window)):
        if value is not None and type(value) is not int:
            raise UsageError(f"{field} must be a whole number", where=Where(path=f"{path}{field}"))
    for field, kind in (("messages", list), ("tools", list), ("options", Mapping), ("state", Mapping)):
        if asked.get(field) is not None and not isinstance(asked[field], kind):
            raise UsageError(
                f"{field} must be {'a list' if kind is list else 'an object'}", where=Where(path=f"{path}{field}")
            )
    turn = TurnInput.of(
        asked.get("messages") or (),
        options=asked.get("options"),
        tools=asked.get("tools"),
        model=_text(asked, "model", path),
        dialect=_text(asked, "dialect", path),
        context_window=window,
        now=_text(asked, "now", path) or utc_now().isoformat(),
        seed=fresh_seed() if seed is None else seed,
    )
    before = ConversationState.from_json(to_json(asked["state"], sort=False)) if asked.get("state") else None
    made = profile_turn(opened(state, name), turn, before, ports)
    return Made(made.plan, made.body, made.notes, msgspec.to_builtins(made.state))


# ---------------------------------------------------------------------------------------------------------------- telling


def _summary(made: Made) -> dict[str, Any]:
    plan, dialect = made.plan, made.plan.dialect or "openai"
    return {
        "tavern": plan.tavern,
        "model": plan.model,
        "dialect": dialect,
        "tokens": _tokens(plan),
        "fingerprint": plan.fingerprint(),
        "now": None if plan.request is None else plan.request.now,
        "seed": None if plan.request is None else plan.request.seed,
        "warnings": note_facts(plan.warnings),
        "notes": note_facts((*plan.notes, *made.notes, *made.body.notes)),
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


def _state(made: Made) -> dict[str, Any]:
    return {} if made.state is None else {"state": made.state}


def _messages(made: Made) -> list[dict[str, Any]]:
    messages = [{"role": block.role, "content": block.content} for block in made.plan.sent_blocks()]
    if len(messages) > MAX_DIFF_MESSAGES:
        raise LimitError(
            "the messages of a prompt to compare",
            limit="MAX_DIFF_MESSAGES",
            allowed=MAX_DIFF_MESSAGES,
            found=len(messages),
        )
    return messages


def _changes(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each run of messages that is not in both: where it stands in each, and what is there."""
    one, other = ([to_json(message) for message in messages] for messages in (first, second))
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    return [
        {"change": change, "at": [start, other_start], "a": first[start:end], "b": second[other_start:stop]}
        for change, start, end, other_start, stop in matcher.get_opcodes()
        if change != "equal"
    ]


def _changed_options(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    names = sorted((one.keys() | other.keys()) - {"messages", "contents", "input", "prompt", "system"})
    return {name: {"a": one.get(name), "b": other.get(name)} for name in names if one.get(name) != other.get(name)}
