"""Built-in templates: what answers where the library has nothing, packaged with Innkeeper and pinned by its checksum.

Only templates of the general tier are active. Those of the adult tier are frames for an operator's own policy: they say which
variables there are, ask for the policy, and hold no label, so nothing ever resolves to them.
"""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files
from typing import Any, Final

from innkeeper.library.catalogue.catalogue import AnswerSource, Catalogue
from innkeeper.library.templates.template import Labelled, TemplateVersion, read_version, sealed
from innkeeper.prompt.data import parse_json
from innkeeper.prompt.errors import FormatError, Where
from innkeeper.prompt.typed.once import once

__all__ = ["CHECKSUM", "packaged", "packaged_labels", "packaged_models", "packaged_versions", "read_builtins"]

CHECKSUM: Final = "1fb43be7cf28036fa44fc29e20c50ae2815e0e37659cbce0f3033a28b857530a"
"""SHA-256 of the packaged file."""

_FILE: Final = "templates.json"


@once
def packaged() -> Catalogue:
    """The active built-in templates: those of the general tier. Raises `FormatError` where the file is not its own."""
    return Catalogue.build(packaged_labels(), pinned=packaged_versions(), source=AnswerSource.BUILTIN)


def packaged_versions() -> tuple[TemplateVersion, ...]:
    """All built-in templates, those that are not active included: what a new library can be filled with."""
    return tuple(version for version, _ in _packaged())


def packaged_labels() -> tuple[Labelled, ...]:
    """The labels that built-in templates hold."""
    return tuple(Labelled(label, version) for version, labels in _packaged() for label in labels)


@once
def packaged_models() -> frozenset[str]:
    """The models and families that built-in templates are for."""
    keys = [version.key for version in packaged_versions()]
    return frozenset(name for key in keys for name in (key.target_model, key.enhancer_model) if name)


@once
def _packaged() -> tuple[tuple[TemplateVersion, tuple[str, ...]], ...]:
    return read_builtins(files(__name__).joinpath(_FILE).read_bytes())


def read_builtins(data: bytes, checksum: str = CHECKSUM) -> tuple[tuple[TemplateVersion, tuple[str, ...]], ...]:
    """The templates in a file of built-ins, each with its labels. Raises `FormatError` where the checksum is not its own."""
    if sha256(data).hexdigest() != checksum:
        hint = "install Innkeeper again: a file that came with it was changed"
        raise FormatError("the built-in templates are not those of this release", where=Where(_FILE), hint=hint)
    return tuple(_read(row) for row in parse_json(data, asset=_FILE)["templates"])


def _read(row: dict[str, Any]) -> tuple[TemplateVersion, tuple[str, ...]]:
    """One row: its text is written line by line, its identity follows from its name."""
    facts = {name: value for name, value in row.items() if name not in {"labels", "description", "key"}}
    text, metadata = "\n".join(row["system_prompt"]), {"description": row["description"], **row.get("metadata", {})}
    identity = {"template_id": f"builtin:{row['name']}", "version": 1, "author": "Innkeeper", "note": "Built in."}
    version = read_version(
        {**identity, **facts, "key": row["key"], "system_prompt": text, "metadata": metadata}, asset=_FILE
    )
    return sealed(version), tuple(row["labels"])
