"""Lazy names: a package's public names, each imported from its home the first time it is asked for (PEP 562).

All packages with public names are made so. It is quick, and it keeps starts of several threads safe in two ways.

- Who imports a module holds its lock while it waits for its package's, so a package that imports its own modules meets a thread
  that comes the other way round, and Python raises an error in one of the two. A package made here imports none.
- CPython takes a package off ``sys.modules`` for an instant when it has made it, and a thread that ends the import of one of its
  modules in that instant dies of a `KeyError`. So the import of a module of ours ends only when its package is made.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from types import MappingProxyType, ModuleType
from typing import Any, Final, NamedTuple

_ROOT: Final = "innkeeper."
_MADE_WITH_ROOT: Final = frozenset({"innkeeper.lazy", "innkeeper.version"})
"""Modules that the root package imports itself: waiting for the package in them would be a deadlock."""

_EXTRA_OF_OURS: Final = "'innkeeper["
_EXTRA_HERE: Final = "'.["


class _Installer(NamedTuple):
    """How an installer adds an extra of Innkeeper's, and another package to the same environment."""

    extra: str
    package: str


_PIP: Final = _Installer("pip install", "pip install")
_INSTALLERS: Final = {
    "pipx_metadata.json": _Installer("pipx install --force", "pipx runpip innkeeper install"),
    "uv-receipt.toml": _Installer("uv tool install --force", "uv tool install innkeeper --with"),
}

EXTRAS: Final = MappingProxyType(
    {
        "alembic": "library",
        "anthropic_tokenizer": "vocab",
        "cryptography": "library",
        "fsspec": "jobs",
        "liquid": "liquid",
        "opentelemetry": "telemetry",
        "prometheus_client": "serve",
        "pyarrow": "data",
        "ray": "ray",
        "mcp": "mcp",
        "sqlalchemy": "library",
        "starlette": "serve",
        "tokenizers": "vocab",
        "uvicorn": "serve",
        "websockets": "serve",
        "xllamacpp": "local",
        "yaml": "library",
    }
)
"""Which extra brings a library that is not always installed."""


class _Finder:
    """Finds our modules as Python does, and lets each wait for its package at the end of its import.

    It cannot wait where it finds: Python calls finders with a lock that all imports need.
    """

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not name.startswith(_ROOT):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            vars(spec.loader).setdefault("exec_module", _Execution(spec.loader.exec_module))
        return spec


class _Execution(NamedTuple):
    """A loader's `exec_module`, followed by a wait for the package of the module."""

    execute: Callable[[ModuleType], None]

    def __call__(self, module: ModuleType) -> None:
        self.execute(module)
        _wait_for_package(module.__name__)


def _wait_for_package(name: str) -> None:
    """Return when the package of a module is made, if by another thread; at once in the thread that makes it."""
    if (package := name.rpartition(".")[0]) and name not in _MADE_WITH_ROOT:
        import_module(package)


def missing_library(module: str) -> tuple[str, str]:
    """Return which library is missing where ``module`` cannot be imported, and the command that installs it."""
    library = module.partition(".")[0]
    extra = EXTRAS.get(library)
    requirement = f"innkeeper[{extra}]" if extra else library
    return f"this needs the library {library}, which is not installed", install_line(f"'{requirement}'")


def install_line(what: str) -> str:
    """Return the command that installs ``what``, by the installer that installed Innkeeper.

    An extra is written ``'innkeeper[extra]'``. It comes from an index, or from the source's folder: pip notes which (PEP 610).
    """
    if _EXTRA_OF_OURS not in what:
        return f"{_installer().package} {what}"
    if _from_index():
        return f"{_installer().extra} {what}"
    return f"{_installer().extra} {what.replace(_EXTRA_OF_OURS, _EXTRA_HERE)}, in the folder of Innkeeper's source"


def _installer() -> _Installer:
    """Return the program that installed Innkeeper, by the file it leaves in the environment."""
    from pathlib import Path

    return next((kind for mark, kind in _INSTALLERS.items() if Path(sys.prefix, mark).exists()), _PIP)


def _from_index() -> bool:
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return distribution("innkeeper").read_text("direct_url.json") is None
    except PackageNotFoundError:
        return False


def require(module: str) -> None:
    """Raise `UnavailableError` where a library is not installed; it is not imported."""
    if module not in sys.modules and find_spec(module) is None:
        raise _for_users(ModuleNotFoundError(name=module))


def lazy_names(
    package: str, homes: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a package whose names live in other modules; ``homes`` has the names of each.

    A home is a module below the package, or one of another package by its whole name, ``innkeeper.…``. The first function
    remembers what it imports, and raises `AttributeError` for a name that has no home, `UnavailableError` for one that needs a
    library of an extra which is not installed. A package without ``__all__`` of its own gets one: all names that have a home,
    and its version.
    """
    module = sys.modules[package]
    names, home_of = vars(module), {name: home for home, listed in homes.items() for name in listed}
    names.setdefault("__all__", sorted({*home_of, *({"__version__"} & names.keys())}))
    _wait_for_package(package)  # for a package found before the finder was there
    if any(home == name for name, home in home_of.items()):
        module.__class__ = _Package

    def find(name: str) -> Any:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=None)
        try:
            names[name] = value = getattr(import_module(home if home.startswith(_ROOT) else f"{package}.{home}"), name)
        except ModuleNotFoundError as error:
            raise _for_users(error) from error
        return value

    return find, lambda: sorted(names["__all__"])


def _for_users(error: ModuleNotFoundError) -> Exception:
    """Return the error as an `UnavailableError` where an extra brings the missing library."""
    if (error.name or "").partition(".")[0] not in EXTRAS:
        return error
    from innkeeper.prompt.errors import UnavailableError

    message, hint = missing_library(error.name or "")
    return UnavailableError(message, hint=hint)


class _Package(ModuleType):
    """A package with a public name that one of its modules has too: ``package.trim`` is the function, not the module."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Set what an import sets on a package, except a public name."""
        if not (isinstance(value, ModuleType) and name in vars(self)["__all__"]):
            super().__setattr__(name, value)


if _Finder not in sys.meta_path:
    sys.meta_path.insert(0, _Finder)
