"""Runs: a dataset from its source to files, with checkpoints, so that a run that was stopped goes on where it was.

Beside the output lies a folder with a part for each shard that is done, written whole or not at all, and with the facts of the
run: its settings, its dataset, the moment that builds read as now. The parts become the output once all are there. The same
dataset, settings and moment give the same bytes, however often a run was stopped and however many processes built it.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import count, takewhile
from pathlib import Path
from typing import Any, Final

import msgspec

from innkeeper.content.errors import MissingFileError, OutputExistsError
from innkeeper.content.files.private import one_writer
from innkeeper.data.batch import BatchSettings
from innkeeper.data.pool import Builders
from innkeeper.data.sources import RowSource
from innkeeper.data.summary import FigureSum, Summary
from innkeeper.data.tables import KINDS, LineWriter, from_bytes, open_binary, to_bytes, writer_of
from innkeeper.prompt import FormatError, InnkeeperError, UsageError, Where
from innkeeper.prompt.data import to_json
from innkeeper.prompt.machine import utc_now
from innkeeper.prompt.typed.misfit import Misfit
from innkeeper.prompt.typed.once import decode
from innkeeper.version import VERSION

SHARD: Final = 256
"""Rows of a shard: what is lost of a run that is killed, for each of its processes."""

STDOUT: Final = "-"

_FACTS: Final = "run.json"
_PART: Final = "{:08d}.arrow"

_JUDGED: Final = "tier_blocked"
"""The kind of error of a prompt or an answer that may not pass."""


class BatchReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a run has done: rows built, rows with an error, shards that an earlier run had done, and the figures of all."""

    rows: int
    errors: int
    resumed: int
    summary: Summary

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON-ready data."""
        return {"rows": self.rows, "errors": self.errors, "resumed": self.resumed, "summary": self.summary.to_dict()}


class _RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the parts of a run have in common."""

    version: str
    source: str
    settings: BatchSettings
    shard: int
    sample: int | None = None


Engine = Callable[[Iterable[Any], BatchSettings], Iterator[Any]]
"""Builds shards and yields their results in order, such as the processes of one machine."""

Progress = Callable[[int, int], None]
"""Gets the rows and the errors so far."""


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a run works, which changes none of its bytes.

    Rows that cannot be built go to the file ``errors``, by default one beside the output. ``workers`` are processes, one for each
    core by default; a ``shard`` is what one of them builds at a time, in rows. ``sample`` builds only so many rows, from the
    first on. ``force`` overwrites the output. With ``asks_again`` the same run, given again, asks for answers that failed.
    """

    errors: str | None = None
    workers: int | None = None
    shard: int = SHARD
    sample: int | None = None
    force: bool = False
    asks_again: bool = False


_OPTIONS: Final = RunOptions()


def run_batch(
    source: RowSource,
    output: str | os.PathLike[str],
    settings: BatchSettings | None = None,
    options: RunOptions = _OPTIONS,
    *,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> BatchReport:
    """Build a dataset into a file, whose ending says its kind, or into standard output (``-``) as JSON lines.

    Rows that cannot be built are JSON lines of the errors' file. A run whose parts lie beside the output goes on. ``engine``
    builds the shards in the place of this machine's processes.

    Raises:
        OutputExistsError: the output is there, and ``force`` is off.
        UsageError: the parts beside it are of another run.
        FormatError: the dataset is cut; what was done before is kept.
        MissingFileError: a file cannot be written, as on a full disk; what was done before is kept.
    """
    settings = settings or BatchSettings()
    roots = tuple(dict.fromkeys((*source.roots, *settings.roots)))
    settings = msgspec.structs.replace(settings, roots=roots, source=source.name)
    if options.shard < 1:
        raise UsageError("a shard has at least one row", hint="give a number from 1 on")
    tables = source.shards(options.shard)
    if options.sample is not None:
        tables = _first(tables, options.sample)
    chosen = engine or (lambda shards, common: _on_this_machine(shards, common, options.workers))
    if os.fspath(output) == STDOUT:
        return _piped(tables, settings, options, chosen, progress)
    return _FileRun(Path(output), settings, options).done(tables, source.identity, chosen, progress)


def at_one_moment(settings: BatchSettings, now: str | None = None) -> BatchSettings:
    """The settings with a moment that all builds read as now, unless they have one."""
    if settings.request.get("now"):
        return settings
    moment = now or utc_now().isoformat(timespec="seconds")
    return msgspec.structs.replace(settings, request={**settings.request, "now": moment})


def _first(tables: Iterable[Any], rows: int) -> Iterator[Any]:
    for table in tables:
        if rows <= 0:
            return
        yield table.slice(0, rows)
        rows -= table.num_rows


def _on_this_machine(shards: Iterable[Any], settings: BatchSettings, workers: int | None) -> Iterator[Any]:
    builders = Builders(settings, workers)
    try:
        yield from builders.build(shards)
    finally:
        builders.close()


def _piped(
    tables: Iterable[Any], settings: BatchSettings, options: RunOptions, engine: Engine, progress: Progress | None
) -> BatchReport:
    """Write to standard output as shards are done; nothing is kept for another run."""
    good = LineWriter(sys.stdout.buffer, only=_only(settings), nested=True, shared=True)
    errors = options.errors
    bad = LineWriter(sys.stderr.buffer, shared=True) if errors is None else LineWriter(open_binary(errors))
    counted = _ResultFiles(good, bad, progress)
    try:
        for table in engine(tables, at_one_moment(settings)):
            counted.write(table)
    finally:
        bad.close()
    return counted.report(0)


def _only(settings: BatchSettings) -> str:
    """The one column that JSON lines consist of: a provider's batch file has nothing else."""
    return settings.form if settings.form == "body" else ""


class _ResultFiles:
    """Writes results and errors apart, and counts them."""

    def __init__(self, good: Any, bad: Any, progress: Progress | None) -> None:
        self.good, self.bad, self._progress = good, bad, progress
        self.rows = self.errors = self.unanswered = 0
        self._summary = FigureSum()

    def write(self, table: Any) -> None:
        """Write a shard."""
        import pyarrow.compute as pc

        failed = pc.is_valid(table["error"])
        bad = pc.sum(failed).as_py() or 0
        self.unanswered += _unanswered(table)
        self._summary.add(table)
        self.good.write(
            table.filter(pc.invert(failed)).drop_columns(["error"]) if bad else table.drop_columns(["error"])
        )
        if bad:
            rows = table.filter(failed).select(["id", "error"]).to_pylist()
            lines = [to_json({"id": row["id"], "error": msgspec.json.decode(row["error"])}, sort=False) for row in rows]
            self.bad.write_lines(lines)
        self.rows, self.errors = self.rows + table.num_rows, self.errors + bad
        if self._progress is not None:
            self._progress(self.rows, self.errors)

    def report(self, resumed: int) -> BatchReport:
        """What was written."""
        return BatchReport(rows=self.rows, errors=self.errors, resumed=resumed, summary=self._summary.built())


def _unanswered(table: Any) -> int:
    """How many prompts of a shard were built, and were not answered; one that the gate stopped was judged for good."""
    import pyarrow.compute as pc

    judged = pc.match_substring(table["error"], f'"kind":"{_JUDGED}"')
    built = pc.is_valid(table["fingerprint"])
    return pc.sum(pc.and_(built, pc.fill_null(pc.invert(judged), fill_value=False))).as_py() or 0


def parts_of(target: Path) -> Path:
    """Return the folder with the parts of an output."""
    return target.with_name(f"{target.name}.parts")


class _FileRun:
    """A run into files."""

    def __init__(self, target: Path, settings: BatchSettings, options: RunOptions) -> None:
        self.target, self.settings, self.options = target, settings, options
        self.errors = Path(options.errors or f"{target}.errors.jsonl")
        self.parts = parts_of(target)

    def done(self, tables: Iterable[Any], identity: str, engine: Engine, progress: Progress | None) -> BatchReport:
        """Build what is not done yet, then write the output."""
        kind = self.target.suffix.lower()
        if kind not in KINDS:
            raise UsageError(
                f"no results are written to a file like {self.target.name!r:.80}", hint=f"kinds: {', '.join(KINDS)}"
            )
        self._check_target()
        shard = self.options.shard
        facts = _RunFacts(
            version=VERSION, source=identity, settings=self.settings, shard=shard, sample=self.options.sample
        )
        with _written(self.target), one_writer(self.parts):
            self._check_target()  # another run may have been waited for
            settings, parts, asks = self._settings(facts), enumerate(self._parts()), self.options.asks_again
            ready = {at for at, path in parts if not (asks and _unanswered(from_bytes(path.read_bytes())))}
            rows = len(ready) * shard
            errors = 0
            numbers: deque[int] = deque()  # of the shards that the engine has
            try:
                for table in engine(_noted(tables, ready, numbers), settings):
                    _put(self.parts / _PART.format(numbers.popleft()), to_bytes(table))
                    rows, errors = rows + table.num_rows, errors + table.num_rows - table["error"].null_count
                    if progress is not None:
                        progress(rows, errors)
            except InnkeeperError as error:
                error.hint = f"{rows:,} rows are done, in {str(self.parts)!r}; {error.hint}" if rows else error.hint
                raise
            return self._merged(settings, kind, len(ready))

    def _check_target(self) -> None:
        if not self.target.absolute().parent.is_dir():
            raise MissingFileError(f"there is no folder for {str(self.target)!r}", hint="make it first")
        goes_on = self.options.asks_again and (self.parts / _FACTS).exists()
        if self.target.exists() and not (self.options.force or goes_on):
            hint = "choose another name; --force overwrites it"
            raise OutputExistsError(f"{str(self.target)!r} exists already", hint=hint)

    def _settings(self, facts: _RunFacts) -> BatchSettings:
        """The settings of the run whose parts are here, or of a new one. Raises `UsageError` for another run's parts."""
        path = self.parts / _FACTS
        if path.exists():
            try:
                known = decode(path.read_bytes(), _RunFacts)
            except (msgspec.DecodeError, Misfit) as error:
                raise FormatError(
                    "the facts of the run are damaged", where=Where(asset=str(path)), hint=_AGAIN
                ) from error
            now = known.settings.request.get("now")
            if msgspec.structs.replace(facts, settings=at_one_moment(facts.settings, now)) == known:
                return known.settings
            raise UsageError(f"{str(self.parts)!r} has the parts of another run", hint=_AGAIN)
        settled = msgspec.structs.replace(facts, settings=at_one_moment(facts.settings))
        _put(path, msgspec.json.encode(settled))
        return settled.settings

    def _parts(self) -> Iterator[Path]:
        """The parts that are there, in the order of their shards, from the first on without a gap."""
        return takewhile(Path.exists, (self.parts / _PART.format(number) for number in count()))

    def _merged(self, settings: BatchSettings, kind: str, resumed: int) -> BatchReport:
        """Write the output of all parts, and remove them."""
        draft, bad = (path.with_name(f".{path.name}.{os.getpid()}.tmp") for path in (self.target, self.errors))
        good = writer_of(draft, kind, only=_only(settings))
        counted = _ResultFiles(good, LineWriter(open_binary(bad)), None)
        try:
            for path in self._parts():
                counted.write(from_bytes(path.read_bytes()))
            good.close()
            counted.bad.close()
            if counted.errors:
                bad.replace(self.errors)
            elif self.options.errors is None:
                self.errors.unlink(missing_ok=True)  # those of an earlier run
            if draft.exists():
                draft.replace(self.target)
        finally:
            for path in (draft, bad):
                with suppress(OSError):
                    path.unlink(missing_ok=True)
        if not (self.options.asks_again and counted.unanswered):
            shutil.rmtree(self.parts)
        return counted.report(resumed)


_AGAIN: Final = "finish it with its own inputs, or remove that folder to begin anew"


def _noted(tables: Iterable[Any], ready: Container[int], numbers: deque[int]) -> Iterator[Any]:
    """The shards that are not ready; each is noted by its number when it is taken."""
    for number, table in enumerate(tables):
        if number not in ready:
            numbers.append(number)
            yield table


@contextmanager
def _written(target: Path) -> Iterator[None]:
    """Have a file that cannot be written be an error of ours. Raises `MissingFileError`."""
    try:
        yield
    except OSError as error:
        hint = "what was done is kept: make room, or mend the folder, and run the same again"
        raise MissingFileError(f"{str(target)!r} cannot be written: {error.strerror or error}", hint=hint) from error


def _put(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    draft = path.with_suffix(".tmp")
    draft.write_bytes(data)
    draft.replace(path)
