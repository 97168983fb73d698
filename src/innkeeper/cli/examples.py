"""Examples: where the cards and chats are that come with Innkeeper."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import innkeeper
from innkeeper.prompt import UnavailableError

__all__ = ["CARD", "examples_dir"]

CARD: Final = "wenna.png"
"""The card that is in every folder of examples."""


def examples_dir(given: Path | None = None) -> Path:
    """The folder of the examples: the one given, that of the installed package, or that of the checkout.

    Raises `UnavailableError` where there is none.
    """
    package = Path(innkeeper.__file__).resolve().parent
    places = (given,) if given is not None else (package / "examples", package.parent.parent / "examples")
    for place in places:
        if (place / CARD).is_file():
            return place
    raise UnavailableError(
        f"the examples are not in {' or '.join(str(place) for place in places)}", hint="say where with --examples DIR"
    )
