"""Steps ``entries`` and ``pinned_groups``: the preset's prompts, their order and their texts.

``entries`` decides which prompts and markers take part, and in which order; it leaves a tuple of `PromptTurn`.
``pinned_groups`` expands the text of each; it leaves `Prompt` values by identifier, in prompt order.
"""

from __future__ import annotations

from typing import Final

import msgspec

from innkeeper.content.persona import PersonaPosition
from innkeeper.content.preset import PromptItem, PromptPosition
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.origin import Origin, OriginAsset, Piece
from innkeeper.prompt.state import State
from innkeeper.prompt.step import NoConfig, Step
from innkeeper.taverns.silly.expansion import Pieces, in_lines, pieces_of, text_of
from innkeeper.taverns.silly.lore import LoreTexts
from innkeeper.taverns.silly.scene import Scene, scene_of

__all__ = ["DEFAULT_ORDER", "ENTRIES", "IN_PROMPT", "MARKERS", "PINNED_GROUPS", "Prompt", "PromptTurn", "prompts_of"]

MARKERS: Final = (
    "worldInfoBefore", "personaDescription", "charDescription", "charPersonality", "scenario", "worldInfoAfter",
    "dialogueExamples", "chatHistory",
)  # fmt: skip
"""Prompts that stand for text from elsewhere, by SillyTavern's identifiers."""

DEFAULT_ORDER: Final = (
    "main", "worldInfoBefore", "personaDescription", "charDescription", "charPersonality", "scenario",
    "enhanceDefinitions", "nsfw", "worldInfoAfter", "dialogueExamples", "chatHistory", "jailbreak",
)  # fmt: skip
"""The order a preset without one gets."""

_OFF_BY_DEFAULT: Final = frozenset({"enhanceDefinitions"})
_FORCED_RELATIVE: Final = frozenset({"chatHistory", "dialogueExamples"})


class PromptTurn(msgspec.Struct, frozen=True):
    """A prompt in its turn. ``on`` is false for one that is disabled or not for this type: its place remains."""

    item: PromptItem
    on: bool = True


def _run_entries(state: State, _config: NoConfig) -> None:
    """Order the prompts, drop unknown ones, switch off those that are not for this generation type."""
    inputs = scene_of(state).inputs
    preset, type_ = inputs.preset, inputs.type
    order = preset.order_for()
    named = [(item.identifier, item.enabled) for item in order] if order is not None else _default()
    items = {item.identifier: item for item in reversed(preset.prompts)}
    turns: dict[str, PromptTurn] = {}
    for identifier, enabled in named:
        item = items.get(identifier) or _builtin(identifier)
        if item is None:
            state.note(NoteKind.IGNORED, f"the prompt order names {identifier!r}, which the preset does not have")
            continue
        if item.identifier in _FORCED_RELATIVE and item.position is not PromptPosition.RELATIVE:
            item = msgspec.structs.replace(item, position=PromptPosition.RELATIVE)
        wanted = not item.triggers or type_ in item.triggers
        turns.setdefault(identifier, PromptTurn(item, enabled and wanted))
    state.scratch["entries"] = tuple(turns.values())
    state.stat("prompt_entries", len(turns))


def _default() -> list[tuple[str, bool]]:
    return [(identifier, identifier not in _OFF_BY_DEFAULT) for identifier in DEFAULT_ORDER]


def _builtin(identifier: str) -> PromptItem | None:
    """A marker that a preset need not list to order it."""
    if identifier in DEFAULT_ORDER:
        return PromptItem(identifier=identifier, marker=identifier in MARKERS, system_prompt=True)
    return None


ENTRIES: Final = Step("entries", _run_entries, NoConfig)


FIXED_FIRST: Final = (
    "worldInfoBefore", "main", "worldInfoAfter", "charDescription", "charPersonality", "scenario", "personaDescription",
)  # fmt: skip
"""The prompts that get their room first, in this order (`sillytavern.md` 47)."""


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt with its text after macros. ``in_chat`` ones go to ``depth``; ``on`` is false for a place without text."""

    identifier: str
    role: str
    pieces: Pieces = ()
    on: bool = True
    in_chat: bool = False
    depth: int = 4
    order: int = 100

    @property
    def content(self) -> str:
        """The text."""
        return text_of(self.pieces)


def prompts_of(state: State) -> dict[str, Prompt]:
    """What this step made."""
    prompts: dict[str, Prompt] = state.made_by("pinned_groups")
    return prompts


def _run_pinned_groups(state: State, _config: NoConfig) -> None:
    """Expand markers first (personality and scenario through their formats), then the preset's prompts in order."""
    scene = scene_of(state)
    turns: tuple[PromptTurn, ...] = state.made_by("entries")
    marked = _marked(scene, state.made_by("lore"))
    prompts = {turn.item.identifier: _prompt(scene, turn, marked) for turn in turns}
    for identifier, pieces in marked.items():
        if identifier not in prompts and (pieces or identifier != "personaDescription"):
            prompts[identifier] = Prompt(identifier=identifier, role="system", pieces=pieces)
    state.scratch["pinned_groups"] = prompts
    state.stat("pinned_groups", len(prompts))


def _marked(scene: Scene, lore: LoreTexts) -> dict[str, Pieces]:
    texts, preset = scene.texts.pieces, scene.inputs.preset
    marked = {"charPersonality": texts["personality"], "scenario": texts["scenario"]}
    for name, form, field in (
        ("charPersonality", preset.personality_format, "personality_format"),
        ("scenario", preset.scenario_format, "scenario_format"),
    ):
        if marked[name] and form:
            formatted = scene.expand.written(form, Origin(OriginAsset.PRESET, field))
            marked[name] = tuple(piece for part in formatted for piece in _inserted(part, marked[name]))
    return {
        "worldInfoBefore": _formatted(scene, lore.before),
        "worldInfoAfter": _formatted(scene, lore.after),
        "charDescription": texts["description"],
        **marked,
        "personaDescription": texts["persona"] if scene.inputs.persona.position in IN_PROMPT else (),
    }


IN_PROMPT: Final = (PersonaPosition.IN_PROMPT, PersonaPosition.AFTER_CHAR)
"""Where the persona's description is among the prompts."""


def _inserted(part: Piece, inserted: Pieces) -> Pieces:
    """A part of a format; where a macro stands for the text that is formatted, that text."""
    return inserted if part.origin.macro and part.text == text_of(inserted) else (part,)


def _formatted(scene: Scene, entries: tuple[Pieces, ...]) -> Pieces:
    """Lore through ``wi_format``: every ``{0}`` is the text; a blank format is none."""
    form, text = scene.inputs.preset.wi_format, in_lines(*entries)
    if not text or not form.strip():
        return text
    first, *rest = (pieces_of(part, Origin(OriginAsset.PRESET, "wi_format")) for part in form.split("{0}"))
    return (*first, *(piece for part in rest for piece in (*text, *part)))


def _prompt(scene: Scene, turn: PromptTurn, marked: dict[str, Pieces]) -> Prompt:
    item = turn.item
    pieces = marked.get(item.identifier)
    if not turn.on:
        pieces = ()
    return Prompt(
        identifier=item.identifier,
        role=item.role or "system",
        pieces=_written(scene, item) if pieces is None else scene.expand.pieces(pieces),
        on=turn.on,
        in_chat=item.position is PromptPosition.IN_CHAT,
        depth=item.depth,
        order=item.order,
    )


def _written(scene: Scene, item: PromptItem) -> Pieces:
    """A prompt's own text; for the main and the tail prompt the card's in its place, with ``{{original}}`` in it."""
    own = scene.expand.written(item.content, Origin(OriginAsset.PRESET, "prompts", item.identifier))
    override = scene.texts.pieces[_OVERRIDES[item.identifier]] if item.identifier in _OVERRIDES else ()
    return scene.expand.pieces(override, original=text_of(own)) if override and not item.forbid_overrides else own


_OVERRIDES: Final = {"main": "system", "jailbreak": "jailbreak"}

PINNED_GROUPS: Final = Step("pinned_groups", _run_pinned_groups, NoConfig)
