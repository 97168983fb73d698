"""Sealing: what is sealed under a name and by a key is opened by both alone. How the vault uses it is tested with the vault."""

import subprocess
import sys

import pytest

from innkeeper.library.errors import TamperedSecretError
from innkeeper.library.vault.keys import VaultKey
from innkeeper.library.vault.sealing import seal, unseal
from innkeeper.prompt.machine import Secret


def test_round_trip() -> None:
    """A secret is opened under its name and by its key, and by no other; sealed twice it looks different."""
    key, secret = VaultKey.fresh(), Secret("lantern")
    sealed = seal("a", secret, key)
    assert unseal("a", sealed, key).reveal() == "lantern"
    assert sealed != seal("a", secret, key)
    for name, other in (("b", key), ("a", VaultKey.fresh())):
        with pytest.raises(TamperedSecretError):
            unseal(name, sealed, other)


def test_light() -> None:
    """It comes without the database."""
    code = "import sys, innkeeper.library.vault.sealing; sys.exit('sqlalchemy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
