"""Answering: opening the model that a `ModelChoice` names by the command line, the environment and the configuration."""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import TYPE_CHECKING

from innkeeper.cli.settings.keys import key_for
from innkeeper.inference.client.model_handle import ModelHandle, open_model
from innkeeper.prompt import UsageError

if TYPE_CHECKING:
    from innkeeper.cli.settings.model_choice import ModelChoice
    from innkeeper.cli.settings.settings import UserSettings
    from innkeeper.inference.adapters.adapter import ModelRequest
    from innkeeper.inference.response.events import ModelEvent


class Nobody:
    """A client that is never asked, for looking only."""

    def events(self, _: ModelRequest) -> Generator[ModelEvent]:
        """Raise `UsageError`."""
        raise UsageError("nobody is there to answer")

    def close(self) -> None:
        """Do nothing."""


def open_choice(choice: ModelChoice, settings: UserSettings, window: int | None) -> ModelHandle:
    """Open a chosen model with its stored key. Raises what `open_model` does."""
    from innkeeper.inference.adapters.providers import provider_at

    # httpx tries to bring a command line of its own, with colours for source code: a seventh of the time to the first request.
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
    if choice.address is None:
        return open_model(choice.name, None, window, None)
    key, usual = key_for(choice.address, settings), provider_at(choice.address)
    # Where two providers have one address, the name says which protocol is meant.
    if choice.provider and (usual is None or usual.name != choice.provider):
        return open_model(choice.name, choice.address, window, key, choice.provider)
    return open_model(choice.name, choice.address, window, key)
