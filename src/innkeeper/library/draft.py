"""TemplateDraft: what somebody writes to make a template or a new version of one."""

from __future__ import annotations

import msgspec

from innkeeper.library.key import TemplateKey
from innkeeper.library.template import PartRef, Syntax, TemplateVersion, Variable, sealed
from innkeeper.prompt.frozen import EMPTY, FrozenDict

__all__ = ["TemplateDraft"]


class TemplateDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A template before it has an id, a number and a date. The fields are those of `TemplateVersion`."""

    name: str
    key: TemplateKey
    system_prompt: str
    syntax: Syntax = "mustache"
    variables: tuple[Variable, ...] = ()
    token_limit: int = 512
    max_output_tokens: int | None = None
    provider: str | None = None
    partials: tuple[PartRef, ...] = ()
    extends: PartRef | None = None
    metadata: FrozenDict = EMPTY
    note: str = ""
    author: str = ""
    description: str = ""

    @classmethod
    def of(cls, version: TemplateVersion, *, description: str = "") -> TemplateDraft:
        """The draft that gives a version's content again."""
        fields = msgspec.structs.asdict(version)
        for name in ("template_id", "version", "created_at", "content_sha256"):
            del fields[name]
        return cls(**fields, description=description)

    def numbered(self, template_id: str, version: int, created_at: str) -> TemplateVersion:
        """The version that it becomes, with its hash."""
        fields = msgspec.structs.asdict(self)
        del fields["description"]
        return sealed(TemplateVersion(template_id=template_id, version=version, created_at=created_at, **fields))
