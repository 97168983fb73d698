"""The macros of SillyTavern 1.19: its present engine (``new``) and the one before it (``legacy``)."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.macros.engine.evaluate import Trace as Trace
    from innkeeper.macros.silly.substitution import expand_pieces as expand_pieces
    from innkeeper.macros.silly.substitution import is_plain as is_plain
    from innkeeper.macros.silly.substitution import substitute as substitute

_HOMES: Final = {
    "innkeeper.macros.engine.evaluate": ("Trace",),
    "substitution": ("expand_pieces", "is_plain", "substitute"),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
