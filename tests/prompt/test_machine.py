"""The one module that asks the machine."""

from datetime import timedelta

from innkeeper.prompt import fresh_seed, utc_now


def test_now_is_aware_and_in_utc() -> None:
    """The machine's time carries its zone and does not go back."""
    first, second = utc_now(), utc_now()
    assert first.utcoffset() == timedelta(0)
    assert first <= second


def test_a_fresh_seed_has_32_bits() -> None:
    """Seeds fit the generator, and are not always the same."""
    seeds = {fresh_seed() for _ in range(20)}
    assert all(0 <= seed < 2**32 for seed in seeds)
    assert len(seeds) > 1
