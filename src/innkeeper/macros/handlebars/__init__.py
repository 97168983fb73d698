"""Handlebars templates: read, and rendered with the usual helpers."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.macros.handlebars.render import render_handlebars as render_handlebars

_HOMES: Final = {"render": ("render_handlebars",)}

__all__ = ["render_handlebars"]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
