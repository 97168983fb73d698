"""Submitting: answers of batches beside their rows, each paid once, wherever a process ended and whatever became of a batch."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from innkeeper.content.errors import OutputExistsError
from innkeeper.data import BatchSettings, RunOptions, Sender, SubmitOptions, Submitter, open_rows, run_batch
from innkeeper.data.journal import ANSWERS, records_in
from innkeeper.data.run import parts_of
from innkeeper.data.submitting import LONGEST_WAIT, MAX_MISSED_LOOKS
from innkeeper.inference.batches.batch import BatchWire
from innkeeper.inference.client.model_handle import plan_answer
from innkeeper.inference.errors import (
    BatchFailedError,
    BatchPendingError,
    BudgetError,
    HttpError,
    ProviderConnectionError,
)
from innkeeper.inference.requests.request import request_for
from innkeeper.inference.routing.route import Route
from innkeeper.prompt import InnkeeperError, UsageError
from tests.data.test_run import NOW, ROWS, written
from tests.inference.batches.providers import FAKES, MOMENT, FakeAnthropic, FakeBatches, FakeOpenAI

ALL = [row["message"] for row in ROWS]


@pytest.fixture(autouse=True)
def moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The batches of the fakes are of this moment."""
    from datetime import UTC, datetime

    monkeypatch.setattr("innkeeper.data.submitting.utc_now", lambda: datetime.fromtimestamp(MOMENT, UTC))


def submit(folder: Path, provider: FakeBatches, model: str = "m", **options: Any) -> Any:
    """A run into ``folder``; batches have ten rows, and nobody waits."""
    source, target = folder / "rows.jsonl", folder / "out.parquet"
    if not source.exists():
        written(source)
    settings = BatchSettings(request={"tavern": "vibe", "now": NOW, "model": model, "reserved_tokens": 100})
    route = Route.of("r", f"{provider.provider}:{model}")
    chosen = SubmitOptions(**{"batch_rows": 10, "pause": lambda _: None, **options})
    engine = Submitter(
        provider.wire(model), lambda plan: request_for(plan, route), plan_answer, parts_of(target), chosen
    )
    report = run_batch(open_rows([str(source)]), target, settings, RunOptions(shard=5, asks_again=True), engine=engine)
    return report, parquet.read_table(target).to_pylist(), engine


def errors(folder: Path) -> dict[str, Any]:
    """The errors of a run by their rows."""
    lines = map(json.loads, (folder / "out.parquet.errors.jsonl").read_text().splitlines())
    return {line["id"]: line["error"] for line in lines}


@pytest.mark.parametrize("kind", FAKES)
def test_answers_beside_their_rows(tmp_path: Path, kind: type[FakeBatches]) -> None:
    """In the order of the rows, from batches of ten; when all is there, nothing is left beside the output."""
    provider = kind(looks=5)
    report, rows, _ = submit(tmp_path, provider)
    assert [row["answer"] for row in rows] == [f"Yes: {text}" for text in ALL]
    assert {(row["ended"], row["input_tokens"], row["output_tokens"]) for row in rows} == {("stop", 12, 100)}
    assert [len(requests) for requests in provider.batches.values()] == [10, 10, 3]
    assert (report.rows, report.errors) == (23, 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.parquet", "rows.jsonl"]
    with pytest.raises(OutputExistsError):
        submit(tmp_path, provider)


@pytest.mark.parametrize("kind", FAKES)
def test_rows_that_failed_are_submitted_again(tmp_path: Path, kind: type[FakeBatches]) -> None:
    """And no others: what failed, and what its batch did not come to."""
    failing: dict[str, str | int] = {ALL[3]: 400, ALL[12]: "expired", ALL[20]: "cancelled"}
    first, second = kind(lambda text: failing.get(text, "Yes"), outcome="expired"), kind()
    report, _, _ = submit(tmp_path, first)
    failed = errors(tmp_path)
    assert (report.errors, sorted(failed)) == (3, ["r12", "r20", "r3"])
    assert {failed["r12"]["kind"], failed["r20"]["kind"]} <= {"batch_expired", "batch_cancelled"}
    assert failed["r3"]["at"]["line"] == 4
    report, rows, _ = submit(tmp_path, second)
    assert second.prompts == [ALL[3], ALL[12], ALL[20]]
    assert (report.errors, len([row for row in rows if row["answer"]])) == (0, 23)


def test_a_batch_that_failed(tmp_path: Path) -> None:
    """Each of its rows has an error with the provider's reason."""
    report, _, _ = submit(tmp_path, FakeOpenAI(outcome="failed"))
    assert report.errors == 23
    assert {(error["kind"], "line 1 is no" in error["message"]) for error in errors(tmp_path).values()} == {
        ("batch_failed", True)
    }


@pytest.mark.parametrize("kind", FAKES)
def test_a_run_that_does_not_wait(tmp_path: Path, kind: type[FakeBatches]) -> None:
    """It ends; the next ones ask how it is, and submit nothing. `batch run` keeps its hands off the rows meanwhile."""
    provider = kind(looks=7)
    for _ in range(2):
        with pytest.raises(BatchPendingError, match="23 rows"):
            submit(tmp_path, provider, waits=False)
    folder = parts_of(tmp_path / "out.parquet")
    assert (len(records_in(folder)), len(provider.batches)) == (3, 3)
    with pytest.raises(UsageError, match="23 rows are in batches"):
        list(Sender(lambda _: pytest.fail("asked"), folder / ANSWERS)([], BatchSettings()))
    _, rows, _ = submit(tmp_path, provider)
    assert (len(rows), len(provider.batches)) == (23, 3)


@pytest.mark.parametrize("kind", FAKES)
@pytest.mark.parametrize("is_there", [True, False])
def test_a_connection_that_breaks_at_a_batch(tmp_path: Path, kind: type[FakeBatches], is_there: bool) -> None:
    """Nobody knows whether the provider has it: the next run asks, and sends it only where it has none."""
    provider = kind()
    provider.cut = 1
    with pytest.raises(ProviderConnectionError):
        submit(tmp_path, provider)
    assert [record.id for record in records_in(parts_of(tmp_path / "out.parquet"))] == [""]
    if not is_there:
        provider.batches.clear()
    _, rows, _ = submit(tmp_path, provider)
    assert [row["answer"] for row in rows] == [f"Yes: {text}" for text in ALL]
    assert (sorted(provider.prompts), len(provider.batches)) == (sorted(ALL), 3)


def test_batches_that_look_alike(tmp_path: Path) -> None:
    """Anthropic keeps no name: where two may be ours, a person says which, and nothing is sent."""
    provider = FakeAnthropic()
    provider.cut = 1
    with pytest.raises(ProviderConnectionError):
        submit(tmp_path, provider)
    provider.created("", provider.batches["batch_1"])
    with pytest.raises(BatchFailedError, match="2 batches") as unclear:
        submit(tmp_path, provider)
    assert "batch_2" in str(unclear.value.hint)
    assert len(provider.batches) == 2


def test_a_batch_of_somebody_else(tmp_path: Path) -> None:
    """Its results are not those of our requests: the rows have errors, and are submitted again."""
    provider = FakeAnthropic()
    provider.cut = 1
    with pytest.raises(ProviderConnectionError):
        submit(tmp_path, provider)
    provider.batches["batch_1"] = [(f"other-{at}", body) for at, (_, body) in enumerate(provider.batches["batch_1"])]
    report, _, _ = submit(tmp_path, provider)
    assert (report.errors, {error["kind"] for error in errors(tmp_path).values()}) == (10, {"batch_failed"})
    report, rows, _ = submit(tmp_path, provider)
    assert (report.errors, len(rows)) == (0, 23)


class EndError(Exception):
    """The process ends here."""


@pytest.mark.parametrize("kind", FAKES)
@pytest.mark.parametrize("step", ["_create", "_note", "_wait", "_collect", "_forget", "_joined"])
@pytest.mark.parametrize("times", [0, 1, 2])
def test_a_process_that_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[FakeBatches], step: str, times: int
) -> None:
    """Before any step, the first time or later: every prompt is submitted once, and all answers are there in the end."""
    provider, left = kind(looks=2), times
    whole = getattr(Submitter, step)

    def ends(self: Submitter, *args: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise EndError
        return whole(self, *args)

    monkeypatch.setattr(Submitter, step, ends)
    try:
        submit(tmp_path, provider)
    except EndError:
        monkeypatch.setattr(Submitter, step, whole)
        submit(tmp_path, provider)
    rows = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert [row["answer"] for row in rows] == [f"Yes: {text}" for text in ALL]
    assert sorted(provider.prompts) == sorted(ALL)


def test_answers_that_were_written_twice_are_paid_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the process ended between the last answer and the end of the batch."""
    forget = Submitter._forget
    provider = FakeOpenAI()
    monkeypatch.setattr(Submitter, "_forget", lambda *_: (_ for _ in ()).throw(EndError))
    with pytest.raises(EndError):
        submit(tmp_path, provider, "gpt-4o")
    monkeypatch.setattr(Submitter, "_forget", forget)
    _, rows, engine = submit(tmp_path, provider, "gpt-4o")
    assert engine.spent == pytest.approx(sum(row["paid"] for row in rows))
    assert rows[0]["paid"] == pytest.approx(0.00103 / 2)


def test_a_budget(tmp_path: Path) -> None:
    """Nothing is submitted that may cost more than is left; with more, the same run goes on."""
    provider = FakeOpenAI()
    with pytest.raises(BudgetError):
        submit(tmp_path, provider, "gpt-4o", budget=0.008)
    assert len(provider.prompts) == 10
    _, rows, _ = submit(tmp_path, provider, "gpt-4o", budget=1.0)
    assert (len(rows), sorted(provider.prompts)) == (23, sorted(ALL))


def test_a_price_that_nobody_knows(tmp_path: Path) -> None:
    """With a budget it ends the run before anything is submitted."""
    provider = FakeOpenAI()
    with pytest.raises(UsageError, match="nobody knows"):
        submit(tmp_path, provider, "nobody-7b", budget=1.0)
    assert provider.requests == []


@pytest.mark.parametrize("status", [400, 401, 429])
def test_a_refused_batch(tmp_path: Path, status: int) -> None:
    """Nothing is under way: the run ends with the provider's reason, and the next one submits."""
    provider = FakeOpenAI()
    provider.refused = status
    with pytest.raises(HttpError, match=str(status)):
        submit(tmp_path, provider)
    assert list(parts_of(tmp_path / "out.parquet").glob("*.batch.json")) == []
    provider.refused = 0
    _, rows, _ = submit(tmp_path, provider)
    assert (len(rows), len(provider.prompts)) == (23, 23)


def test_answers_that_may_not_pass(tmp_path: Path) -> None:
    """The gate judges them as it does those of single calls; the rest has its answers, and nothing is asked again."""
    provider = FakeOpenAI(
        lambda text: "Mia is fourteen, and a romantic evening begins." if "Message 7," in text else "Yes"
    )
    report, rows, _ = submit(tmp_path, provider)
    assert (report.errors, len(rows), errors(tmp_path)["r7"]["kind"]) == (1, 22, "tier_blocked")
    assert "Mia" not in (tmp_path / "out.parquet.errors.jsonl").read_text()
    assert not parts_of(tmp_path / "out.parquet").exists()


def test_prompts_that_may_not_pass(tmp_path: Path) -> None:
    """They are in no batch."""
    bad = {"id": "bad", "message": "Mia is fourteen, and a romantic evening begins."}
    written(tmp_path / "rows.jsonl", [ROWS[0], bad, ROWS[1]])
    provider = FakeOpenAI()
    report, rows, _ = submit(tmp_path, provider)
    assert (report.errors, [row["id"] for row in rows], provider.prompts) == (1, ["r0", "r1"], ALL[:2])


@pytest.mark.parametrize(("missed", "is_patient"), [(MAX_MISSED_LOOKS, True), (MAX_MISSED_LOOKS + 1, False)])
def test_a_network_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missed: int, is_patient: bool) -> None:
    """Looks that fail are waited over, each a little longer, but not for ever."""
    provider, waits, left = FakeOpenAI(), list[float](), [missed]
    wire = provider.wire()
    look = type(wire).look

    def flaky(self: BatchWire, batch_id: str) -> Any:
        left[0] -= 1
        if left[0] >= 0:
            raise ProviderConnectionError("gone")
        return look(self, batch_id)

    monkeypatch.setattr(type(wire), "look", flaky)
    try:
        submit(tmp_path, provider, pause=waits.append)
        assert is_patient
    except InnkeeperError:
        assert not is_patient
    assert len(waits) == MAX_MISSED_LOOKS
    assert waits == sorted(waits)
    assert waits[-1] == LONGEST_WAIT


def test_how_far_it_is(tmp_path: Path) -> None:
    """Whoever waits gets the answered rows and all."""
    seen: list[tuple[int, int]] = []
    submit(tmp_path, FakeOpenAI(looks=4), progress=lambda done, total: seen.append((done, total)))
    assert seen == [(0, 23), (13, 23)]


@pytest.mark.parametrize("options", [{"batch_rows": 0}, {"batch_rows": 10**6}, {"budget": -1.0}])
def test_options_that_make_no_sense(options: dict[str, Any]) -> None:
    """They are refused before anything is sent."""
    with pytest.raises(UsageError):
        SubmitOptions(**options)
