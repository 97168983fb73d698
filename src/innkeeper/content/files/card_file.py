"""CardFile: a file with a character in it, and the other files that came along."""

from __future__ import annotations

from collections.abc import Callable

from innkeeper.content.asset import Asset
from innkeeper.content.character import Character
from innkeeper.content.finding import Finding
from innkeeper.prompt.errors import UsageError

__all__ = ["CardFile"]


class CardFile:
    """A character and the file it came in.

    Attributes:
        character: the character, its findings included.
        kind: ``json``, ``png``, ``apng``, ``charx`` or ``byaf``.
        names: the files inside, which `read` gives; they are read only then, within the limits.
        image: the bytes of the image that holds the card, where it is one.
    """

    def __init__(
        self,
        character: Character,
        kind: str,
        *,
        names: tuple[str, ...] = (),
        image: bytes | None = None,
        read: Callable[[str], bytes] | None = None,
    ) -> None:
        self.character = character
        self.kind = kind
        self.names = names
        self.image = image
        self._read = read

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What in the file was not as it should be."""
        return self.character.findings

    def read(self, name: str) -> bytes:
        """One of the files inside. Raises `UsageError` where there is none of this name, and what its format raises."""
        if self._read is None or name not in self.names:
            raise UsageError(f"the card file has no file {name!r} inside", hint=f"it has {len(self.names)} files")
        return self._read(name)

    def read_asset(self, asset: Asset) -> bytes | None:
        """The bytes of an asset that came along, or ``None`` where it is elsewhere."""
        if asset.is_default:
            return self.image
        path = asset.path
        return self.read(path) if path is not None and path in self.names else None

    def with_character(self, character: Character) -> CardFile:
        """The same file with another character in it: an edited or converted one."""
        return CardFile(character, self.kind, names=self.names, image=self.image, read=self._read)

    def icon(self) -> bytes | None:
        """The character's main picture, where it came along."""
        main = self.character.main_asset("icon")
        return self.image if main is None else self.read_asset(main)
