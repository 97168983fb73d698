"""Sealing: what is sealed opens with its key under its name, and in no other way."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from innkeeper.library.errors import TamperedSecretError
from innkeeper.library.sealing import seal, unseal
from innkeeper.library.vault_keys import VaultKey
from innkeeper.prompt.secret import Secret

KEY, OTHER = VaultKey(bytes(32)), VaultKey(bytes(range(32)))
TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=80)


@given(name=TEXTS, text=TEXTS)
@settings(max_examples=60)
def test_round_trip(name: str, text: str) -> None:
    """Any text comes back under its name; the same text is never sealed to the same bytes."""
    sealed = seal(name, Secret(text), KEY)
    assert unseal(name, sealed, KEY).reveal() == text
    assert seal(name, Secret(text), KEY) != sealed


@given(name=TEXTS, other=TEXTS, place=st.integers(min_value=0), turn=st.integers(min_value=1, max_value=255))
@settings(max_examples=80)
def test_nothing_else_opens(name: str, other: str, place: int, turn: int) -> None:
    """Another name, another key, any byte changed, and anything cut off: none of them opens."""
    sealed = seal(name, Secret("a secret"), KEY)
    at = place % len(sealed)
    changed = sealed[:at] + bytes([sealed[at] ^ turn]) + sealed[at + 1 :]
    wrong = [(name, sealed, OTHER), (name, changed, KEY), (name, sealed[:at], KEY), (name, sealed + b"x", KEY)]
    wrong += [(other, sealed, KEY)] if other != name else []
    for attempt in wrong:
        with pytest.raises(TamperedSecretError):
            unseal(*attempt)


@given(st.binary(max_size=120))
@settings(max_examples=80)
def test_no_bytes_bring_it_down(data: bytes) -> None:
    """Bytes that nobody sealed are an error of the vault."""
    with pytest.raises(TamperedSecretError):
        unseal("a", data, KEY)
