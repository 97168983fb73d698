"""Secrets: nothing shows them but `reveal`, and texts that quote them are blanked out."""

import copy
import pickle
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.secret import REDACTED, Secret, redact
from innkeeper.prompt import UsageError


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
    assert redact(case.text, map(Secret, case.secrets)) == case.shown


@given(st.text(), st.text(min_size=4, max_size=12), st.text())
def test_nothing_is_left_of_a_secret(before: str, secret: str, after: str) -> None:
    """Whatever is around it, the secret itself is gone."""
    parts = redact(before + secret + after, [Secret(secret)]).split(REDACTED)
    assert all(secret not in part for part in parts)
