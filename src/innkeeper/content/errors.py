"""What can be wrong with a file: one class for each mend that a caller can make.

::

    InputError
    ├── FormatError
    │   ├── JsonError               not JSON, or not UTF-8 (or UTF-16 with its mark); says line, column and shows the line
    │   ├── DamagedFileError        a PNG or archive that is cut short or breaks a rule: ``rule`` names it
    │   ├── CardError               no character card, or one without a name
    │   ├── LorebookError           JSON that is not a lorebook
    │   ├── PresetError             JSON that is not a preset or template
    │   ├── PersonaError            JSON that is not a persona
    │   └── ChatError               a line that is not a message; says which
    ├── UnsupportedError
    │   └── WrongKindError          a good file of another kind or version: a preset where a card is asked for
    └── LimitError
        └── ContentLimitError       more bytes, entries, depth … than a named limit of `innkeeper.content.limits`
    UnavailableError
    └── MissingFileError            no such file, or no permission
    UsageError
    └── OutputExistsError           the file to write exists; ``force`` overwrites
"""

from __future__ import annotations

from typing import Any, Final

from innkeeper.prompt.errors import FormatError, LimitError, UnavailableError, UnsupportedError, UsageError

__all__ = [
    "LOST_CARD",
    "CardError",
    "ChatError",
    "ContentLimitError",
    "DamagedFileError",
    "JsonError",
    "LorebookError",
    "MissingFileError",
    "OutputExistsError",
    "PersonaError",
    "PresetError",
    "WrongKindError",
]

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


class CardError(FormatError):
    """A file without a character card of any version in it, or a card without a name."""

    HINT = "a card has `spec` and `data`, or at least name and description"


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


class WrongKindError(UnsupportedError):
    """Data that can be read, but is of another kind or version than the one asked for. ``found`` names it."""

    def __init__(self, message: str, *, found: str, **kwargs: Any) -> None:
        super().__init__(message, found=found, **kwargs)
        self.found = found


class ContentLimitError(LimitError):
    """Content beyond a named limit of `innkeeper.content.limits.Limits`."""


class MissingFileError(UnavailableError):
    """A file that is not there, or that may not be read or written."""


class OutputExistsError(UsageError):
    """The file to be written exists already."""
