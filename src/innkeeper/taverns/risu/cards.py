"""Cards: the prompt template, card by card, and the order of sections of a prompt without one (`risuai.md` 12.4)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import msgspec

from innkeeper.prompt.allowance import charge
from innkeeper.prompt.block import Origin, OriginAsset, Piece
from innkeeper.prompt.errors import FormatError, Where
from innkeeper.taverns.risu.inputs import RisuInputs
from innkeeper.taverns.risu.line import PromptLine, line, pushed, split_thoughts
from innkeeper.taverns.risu.lore.ranking import ActiveLore
from innkeeper.taverns.risu.request_flags import SLOT
from innkeeper.taverns.risu.sections import ORIGINAL, OWN_NOTE, merges, trigger_lines, with_positions
from innkeeper.taverns.risu.stored import Card
from innkeeper.text.javascript.substitution import side_of, substituted
from innkeeper.text.javascript.values import strip

Sections = Mapping[str, Sequence[PromptLine]]

WHOLE_CHAT: Final = -1000
"""The beginning of a range that means the whole chat."""

_ROLES: Final = {"bot": "assistant", "user": "user", "assistant": "assistant"}
_AUTOMATIC: Final = 3
"""The user's newest messages that get a point of the cache behind a chat card."""
_STEPS_A_LINE: Final = 60
_CHAT_ML: Final = re.compile(r"<\|im_start\|>(.*?)(?:<\|im_end\|>|$)", re.DOTALL)
_SPEAKER: Final = re.compile(r"(system|user|assistant)(?:<\|im_sep\|>|[ \n])")
ORDERED: Final = {"personaPrompt": "persona", "authorNote": "authornote"}
"""The names of sections in the order of a prompt without a template, where they are others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A template at work: ``chat`` is the history, ``memory`` what a summary of older messages says."""

    inputs: RisuInputs
    lore: Sequence[ActiveLore]
    sections: Sections
    chat: Sequence[PromptLine] = ()
    memory: Sequence[PromptLine] = ()

    def lines(self, *, merging: bool = True) -> list[PromptLine]:
        """The lines of all cards."""
        inputs = self.inputs
        lines: list[PromptLine] = []
        merged = merging and merges(inputs.model)
        automatic = inputs.db.automatic_cache_point and not any(card.type == "cache" for card in inputs.template)
        for index, card in enumerate(inputs.template):
            if card.type == "cache":
                _mark(lines, card.depth, card.role)
                continue
            pushed(lines, self._of_card(index), merges=merged)
            if card.type == "chat" and automatic:
                _mark(lines, _AUTOMATIC, "user")
        return lines

    def _of_card(self, index: int) -> Iterator[PromptLine]:
        card, inputs = self.inputs.template[index], self.inputs
        kind = card.type
        if (
            kind == "plain"
            or (kind == "jailbreak" and inputs.db.jailbreak_toggle)
            or (kind == "cot" and inputs.db.chain_of_thought)
        ):
            yield self._plain(card, index)
        elif kind in ("persona", "description", "authornote"):
            yield from self._formatted(card, index, self.sections[kind])
        elif kind == "memory":
            yield from self._formatted(card, index, self.memory)
        elif kind == "lorebook":
            yield from self.sections[kind]
        elif kind == "chat":
            yield from self._range(card)
        elif kind == "postEverything":
            yield from self.sections[kind]
            if text := inputs.prompts.post_end_inner_format:
                yield line("system", text, Origin(OriginAsset.PRESET, "postEndInnerFormat"), kind)
        elif kind == "chatML":
            yield from self._chat_ml(card, index)

    def _expanded(self, text: str, **changes: str) -> str:
        return self.inputs.expand(with_positions(self.inputs, text, self.lore, card=True), **changes)

    def _injected(self, text: str, location: str) -> str:
        """The text of a card with the entries that are merged into cards of its type."""
        for each in self.lore:
            injection = each.injection
            if injection is not None and not injection.lore and injection.location == location:
                text = injection.merged(text, each.text)
        return text

    def _plain(self, card: Card, index: int) -> PromptLine:
        location, own = card.type2 if card.type == "plain" else card.type, self.inputs.character.replace_global_note
        text = self._injected(card.text, location)
        origin = Origin(OriginAsset.PRESET, "promptTemplate", str(index))
        if card.type2 == "globalNote" and own:
            text, origin = self._injected(own, location).replace(ORIGINAL, text), OWN_NOTE
        return line(_ROLES.get(card.role, "system"), self._expanded(text, role=card.role), origin, card.type)

    def _formatted(self, card: Card, index: int, lines: Sequence[PromptLine]) -> Iterator[PromptLine]:
        if not card.inner_format:
            yield from lines
            return
        text = self._expanded(self._injected(card.inner_format, card.type))
        origin = Origin(OriginAsset.PRESET, "promptTemplate", str(index))
        before, slot, after = text.partition(SLOT)
        for each in lines:
            inner = each.pieces if slot else ()
            if slot and "$" in (content := each.content):
                context = partial(side_of, text, len(before), len(before) + len(SLOT))
                made = substituted(content, (SLOT,), context, lambda length: charge("risu", length, length))
                inner = (Piece(made, each.pieces[0].origin),)
            pieces = (Piece(before, origin), *inner, Piece(after, origin))
            yield msgspec.structs.replace(each, pieces=tuple(piece for piece in pieces if piece.text))

    def _range(self, card: Card) -> list[PromptLine]:
        count = len(self.chat)
        start = 0 if card.range_start == WHOLE_CHAT else card.range_start
        end = card.range_end if isinstance(card.range_end, int) and card.range_start != WHOLE_CHAT else count
        start, end = (max(count + at, 0) if at < 0 else at for at in (start, end))
        lines = list(self.chat[start:end]) if start < end else []
        charge("risu", _STEPS_A_LINE * (1 + len(lines)))
        if not self.inputs.prompts.send_chat_as_system or card.chat_as_original_on_system:
            return lines
        return [_as_system(each) for each in lines]

    def _chat_ml(self, card: Card, index: int) -> Iterator[PromptLine]:
        text, origin = strip(self._expanded(card.text)), Origin(OriginAsset.PRESET, "promptTemplate", str(index))
        if not text.startswith("<|im_start|>"):
            where = Where(asset="preset", path=f"promptTemplate[{index}].text")
            raise FormatError("a card of ChatML must begin with <|im_start|>", where=where)
        for role, content, thoughts in read_chat_ml(text):
            yield msgspec.structs.replace(line(role, content, origin, card.type), thoughts=thoughts)


def read_chat_ml(text: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The messages of a text in ChatML: role, content and thoughts. One without a role that is known is the user's."""
    for match in _CHAT_ML.finditer(text):
        speaker = _SPEAKER.match(match[1])
        role = speaker[1] if speaker else "user"
        content = strip(match[1][speaker.end() :] if speaker else match[1])
        content, thought = split_thoughts(content)
        yield role, strip(content), () if thought is None else (thought,)


def ordered_lines(
    inputs: RisuInputs,
    sections: Sections,
    chat: Sequence[PromptLine],
    last: Sequence[PromptLine],
    texts: Mapping[str, str],
) -> list[PromptLine]:
    """The lines of a prompt without a template. ``texts`` are those of triggers around the last message of the chat."""
    order = [name for name in inputs.db.formating_order if isinstance(name, str)]
    if "personaPrompt" not in order:
        order.insert(order.index("main") if "main" in order else 0, "personaPrompt")
    lines: list[PromptLine] = []
    for name in [*order, "postEverything"]:
        new: Sequence[PromptLine]
        if name == "chats":
            new = chat
        elif name == "lastChat":
            fixed = [msgspec.structs.replace(each, removable=False) for each in last]
            new = [*trigger_lines(texts.get("start", "")), *fixed, *trigger_lines(texts.get("historyend", ""))]
        else:
            new = sections.get(ORDERED.get(name, name), ())
        pushed(lines, new, merges=merges(inputs.model))
    return lines


def _as_system(each: PromptLine) -> PromptLine:
    if each.role not in ("user", "assistant"):
        return each
    label = each.name if (each.name or "").startswith("example_") else each.role
    prefix = () if each.name_added else (Piece(f"{label}: ", Origin(OriginAsset.ENGINE, "send_chat_as_system")),)
    return msgspec.structs.replace(each, role="system", pieces=(*prefix, *each.pieces))


def _mark(lines: list[PromptLine], depth: int, role: str) -> None:
    """Mark the last lines of a role (or of any, ``all``) as points of the cache; a negative depth marks them all."""
    for index in range(len(lines) - 1, -1, -1):
        if depth == 0:
            return
        if role in ("all", lines[index].role):
            lines[index] = msgspec.structs.replace(lines[index], cache_point=True)
            depth -= 1
