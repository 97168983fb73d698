"""Findings: what is to be known of a place in a file, and the edit that mends it and changes nothing in the prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from innkeeper.content.finding import Finding as ContentFinding
from innkeeper.content.finding import Level
from innkeeper.content.json.record import as_flag, as_integer, as_number, as_role, as_text
from innkeeper.content.spellings.reading import CARD_FIELDS, EXTENSION_FIELDS, SHARED_FIELDS, WORLD_FIELDS
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.service.inspector.views.workspace import Edit, FindingView, Path, view_of
from innkeeper.service.inspector.workspace.edits import existing, text_path
from innkeeper.service.inspector.workspace.working import WorkingFile, book_of, entry_paths
from innkeeper.taverns.asset_fields import AssetFields

if TYPE_CHECKING:
    from innkeeper.content.preset import Preset


_SEVERITIES: Final = {Level.ERROR: "error", Level.WARNING: "warning", Level.INFO: "note"}


class LintCache:
    """What looking for dead entries and the like came to, by the file, the asset that it held then, and the tavern."""

    def __init__(self) -> None:
        self._cached: dict[str, tuple[Any, str, tuple[FindingView, ...]]] = {}

    def findings(self, file: WorkingFile) -> tuple[FindingView, ...]:
        """What is known of a file as it is now."""
        asset, _, findings = self._cached.get(file.id, _NOT_LINTED)
        return findings if asset is file.asset else ()

    def lint(self, files: Iterable[WorkingFile], preset: Preset | None, model: str | None, *, tavern: str) -> bool:
        """Look at what was not looked at as it is now; whether there was any."""
        new = []
        for file in files:
            asset, former, _ = self._cached.get(file.id, _NOT_LINTED)
            if file.asset is not None and (asset is not file.asset or former != tavern):
                new.append(file)
        for file in new:
            self._cached[file.id] = (file.asset, tavern, tuple(_lint(file, preset, model, tavern)))
        return bool(new)


_NOT_LINTED: Final = (None, "", ())


def _lint(file: WorkingFile, preset: Preset | None, model: str | None, tavern: str) -> list[FindingView]:
    from innkeeper.lore.lint import RESTATED
    from innkeeper.taverns import TAVERNS

    # those that scan no lore by rules of their own are looked at by SillyTavern's
    rules = TAVERNS[tavern if tavern in TAVERNS and TAVERNS[tavern].lore_settings else "silly"]
    fields = AssetFields()
    try:
        fields.put(file.asset, file.name)
        findings = rules.lint(fields.fields, preset, model)
    except InnkeeperError as error:
        return [FindingView("note", error.kind, error.message, error.hint, file.id)]
    return [finding_view(file, one) for one in findings if one.rule not in RESTATED]


def finding_view(file: WorkingFile, finding: ContentFinding) -> FindingView:
    """A finding as the page shows it beside its field."""
    severity: Any = _SEVERITIES[finding.level]
    path = _path_of(file, finding.path)
    fix = _mend_of(file, finding, path)
    return view_of(
        FindingView, finding, severity=severity, code=finding.rule, file=file.id, path=path, fix=fix, where=None
    )


def _path_of(file: WorkingFile, text: str) -> Path:
    """Where in its document a finding is: entries of lorebooks are named by their ids in some."""
    path = text_path(text)
    existing_path, value = existing(file.tree, path)
    if len(existing_path) == len(path) or value is not None:
        return existing_path
    book = book_of(file.asset)
    if "entries" in path and book is not None:
        at = path.index("entries")
        if at + 1 < len(path):
            entry = next((one for one in book.entries if str(one.id) == str(path[at + 1])), None)
            entry_path = None if entry is None else entry_paths(book).get(id(entry.raw))
            if entry_path is not None:
                return file.existing_path((*entry_path, *path[at + 2 :]))
    return existing_path


def _mend_of(file: WorkingFile, finding: ContentFinding, path: Path) -> Edit | None:
    """The mend of a finding that is at ``path``; None where there is no one value that it is read as."""
    if finding.rule not in {"wrong-type", "unknown-role"} or not path or path != text_path(finding.path):
        return None
    value, expected = existing(file.tree, path)[1], finding.message.rpartition(" is not ")[2]
    read = _READ_AS.get(expected) if "entries" not in path else _ENTRY_FIELDS.get(str(path[-1]))
    mended = "system" if finding.rule == "unknown-role" else None if read is None else read(value)
    if mended is None or mended == value:
        return None
    return Edit(file=file.id, path=path, value=list(mended) if isinstance(mended, tuple) else mended)


_READ_AS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "a text": as_text,
    "true or false": as_flag,
    "a whole number": as_integer,
    "a number": as_number,
    "a role": as_role,
}
"""How a value of another type is read, by what it should be."""

_ENTRY_FIELDS: Final[Mapping[str, Callable[[Any], Any]]] = {
    name: field.read
    for field in (*SHARED_FIELDS, *EXTENSION_FIELDS, *CARD_FIELDS, *WORLD_FIELDS)
    if field.kind in {str, bool, int, tuple}
    for name in (field.camel, field.snake)
}
"""How the fields of an entry are read whose values are texts, numbers, switches and lists of texts."""
