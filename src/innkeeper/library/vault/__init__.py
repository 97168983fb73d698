"""The vault: encrypted secrets and the keys that open them."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.library.vault.keys import FILE_VARIABLE as FILE_VARIABLE
    from innkeeper.library.vault.keys import KEY_VARIABLE as KEY_VARIABLE
    from innkeeper.library.vault.keys import EnvironmentKeys as EnvironmentKeys
    from innkeeper.library.vault.keys import FileKeys as FileKeys
    from innkeeper.library.vault.keys import KeyRing as KeyRing
    from innkeeper.library.vault.keys import KeySource as KeySource
    from innkeeper.library.vault.keys import SystemKeys as SystemKeys
    from innkeeper.library.vault.keys import VaultKey as VaultKey
    from innkeeper.library.vault.keys import find_keys as find_keys
    from innkeeper.library.vault.vault import Rotated as Rotated
    from innkeeper.library.vault.vault import SecretEntry as SecretEntry
    from innkeeper.library.vault.vault import Vault as Vault
    from innkeeper.library.vault.vault import VaultFinding as VaultFinding
    from innkeeper.library.vault.vault import VaultStatus as VaultStatus

_HOMES: Final = {
    "EnvironmentKeys": "keys",
    "FILE_VARIABLE": "keys",
    "FileKeys": "keys",
    "KEY_VARIABLE": "keys",
    "KeyRing": "keys",
    "KeySource": "keys",
    "Rotated": "vault",
    "SecretEntry": "vault",
    "SystemKeys": "keys",
    "Vault": "vault",
    "VaultFinding": "vault",
    "VaultKey": "keys",
    "VaultStatus": "vault",
    "find_keys": "keys",
}

__all__ = [
    "FILE_VARIABLE",
    "KEY_VARIABLE",
    "EnvironmentKeys",
    "FileKeys",
    "KeyRing",
    "KeySource",
    "Rotated",
    "SecretEntry",
    "SystemKeys",
    "Vault",
    "VaultFinding",
    "VaultKey",
    "VaultStatus",
    "find_keys",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
