"""Runs: every source to every output, stopped and gone on, with bad rows, cut files and processes that are killed."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

from innkeeper.cli.app.root import main
from innkeeper.content.errors import MissingFileError, OutputExistsError
from innkeeper.data import BatchSettings, RunOptions, build_batch, open_rows, run_batch
from innkeeper.data import run as runs
from innkeeper.data.pool import Builders
from innkeeper.prompt import FormatError, LimitError, UsageError
from tests.shared import ROOT

NOW = "2026-01-15T12:00:00Z"
SETTINGS = BatchSettings(request={"tavern": "vibe", "now": NOW, "model": "gpt-4o"})
ROWS = [{"id": f"r{n}", "message": f"Message {n}, and a few words.", "system": "Be brief."} for n in range(23)]
SMALL = RunOptions(shard=5, workers=1)


def written(path: Path, rows: list[dict[str, Any]] = ROWS) -> Path:
    """A dataset in the form that the file's name says."""
    table = pa.Table.from_pylist(rows)
    match path.suffix:
        case ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        case ".parquet":
            parquet.write_table(table, path, row_group_size=7)
        case ".feather":
            feather.write_feather(table, path)
        case ".arrow":
            with pa.ipc.new_stream(path, table.schema) as writer:
                writer.write_table(table, max_chunksize=4)
        case _:
            csv.write_csv(table, path)
    return path


def here(shards: Any, common: BatchSettings) -> Iterator[Any]:
    """Builds shards in this process."""
    return (build_batch(table, common) for table in shards)


def run(source: Path, output: Path, options: RunOptions = SMALL, settings: BatchSettings = SETTINGS) -> Any:
    """A run of one file into another, in this process."""
    return run_batch(open_rows([str(source)]), output, settings, options, engine=here)


@cache
def expected() -> Any:
    """The rows as one build of them all gives them."""
    return build_batch(pa.Table.from_pylist(ROWS), SETTINGS).drop_columns(["error"]).to_pylist()


@pytest.mark.parametrize("kind", [".jsonl", ".parquet", ".feather", ".arrow", ".csv"])
def test_every_source_gives_what_a_build_gives(tmp_path: Path, kind: str) -> None:
    """The rows in their order, whatever the file, the shards and the processes."""
    source = written(tmp_path / f"rows{kind}")
    report = run(source, tmp_path / "out.parquet", RunOptions(shard=4))
    assert parquet.read_table(tmp_path / "out.parquet").to_pylist() == expected()
    assert (report.rows, report.errors, report.resumed) == (23, 0, 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.parquet", source.name]


def test_every_output(tmp_path: Path) -> None:
    """Parquet, Arrow, CSV and JSON lines hold the same rows; messages of JSON lines are lists."""
    source = written(tmp_path / "rows.jsonl")
    for kind in (".parquet", ".arrow", ".feather", ".csv", ".jsonl"):
        run(source, tmp_path / f"out{kind}")
    assert feather.read_table(tmp_path / "out.arrow").to_pylist() == expected()
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["messages"] for line in lines] == [json.loads(row["messages"]) for row in expected()]
    assert csv.read_csv(tmp_path / "out.csv").column("fingerprint").to_pylist() == [
        row["fingerprint"] for row in expected()
    ]


def test_provider_files_have_nothing_else(tmp_path: Path) -> None:
    """JSON lines of bodies are the provider's batch file, line by line."""
    settings = BatchSettings(form="body", provider="openai", request=SETTINGS.request)
    run(written(tmp_path / "rows.jsonl"), tmp_path / "out.jsonl", settings=settings)
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["custom_id"] for line in lines] == [row["id"] for row in ROWS]
    assert {*lines[0]} == {"custom_id", "method", "url", "body"}


def test_bad_rows_go_apart(tmp_path: Path) -> None:
    """The errors' file has their id, line and reason; a run without any takes an old one away."""
    source = written(tmp_path / "rows.jsonl", [ROWS[0], {"id": "bad", "nosuch": 1}, ROWS[1]])
    report = run(source, tmp_path / "out.jsonl")
    (error,) = map(json.loads, (tmp_path / "out.jsonl.errors.jsonl").read_text().splitlines())
    assert (error["id"], error["error"]["at"]) == ("bad", {"asset": "rows.jsonl", "line": 2})
    assert (report.rows, report.errors, len((tmp_path / "out.jsonl").read_text().splitlines())) == (3, 1, 2)
    assert list(report.summary.errors.values()) == [1]
    run(written(source), tmp_path / "out.jsonl", RunOptions(force=True, workers=1))
    assert not (tmp_path / "out.jsonl.errors.jsonl").exists()


class StoppedError(Exception):
    """The run is stopped here."""


@pytest.mark.parametrize("after", [0, 1, 3, 4])
def test_a_stopped_run_goes_on(tmp_path: Path, after: int) -> None:
    """The same bytes as of one run, also at another moment; the shards that were done are not built again."""
    source, settings = (
        written(tmp_path / "rows.jsonl"),
        BatchSettings(request={"tavern": "vibe", "message": "{{time}}"}),
    )
    asked: list[int] = []

    def engine(shards: Any, common: BatchSettings) -> Iterator[Any]:
        for number, table in enumerate(shards):
            if len(asked) == after and not stopped:
                raise StoppedError
            asked.append(number)
            yield build_batch(table, common)

    stopped: list[bool] = []
    with pytest.raises(StoppedError):
        run_batch(open_rows([str(source)]), tmp_path / "out.parquet", settings, SMALL, engine=engine)
    assert not (tmp_path / "out.parquet").exists()
    stopped.append(True)
    report = run_batch(open_rows([str(source)]), tmp_path / "out.parquet", settings, SMALL, engine=engine)
    assert (report.rows, report.resumed, len(asked)) == (23, after, 5)
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["out.parquet", "rows.jsonl"]


def test_other_runs_are_not_mixed(tmp_path: Path) -> None:
    """Parts of another dataset, of other settings or of another shard are refused, and kept."""
    source = written(tmp_path / "rows.jsonl")

    def engine(shards: Any, common: BatchSettings) -> Iterator[Any]:
        yield build_batch(next(iter(shards)), common)
        raise StoppedError

    with pytest.raises(StoppedError):
        run_batch(open_rows([str(source)]), tmp_path / "out.parquet", SETTINGS, SMALL, engine=engine)
    other = BatchSettings(request={**SETTINGS.request, "model": "gpt-4o-mini"})
    for options, settings in ((RunOptions(shard=6, workers=1), SETTINGS), (SMALL, other)):
        with pytest.raises(UsageError, match="another run"):
            run(source, tmp_path / "out.parquet", options, settings)
    source.write_text(source.read_text().replace("brief", "short"))
    with pytest.raises(UsageError, match="another run"):
        run(source, tmp_path / "out.parquet")
    written(source)
    assert run(source, tmp_path / "out.parquet").resumed == 1
    with pytest.raises(OutputExistsError):
        run(source, tmp_path / "out.parquet")


def test_facts_that_are_damaged(tmp_path: Path) -> None:
    """A folder of parts whose facts cannot be read is refused with a hint."""
    (tmp_path / "out.parquet.parts").mkdir()
    (tmp_path / "out.parquet.parts" / "run.json").write_text("{")
    with pytest.raises(FormatError, match="damaged"):
        run(written(tmp_path / "rows.jsonl"), tmp_path / "out.parquet")


@pytest.mark.parametrize("kind", [".parquet", ".feather", ".arrow"])
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_cut_dataset(tmp_path: Path, kind: str, share: float) -> None:
    """It is an error that names the file; there is no output that looks whole."""
    source = written(tmp_path / f"rows{kind}")
    data = source.read_bytes()
    source.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(FormatError, match="cannot be read"):
        run(source, tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


def test_a_dataset_that_is_cut_late(tmp_path: Path) -> None:
    """The error says how many rows are done, and where they are."""
    table, source = pa.Table.from_pylist(ROWS), tmp_path / "rows.arrow"
    with pa.OSFile(str(source), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=5)
    source.write_bytes(source.read_bytes()[:-400])
    with pytest.raises(FormatError, match="cannot be read") as cut:
        run_batch(open_rows([str(source)]), tmp_path / "out.parquet", SETTINGS, SMALL, engine=here)
    assert cut.value.hint is not None
    assert cut.value.hint.startswith(f"20 rows are done, in '{tmp_path / 'out.parquet.parts'}'; ")


def test_a_line_that_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends the run with its line, before memory is asked for it."""
    monkeypatch.setattr("innkeeper.data.sources.MAX_ROW_BYTES", 300)
    source = written(tmp_path / "rows.jsonl", [ROWS[0], {"message": "x" * 400}])
    with pytest.raises(LimitError, match="MAX_ROW_BYTES"):
        run(source, tmp_path / "out.parquet")


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told with what to do; the same run goes on once there is room."""
    source, put = written(tmp_path / "rows.jsonl"), runs._put
    left = [3]

    def full(path: Path, data: bytes) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(28, "No space left on device")
        put(path, data)

    monkeypatch.setattr(runs, "_put", full)
    with pytest.raises(MissingFileError, match="No space left"):
        run(source, tmp_path / "out.parquet")
    monkeypatch.setattr(runs, "_put", put)
    assert run(source, tmp_path / "out.parquet").resumed == 2


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """It is told, and not made."""
    with pytest.raises(MissingFileError, match="no folder"):
        run(written(tmp_path / "rows.jsonl"), tmp_path / "nosuch" / "out.parquet")
    assert not (tmp_path / "nosuch").exists()


def test_a_bad_row_in_a_process_of_its_own() -> None:
    """The first thing that a process is given may be a bad row: its error is that of the row, not of the process."""
    builders = Builders(SETTINGS, 1)
    try:
        (made,) = builders.build([pa.table({"request": pa.array([b'{"message": "'], pa.large_binary()), "id": ["a"]})])
    finally:
        builders.close()
    assert "not JSON" in made["error"].to_pylist()[0]


@pytest.mark.parametrize("name", ["out.txt", "out"])
def test_a_kind_that_is_not_written(tmp_path: Path, name: str) -> None:
    """It is told before anything is built."""
    with pytest.raises(UsageError, match="no results are written"):
        run(written(tmp_path / "rows.jsonl"), tmp_path / name)


def test_a_row_that_kills_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shard is built again row by row; that row alone is an error, and other shards are not touched."""
    builders, table = Builders(SETTINGS, 1), pa.Table.from_pylist(ROWS[:4])
    ask = Builders._asked

    def asked(self: Builders, part: Any) -> Any:
        if "r2" in part["id"].to_pylist():
            raise EOFError
        return ask(self, part)

    monkeypatch.setattr(Builders, "_asked", asked)
    try:
        first, second = builders.build([table, pa.Table.from_pylist(ROWS[4:6])])
    finally:
        builders.close()
    assert [row["error"] is None for row in first.to_pylist()] == [True, True, False, True]
    assert "process" in first["error"].to_pylist()[2]
    assert second["error"].null_count == 2


def test_processes_that_are_killed(tmp_path: Path) -> None:
    """Killed while they build, they are started again, and the output is the same."""
    rows = [{**row, "id": str(n), "message": f"{n}"} for n, row in enumerate(ROWS * 8)]
    builders = Builders(SETTINGS, 2)
    shards = [pa.Table.from_pylist(rows[start : start + 20]) for start in range(0, len(rows), 20)]
    results = []
    try:
        for number, result in enumerate(builders.build(shards)):
            if number == 4:
                for one in list(builders._all):
                    os.kill(one.process.pid, signal.SIGKILL)
            results.append(result)
    finally:
        builders.close()
    assert pa.concat_tables(results).to_pylist() == build_batch(pa.Table.from_pylist(rows), SETTINGS).to_pylist()


@pytest.mark.parametrize("moments", [1, pytest.param(10, marks=pytest.mark.endurance)])
def test_a_command_that_is_killed_goes_on(tmp_path: Path, moments: int) -> None:
    """SIGKILL at some moments; started again, the command ends with the bytes of a run that nobody stopped."""
    times = 40 if moments > 1 else 6  # more parts than are waited for
    rows = [{**row, "id": str(n), "message": f"{n} {row['message']}"} for n, row in enumerate(ROWS * times)]
    source, out = written(tmp_path / "rows.jsonl", rows), tmp_path / "out.parquet"

    def words(output: Path) -> list[str]:
        return f"batch {source} --out {output} --now {NOW} --shard 16 --workers 1".split()

    def command() -> subprocess.Popen[bytes]:
        code = "from innkeeper.cli.app.root import main; raise SystemExit(main())"
        return subprocess.Popen([sys.executable, "-c", code, *words(out)], cwd=ROOT, stdout=subprocess.DEVNULL)

    assert main(words(tmp_path / "whole.parquet")) == 0
    parts = tmp_path / "out.parquet.parts"
    for moment in range(moments):
        process = command()
        while process.poll() is None and len(list(parts.glob("*.arrow"))) <= 4 * moment + 2:
            time.sleep(0.005)
        process.kill()
        process.wait()
    assert command().wait() == 0
    assert out.read_bytes() == (tmp_path / "whole.parquet").read_bytes()


def test_a_sample(tmp_path: Path) -> None:
    """The first rows alone, with figures of them."""
    report = run(written(tmp_path / "rows.jsonl"), tmp_path / "out.parquet", RunOptions(shard=5, workers=1, sample=7))
    assert (report.rows, report.summary.rows) == (7, 7)
    assert report.summary.quantile(0) <= report.summary.quantile(0.5) <= report.summary.quantile(1)
    assert report.summary.to_svg().startswith("<svg")
    assert [table.title for table in report.summary.tables()] == ["batch"]


def test_crossed_sources(tmp_path: Path) -> None:
    """A folder of cards, and a list: every card with every row, the list changing fastest."""
    questions = written(tmp_path / "questions.jsonl", [{"id": "a", "message": "One?"}, {"id": "b", "message": "Two?"}])
    cards = tmp_path / "cards"
    cards.mkdir()
    for name in ("wenna.json", "tobin.json"):
        (cards / name).write_bytes((ROOT / "examples" / name).read_bytes())
    (cards / "notes.json").write_text("[]")
    source = open_rows([str(cards), str(questions)])
    run_batch(source, tmp_path / "out.parquet", SETTINGS, SMALL, engine=here)
    rows = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert [row["id"] for row in rows] == ["tobin.json+a", "tobin.json+b", "wenna.json+a", "wenna.json+b"]
    assert source.total == 4


def test_a_sillytavern_folder(tmp_path: Path) -> None:
    """Every character with each chat of its own."""
    (tmp_path / "characters").mkdir()
    (tmp_path / "chats" / "wenna").mkdir(parents=True)
    for name in ("wenna", "other"):
        (tmp_path / "characters" / f"{name}.png").write_bytes((ROOT / "examples" / "wenna.png").read_bytes())
    for name in ("one", "two"):
        chat = (ROOT / "examples" / "wenna.chat.jsonl").read_bytes()
        (tmp_path / "chats" / "wenna" / f"{name}.jsonl").write_bytes(chat)
    source = open_rows([str(tmp_path)])
    run_batch(source, tmp_path / "out.parquet", SETTINGS, SMALL, engine=here)
    rows = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert [row["id"] for row in rows] == ["other", "wenna/one", "wenna/two"]


def test_a_pipe(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON lines from standard input to standard output, errors beside them."""
    data = b"".join(json.dumps(row).encode() + b"\n" for row in (ROWS[0], {"nosuch": 1}, ROWS[1]))
    out = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(out))
    report = run_batch(open_rows(["-"], stdin=io.BytesIO(data)), "-", SETTINGS, SMALL, engine=here)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert ([line["id"] for line in lines], report.errors) == (["r0", "r1"], 1)
    assert b"nosuch" in capfdbinary.readouterr().err


@pytest.mark.parametrize(("name", "error"), [("nosuch.jsonl", MissingFileError), ("rows.txt", UsageError)])
def test_sources_that_are_not_there(tmp_path: Path, name: str, error: type[Exception]) -> None:
    """A file that is not there, or of no kind that is read."""
    (tmp_path / "rows.txt").write_text("x")
    with pytest.raises(error):
        open_rows([str(tmp_path / name)])


def test_folders_without_assets(tmp_path: Path) -> None:
    """An empty folder and no name at all are told."""
    for names in ([str(tmp_path)], []):
        with pytest.raises(UsageError):
            open_rows(names)
