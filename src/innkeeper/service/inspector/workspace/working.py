"""WorkingFile: one file of a workspace: as it was saved, as it is edited, and what is built of it.

What it is decides its content. While an edit makes it unreadable, the last asset that could be read is built of, and a finding
says so.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from innkeeper.content.chat import ChatLog
from innkeeper.content.errors import JsonError
from innkeeper.content.files.format import CardFile
from innkeeper.content.files.formats import card_bytes, open_card, sniff
from innkeeper.content.files.loading import load_asset
from innkeeper.content.files.reader import Reader, Source
from innkeeper.content.finding import Finding, Level, Path
from innkeeper.content.json import ABSENT
from innkeeper.content.json.text import decode_json, decode_text
from innkeeper.content.lorebook import Lorebook
from innkeeper.prompt import BuildRequest, ReplayBundle
from innkeeper.prompt.data import parse_json
from innkeeper.prompt.errors import InnkeeperError, InputError, UnsupportedError, UsageError, Where
from innkeeper.service.inspector.views.workspace import Conflict, ConflictEnd, ConflictField, Edit, Kind
from innkeeper.service.inspector.workspace.edits import differences, edited, existing, inserted, overlapping, plain
from innkeeper.service.inspector.workspace.picture import only_picture
from innkeeper.service.inspector.workspace.rereading import chat_tree, reread

MAX_TEXT: Final = 256 * 1024
"""Bytes of a file of no known kind that are shown as text (no error: more is not shown)."""

_KINDS: Final[dict[str, Kind]] = {
    "Character": "character",
    "Persona": "persona",
    "Lorebook": "lorebook",
    "ChatLog": "chat",
    "PresetFile": "preset",
    "BuildRequest": "request",
}


class WorkingFile:
    """A file with its edits. Raises nothing for what it holds: what cannot be read is of the kind ``other``, and says why."""

    def __init__(self, id: str, name: str, data: bytes, *, writable: bool = True, fresh: bool = False) -> None:  # noqa: A002
        self.id, self.name, self.writable = id, name, writable
        self.changes_made = 0
        self.open(data)
        self.fresh = fresh

    def open(self, data: bytes) -> None:
        """Begin with these bytes, as saved and as edited."""
        self.data = data
        self.kind: Kind = "other"
        self.card: CardFile | None = None
        self.asset: Any = None
        self.tree: Any = None
        self.text: str | None = None
        self.problem: InnkeeperError | None = None
        self.theirs: WorkingFile | None = None
        self.fresh = False
        self.image: bytes | None = None
        self._unmended: bytes | None = None
        self._has_picture: bool | None = None
        self._text_findings: tuple[Finding, ...] = ()
        try:
            self._read(data)
        except InputError as error:
            self.problem = error
        self.saved_tree, self.saved_asset = self.tree, self.asset
        self.changes_made += 1

    def _read(self, data: bytes) -> None:
        if self.name.lower().endswith(".toml"):
            self.kind, self.text = "profile", decode_text(data[:MAX_TEXT], self.name, [])
            return
        try:
            self.asset = load_asset(data, unknown=_request)
        except InputError:
            if sniff(data).container == "json":
                self.text = decode_text(data[:MAX_TEXT], self.name, [])
            if self.name.lower().endswith(".jsonl"):
                check_lines(data)
                return
            raise
        self.kind = _KINDS[type(self.asset).__name__]
        if self.kind == "character":
            self.card = open_card(data)
            self.asset = self.card.character
        if isinstance(self.asset, ChatLog):
            self.tree = chat_tree(self.asset)
        elif isinstance(self.asset, BuildRequest):
            self.tree = parse_json(data, asset=self.name)
        else:
            self.tree = self.asset.document.tree
            self._text_findings = self.asset.document.findings

    @property
    def changed(self) -> bool:
        """Whether it is edited and not saved, or was never saved."""
        if self.fresh or self.image is not None or self._unmended is not None:
            return True
        return self.tree is not self.saved_tree and bool(differences(self.saved_tree, self.tree))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is not right in it, by its readers."""
        own: tuple[Finding, ...] = getattr(self.asset, "findings", ())
        if self.problem is None:
            return own
        where, problem = self.problem.where or Where(), self.problem
        line, column = where.line, where.column
        finding = Finding(problem.kind, problem.message, where.path or "", Level.ERROR, line, column, problem.hint)
        return (finding, *own)

    # ---------------------------------------------------------------------------------------------------------- edits

    def apply(self, edit: Edit, value: Any = ABSENT) -> None:
        """Change the working copy; ``value`` is what the edit brings. Raises `UsageError` for a place that is not there."""
        path = tuple(edit.path)
        if self.tree is None and not path and isinstance(value, str) and self.kind == "other":
            before = self.data if self._unmended is None else self._unmended
            self.open(value.encode("utf-8", "surrogatepass"))  # what saving writes, where it could not be read before
            self._unmended = before
            return
        if self.tree is None:
            raise UsageError(f"{self.name} is not edited here", hint="its kind is not known, or it is a profile")
        if edit.remove:
            self._take(edited(self.tree, path, ABSENT), path[:-1])
        elif value is ABSENT:
            raise UsageError("an edit has a value, or removes one")
        elif edit.insert:
            self._take(inserted(self.tree, path, plain(value)), path[:-1])
        else:
            self._take(edited(self.tree, path, plain(value)), path)

    def revert(self) -> None:
        """Go back to what is saved."""
        before = self._unmended if self.theirs is None else self.theirs.data
        if before is not None:
            self.open(before)
            return
        self.tree, self.asset, self.problem = self.saved_tree, self.saved_asset, None
        self.image, self._has_picture = None, None
        self.changes_made += 1

    def _take(self, tree: Any, path: Path) -> None:
        """Take a document that differs at ``path`` alone, and read it again."""
        before = self.asset if self.problem is None else None
        self.tree = tree
        self.changes_made += 1
        try:
            self.asset = reread(self.kind, before, tree, path, self._text_findings)
            self.problem = None
        except (InputError, UsageError) as error:
            self.problem = error

    def built_of(self, *, saved: bool = False) -> Any:
        """The asset, as it is edited or as it was saved."""
        return self.saved_asset if saved else self.asset

    # -------------------------------------------------------------------------------------------------------- conflict

    def meet(self, data: bytes) -> None:
        """Another program has written the file: take it as it is there, or keep it beside what was edited here."""
        if self.changed:
            self.theirs = WorkingFile(self.id, self.name, data, writable=self.writable)
        else:
            self.open(data)

    def conflict(self) -> Conflict:
        """What both have changed. Raises `UsageError` where nobody else has changed anything."""
        theirs = self._their_file()
        if not self._can_merge(theirs):
            return Conflict((), 0, 0, readable=False)
        mine, other = differences(self.saved_tree, self.tree), differences(self.saved_tree, theirs.tree)
        fields = tuple(
            ConflictField(path, existing(self.tree, path)[1], existing(theirs.tree, path)[1])
            for path in mine
            if overlapping(path, other) and existing(self.tree, path) != existing(theirs.tree, path)
        )
        alone = sum(not overlapping(path, mine) for path in other)
        return Conflict(fields, len(mine) - len(fields), alone, readable=True)

    def resolve(self, resolution: ConflictEnd) -> None:
        """End the conflict. The file on the disk is what was saved from now on. Raises `UsageError` as `conflict`."""
        theirs, tree = self._their_file(), self.tree
        if not self._can_merge(theirs) and resolution.take != "theirs":
            self.theirs = None  # what is saved is this file with its edits
            return
        edits: dict[Path, Any] = {}
        if resolution.take == "merge":
            theirs_alone = {field.path for field in self.conflict().fields} - set(resolution.mine)
            edits = {
                path: value for path, value in differences(self.saved_tree, tree).items() if path not in theirs_alone
            }
        image = self.image
        self.open(theirs.data)
        if resolution.take != "theirs":
            self.image = image
        if resolution.take == "mine":
            self._take(tree, ())
        for path, value in edits.items():
            self._take(edited(self.tree, path, value), path)

    def _their_file(self) -> WorkingFile:
        if self.theirs is None:
            raise UsageError(f"no other program has changed {self.name}")
        return self.theirs

    def _can_merge(self, theirs: WorkingFile) -> bool:
        return theirs.tree is not None and self.saved_tree is not None and theirs.kind == self.kind

    # -------------------------------------------------------------------------------------------------------- picture

    def repaint(self, image: bytes) -> None:
        """Have another picture, a PNG, which is written when the card is saved.

        Raises:
            UnsupportedError: the file is no PNG card.
            DamagedFileError: the picture is no PNG.
        """
        if self.card is None or self.card.kind not in {"png", "apng"}:
            raise UnsupportedError("only a card in a picture gets another one", hint="export it as png first")
        card_bytes(self.card, "png", image=image)
        self.image, self._has_picture = image, None
        self.changes_made += 1

    def picture(self) -> bytes | None:
        """The card's picture, where it is a PNG that was looked at; without what else is in the file."""
        try:
            icon = self.image or (None if self.card is None else self.card.icon())
        except InputError:
            return None
        return None if icon is None else only_picture(icon)

    @property
    def has_picture(self) -> bool:
        """Whether `picture` gives one; looked at once, since edits change no picture."""
        if self._has_picture is None:
            self._has_picture = self.picture() is not None
        return self._has_picture

    def existing_path(self, path: Path) -> Path:
        """As much of a path as there is in the document."""
        return existing(self.tree, path)[0]


def book_of(asset: Any) -> Lorebook | None:
    """Return the lorebook that an asset is or has."""
    book = asset if isinstance(asset, Lorebook) else getattr(asset, "book", None)
    return book if isinstance(book, Lorebook) else None


def entry_paths(book: Lorebook) -> dict[int, Path]:
    """Return the path of each entry in the book's document, by the identity of the object that it was read from."""
    items, base = book.raw, book.path
    if isinstance(book.raw, dict):
        items, base = book.raw.get("entries"), (*book.path, "entries")
    pairs = items.items() if isinstance(items, dict) else enumerate(items or ())
    return {id(item): (*base, key) for key, item in pairs}


def check_lines(data: bytes) -> None:
    """Check that each line is JSON. Raises `JsonError` for the first that is not, with its line."""
    for number, line in enumerate(data.splitlines(), 1):
        try:
            decode_json(line or b"null")
        except JsonError as error:
            error.where = msgspec.structs.replace(error.where or Where(), line=number)
            raise


def _request(source: Source) -> BuildRequest:
    """A build request, or that of a replay bundle."""
    with Reader(source) as reader:
        data = reader.all()
    tree = parse_json(data, asset="request")
    if isinstance(tree, dict) and "innkeeper_replay" in tree:
        return ReplayBundle.from_json(data).request
    return BuildRequest.from_json(data)
