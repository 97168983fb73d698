"""Scope: who asks for an operation, and with what it is carried out. A service makes one of a key, a test makes one by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from innkeeper.library.tier import Ceilings
    from innkeeper.operations.tasks.execution import TextTasks


class Scope(Protocol):
    """What an operation may know of its caller, and what it works with."""

    @property
    def owner(self) -> str:
        """Who owns what the call stores."""

    @property
    def ceilings(self) -> Ceilings:
        """The limits on the tier that the caller may ask for."""

    @property
    def tasks(self) -> TextTasks:
        """The text tasks, with the library and the models behind them."""
