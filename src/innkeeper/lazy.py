"""Lazy names: a package's public names, each imported from its home the first time it is asked for (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazy_names"]

_ROOT = "innkeeper."


def lazy_names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a package whose names live in the modules ``homes`` gives.

    A home is a module below the package, or one of another package by its whole name, ``innkeeper.…``. The first function
    remembers what it imports, and raises `AttributeError` for a name that has no home. A package without ``__all__`` of its own
    gets one: all names that have a home.
    """
    names = vars(sys.modules[package])
    names.setdefault("__all__", sorted(homes))

    def find(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=None)
        names[name] = value = getattr(import_module(home if home.startswith(_ROOT) else f"{package}.{home}"), name)
        return value

    return find, lambda: sorted(names["__all__"])
