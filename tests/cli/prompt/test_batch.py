"""``innkeeper batch``: from rows to a file, to answers, to a comparison, with the exit codes that programs read."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyarrow import parquet

from innkeeper.cli.prompt import batch
from innkeeper.cli.talk import answering
from innkeeper.data import batch as data_batch
from innkeeper.inference import EchoServer
from innkeeper.inference.client.model_handle import ModelHandle
from innkeeper.inference.routing.route import Route
from tests.cli.running import Run
from tests.inference.batches.providers import FakeOpenAI
from tests.shared import ROOT

CARD = str(ROOT / "examples" / "wenna.png")
NOW = "2026-01-15T12:00:00Z"


@pytest.fixture
def rows(tmp_path: Path) -> str:
    """A dataset of three questions."""
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"id": f"q{n}", "message": f"Question {n}?"}) + "\n" for n in range(3)))
    return str(path)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EchoServer]:
    """A provider on this machine, whose second answer may not pass."""
    with EchoServer("At six.", "Mia is fourteen, and a romantic evening begins.", "Never.") as server:
        monkeypatch.setenv("INNKEEPER_BASE_URL", server.base_url)
        yield server


def test_from_rows_to_prompts(run: Run, rows: str, tmp_path: Path) -> None:
    """With and without the command's name, options first or last; the common card is in every prompt."""
    words = (rows, "--card", CARD, "--now", NOW, "--workers", "1")
    assert run("batch", *words, "--out", tmp_path / "a.parquet").code == 0
    assert run("batch", "--out", tmp_path / "b.parquet", *words).code == 0
    assert run("batch", "build", *words, "--out", tmp_path / "c.jsonl").code == 0
    made = parquet.read_table(tmp_path / "a.parquet").to_pylist()
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    assert [row["id"] for row in made] == ["q0", "q1", "q2"]
    assert all("Skerrow Light" in row["messages"] for row in made)
    assert run("batch", "diff", tmp_path / "a.parquet", tmp_path / "c.jsonl").code == 0
    again = run("batch", *words, "--out", tmp_path / "a.parquet")
    assert (again.code, "exists already" in again.err) == (2, True)


def test_the_forms_of_the_command() -> None:
    """They are those of a batch; the command names them itself, so that its help loads nothing."""
    assert batch.FORMS == data_batch.FORMS


def test_bad_rows_and_a_look_first(run: Run, rows: str, tmp_path: Path) -> None:
    """A bad row is exit 1 and a line of the errors' file; a sample is a table, a page and a plot, and no output."""
    Path(rows).write_text(Path(rows).read_text() + '{"id": "bad", "nosuch": 1}\n')
    made = run("batch", rows, "--card", CARD, "--out", tmp_path / "a.jsonl", "--workers", "1", "--json")
    assert (made.code, made.data["rows"], made.data["errors"]) == (1, 4, 1)
    (error,) = map(json.loads, (tmp_path / "a.jsonl.errors.jsonl").read_text().splitlines())
    assert (error["id"], error["error"]["at"]["line"]) == ("bad", 4)
    page = tmp_path / "look.html"
    looked = run("batch", rows, "--card", CARD, "--sample", "2", "--workers", "1", "--summary", page)
    assert (looked.code, "tokens, median" in looked.out) == (0, True)
    assert all(word in page.read_text() for word in ("<table>", "<svg"))
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix == ".parquet") == []
    assert run("batch", rows, "--card", CARD).code == 2


def test_answers(run: Run, rows: str, server: EchoServer, tmp_path: Path) -> None:
    """Every prompt is sent; an answer that may not pass is an error of its row, and is not kept."""
    words = (rows, "--card", CARD, "--model", "m", "--at-once", "1", "--out", tmp_path / "a.parquet")
    made = run("batch", "run", *words)
    assert (made.code, len(server.requests)) == (1, 3)
    answers = parquet.read_table(tmp_path / "a.parquet").to_pylist()
    assert [(row["id"], row["answer"]) for row in answers] == [("q0", "At six."), ("q2", "Never.")]
    errors = (tmp_path / "a.parquet.errors.jsonl").read_text()
    assert json.loads(errors)["id"] == "q1"
    assert "Mia" not in errors
    assert "Question 0?" in [message["content"] for message in server.requests[0].body["messages"]]


def test_answers_of_batches(run: Run, rows: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same command submits, says that it is under way, and fetches the answers; a local model takes no batches."""
    provider = FakeOpenAI(looks=1)
    route = Route.of("m", "openai:m")
    handle = ModelHandle(provider.wire().client, "m", route=route)
    monkeypatch.setattr(answering, "open_choice", lambda *_: handle)
    words = ("batch", "submit", rows, "--model", "openai:m", "--out", tmp_path / "a.parquet")
    waiting = run(*words, "--no-wait")
    assert (waiting.code, "3 rows are in batches" in waiting.err) == (75, True)
    made = run(*words, "--json")
    assert (made.code, made.data["rows"], made.data["errors"], len(provider.batches)) == (0, 3, 0, 1)
    answers = parquet.read_table(tmp_path / "a.parquet").to_pylist()
    assert [row["answer"] for row in answers] == [f"Yes: Question {n}?" for n in range(3)]
    monkeypatch.setattr(answering, "open_choice", lambda *_: replace(handle, route=Route.of("m", "local")))
    refused = run(*words, "--force")
    assert (refused.code, "takes no batches" in refused.err) == (2, True)
