"""What can go wrong with tokenizers. `Counter.count` raises none of these: it falls back, and `describe` says so.

::

    UnavailableError
    ├── TokenizerUnavailableError     its package, file or server is not here; the hint names the extra
    └── PreloadError                  ``preload(strict=True)``: every tokenizer that failed, with its reason
    FormatError
    └── TokenizerFileError            a tokenizer file that is not what it should be
"""

from collections.abc import Mapping
from typing import Any

from innkeeper.prompt.errors import FormatError, UnavailableError

__all__ = ["PreloadError", "TokenizerFileError", "TokenizerUnavailableError"]


class TokenizerUnavailableError(UnavailableError):
    """A tokenizer whose vocabulary, library or server is not here. ``tokenizer`` is its name."""

    def __init__(self, tokenizer: str, reason: str, **kwargs: Any) -> None:
        super().__init__(
            f"tokenizer {tokenizer!r} is not available: {reason}", tokenizer=tokenizer, reason=reason, **kwargs
        )
        self.tokenizer = tokenizer


class PreloadError(UnavailableError):
    """Some tokenizers could not be loaded. ``failed`` maps each name or path to its reason."""

    def __init__(self, failed: Mapping[str, str]) -> None:
        listed = "; ".join(f"{name}: {reason}" for name, reason in failed.items())
        super().__init__(f"{len(failed)} tokenizer(s) could not be loaded: {listed}", failed=dict(failed))
        self.failed = dict(failed)


class TokenizerFileError(FormatError):
    """A tokenizer file that is broken or of another kind, or whose bytes are not those Innkeeper knows: counts would be wrong."""
