"""Mending: the edit that takes a finding away and changes nothing in the prompt: the value as it is read anyhow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from innkeeper.content.finding import Finding
from innkeeper.content.json.record import as_flag, as_integer, as_number, as_role, as_text
from innkeeper.content.spellings.reading import CARD_FIELDS, EXTENSION_FIELDS, SHARED_FIELDS, WORLD_FIELDS
from innkeeper.service.inspector.views import Edit, Path
from innkeeper.service.inspector.workspace.edits import existing, text_path

if TYPE_CHECKING:
    from innkeeper.service.inspector.workspace.working import WorkingFile

__all__ = ["mend_of"]


def mend_of(file: WorkingFile, finding: Finding, path: Path) -> Edit | None:
    """The mend of a finding that is at ``path``; None where there is no one value that it is read as."""
    if finding.rule not in {"wrong-type", "unknown-role"} or not path or path != text_path(finding.path):
        return None
    value, wanted = existing(file.tree, path)[1], finding.message.rpartition(" is not ")[2]
    read = _READ_AS.get(wanted) if "entries" not in path else _ENTRY_FIELDS.get(str(path[-1]))
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
