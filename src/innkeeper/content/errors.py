"""Errors and limits of content."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from innkeeper.prompt.errors import FormatError, LimitError, UnavailableError, UnsupportedError, UsageError

CARD_HINT: Final = "a card has `spec` and `data`, or at least name and description"
"""The shape of a card, for users who have another file."""

LOST_CARD: Final = "pictures lose their card when they are resized or saved anew: get the original file"
"""The hint where an image or archive is sound, but has no card."""


class JsonError(FormatError):
    """Text that is not JSON, or in an encoding that is not read. ``where`` has line, column and the line itself."""

    HINT = "the whole text has to be JSON; mend it at the place shown"


class DamagedFileError(FormatError):
    """A PNG or archive that ends too early, or breaks a rule of its format.

    ``rule`` names it: ``whole`` (cut short), ``png``, ``checksum``, or one of an archive's, such as ``no-links``.
    """

    HINT = "the file is damaged: get it again, or read what is left of it with lenient=True"

    def __init__(self, message: str, *, rule: str, **kwargs: Any) -> None:
        super().__init__(message, rule=rule, **kwargs)
        self.rule = rule


class AssetError(FormatError):
    """Data that is not the asset asked for: a card without a name, JSON without lorebook entries, a line that is not a message.

    ``where`` says which line or part of it, the hint what such an asset looks like.
    """


CardError = AssetError
"""The former name of the error of a card, which earlier documentation taught."""


class WrongKindError(UnsupportedError):
    """Readable data of another kind or version than the requested one. ``found`` names it."""

    def __init__(self, message: str, *, found: str, **kwargs: Any) -> None:
        super().__init__(message, found=found, **kwargs)
        self.found = found


class MissingFileError(UnavailableError):
    """A file that is not there, or that may not be read or written."""


class OutputExistsError(UsageError):
    """The file to be written exists already."""


KIB: Final = 1024
MIB: Final = 1024 * KIB


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Named limits (`LimitError`). Pass your own to any reader: ``msgspec.structs.replace(LIMITS, json_depth=16)``."""

    file_bytes: int = 32 * MIB
    """Size of a card image, a JSON text or any other file that is read whole, in bytes."""
    json_depth: int = 64
    """Objects and lists inside one another."""
    json_keys: int = 200_000
    """Keys of all objects together."""
    json_values: int = 2_000_000
    """Values of all lists and objects together."""
    json_string_bytes: int = 8 * MIB
    """One string, in bytes of UTF-8."""
    png_chunks: int = 100_000
    """Chunks of a PNG, of any kind."""
    png_text_chunks: int = 64
    """Text chunks of a PNG, assets not counted."""
    png_text_bytes: int = 8 * MIB
    """One text chunk of a PNG after decompression, in bytes."""
    png_total_text_bytes: int = 16 * MIB
    """All text chunks of a PNG together after decompression, assets not counted, in bytes."""
    png_asset_chunks: int = 2_000
    """Asset chunks of a PNG, as some applications embed them."""
    archive_bytes: int = 256 * MIB
    """Size of an archive, in bytes."""
    archive_entries: int = 2_000
    """Files in an archive."""
    archive_name_bytes: int = 1_024
    """One file name in an archive, in bytes."""
    archive_entry_bytes: int = 64 * MIB
    """One file of an archive after decompression, in bytes."""
    archive_total_bytes: int = 256 * MIB
    """All files of an archive that are read, after decompression, in bytes."""
    archive_ratio: int = 200
    """Decompressed size over compressed size, for files of more than 64 KiB."""
    lore_entries: int = 20_000
    """Entries of a lorebook: a warning above, a refusal above twice as many."""
    lore_keys: int = 64
    """Keys of an entry, primary or secondary: a warning above, a refusal above sixteen times as many."""
    lore_content_bytes: int = 64 * KIB
    """Text of an entry, in bytes: a warning above, a refusal above sixteen times as much."""
    lore_json_keys: int = 1_000_000
    """Replaces ``json_keys`` where a whole file is one lorebook."""
    chat_bytes: int = 256 * MIB
    """Size of a chat file, in bytes."""
    chat_messages: int = 100_000
    """Messages of a chat."""
    message_bytes: int = 1 * MIB
    """The text of one message, in bytes; its whole line may have eight times as many."""
    findings: int = 1_000
    """Findings stored for one file (no error: the rest are counted in the last one)."""


LIMITS: Final = Limits()
"""The defaults."""


def check_limit(limits: Limits, name: str, actual: float, what: str, *, asset: str | None = None) -> None:
    """Compare ``actual`` with the limit called ``name``.

    Raises:
        LimitError: ``found`` is more than it allows.
    """
    allowed: int = getattr(limits, name)
    if actual > allowed:
        raise limit_error(name, what, allowed, actual).at(asset=asset)


def limit_error(name: str, what: str, allowed: float, actual: float | None = None) -> LimitError:
    """The error for something beyond the limit called ``name``."""
    hint = "if the file can be trusted, raise this limit for this reader"
    return LimitError(what, limit=name, allowed=allowed, found=actual, hint=hint)
