"""Submitting: prompts of a dataset go to a provider as batches, for half the price, and answers come back to their rows.

A batch is written down before it is sent, and once more when its provider has named it. A run that ended between the two asks the
provider whether it has the batch before it sends anything again. Answers go to the journal; a request without one is an error of
its row.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final

import msgspec

from innkeeper.content import save_bytes
from innkeeper.data.batch import BatchSettings, BuiltRow, builder_of, table_of
from innkeeper.data.journal import (
    ANSWERS,
    AnswerJournal,
    BatchRecord,
    BatchRow,
    key_of,
    record_path,
    records_in,
    requests_in,
    requests_path,
)
from innkeeper.data.rows import ID, LINE, error_of
from innkeeper.data.sending import AnsweredPlan, EndError, answer_fields, most_cost
from innkeeper.data.tables import arrow, from_bytes, to_bytes
from innkeeper.gate.bodies import texts_of_body
from innkeeper.gate.gate import block
from innkeeper.inference.adapters.adapter import ModelRequest
from innkeeper.inference.batches.batch import (
    MAX_BATCH_ROWS,
    BatchRequest,
    BatchResult,
    BatchWire,
    ProviderBatch,
    answer_events,
    stopped,
)
from innkeeper.inference.client.clients import is_safe
from innkeeper.inference.client.judged import judged_answer, texts_of
from innkeeper.inference.client.model_clients import answered
from innkeeper.inference.errors import (
    BatchFailedError,
    BatchPendingError,
    BudgetError,
    HttpError,
    ProviderConnectionError,
    ProviderTimeoutError,
)
from innkeeper.inference.response.response import ModelResponse
from innkeeper.prompt import InnkeeperError, Plan, ProviderError, UsageError, utc_now
from innkeeper.prompt.data import to_json
from innkeeper.prompt.machine import fresh_id

FIRST_WAIT: Final = 10.0
"""Seconds before the first look at batches that are under way; each further wait is half as long again."""

LONGEST_WAIT: Final = 120.0
"""Seconds between two looks at most."""

MAX_MISSED_LOOKS: Final = 30
"""Looks one after the other that may fail, as where the network is gone, before the run ends (the last `ProviderError`)."""

CLOCK_SKEW: Final = 600.0
"""Seconds by which a provider's clock may be behind ours."""


class SubmitOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How batches are submitted: a ``budget`` in US dollars, and whether the run ``waits`` for answers.

    ``batch_rows`` are the requests of a batch. ``pause`` waits so many seconds; ``progress`` gets the answered requests and all.
    """

    budget: float | None = None
    waits: bool = True
    batch_rows: int = MAX_BATCH_ROWS
    pause: Callable[[float], Any] = time.sleep
    progress: Callable[[int, int], Any] = lambda *_: None

    def __post_init__(self) -> None:
        """Raise `UsageError` for figures that make no sense."""
        if not 1 <= self.batch_rows <= MAX_BATCH_ROWS or (self.budget or 0) < 0:
            raise UsageError(f"a batch has 1 to {MAX_BATCH_ROWS:,} rows, and a budget is not negative")


class Submitter:
    """An engine of `run_batch` that asks a model by batches.

    Args:
        wire: the provider's batches.
        request: makes the request for a plan.
        read: returns an answer as it is written down. Raises where it is none.
        folder: the run's parts, where the journal and the records of batches are.
        options: see `SubmitOptions`.
    """

    def __init__(
        self,
        wire: BatchWire,
        request: Callable[[Plan], ModelRequest],
        read: Callable[[ModelResponse], AnsweredPlan],
        folder: Path,
        options: SubmitOptions | None = None,
    ) -> None:
        self._wire, self._request, self._read = wire, request, read
        self._folder, self._options = folder, options or SubmitOptions()
        self._journal = AnswerJournal(folder / ANSWERS)
        self._pending: set[str] = set()
        self._failed: dict[str, InnkeeperError] = {}
        self._open: list[BatchRow] = []
        self._size, self._most, self._held = 0, 0.0, 0.0

    @property
    def spent(self) -> float:
        """What all answers of the run have cost so far, in US dollars."""
        return self._journal.spent

    def __call__(self, shards: Iterable[Any], settings: BatchSettings) -> Iterator[Any]:
        """Submit all shards, then yield them with their answers, in order.

        Raises:
            BudgetError: the next row may cost more than is left; what was submitted goes on at the provider.
            BatchPendingError: batches are under way, and the run does not wait.
            ProviderError: the provider refused a batch, or cannot be reached.
        """
        builder = builder_of(settings)
        with self._journal, TemporaryFile(dir=self._folder) as spool:
            self._resume()
            sizes = []
            try:
                for table in shards:
                    rows = [builder.built(row, self._taken) for row in table.to_pylist()]
                    made = table_of(rows, settings, answered=True)
                    data = to_bytes(made.append_column(LINE, table[LINE]) if LINE in table.column_names else made)
                    sizes.append(spool.write(data))
            except EndError as error:
                raise error.reason from None
            self._submit()
            self._wait()
            spool.seek(0)
            for size in sizes:
                yield self._joined(from_bytes(spool.read(size)), settings.source)

    # ---------------------------------------------------------------------------------------------------------- submitting

    def _taken(self, plan: Plan, made: BuiltRow) -> Mapping[str, Any]:
        """The fields of a row whose answer is there; none of one that waits for it, which is in a batch."""
        key = key_of(made)
        known = self._journal.get(key)
        if known is not None or key in self._pending:
            return known or {}
        request = self._request(plan)
        block(texts_of(request))
        most = self._afforded(plan, made)
        if self._open and (
            len(self._open) >= self._options.batch_rows or self._size + len(request.content) > self._wire.max_bytes
        ):
            try:
                self._submit()
            except InnkeeperError as error:  # which is no error of this row
                raise EndError(error) from None
        self._pending.add(key)
        self._open.append(BatchRow(key, plan.model or "", msgspec.Raw(request.content)))
        self._size, self._most = self._size + len(request.content), self._most + most
        return {}

    def _afforded(self, plan: Plan, made: BuiltRow) -> float:
        """The most that an answer may cost. Raises `EndError` where it is not there, or where nobody knows the price."""
        budget = self._options.budget
        if budget is None:
            return 0.0
        try:
            most = most_cost(plan, made) * self._wire.price_share
        except UsageError as error:
            raise EndError(error) from None
        left = budget - self._journal.spent - self._most - self._held
        if most > left:
            raise EndError(BudgetError("the next row of the batch", estimate=most, left=left))
        return most

    def _submit(self) -> None:
        """Submit the requests that were gathered; they are written down before. Raises `ProviderError` and its kin."""
        if not self._open:
            return
        rows, self._open = self._open, []
        record = BatchRecord(name=fresh_id(), rows=len(rows), began=utc_now().timestamp(), most=self._most)
        self._size, self._most, self._held = 0, 0.0, self._held + self._most
        lines = b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
        save_bytes(requests_path(self._folder, record.name), lines, force=True)
        self._create(record, rows)

    def _create(self, record: BatchRecord, rows: Iterable[BatchRow]) -> None:
        """Have the provider make a batch. One that it surely did not make is no longer written down."""
        requests = [BatchRequest(_name(record, at), msgspec.json.decode(row.body)) for at, row in enumerate(rows)]
        content = self._wire.prepared(record.name, requests)
        self._note(record)
        try:
            batch = self._wire.create(content)
        except ProviderError as error:
            absent = isinstance(error, ProviderConnectionError) and not error.opened
            if absent or (isinstance(error, HttpError) and error.status in _REFUSALS):
                self._forget(record)
            raise
        self._note(msgspec.structs.replace(record, id=batch.id))

    def _note(self, record: BatchRecord) -> None:
        save_bytes(record_path(self._folder, record.name), msgspec.json.encode(record), force=True)

    def _forget(self, record: BatchRecord) -> None:
        record_path(self._folder, record.name).unlink(missing_ok=True)
        requests_path(self._folder, record.name).unlink(missing_ok=True)

    def _resume(self) -> None:
        """Know the rows of the batches that an earlier run has left, each of which its provider has."""
        records = records_in(self._folder)
        self._held = sum(record.most for record in records)
        for record in records:
            self._pending |= {row.key for row in requests_in(requests_path(self._folder, record.name))}
            if not record.id:
                self._settle(record, {each.id for each in records})
        known = {record.name for record in records}
        for path in self._folder.glob("*.requests.jsonl"):
            if path.name.partition(".")[0] not in known:
                path.unlink()  # it was never sent

    def _settle(self, record: BatchRecord, known: set[str]) -> None:
        """Find the batch of a record without an id at its provider, or send it once more.

        Raises `BatchFailedError` where it is not clear which of several it is.
        """
        named, since = self._wire.keeps_names, record.began - CLOCK_SKEW
        alike = [
            batch
            for batch in takewhile(lambda batch: not batch.created or batch.created >= since, self._wire.recent())
            if (batch.name == record.name if named else batch.total == record.rows and batch.id not in known)
        ]
        if len(alike) > 1:
            message = f"the provider has {len(alike)} batches of which each may be one that was being submitted"
            path = record_path(self._folder, record.name)
            raise BatchFailedError(
                message, hint=f"write the right one as id into {path}: {[each.id for each in alike]}"
            )
        if alike:
            self._note(msgspec.structs.replace(record, id=alike[0].id))
        else:
            self._create(record, list(requests_in(requests_path(self._folder, record.name))))

    # ----------------------------------------------------------------------------------------------------------- answers

    def _wait(self) -> None:
        """Fetch the answers of all batches, as each ends. Raises `BatchPendingError`, `ProviderError`."""
        seconds, missed = FIRST_WAIT, 0
        while records := records_in(self._folder):
            done = 0
            try:
                for record in records:
                    batch = self._wire.look(record.id)
                    done += batch.done
                    if batch.outcome:
                        self._collect(record, batch)
                missed = 0
            except ProviderError as error:
                missed += 1
                passes = isinstance(error, (ProviderConnectionError, ProviderTimeoutError)) or is_safe(error)
                if missed > MAX_MISSED_LOOKS or not passes:
                    raise
            waiting = sum(record.rows for record in records_in(self._folder))
            if not waiting:
                return
            self._options.progress(done, sum(record.rows for record in records))
            if not self._options.waits:
                raise BatchPendingError(f"{waiting:,} rows are in batches that are under way, {done:,} are answered")
            self._options.pause(seconds)
            seconds = min(seconds * 1.5, LONGEST_WAIT)

    def _collect(self, record: BatchRecord, batch: ProviderBatch) -> None:
        """Write the answers of a batch that has ended into the journal, and forget the batch."""
        results = {result.name: result for result in self._wire.results(batch)}
        for at, row in enumerate(requests_in(requests_path(self._folder, record.name))):
            self._pending.discard(row.key)
            if row.key in self._journal:
                continue
            try:
                self._journal.put(row.key, self._fields(row, results.get(_name(record, at)), batch))
            except InnkeeperError as error:
                self._failed[row.key] = error
        self._journal.sync()
        self._forget(record)

    def _fields(self, row: BatchRow, result: BatchResult | None, batch: ProviderBatch) -> dict[str, Any]:
        """The fields that a request's answer gives. Raises its error, and `TierBlockedError` where it may not pass."""
        if result is None:
            raise stopped(batch)
        if result.error is not None:
            raise result.error
        texts = texts_of_body(msgspec.json.decode(row.body))
        events = judged_answer(texts, answer_events(self._wire.client, result.body))
        return answer_fields(row.model, self._read(answered(events, row.model)), self._wire.price_share)

    def _joined(self, table: Any, source: str) -> Any:
        """A shard with the answers of its rows, and the errors of those that have none."""
        rows = table.to_pylist()
        for row in rows:
            if row["error"] is not None or row["answer"] is not None:
                continue
            key = f"{row['fingerprint']} {row[ID]}"
            known = self._journal.get(key)
            if known is not None:
                row.update(known)
            else:
                error = self._failed.get(key) or BatchFailedError("the row has no answer, and nobody says why")
                row["error"] = to_json(error_of(error, source, row.get(LINE))).decode()
        made = arrow().Table.from_pylist(rows, schema=table.schema)
        return made.drop_columns([LINE]) if LINE in made.column_names else made


def _name(record: BatchRecord, at: int) -> str:
    """The name of a request: letters, digits and signs that all providers take, at most 64."""
    return f"{record.name[:48]}-{at}"


_REFUSALS: Final = frozenset(range(400, 500)) - {408, 409}
"""Statuses by which a provider says that it did not take what was sent."""
