"""The vault: encrypted secrets and the keys that open them."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.library.vault.keys import EnvironmentKeys as EnvironmentKeys
    from innkeeper.library.vault.keys import FileKeys as FileKeys
    from innkeeper.library.vault.keys import KeyRing as KeyRing
    from innkeeper.library.vault.keys import KeySource as KeySource
    from innkeeper.library.vault.keys import SystemKeys as SystemKeys
    from innkeeper.library.vault.keys import VaultKey as VaultKey
    from innkeeper.library.vault.keys import find_keys as find_keys
    from innkeeper.library.vault.vault import Vault as Vault
    from innkeeper.library.vault.vault import VaultStatus as VaultStatus

_HOMES: Final = {
    "EnvironmentKeys": "keys",
    "FileKeys": "keys",
    "KeyRing": "keys",
    "KeySource": "keys",
    "SystemKeys": "keys",
    "Vault": "vault",
    "VaultKey": "keys",
    "VaultStatus": "vault",
    "find_keys": "keys",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
