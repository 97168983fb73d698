"""TemplateVersion: one immutable version of a template, with everything that decides what it renders to.

A version never changes; which one is used is said by labels (`Labelled`), which move. Its content, and so its hash, covers key,
text, syntax, variables, budgets, partials, parent and metadata; not who made it, when, or why.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Final, Literal

import msgspec

from innkeeper.library.key import TemplateKey
from innkeeper.prompt.canonical import to_json
from innkeeper.prompt.frozen import EMPTY, FrozenDict

__all__ = [
    "DRAFT",
    "PRODUCTION",
    "STAGING",
    "Labelled",
    "PartRef",
    "Syntax",
    "TemplateVersion",
    "Variable",
    "content_hash",
    "content_of",
    "sealed",
]

PRODUCTION: Final = "production"
STAGING: Final = "staging"
DRAFT: Final = "draft"

Syntax = Literal["mustache", "liquid"]
PartRef = tuple[str, int]
"""Another template by name and version: always pinned, so that what a version renders to never changes."""

_CONTENT: Final = (
    "key",
    "system_prompt",
    "syntax",
    "variables",
    "token_limit",
    "max_output_tokens",
    "provider",
    "partials",
    "extends",
    "metadata",
)


class Variable(msgspec.Struct, frozen=True, kw_only=True):
    """A variable that a template declares.

    ``default`` fills it where it is not required and no value is given. ``source`` says where the application takes it from
    (``character.name``), for people. ``max_tokens`` caps its value. ``fence`` sets the value off as data, between marks that
    do not occur in it.
    """

    name: str
    type: Literal["text", "number", "boolean", "list"] = "text"
    required: bool = True
    default: str | None = None
    source: str | None = None
    max_tokens: int | None = None
    description: str = ""
    fence: bool = False


class TemplateVersion(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a template. ``token_limit`` is the target budget of what is made with it, in the target's tokens."""

    template_id: str
    name: str
    version: int
    key: TemplateKey
    system_prompt: str
    syntax: Syntax = "mustache"
    variables: tuple[Variable, ...] = ()
    token_limit: int = 512
    max_output_tokens: int | None = None
    """Tokens that the enhancer may write; None is ``token_limit``."""
    provider: str | None = None
    """Who runs the enhancer."""
    partials: tuple[PartRef, ...] = ()
    """What ``{{> name}}`` means."""
    extends: PartRef | None = None
    """The template whose text this one takes over, with its own blocks in it."""
    metadata: FrozenDict = EMPTY
    note: str = ""
    """Why this version was made."""
    author: str = ""
    created_at: str = ""
    content_sha256: str = ""

    @property
    def version_id(self) -> str:
        """The id of this version: ``<template_id>@<version>``."""
        return f"{self.template_id}@{self.version}"

    @property
    def ref(self) -> PartRef:
        """The version as others pin it."""
        return (self.name, self.version)


class Labelled(msgspec.Struct, frozen=True):
    """A version that holds a label."""

    label: str
    version: TemplateVersion


def content_hash(version: TemplateVersion) -> str:
    """SHA-256 of the version's content as canonical JSON, in hex."""
    return sha256(to_json(content_of(version))).hexdigest()


def content_of(version: TemplateVersion) -> dict[str, Any]:
    """The parts of a version that decide what it renders to, as plain data."""
    return {name: msgspec.to_builtins(getattr(version, name)) for name in _CONTENT}


def sealed(version: TemplateVersion) -> TemplateVersion:
    """The version with its content hash."""
    return msgspec.structs.replace(version, content_sha256=content_hash(version))
