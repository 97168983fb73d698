"""The history's messages, newest first, with texts at their depths.

A line becomes messages here: with its speaker in the content, in the name field or nowhere, as the preset says
(`sillytavern.md` 54, 55), and with stored reasoning in front of the newest lines that have some.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from itertools import takewhile
from typing import Any, Final

import msgspec

from innkeeper.content.preset import NamesBehavior
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.block import Block
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.data import EMPTY, FrozenDict, freeze
from innkeeper.prompt.run.state import State
from innkeeper.taverns.assets import assets_of
from innkeeper.taverns.silly.cache_friendly import Cut, is_before
from innkeeper.taverns.silly.card_texts import without_returns
from innkeeper.taverns.silly.chat.prompts import Prompt, prompts_of
from innkeeper.taverns.silly.chat.room import Room, is_empty, message_block
from innkeeper.taverns.silly.expansion import LINE_BREAK, Pieces, in_lines, pieces_of, text_of, trimmed
from innkeeper.taverns.silly.injection import MAX_DEPTH, ROLE_ORDER, InjectedText, Injections, note_depths
from innkeeper.taverns.silly.inputs import SillyInputs
from innkeeper.taverns.silly.lines.line import Line, note_calls, without_calls
from innkeeper.taverns.silly.lore import read_carry
from innkeeper.taverns.silly.scene import Scene, reasoned, scene_of
from innkeeper.taverns.silly.scratch import INJECTIONS


class History:
    """The history newest first, with texts at depths in their places, which fills the room there is.

    ``continued`` is the message to go on with, taken out and as it is written; ``prefill`` what a reply begins with before it;
    ``cut`` where a turn before has cut the chat.
    """

    def __init__(self, scene: Scene, texts: Iterable[InjectedText], prefill: str = "", cut: Cut | None = None) -> None:
        self.continued: tuple[Block, ...] = ()
        self._scene, self._skipped, self.last_text = scene, 0, ""
        self._known, self._placed = _said(*scene.voice), list[Block]()
        lines = list(scene.inputs.spoken(scene.lines))
        before = sum(is_before(line, cut, scene) for line in lines) if cut is not None else 0
        self._cut, self._lines = (lines[:before], lines[before:]) if before < len(lines) else ([], lines)
        continued = self._lines.pop() if scene.type == "continue" and self._lines else None
        self._texts: dict[int, list[InjectedText]] = {}
        for text in texts:
            if 0 <= text.depth <= MAX_DEPTH:
                self._texts.setdefault(text.depth, []).append(text)
        self._injected: list[Block] = []
        if continued is not None:
            self._continue(without_calls(continued), prefill)

    def _continue(self, line: Line, prefill: str) -> None:
        """Take out the message to go on with: without a name where a nudge follows it."""
        scene = self._scene
        if scene.inputs.preset.continue_prefill:
            self.continued = _after_prefill(_blocks(scene, line, expand=False), prefill)
            return
        self.last_text, self._skipped = reasoned(scene, line), 1
        blocks = _spoken(scene, line, _named(scene, line, self.last_text.replace("\r", "")))
        self.continued = tuple(msgspec.structs.replace(block, name=None, slot="continue") for block in blocks)

    def fill(self, room: Room) -> None:
        """Place messages from the newest on, until the first that does not fit.

        The macros of a message are resolved when its turn comes, so those beyond the room have no effect; what is left
        out is recorded as it is written. An empty one is not sent, but counts for depths.
        """
        for index, unit in enumerate(self._units(room)):
            if not index % _SLICE:
                charge("macro_expansion", _SLICE * _LINE_STEPS)
            if not room.take(unit):
                # the line that did not fit is still among the rest; an injected text has left it
                room.omit([*(block for block in unit if block.source == "injection"), *self.rest(room)])
                break
            self._placed += [block for block in unit if block.content or not is_empty(block)]
        room.omit(self._written(self._cut, room))
        self._cut = []
        room.open("chatHistory")[:0] = reversed(self._placed)

    def _units(self, room: Room) -> Iterator[list[Block]]:
        """What is placed together (a call with its results), newest first; a filler first when the newest is the assistant's."""
        units = self._lined_up(room)
        newest = next(units, None)
        if newest is None:
            return
        text = self._scene.inputs.preset.send_if_empty
        if text and newest[0].role in ("assistant", "tool"):  # `sillytavern.md` 53
            yield [message_block("user", text, "send_if_empty", "chatHistory", group="history")]
        yield newest
        yield from units

    def _lined_up(self, room: Room) -> Iterator[list[Block]]:
        """The units without a filler. Behind the first, lines that are known from other builds are placed many at once."""
        depth = many = 0
        keeps = not self._scene.expand.counts_plain  # else no line is plain: each changes something
        for skipped in range(self._skipped):
            yield from self._at(skipped)
            depth = skipped + 1
        while self._lines:
            if depth in self._texts:
                yield from self._at(depth)
            if many:
                asked = min(many, min([text for text in self._texts if text > depth], default=many + depth) - depth)
                count = self._place_known(asked, room)
                many = 4 * many if count == asked else 1
                depth += count
                if count:
                    continue
            line = self._lines[-1]
            blocks = _blocks(self._scene, line)
            if blocks:
                yield blocks
                depth += 1
                if keeps:
                    many = many or _FEW
                    self._keep(line, blocks[0], room)
            self._lines.pop()  # only now, when the next is asked for: a line that does not fit stays in `rest`
        for deeper in sorted(self._texts):
            yield from self._at(deeper)

    def _place_known(self, most: int, room: Room) -> int:
        """Place the newest lines, at most so many, as far as they are known and fit; how many these are."""
        lines, framed = self._lines[: -most - 1 : -1], self._scene.reasoning
        if framed:
            lines = list(takewhile(lambda line: line.index not in framed, lines))
        known: list[Any] = list(takewhile(bool, self._known.get_all(map(id, lines))))
        if not known:
            return 0
        blocks, tokens = zip(*known, strict=True)
        count = room.take_first(tokens if self._scene.counted_by else list(map(room.tokens, blocks)))
        self._placed += blocks[:count]
        del self._lines[len(self._lines) - count :]
        charge("macro_expansion", count * _LINE_STEPS)
        return count

    def _keep(self, line: Line, block: Block, room: Room) -> None:
        """Keep the message of a line for other builds, if macros leave it alone."""
        scene = self._scene
        is_text = block.content and not (line.has_tools or line.attachments or line.index in scene.reasoning)
        if is_text and scene.expand.is_settled(named_text(scene.inputs, line, line.text)):
            self._known.put(id(line), (block, room.tokens(block)), len(block.content), alive=line)

    def _at(self, depth: int) -> Iterator[list[Block]]:
        texts = self._texts.pop(depth, [])
        frozen = [text for text in texts if text.frozen]
        self._injected = list(
            reversed(of_depth([text for text in texts if not text.frozen] if frozen else texts, depth))
        )
        while self._injected:
            yield [again_expanded(self._scene, self._injected.pop())]
        for text in frozen:
            yield [message_block(text.role, text.pieces, "injection", "chatHistory", group="history", depth=depth)]

    def rest(self, room: Room) -> list[Block]:
        """What no unit was made of, newest first, as it is written; afterwards nothing is left."""
        deeper = [block for depth in sorted(self._texts) for block in of_depth(self._texts[depth], depth)]
        lines = [*self._written(self._lines, room), *self._written(self._cut, room)]
        rest = [*reversed(self._injected), *lines, *deeper]
        self._lines, self._cut, self._texts, self._injected = [], [], {}, []
        return rest

    def _written(self, lines: list[Line], room: Room) -> list[Block]:
        """Lines that are left out, newest first, as they are written: their messages come again in the next turn, too."""
        charge("macro_expansion", len(lines) * _LEFT_OUT_STEPS)
        newest, framed, written = lines[::-1], self._scene.reasoning, list[Block]()
        known = self._known.get_all(map(id, newest))
        for line, pair in zip(newest, known, strict=True):
            is_known = pair is not None and line.index not in framed
            blocks = [pair[0]] if pair is not None and is_known else _blocks(self._scene, line, expand=False)
            written += blocks
            if blocks and not is_known and not self._scene.expand.counts_plain:
                self._keep(line, blocks[0], room)
        if self._scene.counted_by:
            room.recall([pair for pair in known if pair is not None])
        return written


def history_of(state: State) -> History:
    """Line the history up, newest first (`sillytavern.md` 3). Messages are expanded when `History.fill` has room for them."""
    scene, injections = scene_of(state), state.scratch[INJECTIONS]
    if not scene.inputs.calls_tools and "tool_calls" in scene.inputs.rare:
        note_calls(state, scene.lines, "the preset calls no tools", "set its function_calling")
    cut = None if scene.inputs.cache is None else read_carry(assets_of(state).lore_state).cut
    return History(scene, _depth_texts(state, scene), injections.prefill, cut)


def _after_prefill(continued: list[Block], prefill: str) -> tuple[Block, ...]:
    """The text to continue behind the preset's beginning of replies."""
    blocks = [msgspec.structs.replace(block, slot="continue") for block in continued]
    if prefill and blocks:
        blocks[-1] = blocks[-1].with_(content=f"{prefill}\n\n{blocks[-1].content}")
    return tuple(blocks)


def again_expanded(scene: Scene, block: Block) -> Block:
    """A message with its macros replaced as it stands: those of a text in the chat, and of one to continue, come up twice."""
    if scene.expand.is_settled(block.content):
        return block
    pieces = scene.expand.pieces(block.ranges())
    return block.with_(content=text_of(pieces), pieces=() if len(pieces) == 1 else pieces)


def _blocks(scene: Scene, line: Line, *, expand: bool = True) -> list[Block]:
    """A line's messages, newest first."""
    if line.has_tools:
        written = pieces_of(line.text, line.origin)
        return _tool_blocks(line, scene.expand.pieces(written) if expand else written)
    text = reasoned(scene, line)
    named = named_text(scene.inputs, line, text)
    if scene.expand.is_settled(named) and not line.pieces:
        blocks = _spoken(scene, line, named)
    else:
        pieces = _named(scene, line, text)
        blocks = _spoken(scene, line, scene.expand.pieces(pieces) if expand else pieces)
    if line.attachments and scene.media is not None:
        ready = scene.media.attachments(line, fetch=expand)
        return [msgspec.structs.replace(block, attachments=ready) for block in blocks]
    return blocks


@lru_cache(maxsize=256)
def _said(*voice: Any) -> BoundedCache[int, tuple[Block, int]]:
    """By the identity of lines whose text macros leave alone, what each is said as by this rule, and its tokens."""
    return BoundedCache(items=128 * 1024)


_FEW: Final = 64
"""Lines that are tried to be placed at once, at first."""


def _named(scene: Scene, line: Line, text: str) -> Pieces:
    """What a line says, with its speaker's name where that belongs; what macros gave before keeps their names."""
    named = named_text(scene.inputs, line, text)
    spoken = line.text.replace("\r", "")
    if line.pieces and named.endswith(spoken):
        return (*pieces_of(named.removesuffix(spoken), line.origin), *without_returns(line.pieces))
    return pieces_of(named, line.origin)


def _spoken(scene: Scene, line: Line, text: Pieces | str) -> list[Block]:
    block = message_block(
        "system" if line.narrator else "user" if line.is_user else "assistant",
        text,
        "history",
        "chatHistory",
        group="history",
        id=f"history-{line.index}",
        name=field_name(scene.inputs, line),
        attachments=line.attachments,
        message_metadata=FrozenDict(parts=line.parts) if line.parts else EMPTY,
        origin=line.origin,
    )
    if line.scripts:
        block = block.with_(metadata=FrozenDict({**block.metadata, "scripts": line.scripts}))
    return [block]


def _tool_blocks(line: Line, text: Pieces) -> list[Block]:
    """A call, with what was said beside it, and its results, newest first."""
    form = partial(
        message_block,
        source="history",
        slot="chatHistory",
        group="history",
        bundle=f"tools:{line.index}",
        origin=line.origin,
    )
    facts = {"tool_calls": line.tool_calls, **line.beside, **({"parts": line.parts} if line.parts else {})}
    calls = form("assistant", text, message_metadata=freeze(facts))
    results = [
        form("tool", content or NO_RESULT, message_metadata=FrozenDict(tool_call_id=key))
        for key, content in line.tool_results
    ]
    return [*reversed(results), calls]


NO_RESULT: Final = "[No content]"


def _depth_texts(state: State, scene: Scene) -> list[InjectedText]:
    injections = state.scratch[INJECTIONS]
    note_depths(state, injections.depth)
    own = [
        InjectedText(key="", pieces=_text(prompt, injections), depth=prompt.depth, role=prompt.role, order=prompt.order)
        for prompt in prompts_of(state).values()
        if prompt.in_chat
    ]
    return [*(text for text in own if text.pieces), *injections.depth]


def _text(prompt: Prompt, injections: Injections) -> Pieces:
    """A prompt's text; a main prompt in the chat takes the texts beside it along, even when it is off (`sillytavern.md` 45)."""
    if prompt.identifier != "main":
        return prompt.pieces
    before = [item.pieces for item in reversed(injections.before)]
    return in_lines(*before, prompt.pieces, *(item.pieces for item in reversed(injections.after)))


def of_depth(texts: list[InjectedText], depth: int) -> list[Block]:
    """One depth's messages, newest first: orders from high to low, in each system, user, assistant.

    The preset's own texts and the others are stripped, then joined: of a blank one the line break remains.
    """
    blocks, chosen = [], dict[tuple[float, str], list[InjectedText]]()
    for text in texts:
        chosen.setdefault((text.order, text.role), []).append(text)
    for order in sorted({text.order for text in texts}, reverse=True):
        for role in ROLE_ORDER:
            together = chosen.get((order, role), ())
            own = [text.pieces for text in together if not text.key]
            others = sorted([text for text in together if text.key], key=lambda text: text.key)
            parts = [trimmed(part) for part in (in_lines(*own), *[text.pieces for text in others]) if part]
            joined = tuple([piece for part in parts for piece in (LINE_BREAK, *part)][1:])
            if joined:
                blocks.append(message_block(role, joined, "injection", "chatHistory", depth=depth))
    return blocks


_NOT_ALLOWED: Final = re.compile(r"[^a-zA-Z0-9_]")
LONGEST_NAME: Final = 64
_LINE_STEPS: Final = 60
"""What it takes to place one message, however short it is."""
_LEFT_OUT_STEPS: Final = 30
"""What it takes to record one message that is left out."""
_SLICE: Final = 16
"""Messages that are charged for at once."""


def named_text(inputs: SillyInputs, line: Line, text: str) -> str:
    """The text with the speaker's name in front where the preset's names behaviour puts it (`sillytavern.md` 54, 55).

    Carriage returns are not sent.
    """
    if "\r" in text:
        text = text.replace("\r", "")
    behavior = inputs.preset.names_behavior
    if behavior in (NamesBehavior.NONE, NamesBehavior.COMPLETION):
        return text
    if line.narrator and (inputs.group is None or behavior is NamesBehavior.CONTENT):
        return text
    if behavior is NamesBehavior.CONTENT:
        return f"{line.name}: {text}" if line.name else text
    elsewhere = inputs.group is not None or line.force_avatar is not None
    return f"{line.name}: {text}" if elsewhere and line.name != inputs.user else text


def field_name(inputs: SillyInputs, line: Line) -> str | None:
    """The name for the message's name field, with other characters as ``_``; ``None`` when it carries none."""
    if inputs.preset.names_behavior is not NamesBehavior.COMPLETION or not line.name:
        return None
    return _NOT_ALLOWED.sub("_", line.name)[:LONGEST_NAME]
