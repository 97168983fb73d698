"""The command line: one module per command group, imported only when its command is run."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.cli.app.root import main as main

_HOMES: Final = {"app.root": ("main",)}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
