"""Sending: answers beside their rows, each paid once, within a budget and a rate, whatever fails on the way."""

import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyarrow import parquet

from innkeeper.content.errors import OutputExistsError
from innkeeper.data import BatchSettings, RunOptions, open_rows, run_batch
from innkeeper.data.run import parts_of
from innkeeper.data.sending import Sender, SendOptions
from innkeeper.inference.errors import BudgetError, HttpError
from innkeeper.prompt import Plan, UsageError
from innkeeper.prompt.tier import TierBlockedError
from tests.data.test_run import NOW, ROWS, written

SETTINGS = BatchSettings(request={"tavern": "vibe", "now": NOW, "model": "gpt-4o", "reserved_tokens": 100})


class Reply(NamedTuple):
    """A model's answer."""

    text: str
    end: str | None = "stop"
    usage: Mapping[str, Any] | None = None


class Model:
    """Answers with the last message; fails for those that have a word of ``failing``, with their status."""

    def __init__(self, failing: Mapping[str, int] | None = None) -> None:
        self.failing = failing or {}
        self.asked: list[str] = []
        self.at_once = self.most = 0
        self._lock = threading.Lock()

    def __call__(self, plan: Plan) -> Reply:
        with self._lock:
            self.at_once += 1
            self.most = max(self.most, self.at_once)
            text = str(plan.messages[-1].content)
            self.asked.append(text)
        try:
            for word, status in self.failing.items():
                if word in text:
                    raise HttpError(f"status {status}", status=status, headers={}, sample="")
            return Reply(f"Yes: {text}", usage={"prompt_tokens": 12, "completion_tokens": 100})
        finally:
            with self._lock:
                self.at_once -= 1


def send(folder: Path, model: Callable[[Plan], Reply], **options: Any) -> Any:
    """A run into ``folder``."""
    source = folder / "rows.jsonl"
    if not source.exists():
        written(source)
    target = folder / "out.parquet"
    sender = Sender(model, parts_of(target) / "answers.jsonl", SendOptions(**options))
    report = run_batch(open_rows([str(source)]), target, SETTINGS, RunOptions(shard=5, asks_again=True), engine=sender)
    return report, parquet.read_table(target).to_pylist(), sender


def test_answers_beside_their_rows(tmp_path: Path) -> None:
    """In the order of the rows, with the provider's figures and their price; no more at once than are allowed."""
    model = Model()
    report, rows, sender = send(tmp_path, model, at_once=3)
    assert [row["answer"] for row in rows] == [f"Yes: {row['message']}" for row in ROWS]
    assert {(row["ended"], row["input_tokens"], row["output_tokens"]) for row in rows} == {("stop", 12, 100)}
    assert json.loads(rows[0]["messages"])[-1]["content"] == ROWS[0]["message"]
    assert sender.spent == pytest.approx(sum(row["paid"] for row in rows))
    assert (report.rows, report.errors, len(model.asked)) == (23, 0, 23)
    assert model.most <= 3


def test_a_row_that_fails(tmp_path: Path) -> None:
    """It has an error; the others have answers."""
    report, rows, _ = send(tmp_path, Model({"Message 7,": 500}))
    assert (report.errors, len(rows)) == (1, 22)
    (error,) = map(json.loads, (tmp_path / "out.parquet.errors.jsonl").read_text().splitlines())
    assert (error["id"], error["error"]["message"]) == ("r7", "status 500")


def test_rows_that_failed_are_asked_again(tmp_path: Path) -> None:
    """By the same command, and no others; then nothing is left beside the output, and it is there for good."""
    send(tmp_path, Model({"Message 7,": 500, "Message 19,": 400}))
    second = Model({"Message 19,": 400})
    report, rows, _ = send(tmp_path, second)
    assert [text.partition(",")[0] for text in second.asked] == ["Message 7", "Message 19"]
    assert (report.rows, report.errors, report.resumed, len(rows)) == (23, 1, 3, 22)
    third = Model()
    report, rows, sender = send(tmp_path, third)
    assert (len(third.asked), report.errors) == (1, 0)
    assert [row["answer"] for row in rows] == [f"Yes: {row['message']}" for row in ROWS]
    assert sender.spent == pytest.approx(sum(row["paid"] for row in rows))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.parquet", "rows.jsonl"]
    with pytest.raises(OutputExistsError):
        send(tmp_path, Model())


def test_rows_that_cannot_be_built_are_not_asked_again(tmp_path: Path) -> None:
    """Another run would not build them either: the run is over."""
    written(tmp_path / "rows.jsonl", [ROWS[0], {"id": "bad", "nosuch": 1}])
    report, rows, _ = send(tmp_path, Model())
    assert (report.errors, len(rows)) == (1, 1)
    assert not parts_of(tmp_path / "out.parquet").exists()


def test_what_the_gate_stopped_is_not_asked_again(tmp_path: Path) -> None:
    """An answer that may not pass was paid for, and is judged for good."""

    def ask(plan: Plan) -> Reply:
        raise TierBlockedError("block", "all", reasons=["tests"])

    written(tmp_path / "rows.jsonl", ROWS[:2])
    report, rows, _ = send(tmp_path, ask)
    assert (report.errors, rows) == (2, [])
    assert not parts_of(tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("status", [401, 402, 403])
def test_a_refused_key_ends_the_run(tmp_path: Path, status: int) -> None:
    """What was answered is kept, and is not asked again."""
    first = Model({"Message 12,": status})
    with pytest.raises(HttpError, match=str(status)):
        send(tmp_path, first, at_once=1)
    second = Model()
    _, rows, _ = send(tmp_path, second)
    assert len(first.asked) == 13
    assert len(second.asked) == 23 - 12
    assert [row["answer"] for row in rows] == [f"Yes: {row['message']}" for row in ROWS]


def test_a_budget_ends_the_run(tmp_path: Path) -> None:
    """No more is paid than was allowed; with more money the same run goes on and pays nothing twice."""
    first, second = Model(), Model()
    with pytest.raises(BudgetError):
        send(tmp_path, first, budget=0.01)
    paid = 0.00103 * len(first.asked)
    assert 0 < paid <= 0.01
    _, rows, sender = send(tmp_path, second, budget=1.0)
    assert len(first.asked) + len(second.asked) == 23
    assert sender.spent == pytest.approx(sum(row["paid"] for row in rows))


def test_a_price_that_nobody_knows(tmp_path: Path) -> None:
    """With a budget it ends the run before anything is asked; without one it is sent, and nothing is said of its cost."""
    model, source = Model(), written(tmp_path / "rows.jsonl")
    unknown = BatchSettings(request={**SETTINGS.request, "model": "nobody-7b"})
    target = tmp_path / "out.parquet"

    def sent(options: SendOptions) -> Any:
        sender = Sender(model, parts_of(target) / "answers.jsonl", options)
        return run_batch(open_rows([str(source)]), target, unknown, RunOptions(shard=5), engine=sender)

    with pytest.raises(UsageError, match="nobody knows"):
        sent(SendOptions(budget=1.0))
    assert model.asked == []
    sent(SendOptions())
    assert {row["paid"] for row in parquet.read_table(target).to_pylist()} == {None}


def test_a_journal_that_was_cut(tmp_path: Path) -> None:
    """A half line at its end, as a killed process leaves it, is no answer; all others are."""
    with pytest.raises(HttpError):
        send(tmp_path, Model({"Message 9,": 401}), at_once=1)
    journal = parts_of(tmp_path / "out.parquet") / "answers.jsonl"
    journal.write_bytes(journal.read_bytes()[:-20])
    model = Model()
    _, rows, _ = send(tmp_path, model)
    assert (len(rows), len(model.asked)) == (23, 23 - 8)


def test_a_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls are spread over the minute: each waits for the one before it."""
    waits: list[float] = []
    monkeypatch.setattr("innkeeper.data.sending.monotonic", lambda: 100.0)
    monkeypatch.setattr(threading.Condition, "wait", lambda _, seconds=None: waits.append(seconds or 0.0))
    sender = Sender(Model(), tmp_path / "answers.jsonl", SendOptions(a_minute=30))
    for _ in range(4):
        sender._wait()
    assert waits == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("options", [{"at_once": 0}, {"at_once": 1_000}, {"a_minute": 0}, {"budget": -1.0}])
def test_options_that_make_no_sense(options: dict[str, Any]) -> None:
    """They are refused before anything is sent."""
    with pytest.raises(UsageError):
        SendOptions(**options)
