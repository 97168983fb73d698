"""Drafts for tests of the stores."""

from typing import Any

from innkeeper.library.templates.template import TemplateDraft, TemplateKey, Variable


def draft(name: str = "enhancement_sdxl_sfw", text: str = "Describe {{subject}}.", **fields: Any) -> TemplateDraft:
    """A draft; fields of the key may be given beside its own."""
    key = {"use_case": "enhancement", "job_type": "image", "target_model": "sdxl"}
    parts = ("use_case", "job_type", "target_model", "enhancer_model", "content_mode")
    key |= {part: fields.pop(part) for part in parts if part in fields}
    fields.setdefault("variables", (Variable(name="subject"),))
    return TemplateDraft(name=name, key=TemplateKey.of(**key), system_prompt=text, **fields)
