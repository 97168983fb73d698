"""Text completion: one text from a story string, the chat and instruct sequences. Each module tells the steps it holds."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.taverns.silly.text.pipeline import TEXT_PIPELINE as TEXT_PIPELINE

_HOMES: Final = {
    "TEXT_PIPELINE": "pipeline",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
