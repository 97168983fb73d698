"""Clock: one moment, read from the request."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import Clock, FormatError, InnkeeperError, Mulberry32, Randomness
from innkeeper.prompt import determinism as clock
from tests.prompt.doubles import ANY_TEXT

CET = timezone(timedelta(hours=1))


@dataclass(frozen=True)
class Case:
    id: str
    moment: Any
    now: datetime


CASES = [
    Case("utc", "2026-01-15T12:34:56Z", datetime(2026, 1, 15, 12, 34, 56, tzinfo=UTC)),
    Case("zone", "2026-01-15T12:34:56+01:00", datetime(2026, 1, 15, 12, 34, 56, tzinfo=CET)),
    Case("naive-is-utc", "2026-01-15T12:34:56", datetime(2026, 1, 15, 12, 34, 56, tzinfo=UTC)),
    Case("a-day", "2026-01-15", datetime(2026, 1, 15, tzinfo=UTC)),
    Case("a-datetime", datetime(2026, 1, 15, tzinfo=CET), datetime(2026, 1, 15, tzinfo=CET)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_moments_are_read(case: Case) -> None:
    """ISO 8601 texts and datetimes; what has no zone is in UTC."""
    now = Clock.at(case.moment).now
    assert now == case.now
    assert now.utcoffset() == case.now.utcoffset()


@pytest.mark.parametrize("moment", ["", "yesterday", "2026-13-01", 5, date(2026, 1, 1), "0001-01-01", "9999-12-31"])
def test_what_is_no_moment_is_a_format_error(moment: Any) -> None:
    """The error says how to write one; years that some zone cannot write are refused."""
    with pytest.raises(FormatError) as caught:
        Clock.at(moment)
    assert "2026-01-15T12:34:56Z" in (caught.value.hint or "")


@given(st.text(max_size=30))
def test_any_text_is_a_moment_or_a_typed_error(text: str) -> None:
    """No text raises anything else."""
    try:
        read = Clock.at(text)
    except InnkeeperError:
        return
    assert read.now.tzinfo is not None


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=st.just(UTC)))  # noqa: DTZ001 - bounds are naive
def test_every_moment_can_be_written_in_every_zone(moment: datetime) -> None:
    """The same instant in the zones furthest apart, and its milliseconds."""
    read = Clock.at(moment)
    for hours in (-12, 14):
        assert read.in_zone(timezone(timedelta(hours=hours))) == moment
    assert read.epoch_ms == (moment - clock.EPOCH) // timedelta(milliseconds=1)


def test_no_moment_asks_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only ``None`` reads the wall clock, through the one place that may."""
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    monkeypatch.setattr(clock, "utc_now", lambda: moment)
    assert Clock.at(None, "de-DE") == Clock(moment, "de-DE")


# The first numbers of the public generator for seed 42.
PUBLISHED = [0.6011037519201636, 0.44829055899754167, 0.8524657934904099, 0.6697340414393693, 0.17481389874592423]


def test_mulberry32_gives_the_published_numbers() -> None:
    """The same numbers as the public generator in JavaScript."""
    stream = Mulberry32(42)
    assert [stream.random() for _ in PUBLISHED] == PUBLISHED
    assert stream.draws == len(PUBLISHED)


@given(st.integers())
def test_numbers_are_in_the_unit_interval(seed: int) -> None:
    """Every seed gives numbers in [0, 1) that are multiples of 2**-32."""
    stream = Mulberry32(seed)
    numbers = [stream.random() for _ in range(20)]
    assert all(0 <= number < 1 and (number * 2**32).is_integer() for number in numbers)


@given(st.integers(), ANY_TEXT, ANY_TEXT)
def test_a_draw_in_one_stream_never_shifts_another(seed: int, name: str, other: str) -> None:
    """A stream's numbers depend on seed and name only; any name is a name."""
    alone = Randomness(seed).stream(name).random()
    chance = Randomness(seed)
    if other != name:
        chance.stream(other).random()
    assert chance.stream(name).random() == alone


def test_a_stream_goes_on_where_it_was() -> None:
    """The same name is the same stream; seeds and names tell streams apart."""
    chance = Randomness(7)
    assert chance.stream("a") is chance.stream("a")
    assert chance.stream("a").random() != Randomness(7).stream("b").random()
    assert Randomness(7).stream("a").random() != Randomness(8).stream("a").random()


def test_a_shared_generator_serves_all_names_in_call_order() -> None:
    """To reproduce systems with one generator, all names draw from it."""
    chance = Randomness.shared(42)
    assert [chance.stream(name).random() for name in "abcab"] == PUBLISHED


def test_a_generator_of_ones_own_is_asked_once_a_name() -> None:
    """The maker is given seed and name."""
    asked = []
    chance = Randomness(3, lambda seed, name: asked.append((seed, name)) or Mulberry32(seed))  # type: ignore[func-returns-value]
    for name in "aba":
        chance.stream(name)
    assert asked == [(3, "a"), (3, "b")]


@pytest.mark.parametrize("seed", [0, -1, 2**32, 2**200])
def test_any_whole_number_is_a_seed(seed: int) -> None:
    """Negative and huge seeds work and are reproducible."""
    assert Randomness(seed).stream("x").random() == Randomness(seed).stream("x").random()


def test_it_is_noticed_when_time_or_chance_is_used() -> None:
    """Inside `noticing` both give the same as outside, and that they were used is known; a stream that is only there is not."""
    plain, chance = Clock.at("2026-01-15T12:34:56Z", "de-DE"), Randomness(7)
    assert clock.noticed(plain, chance) == (plain, chance)
    for use in (
        lambda c, _: c.now,
        lambda c, _: c.epoch_ms,
        lambda c, _: c.in_zone(CET),
        lambda _, r: r.stream("x").random(),
    ):
        with clock.noticing() as seen:
            watched = clock.noticed(plain, Randomness(7))
            watched[1].stream("x")
            assert watched[0].locale == "de-DE"
            assert not seen.moment
            assert use(*watched) == use(plain, Randomness(7))
            assert seen.moment
