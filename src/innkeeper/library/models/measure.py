"""TokenizerSpec: how a model measures what it is given, and a measure that says how far it may be off."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from innkeeper.prompt.errors import ConfigError
from innkeeper.prompt.state import TokenCounter
from innkeeper.tokens import default_counter

__all__ = ["CLIP", "ROOM", "Measure", "TokenizerSpec"]

ROOM: Final = "a limit is above 0 and larger than what is reserved of it"
"""How a limit, reserve or budget that leaves no room is mended (`ConfigError`)."""

_WINDOW: Final = 75
"""CLIP reads 77 positions, two of which are its markers."""


class TokenizerSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """How one model's input is limited (dynamic-prompting reference 4.5).

    ``id`` is a model or hint the token counter knows (none for ``chars``). ``limit_usable`` counts tokens, or characters for
    ``chars``; ``reserve`` of them are kept for what is added later. ``chunking`` ``compel``: the runtime reads several windows.
    """

    kind: Literal["clip", "bpe", "sentencepiece", "chars"]
    id: str = ""
    limit_usable: int = _WINDOW
    reserve: int = 0
    chunking: Literal["none", "compel"] = "none"
    overflow: Literal["error", "compress", "truncate"] = "compress"

    def __post_init__(self) -> None:
        """Refuse limits that leave nothing. Raises `ConfigError`."""
        if not 0 <= self.reserve < self.limit_usable:
            message = f"a reserve of {self.reserve} in a limit of {self.limit_usable} leaves nothing to use"
            raise ConfigError(message, hint=ROOM)

    def measure(self, counter: TokenCounter | None = None) -> Measure:
        """What measures texts for this model."""
        if self.kind == "chars":
            return Measure("chars", len, 0.0)
        model = self.id or ("clip" if self.kind == "clip" else None)
        counts = counter or default_counter()
        facts = counts.describe(model)
        error = facts.get("error_percent")
        name = str(facts.get("tokenizer") or facts.get("backend") or model)
        return Measure(name, lambda text: counts.count(text, model), None if error is None else float(error))

    def windows(self, size: int) -> int:
        """How many windows a text of this size fills: more than one only where the runtime reads several."""
        return max(1, math.ceil(size / self.limit_usable)) if self.chunking == "compel" else 1


CLIP: Final = TokenizerSpec("clip", "clip", _WINDOW)
"""The text encoders of Stable Diffusion and SDXL, whose two encoders read the same window."""


@dataclass(frozen=True, slots=True)
class Measure:
    """Measures texts. ``error_percent`` is 0 where it is exact, and None where nobody knows."""

    name: str
    count: Callable[[str], int]
    error_percent: float | None = 0.0

    @property
    def exact(self) -> bool:
        """Whether it is the model's own measure."""
        return self.error_percent == 0

    def most(self, text: str) -> int:
        """The size a text may have at most: of an estimate, its upper edge."""
        size = self.count(text)
        return size if not self.error_percent else math.ceil(size * (1 + self.error_percent / 100))
