"""Sealing: a secret as ciphertext under its name, by AES-256-GCM, and back. Needs no database."""

from __future__ import annotations

from typing import Final

from innkeeper.library.errors import TamperedSecretError
from innkeeper.library.vault.keys import VaultKey
from innkeeper.prompt.data import to_json
from innkeeper.prompt.errors import Where
from innkeeper.prompt.machine import Secret, random_bytes

_FORM: Final = b"IK1\0"
_NONCE: Final = 12


def seal(name: str, secret: Secret, key: VaultKey) -> bytes:
    """The ciphertext of a secret under its name."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = random_bytes(_NONCE)
    return _FORM + nonce + AESGCM(key.raw()).encrypt(nonce, secret.reveal().encode(), _bound(name, key))


def unseal(name: str, sealed: bytes, key: VaultKey) -> Secret:
    """The secret. Raises `TamperedSecretError` where the ciphertext is not what `seal` made for this name and key."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    where = Where(asset="secrets", path=name)
    if not sealed.startswith(_FORM):
        raise TamperedSecretError("the stored secret has not the form of one", where=where)
    nonce, body = sealed[len(_FORM) : len(_FORM) + _NONCE], sealed[len(_FORM) + _NONCE :]
    try:
        return Secret(AESGCM(key.raw()).decrypt(nonce, body, _bound(name, key)).decode())
    except (InvalidTag, ValueError):
        raise TamperedSecretError("the stored secret is not what was stored under this name", where=where) from None


def _bound(name: str, key: VaultKey) -> bytes:
    return to_json(["innkeeper vault", _FORM.decode(), name, key.id])
