"""Lazy names: a package's public names, each imported from its home the first time it is asked for (PEP 562).

All packages are made so. It is quick, and it keeps starts safe: who imports a module holds its lock while it waits for its
package's, so a package that imports its own modules meets a thread that comes the other way round, and Python raises an error in
one of the two.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, Final

__all__ = ["lazy_names"]

_ROOT: Final = "innkeeper."


def lazy_names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a package whose names live in the modules ``homes`` gives.

    A home is a module below the package, or one of another package by its whole name, ``innkeeper.…``. The first function
    remembers what it imports, and raises `AttributeError` for a name that has no home. A package without ``__all__`` of its own
    gets one: all names that have a home.
    """
    module = sys.modules[package]
    names = vars(module)
    names.setdefault("__all__", sorted(homes))
    if any(home == name for name, home in homes.items()):
        module.__class__ = _Package

    def find(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=None)
        names[name] = value = getattr(import_module(home if home.startswith(_ROOT) else f"{package}.{home}"), name)
        return value

    return find, lambda: sorted(names["__all__"])


class _Package(ModuleType):
    """A package with a public name that one of its modules has too: ``package.trim`` is the function, not the module."""

    def __setattr__(self, name: str, value: Any) -> None:
        """What importing a module does to its package, but for a public name."""
        if not (isinstance(value, ModuleType) and name in vars(self)["__all__"]):
            super().__setattr__(name, value)
