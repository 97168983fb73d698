"""What can go wrong with tokenizers. `Counter.count` raises none of these: it falls back, and `describe` says so.

::

    UnavailableError
    ├── TokenizerUnavailableError     its package or file is not installed; the hint names the extra
    ├── TokenServerError              a server that was asked gave no usable answer in time
    └── PreloadError                  ``preload(strict=True)``: every tokenizer that failed, with its reason
    InputError
    ├── FormatError
    │   ├── TokenizerFileError        a tokenizer file that cannot be read as what it should be
    │   └── VocabularyMismatchError   a vocabulary file whose bytes are not the known ones
    └── LimitError
        └── TokenizerFileTooLargeError
    UsageError
    └── ConfigError
        └── TokenRegistryError        a registry that is neither a mapping, a callable nor has ``lookup``
"""

from collections.abc import Mapping
from typing import Any

from innkeeper.prompt.errors import ConfigError, FormatError, LimitError, UnavailableError, Where
from innkeeper.tokens.limits import TOKENIZER_FILE_BYTES

__all__ = [
    "PreloadError",
    "TokenRegistryError",
    "TokenServerError",
    "TokenizerFileError",
    "TokenizerFileTooLargeError",
    "TokenizerUnavailableError",
    "VocabularyMismatchError",
]


class TokenizerUnavailableError(UnavailableError):
    """A tokenizer whose vocabulary or library is not here. ``tokenizer`` is its name."""

    def __init__(self, tokenizer: str, reason: str, **kwargs: Any) -> None:
        super().__init__(f"tokenizer {tokenizer!r} is not available: {reason}", tokenizer=tokenizer, **kwargs)
        self.tokenizer = tokenizer


class TokenServerError(UnavailableError):
    """A server that was asked to count did not answer in time, or not with a number."""


class PreloadError(UnavailableError):
    """Some tokenizers could not be loaded. ``failed`` maps each name or path to its reason."""

    def __init__(self, failed: Mapping[str, str]) -> None:
        listed = "; ".join(f"{name}: {reason}" for name, reason in failed.items())
        super().__init__(f"{len(failed)} tokenizer(s) could not be loaded: {listed}", failed=dict(failed))
        self.failed = dict(failed)


class TokenizerFileError(FormatError):
    """A tokenizer file that is broken or of another kind."""


class VocabularyMismatchError(FormatError):
    """A vocabulary file of a package that differs from the one Innkeeper knows: counts would be wrong in silence."""

    def __init__(self, path: str, *, expected: str, found: str) -> None:
        super().__init__(
            f"unexpected vocabulary (sha256 {found[:12]}…, expected {expected[:12]}…)",
            where=Where(asset=path),
            hint="reinstall the package that brings this file in a version that Innkeeper knows",
            expected=expected,
            found=found,
        )


class TokenizerFileTooLargeError(LimitError):
    """A tokenizer file above `TOKENIZER_FILE_BYTES`."""

    def __init__(self, path: str, found: int) -> None:
        super().__init__(
            "tokenizer file",
            limit="TOKENIZER_FILE_BYTES",
            allowed=TOKENIZER_FILE_BYTES,
            found=found,
            where=Where(asset=path),
        )


class TokenRegistryError(ConfigError):
    """A registry of tokenizers of a kind that cannot be asked."""
