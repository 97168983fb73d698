"""The catalogue that requests are answered from: how it is resolved, where it is read, and how it stays current."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.library.catalogue.catalogue import Catalogue as Catalogue

_HOMES: Final = {"catalogue": ("Catalogue",)}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
