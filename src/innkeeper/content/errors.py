"""What can be wrong with a file, one class a rule.

::

    InputError
    ├── FormatError
    │   ├── EncodingError           text that is not UTF-8 (or UTF-16 with its mark)
    │   ├── JsonError               not JSON; says line, column and shows the line
    │   ├── TruncatedError          the file ends before what it announces
    │   ├── PngError                not a PNG, or chunks that break its rules
    │   │   └── PngChecksumError    a chunk whose checksum does not fit; tolerated with ``lenient=True``
    │   ├── ArchiveError            not a zip, or one that breaks a rule: ``rule`` names it
    │   ├── NoCardError             a good image or archive without a card in it
    │   ├── CardError               JSON that is no character card
    │   │   └── CardNameError       a card without a name
    │   ├── LorebookError           JSON that is no lorebook
    │   ├── PresetError             JSON that is no preset or template
    │   ├── PersonaError            JSON that is no persona
    │   └── ChatError               a line that is no message; says which
    ├── UnsupportedError
    │   ├── CardVersionError        a card of a specification that does not exist here
    │   └── WrongKindError          a good file of another kind: a preset where a card is asked for
    └── LimitError
        └── ContentLimitError       more bytes, entries, depth … than a named limit of `innkeeper.content.limits`
    UnavailableError
    └── MissingFileError            no such file, or no permission
    UsageError
    └── OutputExistsError           the file to write exists; ``force`` overwrites
"""

from __future__ import annotations

from typing import Any

from innkeeper.prompt.errors import FormatError, LimitError, UnavailableError, UnsupportedError, UsageError

__all__ = [
    "ArchiveError",
    "CardError",
    "CardNameError",
    "CardVersionError",
    "ChatError",
    "ContentLimitError",
    "EncodingError",
    "JsonError",
    "LorebookError",
    "MissingFileError",
    "NoCardError",
    "OutputExistsError",
    "PersonaError",
    "PngChecksumError",
    "PngError",
    "PresetError",
    "TruncatedError",
    "WrongKindError",
]


class EncodingError(FormatError):
    """Text in an encoding that is not read: neither UTF-8 nor UTF-16 with its byte order mark."""


class JsonError(FormatError):
    """Text that is not JSON. ``where`` has line, column and the line itself."""

    HINT = "the whole text has to be JSON; mend it at the place shown"


class TruncatedError(FormatError):
    """Data that ends before the length it announces."""

    HINT = "the file was cut short: get it again, or read what is left of it with lenient=True"


class PngError(FormatError):
    """Bytes that are not a PNG, or whose chunks break its rules."""

    HINT = "get the file again: this one is damaged or no picture"


class PngChecksumError(PngError):
    """A PNG chunk whose CRC-32 does not fit its bytes."""


class ArchiveError(FormatError):
    """A zip archive that cannot be read, or that breaks a rule: ``rule`` is its name, such as ``no-links``."""

    HINT = "pack its files anew as an ordinary zip: relative names, no links, no password"

    def __init__(self, message: str, *, rule: str, **kwargs: Any) -> None:
        super().__init__(message, rule=rule, **kwargs)
        self.rule = rule


class NoCardError(FormatError):
    """An image or archive that is sound, but has no character card inside."""

    HINT = "pictures lose their card when they are resized or saved anew: get the original file"


class CardError(FormatError):
    """JSON that is not a character card of any version."""

    HINT = "a card has `spec` and `data`, or at least name and description"


class CardNameError(CardError):
    """A card whose character has no name; every version demands one."""


class LorebookError(FormatError):
    """JSON that is not a lorebook of any known shape."""

    HINT = "a lorebook is an object with `entries`"


class PresetError(FormatError):
    """JSON that is not a preset or template of any known shape."""


class PersonaError(FormatError):
    """JSON that is not a persona, nor a backup of personas."""

    HINT = "a persona has `name` and `description`"


class ChatError(FormatError):
    """A chat file with a line that is not a message; ``where.line`` says which."""


class CardVersionError(UnsupportedError):
    """A card that names a specification that is not V1, V2 or V3."""


class WrongKindError(UnsupportedError):
    """A file that can be read, but is of another kind than the one asked for. ``found`` names its kind."""

    def __init__(self, message: str, *, found: str, **kwargs: Any) -> None:
        super().__init__(message, found=found, **kwargs)
        self.found = found


class ContentLimitError(LimitError):
    """Content beyond a named limit of `innkeeper.content.limits.Limits`."""


class MissingFileError(UnavailableError):
    """A file that is not there, or that may not be read."""


class OutputExistsError(UsageError):
    """The file to be written exists already."""
