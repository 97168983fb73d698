"""Scope: who asks for an operation, and with what it is carried out. A service makes one of a key, a test makes one by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Protocol

import msgspec
from msgspec import Meta

if TYPE_CHECKING:
    from innkeeper.library.tier import Ceilings
    from innkeeper.operations.tasks.execution import TextTasks


class TaskTerms(msgspec.Struct, frozen=True, kw_only=True):
    """Fields of every request that may ask a model.

    ``strict``: a makeshift answer is an error. ``max_cost``: US dollars that the call may cost.
    """

    strict: bool = False
    max_cost: Annotated[float, Meta(ge=0)] | None = None


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

    @property
    def number(self) -> str:
        """The number of the request; empty where it has none."""

    def terms(self, request: TaskTerms) -> dict[str, Any]:
        """The fields of a `TextTask` that follow from who calls, and from the terms of the request."""
