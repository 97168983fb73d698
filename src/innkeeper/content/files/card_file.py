"""CardFile: a file with a character in it, and the other files that came along."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from innkeeper.content.asset import Asset
from innkeeper.content.character import Character, read_character
from innkeeper.content.errors import NoCardError, WrongKindError
from innkeeper.content.files.archive import Archive
from innkeeper.content.files.byaf import byaf_files, read_byaf
from innkeeper.content.files.charx import CARD_NAME, read_charx
from innkeeper.content.files.png import card_of_png, png_asset, read_png
from innkeeper.content.files.reader import Reader, Source
from innkeeper.content.files.sniffing import container_of
from innkeeper.content.finding import Finding
from innkeeper.content.json.document import Document
from innkeeper.content.limits import LIMITS, Limits
from innkeeper.prompt.errors import InputError, UsageError

__all__ = ["CardFile", "open_card"]


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


def open_card(source: Source, *, limits: Limits = LIMITS, lenient: bool = False) -> CardFile:
    """A card from JSON, PNG, APNG, CHARX (also behind a JPEG) or BYAF; what it is decides its content, not its name.

    Args:
        source: a path, or the bytes.
        limits: the limits to hold.
        lenient: tolerate, with a finding, wrong checksums, early ends and a missing ``spec``.

    Raises:
        MissingFileError: the file cannot be opened.
        NoCardError: a sound image or archive has no card in it.
        FormatError: it cannot be read; the subclass says why.
        ContentLimitError: it is beyond a limit.
    """
    with Reader(source, limits, size_limit="archive_bytes") as reader:
        container = container_of(reader)
        if container != "zip":
            reader.check("file_bytes", reader.size, "the file")
        opener = _OPENERS.get(container)
        if opener is None:
            raise WrongKindError(f"a {container} file holds no card", found=container, where=reader.where())
        try:
            return opener(reader, source, lenient)
        except InputError as error:
            raise error.at(asset=reader.name) from error.__cause__


def _open_json(reader: Reader, source: Source, lenient: bool) -> CardFile:  # noqa: FBT001 - one form for all openers
    document = Document.parse(reader.all(), reader.limits, name=reader.name)
    return CardFile(read_character(document, limits=reader.limits, lenient=lenient), "json")


def _open_png(reader: Reader, source: Source, lenient: bool) -> CardFile:  # noqa: FBT001
    data = reader.all()
    png = read_png(reader, data, lenient=lenient)
    character = card_of_png(reader, png, lenient=lenient)

    def read(name: str) -> bytes:
        return png_asset(Reader(data, reader.limits), data, png.assets[name])

    kind = "apng" if png.animated else "png"
    return CardFile(character, kind, names=tuple(png.assets), image=data, read=read)


def _open_zip(reader: Reader, source: Source, lenient: bool) -> CardFile:  # noqa: FBT001
    archive, limits = Archive(reader), reader.limits

    def read(name: str) -> bytes:
        with Reader(source, limits, size_limit="archive_bytes") as again:
            return Archive(again).read(name)

    if CARD_NAME in archive.names:
        character, names = read_charx(archive, lenient=lenient)
        return CardFile(character, "charx", names=names, read=read)
    if "manifest.json" in archive.names:
        return CardFile(read_byaf(archive), "byaf", names=byaf_files(archive), read=read)
    raise NoCardError("the archive has no card.json (CHARX) and no manifest.json (BYAF)", where=reader.where())


_OPENERS: Mapping[str, Callable[[Reader, Source, bool], CardFile]] = {
    "json": _open_json,
    "png": _open_png,
    "zip": _open_zip,
}
