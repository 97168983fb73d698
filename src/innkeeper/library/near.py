"""Near: an unknown name's error, with the names that were probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Final, TypeVar

from innkeeper.library.errors import UnknownRowError, UnknownTemplateError
from innkeeper.prompt.errors import InnkeeperError

__all__ = ["near_names", "with_near"]

E = TypeVar("E", bound=InnkeeperError)

_OFFERED: Final = 3
_COMPARED: Final = 5_000


def with_near(error: E, name: str, known: Iterable[str]) -> E:
    """The error, its hint naming up to three known names that are like ``name``, where there are such."""
    near = difflib.get_close_matches(name[:200], list(islice(known, _COMPARED)), n=_OFFERED)
    if near:
        error.hint = f"did you mean {' or '.join(map(repr, near))}?"
        error.details["near"] = near
    return error


@contextmanager
def near_names(name: str, known: Callable[[], Iterable[str]]) -> Iterator[None]:
    """Give errors about an unknown template or row near names; ``known`` is asked only then."""
    try:
        yield
    except (UnknownTemplateError, UnknownRowError) as error:
        raise with_near(error, name, known()) from error.__cause__
