"""Accounts: what a key has left of its requests, tokens and money, in memory and in a database, which several services share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.response.response import Usage
from innkeeper.inference.routing.meter import MeteredCall
from innkeeper.library.db.engine import Database
from innkeeper.library.db.private import PrivateDatabase
from innkeeper.library.db.tables.logs import spendings
from innkeeper.library.errors import DatabaseError
from innkeeper.library.log.spendings import Spendings
from innkeeper.prompt.determinism import Clock
from innkeeper.prompt.errors import ConfigError
from innkeeper.service.errors import PriceUnknownError, RateLimitError, SpendLimitError, TokenRateLimitError
from innkeeper.service.guard.accounts import (
    DAY,
    Account,
    Ledger,
    Quotas,
    RoutePrice,
    account_of,
    afford,
    cost_of,
    quota_headers,
    read_prices,
)
from innkeeper.service.guard.grants import OPEN, Grant, Keys
from innkeeper.service.guard.work import Gate

PRICES = read_prices(["cheap=0,0", "openai/*=1.25,10", "*=100,100"])
USAGE = Usage(input_tokens=1_000_000, output_tokens=100_000)


@pytest.mark.parametrize(
    ("route", "cost"), [("cheap", 0.0), ("openai/gpt-5", 2.25), ("OPENAI/x", 110.0), ("other", 110.0)]
)
def test_cost(route: str, cost: float) -> None:
    """The first pattern that fits counts, by tokens in and out."""
    assert cost_of(route, USAGE, PRICES) == pytest.approx(cost)


@pytest.mark.parametrize(
    ("call", "allowed"),
    [
        (MeteredCall("cheap", "own", "m"), True),
        (MeteredCall("mini", "openai", "gpt-4o"), True),
        (MeteredCall("new", "openai", "gpt-99"), False),
        (MeteredCall("gateway", "own", "gpt-4o"), False),
        (MeteredCall("here", "local", "smollm2"), True),
        (MeteredCall("any", "openrouter", "a/b"), True),
    ],
)
def test_what_is_bounded_and_unknown_is_refused(call: MeteredCall, allowed: bool) -> None:
    """A key with money asks where a price is given, listed, or told with the answer; one without asks everywhere."""
    keys = Keys("poor", "free", grants={"poor": Grant(spend=1.0)})
    gate = Gate(calls=2, volume=2**20, keys=keys, prices=PRICES[:1])
    for key in ("free", "poor"):
        with gate.ticket(str(gate.keys.name(key.encode()))) as ticket:
            if key == "free" or allowed:
                ticket.admit(call)
            else:
                with pytest.raises(PriceUnknownError):
                    ticket.admit(call)


def test_nothing_known() -> None:
    """Without a price, or without tokens, nothing is counted."""
    assert cost_of("other", USAGE, PRICES[:2]) == 0
    assert cost_of("other", Usage(), PRICES) == 0
    assert read_prices(["a=b=1,2"]) == (RoutePrice("a=b", 1, 2),)


@pytest.mark.parametrize("text", ["", "a", "a=", "=1,2", "a=1", "a=1,2,3", "a=-1,2", "a=nan,1", "a=inf,1", "a=x,y"])
def test_no_price(text: str) -> None:
    """What is no price is refused when the service starts."""
    with pytest.raises(ConfigError):
        read_prices([text])


class SetClock:
    """A clock that is set."""

    now = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now


def test_rate() -> None:
    """So many requests, then one for each share of the minute; Retry-After is when the next passes. Others are not touched."""
    clock = SetClock()
    quotas, grant = Quotas(clock), Grant(rate=30)
    for _ in range(30):
        quotas.enter("a", grant)
    with pytest.raises(RateLimitError) as caught:
        quotas.enter("a", grant)
    assert (caught.value.http_status, caught.value.details["retry_after"]) == (429, 2)
    quotas.enter("b", grant)
    quotas.enter("c", OPEN)
    clock.now += caught.value.details["retry_after"]
    quotas.enter("a", grant)
    with pytest.raises(RateLimitError):
        quotas.enter("a", grant)


def test_what_is_left_is_told() -> None:
    """Clients read what is left, and when all is there again: in seconds as OpenAI says it, as a moment as Anthropic does."""
    clock = SetClock()
    quotas, grant, now = Quotas(clock), Grant(rate=30, tokens=600), datetime(2026, 1, 1, tzinfo=UTC)
    for _ in range(3):
        quotas.enter("a", grant)
    quotas.charge("a", grant, 700)
    assert quota_headers(quotas.levels("a", grant), now, anthropic=False) == {
        "x-ratelimit-limit-requests": "30",
        "x-ratelimit-remaining-requests": "27",
        "x-ratelimit-reset-requests": "6s",
        "x-ratelimit-limit-tokens": "600",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "70s",
    }
    clock.now += 2
    assert quota_headers(quotas.levels("a", Grant(rate=30)), now, anthropic=True) == {
        "anthropic-ratelimit-requests-limit": "30",
        "anthropic-ratelimit-requests-remaining": "28",
        "anthropic-ratelimit-requests-reset": "2026-01-01T00:00:04Z",
    }
    assert quotas.levels("b", OPEN) == []


def test_slow_rate() -> None:
    """Less than one request a minute is one in so many minutes."""
    clock = SetClock()
    quotas, grant = Quotas(clock), Grant(rate=0.5)
    quotas.enter("a", grant)
    with pytest.raises(RateLimitError) as caught:
        quotas.enter("a", grant)
    clock.now += caught.value.details["retry_after"]
    quotas.enter("a", grant)


def test_tokens() -> None:
    """Tokens are taken when they are known, also more than there were; then a key waits until there are some again."""
    clock = SetClock()
    quotas, grant = Quotas(clock), Grant(tokens=600)
    quotas.enter("a", grant)
    quotas.charge("a", grant, 1_200)
    with pytest.raises(TokenRateLimitError) as caught:
        quotas.enter("a", grant)
    assert caught.value.details["retry_after"] == 61
    clock.now += 61
    quotas.enter("a", grant)


@given(
    rate=st.floats(0.1, 1_000),
    steps=st.lists(st.floats(0, 30), max_size=200),
)
def test_any_rate(rate: float, steps: list[float]) -> None:
    """Whenever they come, no more pass than the amount and what has come back since; who waits as told passes."""
    clock = SetClock()
    quotas, grant = Quotas(clock), Grant(rate=rate)
    for passed, step in enumerate(steps, 1):
        clock.now += step
        try:
            quotas.enter("a", grant)
        except RateLimitError as error:
            clock.now += error.details["retry_after"] + 1e-6
            quotas.enter("a", grant)
        assert passed <= max(rate, 1) + clock.now * rate / 60 + 1e-6


TWO = Grant(spend=2)
MINE = Account("", "a", 2.0)


class Time:
    """A clock that is set."""

    def __init__(self) -> None:
        self.passed = 0.0

    def now(self) -> Clock:
        """The moment."""
        return Clock.at(datetime(2026, 1, 15, tzinfo=UTC) + timedelta(seconds=self.passed))

    def fresh_id(self) -> str:
        """An identifier."""
        return "x"


@pytest.fixture
def time() -> Time:
    """A clock."""
    return Time()


@pytest.fixture
def rows(tmp_path: Path, time: Time) -> Callable[[], Spendings]:
    """What opens one database again and again, as several services do."""
    Database.open(tmp_path / "library.db").close()
    return lambda: Spendings(Database.open(tmp_path / "library.db", outside=time))


@pytest.fixture(params=["memory", "database"])
def ledger(request: pytest.FixtureRequest, time: Time) -> Ledger:
    """A ledger of each kind."""
    if request.param == "memory":
        return Ledger(lambda: Spendings(PrivateDatabase(spendings, outside=time)))
    return Ledger(request.getfixturevalue("rows"))


async def wait(ledger: Ledger, caller: str = "a", grant: Grant = TWO) -> int:
    """0 where a request may be made, else the seconds that it has to wait."""
    try:
        await afford(ledger, caller, grant)
    except SpendLimitError as error:
        return int(error.details["retry_after"])
    return 0


def test_a_day(ledger: Ledger, time: Time) -> None:
    """What is spent beyond a day's money comes back steadily; who waits as told may go on. Others are not touched."""

    async def test() -> None:
        assert await wait(ledger) == 0
        ledger.charge(MINE, 1.5)
        assert await wait(ledger) == 0
        ledger.charge(MINE, 1.5)
        seconds = await wait(ledger)
        assert seconds == pytest.approx(DAY / 2, abs=2)
        assert await wait(ledger, "b") == 0
        assert await wait(ledger, "c", OPEN) == 0
        await ledger.close()
        time.passed += seconds
        assert await wait(ledger) == 0
        assert await ledger.spent(MINE) == pytest.approx(2, abs=1e-3)
        time.passed += 10 * DAY
        assert await ledger.spent(MINE) == 0
        await ledger.close()

    asyncio.run(test())


def test_what_is_on_its_way_counts_once(ledger: Ledger) -> None:
    """However a look at an account falls together with what is being written."""

    async def test() -> None:
        for number in range(1, 40):
            ledger.charge(MINE, 0.01)
            looks = await asyncio.gather(*(ledger.spent(MINE) for _ in range(3)))
            assert looks == [pytest.approx(0.01 * number)] * 3
        await ledger.close()

    asyncio.run(test())


def test_a_clock_that_goes_back(ledger: Ledger, time: Time) -> None:
    """It forgives nothing, and takes nothing."""

    async def test() -> None:
        time.passed = DAY
        ledger.charge(MINE, 1)
        await asyncio.sleep(0)
        await ledger.close()
        time.passed = 0
        assert await ledger.spent(MINE) == pytest.approx(1)
        await ledger.close()

    asyncio.run(test())


def test_keys_of_a_tenant_share_their_money(ledger: Ledger) -> None:
    """Whoever of them spends it; those of another tenant have their own."""
    ours, theirs = Grant(spend=2, tenant="ours"), Grant(spend=2, tenant="theirs")

    async def test() -> None:
        account = account_of("a", ours)
        assert account == account_of("b", ours)
        assert account is not None
        ledger.charge(account, 2)
        assert await wait(ledger, "b", ours)
        assert not await wait(ledger, "b", theirs)
        assert not await wait(ledger, "b")
        await ledger.close()

    asyncio.run(test())
    assert account_of("a", OPEN) is None


def test_two_services_share_a_ledger(rows: Callable[[], Spendings]) -> None:
    """What one has written the other reads; a service that is started again goes on where the last one was."""

    async def test() -> None:
        one, other = Ledger(rows), Ledger(rows)
        one.charge(MINE, 1.5)
        await one.close()
        other.charge(MINE, 0.5)
        assert await wait(other)
        await other.close()
        again = Ledger(rows)
        assert await again.spent(MINE) == pytest.approx(2)
        await again.close()

    asyncio.run(test())


def test_all_at_once(rows: Callable[[], Spendings]) -> None:
    """Nothing of what many requests of two services cost is lost."""

    async def test() -> None:
        ledgers = [Ledger(rows), Ledger(rows)]
        for at in range(40):
            ledgers[at % 2].charge(MINE, 0.25)
        for ledger in ledgers:
            await ledger.close()
        last = Ledger(rows)
        assert await last.spent(MINE) == pytest.approx(10)
        await last.close()

    asyncio.run(test())


def test_a_database_that_fails(rows: Callable[[], Spendings], monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be written counts all the same, and is written with what comes next; who cannot be looked up may not spend."""

    def broken(*_: object) -> None:
        raise DatabaseError("locked")

    async def test() -> None:
        ledger = Ledger(rows)
        with monkeypatch.context() as patch:
            patch.setattr(Spendings, "add", broken)
            ledger.charge(MINE, 1.5)
            await ledger.close()
        assert await ledger.spent(MINE) == pytest.approx(1.5)
        ledger.charge(MINE, 0.5)
        await ledger.close()
        assert await Ledger(rows).spent(MINE) == pytest.approx(2)
        with monkeypatch.context() as patch:
            patch.setattr(Spendings, "spent", broken)
            with pytest.raises(DatabaseError):
                await afford(ledger, "a", TWO)

    asyncio.run(test())
