"""History: the chat as lines: examples, the marker of its start, the greeting, the messages (`risuai.md` 12.3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from innkeeper.prompt import Note, NoteKind
from innkeeper.prompt.allowance import AllowanceError
from innkeeper.prompt.block import Origin, OriginAsset, Piece
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import LimitError
from innkeeper.taverns.risu.inlays import TAG
from innkeeper.taverns.risu.inputs import RisuInputs
from innkeeper.taverns.risu.line import (
    EXAMPLE_MEMO,
    NEW_CHAT_MEMO,
    OPEN,
    TYPED,
    PromptLine,
    RisuMessage,
    line,
    split_thoughts,
)
from innkeeper.taverns.risu.lore.compiled import without_tags
from innkeeper.taverns.risu.request_flags import SLOT
from innkeeper.taverns.risu.triggers.run import run_triggers
from innkeeper.taverns.risu.triggers.state import TriggerInputs
from innkeeper.text.javascript.values import strip, strip_start

NEW_CHAT: Final = "[Start a new chat]"
UNKNOWN_SPEAKER: Final = "Unknown Character"
GROUP_TEMPLATE: Final = "<{{char}}'s Message>\n{{slot}}\n</{{char}}'s Message>"
_ASSET_PROMPTS: Final = re.compile(r"\{\{asset_?prompt::", re.IGNORECASE)
_ROLE: Final = {"char": "assistant"}
_ROLES: Final = ("user", "assistant", "system")
_EXAMPLES: Final = Origin(OriginAsset.CHARACTER, "mes_example")
_ENGINE: Final = Origin(OriginAsset.ENGINE, "history")


def expanded_messages(inputs: RisuInputs) -> list[RisuMessage]:
    """The messages with their macros expanded, one after the other: they may write variables, and are kept as they are then.

    What is neither the user's nor the character's is not expanded.
    """
    messages, seen = list(inputs.all_messages), [message.stored for message in inputs.all_messages]
    inputs.expand.scope = msgspec.structs.replace(inputs.expand.scope, messages=seen)
    for index, message in enumerate(messages):
        if message.role in ("char", "user") and ("{" in message.data or "<" in message.data):
            data = inputs.expand(message.data, run_variables=True)
            messages[index] = msgspec.structs.replace(message, data=data)
            seen[index] = messages[index].stored
    return messages


class TriggeredChat(msgspec.Struct, frozen=True):
    """What triggers leave: the messages, texts for the prompt (``start`` …), and the tokens of these."""

    messages: Sequence[RisuMessage]
    prompts: Mapping[str, str] = EMPTY
    tokens: int = 0
    stops: bool = False
    asks_again: bool = False
    notes: tuple[Note, ...] = ()


def triggered(
    inputs: RisuInputs, mode: str, messages: Sequence[RisuMessage], count: Callable[[str], int]
) -> TriggeredChat:
    """Run the triggers of a mode on messages. Those that they change are the character's words from then on."""
    if not inputs.triggers:
        return TriggeredChat(messages)
    seen = [message.stored for message in messages]
    before = {id(each): message for each, message in zip(seen, messages, strict=True)}
    character = inputs.character
    trigger_inputs = TriggerInputs(
        scope=msgspec.structs.replace(inputs.expand.scope, messages=seen),
        lorebook=[entry for entry in character.global_lore if isinstance(entry, Mapping)],
        author_note=inputs.chat.note,
        global_note=character.replace_global_note,
        count=count,
    )
    try:
        outcome = run_triggers(inputs.triggers, mode, trigger_inputs)
    except LimitError as error:
        if isinstance(error, AllowanceError):
            raise
        return TriggeredChat(messages, notes=(Note(NoteKind.LIMIT, f"triggers are given up: {error.message}"),))
    if outcome is None:
        return TriggeredChat(messages)
    inputs.variables.update({name: value for name, value in outcome.variables.items() if value is not None})
    origin = Origin(OriginAsset.CHARACTER, "triggerscript")
    changed = [
        before.get(id(each))
        or RisuMessage(
            role=str(each["role"]),
            data=str(each["data"]),
            id=str(each.get("chatId") or f"trigger-{index}"),
            origin=origin,
        )
        for index, each in enumerate(outcome.messages)
    ]
    unkept = [name.replace("_", " ") for name in _UNKEPT if getattr(outcome, name) is not None]
    notes = [Note(NoteKind.IGNORED, f"what triggers make of {', '.join(unkept)} is not kept")] if unkept else []
    return TriggeredChat(
        changed, outcome.prompts, outcome.tokens, outcome.stop_sending, outcome.send_prompt, (*outcome.notes, *notes)
    )


_UNKEPT: Final = ("lorebook", "author_note", "global_note", "description", "persona")
"""What triggers change for the prompts after this one: the parts of this one are made before they run."""


def typed_messages(inputs: RisuInputs, count: Callable[[str], int]) -> list[RisuMessage]:
    """The messages with the new one as it goes into the chat: after the triggers and the scripts for what is typed."""
    if not inputs.all_messages or inputs.all_messages[-1].id != TYPED:
        return list(inputs.all_messages)
    chat = triggered(inputs, "input", inputs.all_messages[:-1], count)
    inputs.notes.extend(chat.notes)
    new = inputs.all_messages[-1]
    text = inputs.edit(new.data, len(chat.messages), "user", "editinput").text
    return [*chat.messages, msgspec.structs.replace(new, data=text)]


def example_lines(inputs: RisuInputs) -> list[PromptLine]:
    """The example messages of the card. Text before the first speaker, and behind a mark of a start, is left out."""
    lines: list[PromptLine] = []
    marks = ("{{char}}:", "<bot>:", f"{inputs.character.name}:")
    speakers = dict.fromkeys(marks, ("assistant", "example_assistant"))
    speakers |= dict.fromkeys(("{{user}}:", "<user>:"), ("user", "example_user"))
    for text in map(strip, inputs.character.example_message.split("\n")):
        lowered = text.lower()
        if lowered == "<start>":
            lines.append(line("system", NEW_CHAT, _EXAMPLES, "examples", memo=EXAMPLE_MEMO))
            continue
        speaker = next((who for mark, who in speakers.items() if lowered.startswith(mark)), None)
        if speaker is not None:
            content = strip_start([*text.split(":"), ""][1])
            lines.append(line(speaker[0], content, _EXAMPLES, "examples", name=speaker[1]))
        elif lines and lines[-1].memo is None:
            pieces = (*lines[-1].pieces, Piece(f"\n{text}", _EXAMPLES))
            lines[-1] = msgspec.structs.replace(lines[-1], pieces=pieces)
    replace = msgspec.structs.replace
    return [replace(each, pieces=(Piece(inputs.expand(each.content), _EXAMPLES),)) for each in lines]


def marker_lines(inputs: RisuInputs) -> list[PromptLine]:
    """The marker of the start of the chat; models of NovelAI have none unless it is asked for."""
    if inputs.model.startswith("novelai") and not inputs.prompts.trim_start_new_chat:
        return []
    return [line("system", NEW_CHAT, _ENGINE, "chat", memo=NEW_CHAT_MEMO)]


def greeting_lines(inputs: RisuInputs) -> list[PromptLine]:
    """The greeting as the assistant's message. Groups, and chats whose beginning is cut off, have none."""
    if inputs.group is not None or inputs.is_cut:
        return []
    text = inputs.greeting
    if text is None:
        text = inputs.edit(inputs.expand(inputs.character.greeting(inputs.chat.fm_index)), -1, "char").text
    named = inputs.prompts.send_name
    content = f"{inputs.name}: {text}" if named else text
    origin = Origin(OriginAsset.CHARACTER, "first_mes")
    return [msgspec.structs.replace(line("assistant", content, origin, "greeting"), name_added=named)]


def message_lines(inputs: RisuInputs, messages: Sequence[RisuMessage]) -> list[PromptLine]:
    """The messages of the chat that are not left out, each with its thoughts beside it."""
    shown = [message for message in messages if not message.disabled]
    as_written = not (inputs.group or inputs.prompts.send_name or inputs.has_scripts("editprocess"))
    if not as_written:
        return [_message_line(inputs, message, index, len(shown)) for index, message in enumerate(shown)]
    return [
        known or _plain_line(message) or _message_line(inputs, message, index, len(shown))
        for index, (message, known) in enumerate(zip(shown, _LINES.get_all(map(id, shown)), strict=True))
    ]


_LINES: Final[BoundedCache[int, PromptLine]] = BoundedCache(items=128 * 1024)
"""The lines of messages that are sent as they are written, by the messages' identity."""


def _plain_line(message: RisuMessage) -> PromptLine | None:
    if "{{" in message.data or OPEN in message.data:
        return None
    plain = _line_of(message, _ROLE.get(message.role, message.role), message.data, message.thoughts)
    return _LINES.put(id(message), plain, len(message.data), alive=message)


def _message_line(inputs: RisuInputs, message: RisuMessage, index: int, count: int) -> PromptLine:
    role = _ROLE.get(message.role, message.role)
    if message.role not in ("char", "user"):
        return _line_of(message, role, message.data, message.thoughts)
    edited = inputs.edit(message.data, index, message.role)
    text = edited.text
    if edited.stored is not None and message.id is not None:
        inputs.rewrites[message.id] = edited.stored
    if "{{" in text:
        text = without_tags(without_tags(text, TAG), _ASSET_PROMPTS)
    name = _label(inputs, message)
    if name is not None:
        template = inputs.expand(inputs.db.group_template or GROUP_TEMPLATE, char=name)
        asked = inputs.db.group_other_bot_role
        text, role = template.replace(SLOT, text, 1), asked if asked in _ROLES else "assistant"
    thoughts = message.thoughts
    text, thought = split_thoughts(text)
    depth = inputs.prompts.max_thought_tag_depth
    if thought is not None and (depth == -1 or depth - count <= index):
        thoughts += (thought,)
    return _line_of(message, role, text, thoughts)


def _line_of(message: RisuMessage, role: str, text: str, thoughts: tuple[str, ...]) -> PromptLine:
    return PromptLine(
        role=role,
        pieces=(Piece(text, message.origin),),
        kind="chat",
        memo=message.id,
        removable=True,
        thoughts=thoughts,
        attachments=message.attachments,
        metadata=message.metadata,
    )


def _label(inputs: RisuInputs, message: RisuMessage) -> str | None:
    """The name that is put around a message, if one is."""
    settings, group = inputs.prompts, inputs.group
    if group is None:
        return inputs.name if settings.send_name else None
    is_other = message.speaker != inputs.character.cha_id
    if not (is_other or inputs.db.group_other_bot_role == "assistant" or settings.send_name):
        return None
    return inputs.speaker_names.get(message.speaker, UNKNOWN_SPEAKER)
