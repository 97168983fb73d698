"""Scenes: a moment of a conversation as a prompt with numbered figures, and the job that generates its picture."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.operations.scenes.reading import Person as Person
    from innkeeper.operations.scenes.reading import analyse as analyse
    from innkeeper.operations.scenes.state import SceneState as SceneState
    from innkeeper.operations.scenes.state import apply_changes as apply_changes

_HOMES: Final = {"reading": ("Person", "analyse"), "state": ("SceneState", "apply_changes")}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
