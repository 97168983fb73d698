"""Sending: the prompts of a dataset are sent to a model, several at a time, within a budget, and none is paid for twice.

Every answer is written into a journal beside the output as soon as it is whole. A run that was stopped reads it and asks only
for what is not there. A row whose call fails has an error; a key that is refused and a budget that is spent end the run, which
goes on when the same command is given again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Condition, Lock
from time import monotonic
from typing import Any, Final, Protocol

import msgspec

from innkeeper.data.batch import BatchSettings, BuiltRow, builder_of, table_of
from innkeeper.data.journal import AnswerJournal, key_of, no_batches
from innkeeper.inference.errors import BudgetError, HttpError
from innkeeper.prompt import InnkeeperError, Plan, UsageError
from innkeeper.prompt.payload.dialect import reply_limit
from innkeeper.tokens.table.catalogue import known_model, tokens_cost

MOST_AT_ONCE: Final = 64
"""Calls of a model that may be under way at once."""

REFUSED: Final = frozenset({401, 402, 403})
"""Statuses that every further call would have, too: no key, no money, no right."""

_USUAL_REPLY: Final = 1_024


class AnsweredPlan(Protocol):
    """A model's answer: its text, the reason of its end, and its usage by OpenAI's names."""

    @property
    def text(self) -> str:
        """What the model said."""
        ...

    @property
    def end(self) -> str | None:
        """Why it stopped."""
        ...

    @property
    def usage(self) -> Mapping[str, Any] | None:
        """The provider's figures."""
        ...


class SendOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How prompts are sent: calls ``at_once``, calls ``a_minute`` at most, and a ``budget`` in US dollars for all of a run."""

    at_once: int = 4
    a_minute: int | None = None
    budget: float | None = None

    def __post_init__(self) -> None:
        """Raise `UsageError` for figures that make no sense."""
        if not 1 <= self.at_once <= MOST_AT_ONCE:
            raise UsageError(f"{self.at_once} calls at once are not possible", hint=f"from 1 to {MOST_AT_ONCE}")
        if (self.a_minute is not None and self.a_minute < 1) or (self.budget or 0) < 0:
            raise UsageError("a rate is at least 1 a minute, and a budget not negative")


class EndError(Exception):
    """The run ends by the error ``reason``: every further row would have it, too."""

    def __init__(self, reason: InnkeeperError) -> None:
        super().__init__(str(reason))
        self.reason = reason


class Sender:
    """An engine of `run_batch` that asks a model. ``ask`` answers a plan and may be called from several threads.

    ``journal`` is the file with the answers so far.
    """

    def __init__(self, ask: Callable[[Plan], AnsweredPlan], journal: Path, options: SendOptions | None = None) -> None:
        self._ask, self._journal, self._options = ask, AnswerJournal(journal), options or SendOptions()
        self._held = 0.0
        self._lock, self._turn, self._next = Lock(), Condition(), 0.0
        self._end: InnkeeperError | None = None

    def __call__(self, shards: Iterable[Any], settings: BatchSettings) -> Iterator[Any]:
        """Yield the answered shards in order.

        Raises `BudgetError`, the error of a provider that refuses the key, and `UsageError` while batches are under way.
        """
        no_batches(self._journal.path.parent)
        builder = builder_of(settings)
        try:
            with (
                self._journal,
                ThreadPoolExecutor(self._options.at_once, thread_name_prefix="innkeeper-send") as threads,
            ):
                for table in shards:
                    rows = list(threads.map(lambda row: builder.built(row, self._answered), table.to_pylist()))
                    yield table_of(rows, settings, answered=True)
        except EndError as error:
            raise error.reason from None

    @property
    def spent(self) -> float:
        """What all answers of the run have cost so far, in US dollars."""
        return self._journal.spent

    def _answered(self, plan: Plan, made: BuiltRow) -> Mapping[str, Any]:
        """The fields of a row that its answer gives: from the journal, or by asking."""
        with self._lock:
            known = self._journal.get(key_of(made))
        if known is not None:
            return known
        if self._end is not None:
            raise EndError(self._end)
        held = self._hold(plan, made)
        try:
            self._wait()
            fields = answer_fields(plan.model, self._ask(plan))
        except BaseException as error:
            with self._lock:
                self._held -= held
            if isinstance(error, HttpError) and error.status in REFUSED:
                raise self._ended(error) from None
            raise
        with self._lock:  # what was held becomes what is spent, with no moment between in which it is neither
            self._held -= held
            self._journal.put(key_of(made), fields)
            self._journal.sync()
        return fields

    def _hold(self, plan: Plan, made: BuiltRow) -> float:
        """Hold the most that a call may cost. Raises `BudgetError` where it is not there, `UsageError` for an unknown price."""
        budget = self._options.budget
        if budget is None:
            return 0.0
        try:
            most = most_cost(plan, made)
        except UsageError as error:
            raise self._ended(error) from None
        with self._lock:
            left = budget - self._journal.spent - self._held
            if most <= left:
                self._held += most
                return most
        raise self._ended(BudgetError("the next row of the batch", estimate=most, left=left))

    def _ended(self, reason: InnkeeperError) -> EndError:
        """The end of the run: no further row is asked for."""
        self._end = self._end or reason
        return EndError(self._end)

    def _wait(self) -> None:
        """Wait for a turn, so that no more calls are made in a minute than are allowed."""
        if self._options.a_minute is None:
            return
        with self._turn:
            now = monotonic()
            begin = max(now, self._next)
            self._next = begin + 60 / self._options.a_minute
            if begin > now:
                self._turn.wait(begin - now)


def most_cost(plan: Plan, made: BuiltRow) -> float:
    """Return the most that the answer to a plan may cost, in US dollars. Raises `UsageError` for a model without a price."""
    price = known_model(plan.model).price if plan.model else None
    if price is None:
        message = f"nobody knows what {plan.model or 'this model'} costs"
        raise UsageError(message, hint="send without a budget, or name a model with a price")
    return tokens_cost(price, made.tokens or 0, reply_limit(plan.options) or _USUAL_REPLY)


def answer_fields(model: str | None, answer: AnsweredPlan, price_share: float = 1.0) -> dict[str, Any]:
    """Return the fields of a `BuiltRow` that an answer gives; ``price_share`` is what is paid of the price of a call alone."""
    usage = answer.usage or {}
    read, written = usage.get("prompt_tokens"), usage.get("completion_tokens")
    price = known_model(model).price if model else None
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    paid = None
    if price is not None and read is not None:
        paid = tokens_cost(price, read, written or 0, cached_tokens=cached) * price_share
    return {"answer": answer.text, "ended": answer.end, "input_tokens": read, "output_tokens": written, "paid": paid}
