"""Callers: wrong keys cost time, by address; right ones pass."""

import pytest

from innkeeper.service.errors import GUESS_SECONDS, MAX_ADDRESSES, MAX_GUESSES, GuessLimitError, KeyMissingError
from innkeeper.service.guard.callers import AuthThrottle, origin_of
from innkeeper.service.guard.grants import Keys

RIGHT, WRONG = {"x-api-key": "right"}, {"authorization": "Bearer wrong"}


class Clock:
    """A clock that is set."""

    now = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now


def guess(guesses: AuthThrottle, times: int, address: str = "1.2.3.4") -> None:
    """Bring a wrong key so many times."""
    for _ in range(times):
        with pytest.raises(KeyMissingError):
            guesses.caller(WRONG, address)


def test_throttled() -> None:
    """After so many wrong keys an address waits, also with the right one, and then may guess once more."""
    clock = Clock()
    guesses = AuthThrottle(Keys("right"), clock)
    guess(guesses, MAX_GUESSES)
    for headers in (WRONG, RIGHT):
        with pytest.raises(GuessLimitError) as caught:
            guesses.caller(headers, "1.2.3.4")
        assert caught.value.details["retry_after"] == GUESS_SECONDS
        assert caught.value.http_status == 429
    clock.now += GUESS_SECONDS
    guess(guesses, 1)
    clock.now += GUESS_SECONDS
    assert guesses.caller(RIGHT, "1.2.3.4")


def test_others_pass() -> None:
    """Another address, and a key that was accepted from this one before, do not wait for a guesser."""
    guesses = AuthThrottle(Keys("right"), Clock())
    name = guesses.caller(RIGHT, "1.2.3.4")
    guess(guesses, MAX_GUESSES)
    assert guesses.caller(RIGHT, "1.2.3.4") == guesses.caller(RIGHT, "1.2.3.5") == name
    assert "right" not in name


def test_no_key() -> None:
    """To bring no key is no guess; where no key is needed, callers are told apart by address."""
    guesses = AuthThrottle(Keys("right"), Clock())
    for _ in range(MAX_GUESSES * 2):
        with pytest.raises(KeyMissingError):
            guesses.caller({}, "1.2.3.4")
    assert guesses.caller(RIGHT, "1.2.3.4")
    assert AuthThrottle(Keys()).caller(WRONG, "1.2.3.4") == "1.2.3.4"


def test_bounded() -> None:
    """Only so many addresses are remembered, the latest."""
    guesses = AuthThrottle(Keys("right"), Clock())
    guess(guesses, MAX_GUESSES, "first")
    for number in range(MAX_ADDRESSES):
        guess(guesses, 1, str(number))
    guess(guesses, 1, "first")


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("1.2.3.4", "1.2.3.4"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        ("testclient", "testclient"),
        ("", ""),
    ],
)
def test_origin(address: str, origin: str) -> None:
    """Who has one address of IPv6 has a network of them."""
    assert origin_of(address) == origin
