"""The extra: libraries that only the service needs, imported with an error that names what to install."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from innkeeper.service.errors import ExtraMissingError

__all__ = ["library"]


def library(name: str) -> Any:
    """The module ``name`` of a library of the extra ``serve``.

    Raises:
        ExtraMissingError: the library is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        missing = name.partition(".")[0]
        if error.name != missing:
            raise
        raise ExtraMissingError(
            f"the service needs the library {missing}, which is not installed", hint="pip install 'innkeeper[serve]'"
        ) from error
