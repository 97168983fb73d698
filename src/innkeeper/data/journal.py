"""Journal: the answers of a run, each written down when it is whole, and the batches that are under way at a provider.

Both lie in the folder of the run's parts, so that a run that was stopped pays for nothing twice. Answers are on the disk; where
they begin is in memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final, Self

import msgspec

from innkeeper.data.batch import BuiltRow
from innkeeper.prompt import UsageError
from innkeeper.prompt.typed.misfit import Misfit
from innkeeper.prompt.typed.once import decode

ANSWERS: Final = "answers.jsonl"
"""The file with the answers."""


def key_of(row: BuiltRow) -> str:
    """What an answer is found by: the prompt, and the row's name."""
    return f"{row.fingerprint} {row.id}"


class AnswerJournal:
    """The answers of a run, as a context manager. ``spent`` is what they cost, in US dollars. For one thread at a time."""

    def __init__(self, path: Path) -> None:
        self.path, self.spent = path, 0.0
        self._offsets: dict[str, int] = {}
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        self._file = self.path.open("a+b")
        self._file.seek(0)
        offset = 0
        for line in self._file:
            try:
                known = decode(line, dict[str, Any]) if line.endswith(b"\n") else {}
            except (msgspec.DecodeError, Misfit):
                known = {}
            if "key" in known:
                self._offsets[str(known["key"])] = offset
                self.spent += known.get("paid") or 0.0
            offset += len(line)
        if offset and not line.endswith(b"\n"):  # cut by the end of a process
            self._file.write(b"\n")
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def __contains__(self, key: str) -> bool:
        return key in self._offsets

    def get(self, key: str) -> dict[str, Any] | None:
        """The fields of an answer; None where there is none."""
        offset = self._offsets.get(key)
        if offset is None or self._file is None:
            return None
        self._file.seek(offset)
        known: dict[str, Any] = msgspec.json.decode(self._file.readline())
        del known["key"]
        return known

    def put(self, key: str, fields: Mapping[str, Any]) -> None:
        """Write an answer down."""
        if self._file is None:
            raise UsageError("the journal is closed")
        self._offsets[key] = self._file.seek(0, os.SEEK_END)
        self._file.write(msgspec.json.encode({"key": key, **fields}) + b"\n")
        self.spent += fields.get("paid") or 0.0

    def sync(self) -> None:
        """Have what was written be on the disk."""
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())


class BatchRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A batch that was submitted, or that may have been: without an ``id`` its provider did not say so before the process ended.

    ``began`` is the moment before, in seconds since 1970; ``most`` is what its answers may cost, in US dollars.
    """

    name: str
    rows: int
    began: float
    most: float = 0.0
    id: str = ""


class BatchRow(msgspec.Struct, frozen=True):
    """A request of a batch: the ``key`` of its row, its model, and the body that is sent."""

    key: str
    model: str
    body: msgspec.Raw


_RECORD: Final = ".batch.json"
_REQUESTS: Final = ".requests.jsonl"


def record_path(folder: Path, name: str) -> Path:
    """The file of a batch's record."""
    return folder / f"{name}{_RECORD}"


def requests_path(folder: Path, name: str) -> Path:
    """The file of a batch's requests."""
    return folder / f"{name}{_REQUESTS}"


def records_in(folder: Path) -> list[BatchRecord]:
    """The batches that are under way, the oldest first."""
    records = [decode(path.read_bytes(), BatchRecord) for path in folder.glob(f"*{_RECORD}")]
    return sorted(records, key=lambda record: (record.began, record.name))


def requests_in(path: Path) -> Iterator[BatchRow]:
    """The requests of a batch in their order."""
    with path.open("rb") as file:
        for line in file:
            yield decode(line, BatchRow)


def no_batches(folder: Path) -> None:
    """Raise `UsageError` where rows of the run are in batches: they would be paid for twice."""
    records = records_in(folder)
    if records:
        message = f"{sum(record.rows for record in records):,} rows are in batches that are under way"
        raise UsageError(message, hint="innkeeper batch submit with the same inputs fetches their answers")
