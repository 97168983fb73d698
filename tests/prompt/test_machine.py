"""The one module that asks the machine: the time, a seed, and secrets that are used and never shown."""

import copy
import pickle
from dataclasses import dataclass
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import UsageError, fresh_seed, utc_now
from innkeeper.prompt.machine import REDACTED, Secret, redact_secrets


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


def test_a_secret_shows_nothing() -> None:
    """Printing and formatting, in containers too, never give the text away; `reveal` does."""
    secret = Secret("sk-abcdef")
    shown = [repr(secret), str(secret), f"{secret}", f"{[secret]!r}", f"{ {'key': secret} }"]
    assert not any("sk-abcdef" in text for text in shown)
    assert secret.reveal() == "sk-abcdef"
    assert secret
    assert not Secret("")


@pytest.mark.parametrize("store", [pickle.dumps, copy.deepcopy], ids=["pickle", "deepcopy"])
def test_a_secret_cannot_be_stored(store: object) -> None:
    """Copies that could end in a file are refused."""
    assert callable(store)
    with pytest.raises(UsageError, match="cannot be stored"):
        store(Secret("sk-abcdef"))


@dataclass(frozen=True)
class Case:
    text: str
    secrets: tuple[str, ...]
    shown: str


CASES = {
    "none": Case("all is well", ("sk-1234",), "all is well"),
    "once": Case("bad key sk-1234!", ("sk-1234",), f"bad key {REDACTED}!"),
    "longer_first": Case("Bearer sk-1234", ("sk-1234", "Bearer sk-1234"), REDACTED),
    "too_short_to_blank": Case("a cat", ("a",), "a cat"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_redact(case: Case) -> None:
    """Each secret of four characters or more is replaced, the longest first."""
    assert redact_secrets(case.text, map(Secret, case.secrets)) == case.shown


@given(st.text(), st.text(min_size=4, max_size=12), st.text())
def test_nothing_is_left_of_a_secret(before: str, secret: str, after: str) -> None:
    """Whatever is around it, the secret itself is gone."""
    parts = redact_secrets(before + secret + after, [Secret(secret)]).split(REDACTED)
    assert all(secret not in part for part in parts)
