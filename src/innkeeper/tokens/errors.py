"""What can go wrong with tokenizers. `Counter.count` raises none of these: it falls back, and `describe` says so.

::

    UnavailableError
    └── TokenizerUnavailableError     its package, file or server is not here; the hint names the extra
    FormatError
    └── FormatError            a tokenizer file that is not what it should be
"""

from typing import Any

from innkeeper.prompt.errors import FormatError, UnavailableError

__all__ = ["FormatError", "TokenizerUnavailableError"]


class TokenizerUnavailableError(UnavailableError):
    """A tokenizer whose vocabulary, library or server is not here. ``tokenizer`` is its name."""

    def __init__(self, tokenizer: str, reason: str, **kwargs: Any) -> None:
        super().__init__(
            f"tokenizer {tokenizer!r} is not available: {reason}", tokenizer=tokenizer, reason=reason, **kwargs
        )
        self.tokenizer = tokenizer


class FormatError(FormatError):
    """A tokenizer file that is broken or of another kind, or whose bytes are not those Innkeeper knows: counts would be wrong."""
