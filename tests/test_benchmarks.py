"""The benchmark runner: that it runs and reports; never how long anything takes."""

import json

import pytest

from benchmarks import run
from benchmarks.case import Case


def test_ratio_is_the_other_time_over_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ratio above 1 means faster than what the case is held against."""
    times = {"fast": 2.0, "slow": 6.0}
    monkeypatch.setattr(run, "best", lambda call, _rounds: times[call()])
    result = run.measure("group", Case("name", lambda: "fast", lambda: "slow", "slow way"), rounds=1)
    assert (result.seconds, result.against_seconds, result.ratio) == (2.0, 6.0, 3.0)


def test_without_a_rival_there_is_no_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    """A case on its own is only timed."""
    monkeypatch.setattr(run, "best", lambda _call, _rounds: 1.5)
    assert run.measure("group", Case("name", list), rounds=1).ratio is None


def test_a_published_figure_is_a_rival(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the other way cannot be run here, the ratio is to what it is known to take."""
    monkeypatch.setattr(run, "best", lambda _call, _rounds: 0.5)
    result = run.measure("group", Case("name", list, against_name="theirs", published=4.0), rounds=1)
    assert (result.against, result.against_seconds, result.ratio) == ("theirs", 4.0, 8.0)


def test_the_best_round_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all rounds the shortest is taken, per call."""
    ticks = iter([0.0, 1.0, 1.0, 1.5, 1.5, 4.0])
    monkeypatch.setattr("time.perf_counter", lambda: next(ticks))
    assert run.best(list, rounds=2) == 0.5


def test_a_case_may_time_itself() -> None:
    """Its own seconds count, of the best round, and not how long it took to get them."""
    told = iter([0.3, 0.1, 0.2])
    assert run.measure("group", Case("name", lambda: next(told), timed=True), rounds=3).seconds == 0.1


def test_json_holds_the_rows(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """With ``--json`` the rows come as data."""
    monkeypatch.setattr(run, "_cases", lambda _names: iter([("group", Case("name", list))]))
    assert run.main(["--rounds", "1", "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == ["name"]


def test_unknown_name_fails(capsys: pytest.CaptureFixture[str]) -> None:
    """A name that no benchmark has is said so, and is a failure."""
    assert run.main(["no-such-benchmark"]) == 1
    assert "no benchmark" in capsys.readouterr().err


@pytest.mark.parametrize(("seconds", "text"), [(2.0, "2.00 s"), (0.0021, "2.10 ms"), (3e-6, "3.00 µs"), (5e-9, "5 ns")])
def test_times_have_a_readable_unit(seconds: float, text: str) -> None:
    """Times are printed in the unit that leaves a number above one."""
    assert run._seconds(seconds) == text
