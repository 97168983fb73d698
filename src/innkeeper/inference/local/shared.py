"""LocalModels: the models that run beside this process, each loaded once for all who ask."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from innkeeper.inference.local.model import LocalModel


LOCAL: Final = "local"
"""The provider that is the model in a process beside this one; as a model's name, the one that comes with Innkeeper."""

DEFAULT_MODEL: Final = "smollm2"
"""The model that is meant when none is named."""

LOCAL_WINDOW: Final = 4_096
"""Tokens that a model is loaded for unless more are asked for: memory grows with it."""


def loaded_window(trained: int | None, wanted: int | None = None) -> int:
    """Return the tokens that a model is loaded for: those wanted, else `LOCAL_WINDOW`, and never more than it is made for."""
    return min(wanted or LOCAL_WINDOW, trained or LOCAL_WINDOW)


class LocalModels:
    """Loaded models by name. Threads may share it; whoever opens it closes it.

    ``bare``: models whose templates would add a system message are loaded so that they do not.
    """

    def __init__(self, *, bare: bool = False) -> None:
        self._how = {"bare": True} if bare else {}
        self._lock = Lock()
        self._models: dict[str, LocalModel] = {}

    def open(self, name: str = LOCAL, *, context_window: int | None = None) -> LocalModel:
        """The model of this name; loading it takes seconds, for whoever comes first.

        ``context_window`` (tokens) is what it is loaded for, and counts only then. Raises `UnavailableError`.
        """
        from innkeeper.inference.local.model import LocalModel

        file = DEFAULT_MODEL if name == LOCAL else name
        with self._lock:
            if file not in self._models:
                self._models[file] = LocalModel.open(file, context_window=context_window, **self._how)
            return self._models[file]

    def close(self) -> None:
        """Let all of them go."""
        with self._lock:
            models, self._models = list(self._models.values()), {}
        for model in models:
            model.close()
