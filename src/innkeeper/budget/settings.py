"""Settings shared by the budget steps: their options, which may be functions of the state, and their values in a build."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

from innkeeper.budget.costing import Costing, framing_of, sent_metadata, shape_of, whole
from innkeeper.budget.strategies import STRATEGIES, Strategies, Strategy
from innkeeper.prompt import NoteKind, ScratchKey, State, StepConfig, TokenCounter, UnknownNameError
from innkeeper.prompt.errors import UsageError
from innkeeper.prompt.payload.dialect import needed_limit, reply_limit
from innkeeper.prompt.text import kind_of, shorten
from innkeeper.tokens.counter import default_counter
from innkeeper.tokens.estimators import counter_of
from innkeeper.tokens.framing import FRAMINGS, Framing, framing
from innkeeper.tokens.table.catalogue import known_window, near_model

Setting = Any
"""``int | str | bool | Callable[[State], …] | None``: a plain value, which JSON can hold, or a function of the state."""


class CountingConfig(StepConfig, frozen=True, kw_only=True):
    """How a step counts. Each option may be a function of the state.

    ``max_tokens`` is the window (default: the request's ``context_window``, else that of a known model; 0: nothing to do),
    ``reserve_tokens`` the reply's share (default: the request's ``reserved_tokens``). ``framing`` is a rule or a name of
    `innkeeper.tokens.FRAMINGS` (default: the counter's own, else the dialect's). For the rest see `innkeeper.budget.Costing`.
    """

    max_tokens: Setting = None
    reserve_tokens: Setting = None
    model_hint: Setting = None
    token_estimator: Any = None
    framing: Setting = None
    message_overhead_tokens: Setting = 0
    attachment_tokens: Setting = 0
    include_message_metadata_tokens: Setting = False

    def __post_init__(self) -> None:
        """Refuse what could only fail in mid-build."""
        for name in ("max_tokens", "reserve_tokens", "message_overhead_tokens", "attachment_tokens"):
            check_tokens(name, getattr(self, name))
        if isinstance(self.framing, str) and self.framing not in FRAMINGS:
            raise UnknownNameError("framing", self.framing, FRAMINGS)

    def window(self, state: State) -> int | None:
        """Return the window in this build: the option's, the request's, else that of a known model; ``None`` if unknown."""
        window, asked = tokens_setting("max_tokens", self.max_tokens, state), state.request.context_window
        if window is None and asked is None:
            return known_window(model_for(state, self.model_hint))
        return whole("context_window", asked or 0) if window is None else window

    def reserve(self, state: State) -> int:
        """The reply's share in this build: as much as the request's options allow the answer, if that is more.

        Without a reserve it is what the tavern's own options allow; one token where the dialect has to ask for some.
        """
        reserve, request = tokens_setting("reserve_tokens", self.reserve_tokens, state), state.request
        if reserve is None and request.reserved_tokens is not None:
            reserve = whole("reserved_tokens", request.reserved_tokens)
        if reserve is None:
            reserve = reply_limit(state.result.options)
        shape = shape_of(request.dialect, state.inputs.dialects) if request.dialect else None
        return max(reserve, reply_limit(request.options)) or int(needed_limit(shape) > 0)

    def costing(self, state: State) -> Costing:
        """Return the costing of this build."""
        counter = counter_for(state, self.token_estimator)
        return Costing(
            counter=counter,
            model=model_for(state, self.model_hint),
            framing=framing_for(state, self.framing, counter),
            message_overhead_tokens=tokens_setting("message_overhead_tokens", self.message_overhead_tokens, state) or 0,
            attachment_tokens=tokens_setting("attachment_tokens", self.attachment_tokens, state) or 0,
            include_message_metadata_tokens=bool(resolved(self.include_message_metadata_tokens, state)),
            dialect=state.request.dialect,
            sends=sent_metadata(state.request.dialect, state.inputs.dialects, state.result.options),
            shape=shape_of(state.request.dialect, state.inputs.dialects),
        )


class StrategyChoice:
    """The fields shared by step configurations that name a strategy.

    ``strategy`` is a name, a name with options (``{"name": "stepped", "step_messages": 4}``), or a strategy. ``step_tokens``,
    ``step_messages`` and ``history_tokens`` are options of ``stepped`` that may stand beside its name. Names are those of
    ``strategies``; a subclass may know more. ``on_overflow`` says what happens when what may not be evicted does not fit.
    """

    __slots__ = ()

    strategies: ClassVar[Strategies] = STRATEGIES
    on_overflow: str
    strategy: Setting
    step_tokens: int | None
    step_messages: int | None
    history_tokens: int | None

    def chosen(self, state: State | None = None) -> Strategy:
        """The strategy of this build. Raises `UnknownNameError`, and `UsageError` for options that do not fit."""
        value = self.strategy if state is None else resolved(self.strategy, state)
        options = {name: getattr(self, name) for name in ("step_tokens", "step_messages", "history_tokens")}
        return self.strategies.make(value, {name: number for name, number in options.items() if number is not None})


TRIMMED: Final = ScratchKey[StrategyChoice]("trimming")
"""The configuration that a step ``trimming`` leaves for those that trim again."""


def left_choice(state: State) -> StrategyChoice | None:
    """The configuration under `TRIMMED`; ``None`` where no step left one, or an application's own step left something else."""
    config = state.scratch.get(TRIMMED)
    return config if isinstance(config, StrategyChoice) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterChoice:
    """How a step ``prepare`` wants tokens counted: the model, and the counter where it asks for a particular one."""

    model_hint: str | None = None
    token_counter: TokenCounter | None = None


PREPARED: Final = ScratchKey[CounterChoice]("prepare")
"""What a step ``prepare`` leaves, where it chooses a counter."""

_NO_CHOICE: Final = CounterChoice()


def _prepared(state: State) -> CounterChoice:
    choice = state.scratch.get(PREPARED)
    return choice if isinstance(choice, CounterChoice) else _NO_CHOICE


def check_tokens(name: str, value: Setting) -> None:
    """Raise `UsageError` for what is neither a whole number of tokens from 0 up, nor a function, nor absent."""
    if value is not None and not callable(value):
        whole(name, value)


def note_unknown_window(state: State, effect: str) -> None:
    """Note that nobody has said the window, nor knows it for the request's model, and what follows of that."""
    model = state.request.model
    about = (
        f"the window of {shorten(model, 60)!r} is not known" if model else "no context window and no model are named"
    )
    data = {"input": "context_window", "model": model}
    if not any(note.data.get("input") == "context_window" for note in state.result.notes):
        near = f"; did you mean {other!r}?" if model and (other := near_model(model)) else ""
        state.note(NoteKind.ESTIMATE, f"{about}: {effect}", hint=f"give context_window{near}", data=data)


def resolved(value: Setting, state: State) -> Any:
    """Return the value, or the result of the function for this build."""
    return value(state) if callable(value) else value


def tokens_setting(name: str, value: Setting, state: State) -> int | None:
    """A number of tokens. Raises `UsageError` when the function gives anything else."""
    tokens = resolved(value, state)
    return None if tokens is None else whole(name, tokens)


def counter_for(state: State, estimator: Any = None) -> TokenCounter:
    """The counter of the step, else of the ports, else the one chosen by *prepare*, else the built-in one."""
    for counter in (estimator, state.inputs.ports.token_counter, _prepared(state).token_counter):
        if counter is not None:
            return counter_of(counter)
    return default_counter()


def model_for(state: State, hint: Setting = None) -> str | None:
    """The model that tokens are counted for, by the step's hint, the request's ``meta``, *prepare*, or the request's model."""
    hint = resolved(hint, state)
    if hint is not None and not isinstance(hint, str):
        raise UsageError(f"model_hint must be text, not {kind_of(hint)}")
    meta = state.request.meta
    prepared = _prepared(state).model_hint
    for name in (hint, meta.get("model_hint"), prepared, meta.get("default_model_hint"), state.request.model):
        if isinstance(name, str) and name.strip():
            return name
    return None


def framing_for(state: State, value: Setting = None, counter: TokenCounter | None = None) -> Framing:
    """The counting rule itself, or by name, else `framing_of` the request's dialect. Raises `UnknownNameError`."""
    rule = resolved(value, state)
    if rule is None:
        return framing_of(state.request.dialect, counter)
    return rule if isinstance(rule, Framing) else framing(rule)
