"""Format: one file format: its signature, its possible contents, and how a card is read from it and written to it.

`CardFile` is what comes out: a character, and the other files that came along.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Final

import msgspec

from innkeeper.content.card_versions import CardAsset
from innkeeper.content.character import Character
from innkeeper.content.errors import WrongKindError
from innkeeper.content.files.archive import Archive, find_directory
from innkeeper.content.files.reader import Reader, Source
from innkeeper.content.finding import Finding
from innkeeper.prompt.data import Registry
from innkeeper.prompt.errors import UsageError


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
        """Findings about the file."""
        return self.character.findings

    def read(self, name: str) -> bytes:
        """Read one of the files inside. Raises `UsageError` for an unknown name, and the errors of its format."""
        if self._read is None or name not in self.names:
            raise UsageError(f"the card file has no file {name!r} inside", hint=f"it has {len(self.names)} files")
        return self._read(name)

    def read_asset(self, asset: CardAsset) -> bytes | None:
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


HEAD_BYTES: Final = 64
"""The bytes at the beginning of a file that identify its format."""

TAIL_BYTES: Final = 2**16 + 22
"""The bytes at the end of an archive that can hold its end record: the record and the longest comment."""


class OpenFile:
    """A file that is being read: its reader, its source, and its archive, whose directory is read once."""

    def __init__(self, reader: Reader, source: Source, formats: Formats) -> None:
        self.reader = reader
        self.source = source
        self.formats = formats

    @cached_property
    def format(self) -> Format:
        """The format by the first bytes; of a file that an archive may stand behind, that of the archive."""
        head = self.reader.head(HEAD_BYTES)
        first = next((each for each in self.formats.values() if each.begins_with(head)), None)
        if first is not None and not first.may_precede_archive:
            return first
        self.reader.file.seek(max(0, self.reader.size - TAIL_BYTES))
        if find_directory(self.reader.file.read(TAIL_BYTES)) >= 0:
            return self.formats["zip"]
        return first or self.formats["json"]

    @cached_property
    def archive(self) -> Archive:
        """The archive in it. Raises `DamagedFileError`, `LimitError`."""
        return Archive(self.reader)

    def member(self, name: str) -> bytes:
        """One file of its archive, from the source opened anew."""
        with Reader(self.source, self.reader.limits, size_limit="archive_bytes") as again:
            return Archive(again).read(name)


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """One file format.

    Attributes:
        name: what it is called in errors, and by `card_bytes`.
        magic: how its files begin; one that begins in another way than by given bytes has ``begins``.
        begins: whether a file begins so, by its first 64 bytes.
        may_precede_archive: whether an archive is looked for behind it.
        member: for a format that is a zip archive: the file in it by which it is known.
        size_limit: the limit (`innkeeper.content.Limits`) that a whole file holds when a card is read from it.
        kind: what a file holds; see `sniff`. Without it, files of the format are known, but not read.
        open_card: a card from a file; the second argument is ``lenient``.
        extensions: file extensions that a card is written under.
        write_card: a card as a file; with the image to put it into, and what an image gets (`PNG_FORMS`).
    """

    name: str
    magic: tuple[bytes, ...] = ()
    begins: Callable[[bytes], bool] | None = None
    may_precede_archive: bool = False
    member: str = ""
    size_limit: str = "file_bytes"
    kind: Callable[[OpenFile], str] | None = None
    open_card: Callable[[OpenFile, bool], CardFile] | None = None
    extensions: tuple[str, ...] = ()
    write_card: Callable[[CardFile, bytes | None, str], bytes] | None = None

    def begins_with(self, head: bytes) -> bool:
        """Whether a file whose first bytes these are begins as this format does."""
        return head.startswith(self.magic) if self.begins is None else self.begins(head)

    def kind_of(self, file: OpenFile) -> str:
        """Return the kind of a file's content. Raises `WrongKindError` if such files are not supported."""
        if self.kind is None:
            raise WrongKindError(f"{self.name} files are not read", found=self.name)
        return self.kind(file)

    def card(self, file: OpenFile, *, lenient: bool = False) -> CardFile:
        """The card in a file of this format. Raises `WrongKindError` where such files hold none."""
        file.reader.check(self.size_limit, file.reader.size, "the file")
        if self.open_card is None:
            raise WrongKindError(f"a {self.name} file holds no card", found=self.name, where=file.reader.where())
        return self.open_card(file, lenient)


class Formats(Registry[Format]):
    """An immutable registry of formats by name. Of two that begin alike the earlier one counts."""

    __slots__ = ()

    WHAT = "file format"

    def inside(self, archive: Archive) -> Format | None:
        """The format that an archive is of, by the files in it."""
        return next((each for each in self.values() if each.member and each.member in archive.names), None)
