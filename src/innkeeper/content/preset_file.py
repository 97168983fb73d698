"""PresetFile: the presets and templates of one file, be it one of them or a master export of several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from innkeeper.content.document import Document
from innkeeper.content.errors import PresetError, WrongKindError
from innkeeper.content.finding import Finding, Path
from innkeeper.content.json_asset import JsonAsset
from innkeeper.content.limits import LIMITS, Limits
from innkeeper.content.preset import Preset
from innkeeper.content.shapes import kind_of_json
from innkeeper.content.templates import ContextTemplate, InstructTemplate, ReasoningTemplate, SystemPrompt
from innkeeper.content.text_preset import TextPreset
from innkeeper.prompt.errors import Where

__all__ = ["PresetFile", "read_preset_file"]


class PresetFile(msgspec.Struct, frozen=True, kw_only=True):
    """What a file of settings holds; ``None`` for what it does not."""

    kind: str
    preset: Preset | None = None
    context: ContextTemplate | None = None
    instruct: InstructTemplate | None = None
    sysprompt: SystemPrompt | None = None
    reasoning: ReasoningTemplate | None = None
    text_preset: TextPreset | None = None
    document: Document = Document(None)

    @property
    def parts(self) -> tuple[JsonAsset, ...]:
        """Everything in it."""
        found = (self.preset, self.context, self.instruct, self.sysprompt, self.reasoning, self.text_preset)
        return tuple(part for part in found if part is not None)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What in any part was not as it should be."""
        return tuple(dict.fromkeys(finding for part in self.parts for finding in part.findings))


_SINGLE: Final[Mapping[str, tuple[str, type[JsonAsset]]]] = {
    "chat preset": ("preset", Preset),
    "tavernkit preset": ("preset", Preset),
    "context template": ("context", ContextTemplate),
    "instruct template": ("instruct", InstructTemplate),
    "system prompt": ("sysprompt", SystemPrompt),
    "reasoning template": ("reasoning", ReasoningTemplate),
    "text preset": ("text_preset", TextPreset),
}
"""Kinds of JSON that are one preset or template."""

_MASTER: Final[Mapping[str, tuple[str, type[JsonAsset]]]] = {
    "instruct": ("instruct", InstructTemplate),
    "context": ("context", ContextTemplate),
    "sysprompt": ("sysprompt", SystemPrompt),
    "reasoning": ("reasoning", ReasoningTemplate),
    "preset": ("text_preset", TextPreset),
}
"""The parts of a master export."""


def read_preset_file(document: Document, *, limits: Limits = LIMITS, name: str | None = None) -> PresetFile:
    """The presets and templates of a document.

    Raises:
        PresetError: there is none.
        WrongKindError: it is something else that is read elsewhere.
    """
    kind = kind_of_json(document.tree)
    if kind == "master export":
        parts = {
            attribute: cls.read(document, (key,), limits=limits)
            for key, (attribute, cls) in _MASTER.items()
            if isinstance(document.tree.get(key), dict)
        }
        return _file(kind, parts, document)
    if kind in _SINGLE:
        attribute, cls = _SINGLE[kind]
        return _file(kind, {attribute: cls.read(document, limits=limits)} | _old_sysprompt(document, kind), document)
    if kind != "unknown":
        raise WrongKindError(f"this is not a preset but a {kind}", found=kind, where=Where(asset=name))
    hint = "a chat preset has `prompts`, a context template `story_string`, an instruct template sequences"
    raise PresetError("this JSON is no preset or template", where=Where(asset=name), hint=hint)


def _old_sysprompt(document: Document, kind: str) -> dict[str, Any]:
    """The system prompt that instruct templates had in them before it became a template of its own."""
    path: Path = ()
    if kind != "instruct template" or not isinstance(document.tree.get("system_prompt"), str):
        return {}
    return {"sysprompt": SystemPrompt.read(document, path)}


def _file(kind: str, parts: Mapping[str, Any], document: Document) -> PresetFile:
    return PresetFile(kind=kind, document=document, **parts)
