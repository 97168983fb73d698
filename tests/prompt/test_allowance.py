"""One build's allowance: charged before the work, one typed error, seconds that fail the whole build."""

from __future__ import annotations

import gc
import time
from contextlib import suppress
from dataclasses import dataclass

import pytest

from innkeeper.prompt import BuildRequest, NoConfig, Pipeline, Plan, Ports, Step, UsageError, build
from innkeeper.prompt.allowance import (
    MAX_BUILD_SECONDS,
    MAX_BUILD_STEPS,
    Allowance,
    AllowanceError,
    BuildLimits,
    allowed,
    apart,
    charge,
    current_allowance,
    seconds_left,
)
from innkeeper.prompt.errors import FormatError, LimitError
from innkeeper.prompt.run.state import State


def _busy(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def _go_on_without(limits: BuildLimits) -> None:
    with allowed(limits):
        _busy(2 * (limits.seconds or 0))
        with suppress(AllowanceError):
            charge("patterns", 30_000)


@dataclass(frozen=True)
class Case:
    limits: BuildLimits
    steps: int
    made: int
    limit: str


@pytest.mark.parametrize(
    "case",
    [
        Case(BuildLimits(steps=100), 101, 0, "MAX_BUILD_STEPS"),
        Case(BuildLimits(output=100), 1, 101, "MAX_BUILD_OUTPUT"),
    ],
)
def test_charging_more_than_is_left_raises_before_the_work(case: Case) -> None:
    """The error names the limit, who asked, and what each engine has spent."""
    with allowed(case.limits):
        charge("lore", 10, 10)
        with pytest.raises(AllowanceError) as raised:
            charge("macros", case.steps, case.made)
    error = raised.value
    assert (error.limit, error.engine, error.spent["lore"]) == (case.limit, "macros", 10)
    assert isinstance(error, LimitError)
    assert "macros" in str(error)


def test_what_is_refused_is_not_taken() -> None:
    """A part that asks for too much leaves the others theirs; whoever asks again and again has nothing in the end."""
    with allowed(BuildLimits(steps=1_000, output=50)) as allowance:
        for _ in range(3):
            with suppress(AllowanceError):
                charge("macros", 2_000)
        charge("lore", 500, 50)
        assert 0 < allowance.steps < 500
        for _ in range(10):
            with suppress(AllowanceError):
                charge("macros", 2_000)
        assert allowance.steps == 0


def test_what_is_just_allowed_passes() -> None:
    """Spending all of it is no error."""
    with allowed(BuildLimits(steps=100, output=50)) as allowance:
        charge("lore", 100, 50)
    assert (allowance.steps, allowance.output) == (0, 0)


def test_without_a_build_nothing_is_charged() -> None:
    """A library function that is called by itself keeps its own limits only."""
    assert current_allowance() is None
    charge("lore", MAX_BUILD_STEPS * 2)
    assert seconds_left(3.0) == 3.0


def test_a_door_inside_a_door_shares_its_allowance() -> None:
    """The inner limits do not give more."""
    with allowed(BuildLimits(steps=10)) as outer, allowed(BuildLimits(steps=10_000)) as inner:
        assert inner is outer
        with pytest.raises(AllowanceError):
            charge("lore", 11)


def test_seconds_fail_the_whole_block_even_where_an_engine_goes_on() -> None:
    """No result depends on how quick a machine is."""
    with pytest.raises(AllowanceError) as raised:
        _go_on_without(BuildLimits(seconds=0.02))
    assert raised.value.limit == "MAX_BUILD_SECONDS"


def test_a_search_gets_no_more_than_what_is_left() -> None:
    """Time limits of libraries are cut to the build's."""
    with allowed(BuildLimits(seconds=0.05)):
        assert seconds_left(1.0) <= 0.05


def test_seconds_count_work_and_not_waiting() -> None:
    """A machine that is busy with others does not fail a build."""
    allowance = Allowance(BuildLimits(seconds=0.05))
    time.sleep(0.1)
    allowance.check_time("lore")


def _step(steps: int) -> Step[NoConfig]:
    def run(state: State, _config: NoConfig) -> None:
        charge("test", steps)
        state.result.plan = Plan()

    return Step("work", run, NoConfig)


@dataclass(frozen=True)
class Asked:
    request: BuildLimits | None
    operator: BuildLimits | None
    steps: int
    passes: bool


@pytest.mark.parametrize(
    "case",
    [
        Asked(None, None, MAX_BUILD_STEPS, passes=True),
        Asked(None, None, MAX_BUILD_STEPS + 1, passes=False),
        Asked(BuildLimits(steps=MAX_BUILD_STEPS * 2), None, MAX_BUILD_STEPS + 1, passes=True),
        Asked(BuildLimits(steps=10), None, 11, passes=False),
        Asked(BuildLimits(steps=10_000), BuildLimits(steps=10), 11, passes=False),
        Asked(None, BuildLimits(steps=10), 11, passes=False),
        Asked(BuildLimits(steps=5), BuildLimits(steps=10), 6, passes=False),
    ],
)
def test_a_request_sets_its_limits_but_never_above_the_operators(case: Asked) -> None:
    """Requests may ask for more than the default where no operator says otherwise."""
    request = BuildRequest(limits=case.request)
    ports = Ports(max_limits=case.operator)
    if case.passes:
        build(request, Pipeline(_step(case.steps)), ports)
        return
    with pytest.raises(AllowanceError):
        build(request, Pipeline(_step(case.steps)), ports)


def test_limits_are_data_of_the_request() -> None:
    """They come back from JSON; a wrong name or a value below 1 is refused."""
    request = BuildRequest.of({"limits": {"steps": 5, "seconds": 2}})
    assert request.limits == BuildLimits(steps=5, seconds=2.0)
    assert BuildRequest.of(request.to_dict()) == request
    for wrong in ({"steps": 0}, {"minutes": 1}, {"seconds": -1}, 7):
        with pytest.raises((FormatError, UsageError)):
            BuildRequest.of({"limits": wrong})


def test_the_defaults_are_the_named_ones() -> None:
    """`Allowance` without limits takes the module's."""
    allowance = Allowance()
    assert (allowance.steps, allowance.limits.seconds) == (MAX_BUILD_STEPS, MAX_BUILD_SECONDS)


def test_limits_are_read_from_texts() -> None:
    """What a command line or a header says; wrong ones say how to write them."""
    assert BuildLimits.read(()) == BuildLimits()
    assert BuildLimits.read(("seconds=5", " steps = 1000")) == BuildLimits(seconds=5, steps=1000)
    for text in ("seconds", "seconds=0", "steps=many", "memory=5"):
        with pytest.raises(UsageError, match="limits of a build"):
            BuildLimits.read((text,))


def test_work_before_the_limits_were_known_counts() -> None:
    """A door that had to read first says since when it has worked."""
    with allowed(BuildLimits(seconds=5), since=time.thread_time() - 4) as allowance:
        assert 0 < allowance.seconds_left() <= 1


def test_a_full_collection_is_given_back() -> None:
    """However large the heap of the process is: a small build does not fail for it. What a thread does otherwise counts."""
    heap = [[number] for number in range(100_000)]
    with allowed(BuildLimits(seconds=0.2)) as allowance:
        until = time.thread_time() + 0.4
        while time.thread_time() < until:
            gc.collect()
        assert allowance.seconds_left() > 0
        _busy(0.3)
        assert allowance.seconds_left() == 0
    del heap


def test_no_step_begins_when_the_seconds_are_spent() -> None:
    """Also where no step charges anything."""
    ran: list[State] = []
    step = Step("one", lambda state, _config: ran.append(state), NoConfig)
    with pytest.raises(AllowanceError, match="asked for by one"), allowed(BuildLimits(seconds=1), since=-1e9):
        build(BuildRequest(), Pipeline(step))
    assert ran == []


def test_one_of_many_builds_has_steps_of_its_own_and_the_seconds_that_are_left() -> None:
    """What it takes is not taken from the others; the time is that of the whole call."""
    with allowed(BuildLimits(steps=10, seconds=50), since=time.thread_time() - 40) as outer:
        charge("a", 5)
        with apart() as one:
            charge("b", 100)
            assert one.seconds_left() <= 10
        assert dict(outer.spent) == {"a": 5}
        assert current_allowance() is outer
