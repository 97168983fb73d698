"""Known: what of the last prompt of a workspace serves the next one, where what it was made of is the same."""

from __future__ import annotations

from typing import Any

from innkeeper.service.inspector.views.inspection import OriginView


class Known:
    """What `innkeeper.service.inspector.inspection` made last."""

    def __init__(self) -> None:
        self.origins: list[OriginView] = []
        """The table of origins."""
        self.numbers: dict[Any, int] = {}
        """The place of each origin in it."""
        self.states: dict[str, list[tuple[Any, int]]] = {}
        """The files that the table was made of, by their kinds, each with how often it was changed."""
        self.messages: list[Any] = []
        """The messages in their order, each with what it was made of."""
        self.verdicts: list[Any] = []
        """The verdicts in their order, each with what it was made of."""
        self.entries: Any = None
        """Where the entries were when the verdicts were made."""
