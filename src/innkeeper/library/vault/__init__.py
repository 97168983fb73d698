"""The vault: encrypted secrets and the keys that open them."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.library.vault.vault import Vault as Vault

_HOMES: Final = {"vault": ("Vault",)}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
