"""What can go wrong with tokenizers. `Counter.count` raises nothing: it falls back, and `describe` says so.

::

    UnavailableError
    └── TokenizerUnavailableError     its package, file or server is not here; the hint names the extra
    FormatError                       a tokenizer file that is broken, of another kind, or whose bytes are not the known ones
"""

from typing import Any

from innkeeper.prompt.errors import UnavailableError

__all__ = ["TokenizerUnavailableError"]


class TokenizerUnavailableError(UnavailableError):
    """A tokenizer whose vocabulary, library or server is not here. ``tokenizer`` is its name."""

    def __init__(self, tokenizer: str, reason: str, **kwargs: Any) -> None:
        super().__init__(
            f"tokenizer {tokenizer!r} is not available: {reason}", tokenizer=tokenizer, reason=reason, **kwargs
        )
        self.tokenizer = tokenizer
