"""The fuzzer finds what it is meant to find."""

import random
from typing import NoReturn

import pytest

from innkeeper.prompt.errors import FormatError
from tests.fuzz import engine
from tests.fuzz.engine import Fuzzer, Target, mutate, outcome


def seeds() -> list[bytes]:
    """One sound input."""
    return [b"sound"]


def test_our_errors_are_no_crashes() -> None:
    """A typed error is an answer."""

    def refuse(_data: bytes) -> NoReturn:
        raise FormatError("no")

    assert outcome(Target("t", refuse, seeds), b"")[1] is None


def test_an_exception_is_a_crash() -> None:
    """Any other exception is kept with its input, once for each place."""

    def fail(data: bytes) -> int:
        return 1 // (len(data) % 2)

    report = Fuzzer(Target("t", fail, seeds)).run(inputs=200)
    assert [(crash.kind, len(crash.data) % 2) for crash in report.crashes] == [("exception", 0)]
    assert "ZeroDivisionError" in report.crashes[0].detail
    assert report.crashes[0].name.startswith("t-exception-")


def test_a_hang_is_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not answer in time is stopped and kept."""
    monkeypatch.setattr(engine._time_limit.__wrapped__, "__defaults__", (0.05,))  # type: ignore[attr-defined]

    def hang(_data: bytes) -> NoReturn:
        while True:
            pass

    crash = outcome(Target("t", hang, seeds), b"x")[1]
    assert crash is not None
    assert crash.kind == "hang"


def test_too_much_memory_is_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    """What needs more memory than allowed is kept."""
    monkeypatch.setattr(engine, "MEMORY_BYTES", 1)
    sizes = iter(range(0, 10**9, 10**6))
    monkeypatch.setattr(engine, "_peak", lambda: next(sizes))
    report = Fuzzer(Target("t", len, seeds)).run(inputs=1)
    assert [crash.kind for crash in report.crashes] == ["memory"]


def test_the_same_seed_gives_the_same_inputs() -> None:
    """A run can be repeated."""
    runs = []
    for _ in range(2):
        seen: list[bytes] = []
        Fuzzer(Target("t", seen.append, seeds), seed=7).run(inputs=50)
        runs.append(seen)
    assert runs[0] == runs[1]
    assert len(set(runs[0])) > 25


def test_mutations_change_and_stay_small() -> None:
    """Changed inputs differ mostly, and never grow without end."""
    source = random.Random(1)  # noqa: S311 - not for secrets
    data = b"x" * 1000
    changed = [mutate(data, b"other", source) for _ in range(200)]
    assert sum(item != data for item in changed) > 150
    for _ in range(300):
        data = mutate(data, data, source)
        assert len(data) <= engine.MAX_INPUT
    assert isinstance(mutate(b"", b"", source), bytes)


def test_inputs_that_lead_somewhere_new_are_kept() -> None:
    """Such an input is what the next ones are made from."""

    def branch(data: bytes) -> object:
        if data.startswith(b"{"):
            raise FormatError("one")
        return [data] if len(data) > 10 else data

    fuzzer = Fuzzer(Target("t", branch, seeds))
    assert fuzzer.run(inputs=500).places == 3
    assert len(fuzzer.kept) == 4
