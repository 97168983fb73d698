"""Templates: their versions, labels and content, and what publishes them."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from innkeeper.library.templates.template import Variable
from innkeeper.prompt.tier import Tier


class TemplateSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A template in the list: its key is that of the version in production, else of the latest. ``kind`` is its use case."""

    name: str
    title: str
    kind: str
    tier: Tier
    target: str | None
    enhancer: str | None
    job_type: str | None
    labels: dict[str, int]
    latest: int
    published: int | None


class TemplateVersionView(msgspec.Struct, frozen=True, rename={"created_at": "when"}):
    """A version among those of its template. ``state``: in production, under another label, newer than that, or older."""

    version: int
    state: Literal["published", "labelled", "draft", "older"]
    labels: tuple[str, ...]
    author: str
    created_at: str
    note: str


class LabelMove(msgspec.Struct, frozen=True, rename={"from_version": "before", "to_version": "after", "at": "when"}):
    """A move of a label; null is no version."""

    label: str
    from_version: int | None
    to_version: int | None
    who: str
    why: str
    at: str


class TemplateVariable(Variable, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A variable that a template declares. ``fence`` sets its value off as data."""


class TemplateContentView(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an author writes. Parts and the parent are pinned, by name and version."""

    use_case: str
    content_mode: Tier = Tier.SFW
    target_model: str | None = None
    enhancer_model: str | None = None
    job_type: str | None = None
    provider: str | None = None
    syntax: Literal["mustache", "liquid"] = "mustache"
    system_prompt: str
    variables: tuple[TemplateVariable, ...] = ()
    token_limit: int = 512
    max_output_tokens: int | None = None
    partials: tuple[tuple[str, int], ...] = ()
    extends: tuple[str, int] | None = None
    metadata: dict[str, Any] = {}


class TemplateFinding(msgspec.Struct, frozen=True):
    """Something about a version; an error stops its publication. Lines and columns, from 1, are those of its text."""

    severity: Literal["error", "warning"]
    code: str
    message: str
    hint: str | None = None
    line: int | None = None
    column: int | None = None


class TemplateView(msgspec.Struct, frozen=True, kw_only=True):
    """A template, with the content of one version. ``tokens`` is the longest that it can become, ``window`` its reader's."""

    summary: TemplateSummary
    versions: tuple[TemplateVersionView, ...]
    moves: tuple[LabelMove, ...]
    version: int
    content: TemplateContentView
    sha256: str
    findings: tuple[TemplateFinding, ...]
    tokens: int | None
    window: int | None


class DraftRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A new version. ``base`` is the version that it was made from, which must still be the latest; null: whatever is.

    With ``check`` nothing is kept: the answer says what would be wrong with it. Equal content makes no new version.
    """

    content: TemplateContentView
    base: int | None = None
    note: str = ""
    title: str = ""
    check: bool = False


class RenderRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Fill a version with values by the names of its variables; null: the version in production, else the latest."""

    version: int | None = None
    values: dict[str, Any] = {}


class RenderedView(msgspec.Struct, frozen=True, kw_only=True):
    """A version with values in it. ``ignored`` are values that no variable takes, ``lost`` characters cut off, by variables.

    ``ranges`` are its runs, each up to a character, and the variable whose value it is; null for a template's own words.
    """

    text: str
    tokens: int | None
    ranges: tuple[tuple[int, str | None], ...]
    lost: dict[str, int]
    ignored: tuple[str, ...]


class PublishRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Let a label point at a version; null: the latest."""

    version: int | None = None
    label: str = "production"
    note: str = ""


class RollbackRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Let a label point at an earlier version; null: the one that held it before."""

    version: int | None = None
    label: str = "production"
    note: str = ""
