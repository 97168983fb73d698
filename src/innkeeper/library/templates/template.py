"""A template: its key, its immutable versions, the draft it is made from, and all of that as plain data.

`TemplateKey` says what a template is for, in the five parts by which one is chosen; `Level` names how near a match is. A
`TemplateVersion` never changes; which one is used is said by labels (`Labelled`), which move. Its content, and so its hash,
covers key, text, syntax, variables, budgets, partials, parent and metadata; not who made it, when, or why. `TemplateDraft` is
what an author writes; `read_version` and `write_version` are the form that files and snapshots hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final, Literal

import msgspec

from innkeeper.gate.tier import Tier
from innkeeper.library.errors import FieldError
from innkeeper.prompt.data import EMPTY, FrozenDict, freeze, to_json
from innkeeper.prompt.errors import FormatError, Where
from innkeeper.prompt.typed.misfit import Misfit
from innkeeper.prompt.typed.once import convert

PARTIAL: Final = "partial"
"""The use case of a template that only others include."""


class MatchLevel(StrEnum):
    """On which level a template was found; tried from the first to the last (reference §2.6)."""

    EXACT = "exact"
    """The target's own key, and the enhancer asked for (its key, then its family)."""
    ANY_ENHANCER = "any_enhancer"
    """The target's own key; a row for any enhancer, then one for another."""
    FAMILY = "family"
    """The target's family."""
    UNIVERSAL = "universal"
    """No target: for every model."""
    LOWER_TIER = "lower_tier"
    """The four above again, in a lower tier; never in a higher one."""
    BUILTIN = "builtin"
    """A template that comes with Innkeeper."""
    PASSTHROUGH = "passthrough"
    """No template: the text stays as it is, and says so. Only for `enhancement`."""
    UNAVAILABLE = "unavailable"
    """No template: an error."""

    @property
    def number(self) -> int:
        """The document's integer fallback level: 0 for `exact` to 7 for `unavailable`."""
        return _NUMBERS[self]


_NUMBERS: Final = {level: number for number, level in enumerate(MatchLevel)}


class TemplateKey(msgspec.Struct, frozen=True, kw_only=True):
    """The selection key. None in a part means *any*; an empty text is None (`TemplateKey.of`)."""

    use_case: str
    content_mode: Tier = Tier.SFW
    target_model: str | None = None
    """The model that consumes the text: its key, a family, or None, universal."""
    enhancer_model: str | None = None
    """The model that writes the text: its key, a family, or None for any."""
    job_type: str | None = None

    @classmethod
    def of(
        cls,
        use_case: str,
        content_mode: object = Tier.SFW,
        target_model: str | None = None,
        enhancer_model: str | None = None,
        job_type: str | None = None,
    ) -> TemplateKey:
        """A key from outside data: blanks are None.

        Raises `FieldError` for an unknown tier: a template of one must not pass for a general one.
        """
        try:
            tier = Tier(str(content_mode))
        except ValueError:
            known = ", ".join(Tier)
            raise FieldError(f"content_mode is one of {known}, not {content_mode!r}") from None
        return cls(
            use_case=use_case.strip(),
            content_mode=tier,
            target_model=model_key(target_model),
            enhancer_model=model_key(enhancer_model),
            job_type=model_key(job_type),
        )

    @property
    def reader(self) -> str | None:
        """The model that reads a template's text: who writes with it, else the target."""
        return self.enhancer_model or self.target_model

    @property
    def text(self) -> str:
        """The key as one text, different for different keys: what a unique index can hold."""
        parts = (self.use_case, self.content_mode.value, self.target_model, self.enhancer_model, self.job_type)
        return to_json(parts).decode()

    def __str__(self) -> str:
        """For people: ``enhancement / image / sdxl / any / sfw``."""
        parts = (self.use_case, self.job_type, self.target_model, self.enhancer_model)
        return " / ".join([*(part or "any" for part in parts), self.content_mode.value])


def model_key(value: str | None) -> str | None:
    """A part of a key without surrounding blanks; None for an empty one."""
    return (value or "").strip() or None


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


OPERATOR: Final = "operator"
"""The source of variables that only the operator's settings fill."""


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


class TemplateContent(msgspec.Struct, frozen=True, kw_only=True):
    """What an author writes. ``token_limit`` is the target budget of what is made with it, in the target's tokens."""

    name: str
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

    @property
    def pins(self) -> tuple[PartRef, ...]:
        """The templates that it names: its partials and the one that it extends."""
        return self.partials if self.extends is None else (*self.partials, self.extends)


class TemplateVersion(TemplateContent, frozen=True, kw_only=True):
    """One version of a template. It never changes."""

    template_id: str
    version: int
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


class TemplateEntry(msgspec.Struct, frozen=True):
    """A line in the list of templates: ``shown`` is the version with ``production``, else the latest."""

    name: str
    description: str
    latest_version: int
    labels: dict[str, int]
    shown: TemplateVersion


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


class TemplateDraft(TemplateContent, frozen=True, kw_only=True):
    """A template before it has an id, a number and a date."""

    description: str = ""

    @classmethod
    def of(cls, version: TemplateVersion, *, description: str = "") -> TemplateDraft:
        """The draft that gives a version's content again."""
        return cls(**_content(version), description=description)

    def numbered(self, template_id: str, version: int, created_at: str) -> TemplateVersion:
        """The version that it becomes, with its hash."""
        return sealed(
            TemplateVersion(template_id=template_id, version=version, created_at=created_at, **_content(self))
        )


def _content(content: TemplateContent) -> dict[str, Any]:
    return {name: getattr(content, name) for name in TemplateContent.__struct_fields__}


class FlatTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a template as rows and files hold it: the parts of its key beside the other fields."""

    use_case: str
    content_mode: Literal["sfw", "nsfw"] = "sfw"
    target_model: str | None = None
    enhancer_model: str | None = None
    job_type: str | None = None
    provider: str | None = None
    system_prompt: str
    syntax: Syntax = "mustache"
    variables: tuple[Variable, ...] = ()
    token_limit: int = 512
    max_output_tokens: int | None = None
    partials: tuple[PartRef, ...] = ()
    extends: PartRef | None = None
    metadata: dict[str, Any] = {}
    note: str = ""

    @property
    def key(self) -> TemplateKey:
        """The selection key; blanks are None."""
        return TemplateKey.of(self.use_case, self.content_mode, self.target_model, self.enhancer_model, self.job_type)

    def content(self, key: TemplateKey | None = None) -> dict[str, Any]:
        """The fields of a `TemplateContent`, but for its name and author. ``key`` is taken instead of its own."""
        fields = {name: getattr(self, name) for name in _BESIDE_KEY}
        return {**fields, "key": key or self.key, "metadata": freeze(self.metadata)}


_BESIDE_KEY: Final = tuple(name for name in FlatTemplate.__struct_fields__ if name in TemplateContent.__struct_fields__)


def flat_fields(content: TemplateContent) -> dict[str, Any]:
    """The fields of a `FlatTemplate`."""
    key = msgspec.structs.asdict(content.key)
    return {name: getattr(content, name) for name in _BESIDE_KEY} | key | {"content_mode": key["content_mode"].value}


def read_version(data: Any, *, asset: str | None = None) -> TemplateVersion:
    """A version from plain data. Blank parts of its key are None.

    Raises:
        FormatError: a field is missing or of the wrong kind; an unknown tier is one. ``where`` has its path.
    """
    try:
        version = convert(data, TemplateVersion, dec_hook=_hook)
    except Misfit as error:
        raise FormatError(f"not a template: {error.problem}", where=Where(asset, error.path or None)) from error
    key = version.key
    plain = TemplateKey.of(key.use_case, key.content_mode, key.target_model, key.enhancer_model, key.job_type)
    return msgspec.structs.replace(version, key=plain)


def _hook(_kind: type, value: Any) -> Any:
    if not isinstance(value, Mapping):
        msg = f"Expected `object`, got `{type(value).__name__}`"
        raise TypeError(msg)  # msgspec adds the path
    return freeze(dict(value))


def write_version(version: TemplateVersion) -> dict[str, Any]:
    """The version as plain data, all fields; `read_version` gives back an equal one."""
    return {name: msgspec.to_builtins(getattr(version, name)) for name in version.__struct_fields__}
