"""Sections: the named parts of a prompt (main prompt, description, persona, lorebook and so on), each a list of lines.

Cards of a template, or the order of a prompt without one, say where they go (`risuai.md` 12.2).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from innkeeper.prompt.allowance import charge
from innkeeper.prompt.block import Origin, OriginAsset, Piece
from innkeeper.taverns.risu.inputs import RisuInputs, names_of
from innkeeper.taverns.risu.line import PromptLine, line
from innkeeper.taverns.risu.lore.ranking import ActiveLore
from innkeeper.taverns.risu.request_flags import SLOT

_ROLE_MARK: Final = re.compile(r"@@@?(user|assistant|system)\n")
_HIDDEN: Final = "\ue9fe"
"""Stands for the signs of a role while macros are expanded."""

_HIDDEN_MARK: Final = re.compile(rf"{_HIDDEN}(user|assistant|system)\n")
ORIGINAL: Final = "{{original}}"
_POSITION: Final = re.compile(r"\{\{position::([^{}\n]*)\}\}")
BEHIND_DESCRIPTION: Final = ("after_desc", "personality", "scenario")
_PERSONALITY: Final = "\n\nDescription of {{char}}: "
_SCENARIO: Final = "\n\nCircumstances and context of the dialogue: "
_ENGINE: Final = Origin(OriginAsset.ENGINE, "sections")

THINK_FIRST: Final = "[Before you reply, think about the scene step by step within <Thoughts></Thoughts>.]"
"""The instruction of a chain of thought; RisuAI has words of its own."""

SHOW_ASSETS: Final = "[To show a picture, write {{img::NAME}} with one of these names: "
"""The instruction on the pictures of a card that asks for it; RisuAI has words of its own."""

GO_ON: Final = "[Continue the last response]"
MERGING: Final = ("gpt", "claude")
_MERGING_NAMES: Final = ("openrouter", "reverse_proxy")


def merges(model: str) -> bool:
    """Whether system messages next to one another become one for a model."""
    return model.startswith(MERGING) or model in _MERGING_NAMES


def by_role(inputs: RisuInputs, text: str, origin: Origin, kind: str) -> list[PromptLine]:
    """The lines of a text that names roles in it (``@@user`` and so on); a system message without any."""
    # expanded as a whole, as blocks may reach over a mark; what macros print is no mark, so it gains no role
    marked = inputs.expand(_ROLE_MARK.sub(lambda match: f"{_HIDDEN}{match[1]}\n", text.replace(_HIDDEN, "")))
    marked = marked if marked.startswith((_HIDDEN, "@@")) else f"{_HIDDEN}system\n{marked}"
    parts = _HIDDEN_MARK.split(marked)
    return [line(role, part, origin, kind) for role, part in zip(parts[1::2], parts[2::2], strict=True) if part]


def main_prompt(inputs: RisuInputs) -> list[PromptLine]:
    """The main prompt, or the character's own with ``{{original}}`` for it."""
    db, own = inputs.db, inputs.character.system_prompt
    text = own.replace(ORIGINAL, db.main_prompt) if own else db.main_prompt
    if db.prompt_preprocess and db.additional_prompt:
        text = f"{text}\n{db.additional_prompt}"
    origin = Origin(OriginAsset.CHARACTER, "system_prompt") if own else Origin(OriginAsset.PRESET, "mainPrompt")
    return by_role(inputs, text, origin, "main")


def jailbreak(inputs: RisuInputs) -> list[PromptLine]:
    """The jailbreak, where it is on."""
    origin = Origin(OriginAsset.PRESET, "jailbreak")
    return by_role(inputs, inputs.db.jailbreak, origin, "jailbreak") if inputs.db.jailbreak_toggle else []


OWN_NOTE: Final = Origin(OriginAsset.CHARACTER, "post_history_instructions")
"""Where the note is from that a character has in the place of the preset's."""


def global_note(inputs: RisuInputs) -> list[PromptLine]:
    """The global note, or the character's own with ``{{original}}`` for it."""
    text, own = inputs.db.global_note, inputs.character.replace_global_note
    if own:
        return by_role(inputs, own.replace(ORIGINAL, text), OWN_NOTE, "globalNote")
    return by_role(inputs, text, Origin(OriginAsset.PRESET, "globalNote"), "globalNote")


def description(inputs: RisuInputs, lore: Sequence[ActiveLore], passages: Sequence[str] = ()) -> list[PromptLine]:
    """The character in one message, with lore before and behind it."""
    character = inputs.character
    prefix = inputs.db.description_prefix if inputs.db.prompt_preprocess else ""
    parts = [
        (prefix, Origin(OriginAsset.PRESET, "descriptionPrefix")),
        (character.desc, Origin(OriginAsset.CHARACTER, "description")),
        *((f"\n\n{passage}", Origin(OriginAsset.CHARACTER, "additionalText")) for passage in passages),
    ]
    if character.personality:
        parts += [(_PERSONALITY, _ENGINE), (character.personality, Origin(OriginAsset.CHARACTER, "personality"))]
    if character.scenario:
        parts += [(_SCENARIO, _ENGINE), (character.scenario, Origin(OriginAsset.CHARACTER, "scenario"))]
    pieces = tuple(Piece(text, origin) for part, origin in parts if (text := inputs.expand(part)))
    own = PromptLine(role="system", pieces=pieces, kind="description")
    before = [lore_line(inputs, each, lore) for each in reversed(lore) if each.position == "before_desc"]
    behind = [lore_line(inputs, each, lore) for each in lore if each.position in BEHIND_DESCRIPTION]
    return [*before, own, *behind]


def persona(inputs: RisuInputs) -> list[PromptLine]:
    """The user's persona."""
    text = inputs.db.persona_prompt
    origin = Origin(OriginAsset.PERSONA, "description")
    return [line("system", inputs.expand(text), origin, "persona")] if text else []


def authors_note(inputs: RisuInputs) -> list[PromptLine]:
    """The author's note of the chat, else the text that the template has for chats without one."""
    default = next((card.default_text for card in inputs.template if card.type == "authornote"), "")
    note, text = inputs.chat.note, inputs.chat.note or default
    origin = Origin(OriginAsset.AUTHORS_NOTE) if note else Origin(OriginAsset.PRESET, "promptTemplate", "authornote")
    return [line("system", inputs.expand(text), origin, "authornote")] if text else []


def lorebook(inputs: RisuInputs, lore: Sequence[ActiveLore]) -> list[PromptLine]:
    """The entries that have no position of their own."""
    return [lore_line(inputs, each, lore) for each in lore if not each.position and each.injection is None]


def lore_line(inputs: RisuInputs, each: ActiveLore, lore: Sequence[ActiveLore]) -> PromptLine:
    """The line of an entry."""
    text = with_positions(inputs, each.text, lore)
    entry = each.compiled.entry
    origin = Origin(OriginAsset.LOREBOOK, "content", str(entry.uid), name=entry.book or None)
    return line(each.role, inputs.expand(text), origin, "lorebook")


def with_positions(inputs: RisuInputs, text: str, lore: Sequence[ActiveLore], *, card: bool = False) -> str:
    """The text of an entry or card with ``{{position::x}}`` replaced by the entries at ``pt_x``, before any macro.

    What is deeper than the version of RisuAI fills is left out; 166.3.3 leaves it as it is.
    """
    levels = inputs.compat.nested_positions
    text = _filled(text, lore, levels or int(card))
    return _POSITION.sub("", text) if levels else text


def _filled(text: str, lore: Sequence[ActiveLore], depth: int) -> str:
    charge("lore", 1 + len(text) // 32, len(text))
    if depth <= 0 or "{{position::" not in text:
        return text

    def bodies(match: re.Match[str]) -> str:
        position = f"pt_{match[1]}"
        return "\n".join(_filled(each.text, lore, depth - 1) for each in lore if each.position == position)

    return _POSITION.sub(bodies, text)


def post_everything(inputs: RisuInputs, lore: Sequence[ActiveLore]) -> list[PromptLine]:
    """What stands behind all else: instructions, entries at depth 0, those of the assistant last."""
    lines = [*_instructions(inputs)]
    at_end = [each for each in lore if each.position == "depth" and each.depth == 0]
    for assistant in (False, True):
        lines += [lore_line(inputs, each, lore) for each in at_end if (each.role == "assistant") is assistant]
    if inputs.generation == "continue" and merges(inputs.model):
        lines.append(line("system", GO_ON, _ENGINE, "go_on"))
    return lines


def trigger_lines(text: str) -> list[PromptLine]:
    """The line of a text that triggers leave for the prompt."""
    return [line("system", text, Origin(OriginAsset.CHARACTER, "triggerscript"), "trigger")] if text else []


def with_prompt_end(lines: Sequence[PromptLine], text: str) -> list[PromptLine]:
    """What stands behind all else, with a text of triggers before the instruction to go on."""
    end = len(lines) - bool(lines and lines[-1].kind == "go_on")
    return [*lines[:end], *trigger_lines(text), *lines[end:]]


def _instructions(inputs: RisuInputs) -> Iterator[PromptLine]:
    db, character = inputs.db, inputs.character
    if db.chain_of_thought and not inputs.prompts.custom_chain_of_thought:
        yield line("system", THINK_FIRST, _ENGINE, "postEverything")
    if inputs.group is not None:
        yield line("system", f"[Write the next reply only as {inputs.name}]", _ENGINE, "postEverything")
    if inputs.generation == "impersonate":
        yield line("system", f"[Write the next message as {inputs.db.username}]", _ENGINE, "postEverything")
    if character.inlay_view_screen:
        data, emotions = character.new_gen_data, ", ".join(names_of(character.emotion_images))
        texts = {"emotion": data.get("emotionInstructions"), "imggen": data.get("instructions")}
        text = texts.get(character.view_screen)
        if isinstance(text, str) and text:
            text = text.replace(SLOT, emotions) if character.view_screen == "emotion" else text
            yield line("system", text, Origin(OriginAsset.CHARACTER, "newGenData"), "postEverything")
    if character.display_assets:
        text = f"{SHOW_ASSETS}{', '.join(character.display_assets)}]"
        yield line("system", text, Origin(OriginAsset.CHARACTER, "assets"), "postEverything")
