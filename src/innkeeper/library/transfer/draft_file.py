"""DraftFile: a template as people write it in a file, JSON or YAML, before it is a version."""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec

from innkeeper.library.errors import TransferError
from innkeeper.library.templates.template import TemplateDraft, TemplateKey, TemplateVersion, Variable
from innkeeper.library.transfer.format import read_tree, typed
from innkeeper.library.transfer.yamltext import write_yaml
from innkeeper.prompt.data import freeze

__all__ = ["DraftFile", "draft_text", "parse_draft"]


class DraftFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The fields of `TemplateDraft`, the key's beside the others."""

    name: str = ""
    description: str = ""
    use_case: str
    content_mode: Literal["sfw", "nsfw"] = "sfw"
    target_model: str | None = None
    enhancer_model: str | None = None
    job_type: str | None = None
    provider: str | None = None
    syntax: Literal["mustache", "liquid"] = "mustache"
    system_prompt: str
    variables: list[Variable] = []
    token_limit: int = 512
    max_output_tokens: int | None = None
    partials: list[tuple[str, int]] = []
    extends: tuple[str, int] | None = None
    metadata: dict[str, Any] = {}
    note: str = ""

    def draft(self, *, author: str = "") -> TemplateDraft:
        """The draft that it describes. Raises `FieldError`."""
        return TemplateDraft(
            name=self.name,
            description=self.description,
            key=TemplateKey.of(self.use_case, self.content_mode, self.target_model, self.enhancer_model, self.job_type),
            system_prompt=self.system_prompt,
            syntax=self.syntax,
            variables=tuple(self.variables),
            token_limit=self.token_limit,
            max_output_tokens=self.max_output_tokens,
            provider=self.provider,
            partials=tuple(self.partials),
            extends=self.extends,
            metadata=freeze(self.metadata),
            note=self.note,
            author=author,
        )

    @classmethod
    def of(cls, version: TemplateVersion) -> DraftFile:
        """The file that gives a version's content again; its note is left for the next one."""
        key = version.key
        return cls(
            name=version.name,
            use_case=key.use_case,
            content_mode=key.content_mode.value,
            target_model=key.target_model,
            enhancer_model=key.enhancer_model,
            job_type=key.job_type,
            provider=version.provider,
            syntax=version.syntax,
            system_prompt=version.system_prompt,
            variables=list(version.variables),
            token_limit=version.token_limit,
            max_output_tokens=version.max_output_tokens,
            partials=list(version.partials),
            extends=version.extends,
            metadata=msgspec.to_builtins(version.metadata),
        )


def parse_draft(data: bytes, *, asset: str, form: str | None = None) -> DraftFile:
    """Read a file; whether it is JSON or YAML is seen from its first character.

    Raises:
        TransferError: it is neither, or has something that does not belong; with line and column.
        LimitError: it is too large or too deep.
    """
    try:
        tree, place = read_tree(data, asset=asset, form=form)
        return typed(tree, place, DraftFile)
    except TransferError as error:
        error.hint = "nothing was saved; mend the place shown"
        raise


def draft_text(file: DraftFile, form: str = "yaml") -> bytes:
    """The file's bytes, as they are opened in an editor."""
    plain = msgspec.to_builtins(file)
    if form == "yaml":
        return write_yaml(plain)
    return json.dumps(plain, indent=2, ensure_ascii=False).encode() + b"\n"
