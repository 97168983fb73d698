"""Step ``trimming`` of text prompts: choose what fits, write the blocks, make the plan. And all steps of text completion.

The blocks, joined, are the prompt. Like the original it fills rather than trims (`sillytavern.md` 69): texts at
depths first, then lines from the newest on, then examples unless they are pinned. All is counted in tokens of text,
with the settings' padding.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import msgspec

from innkeeper.budget.settings import TRIMMED
from innkeeper.dialects.registry import TEXT_DIALECTS
from innkeeper.prompt import Pipeline
from innkeeper.prompt.block import Block, Origin, OriginAsset
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.run.pipeline import Step
from innkeeper.prompt.run.state import State
from innkeeper.taverns.silly.chat.plan_assembly import set_options, set_plan
from innkeeper.taverns.silly.chat.room import Counting
from innkeeper.taverns.silly.chat.trimming import (
    LEFT_OUT,
    MESSAGE_HINT,
    SillyTrimmingConfig,
    refuse_or_warn,
    report_trimming,
)
from innkeeper.taverns.silly.expansion import Pieces, pieces_of
from innkeeper.taverns.silly.hooks import HOOKS
from innkeeper.taverns.silly.injection import TEXT_INJECTION
from innkeeper.taverns.silly.lore import LORE
from innkeeper.taverns.silly.scene import scene_of
from innkeeper.taverns.silly.scratch import TEXT_COMPILED, TEXT_LINES, TEXT_REPLY
from innkeeper.taverns.silly.text.chat import (
    TEXT_ASSEMBLY,
    TEXT_HISTORY,
    Guided,
    TextAssembly,
    TextHistory,
    TextLine,
    Utterance,
)
from innkeeper.taverns.silly.text.story import STORY_FIELDS, TEXT_COMPILATION, TEXT_ENTRIES, TextCompiled
from innkeeper.text.javascript.values import is_space, strip_start


class TextFill(msgspec.Struct, frozen=True, kw_only=True):
    """The contents: ``lines`` by index (0 is the newest), the first ``examples``, and the alignment message or not."""

    lines: tuple[int, ...]
    examples: int
    aligned: bool

    def less(self, parts: TextParts) -> TextFill | None:
        """Without the last example, or without the oldest line where no example is left that may go."""
        if self.examples and not parts.pinned:
            return msgspec.structs.replace(self, examples=self.examples - 1)
        if self.aligned:
            return msgspec.structs.replace(self, aligned=False)
        return msgspec.structs.replace(self, lines=self.lines[:-1]) if self.lines else None


class TextParts(msgspec.Struct, frozen=True):
    """Everything a prompt may have, and how it is counted: ``budget`` and ``padding`` are in tokens."""

    compiled: TextCompiled
    history: TextHistory
    assembly: TextAssembly
    pinned: bool
    budget: int
    padding: int
    count: Callable[[str], int]

    @property
    def alignment(self) -> str:
        """The user's message at the beginning, if no other line may be first."""
        return self.history.alignment.text if self.history.alignment else ""

    @property
    def continued(self) -> str:
        """The line to go on with."""
        return self.history.continued.text if self.history.continued else ""

    def examples(self, number: int) -> str:
        """The first examples as one text."""
        return "".join(item.text for item in self.compiled.examples[:number])

    def against(self, guided: Guided) -> TextParts:
        """The same prompt with the negative text of guidance instead of the positive one."""
        other = msgspec.structs.replace(guided, text=guided.against)
        return msgspec.structs.replace(
            self, assembly=msgspec.structs.replace(self.assembly, guided=other, start=guided.start_against)
        )

    def tokens(self, text: str) -> int:
        """Tokens of a text as it is sent: without carriage returns."""
        return self.count(text.replace("\r", ""))

    def base(self, lines: str = "") -> int:
        """Tokens of what is always there, and of the lines that were taken."""
        pinned = self.examples(len(self.compiled.examples)) if self.pinned else ""
        chat = (self.alignment, self.assembly.start, lines, self.assembly.after(""), self.continued)
        return self.tokens("".join((self.compiled.story, pinned, *chat))) + self.padding

    def whole(self, filled: TextFill) -> int:
        """Tokens of a filled prompt."""
        lines = [self.history.lines[index].text for index in reversed(filled.lines)]
        last = lines[-1] if lines else ""
        aligned = self.alignment if filled.aligned else ""
        before = (self.compiled.story, self.examples(filled.examples), aligned, *lines)
        return self.tokens("".join((*before, self.assembly.after(last), self.continued))) + self.padding


def fill(parts: TextParts) -> TextFill:
    """Choose what is in."""
    taken: list[int] = []
    lines = parts.history.lines
    # the indices of texts at depths; a text that is continued does not count as a line of its own
    indices = [index for index, line in enumerate(parts.history.lines) if line.utterance.is_injected]
    late = parts.history.continued is not None and parts.history.lines[0].utterance.source == "post_history"
    injected = [index - 1 for index in indices] if late else indices
    others = set(range(len(lines))) - set(injected)
    _take(parts, sorted(others), _take(parts, injected, parts.base(), taken), taken)
    aligned = parts.history.alignment is not None and not lines[max(taken, default=0)].utterance.is_user
    chat = "".join(lines[index].text for index in taken)
    examples = _examples(parts, parts.base(parts.alignment + chat if aligned else chat))
    return _fitted(parts, TextFill(lines=tuple(sorted(taken)), examples=examples, aligned=aligned))


def _take(parts: TextParts, indices: Iterable[int], used: int, taken: list[int]) -> int:
    """Take lines up to the first that does not fit. The tokens used, with its own: as in the original it leaves no room."""
    for index in indices:
        used += parts.tokens(parts.history.lines[index].text)
        if used >= parts.budget:
            break
        taken.append(index)
    return used


def _examples(parts: TextParts, used: int) -> int:
    """The number of examples that fit; pinned ones have their room. The lines count as one text now."""
    if parts.pinned:
        return len(parts.compiled.examples)
    for index, example in enumerate(parts.compiled.examples):
        used += parts.tokens(example.text)
        if used >= parts.budget:
            return index
    return len(parts.compiled.examples)


def _fitted(parts: TextParts, filled: TextFill) -> TextFill:
    """A continued prompt is counted once more as a whole."""
    smaller: TextFill | None = filled
    while parts.continued and smaller is not None and parts.whole(smaller) >= parts.budget:
        filled, smaller = smaller, smaller.less(parts)
    return smaller or filled


def run(state: State, config: SillyTrimmingConfig) -> None:
    """Fill, write, count, finish. Leaves its configuration for what comes later."""
    state.scratch[TRIMMED] = config
    scene = scene_of(state)
    parts = _parts(state)
    if config.cutting() is not None:
        state.note(
            NoteKind.IGNORED, f"the trimming strategy {config.strategy!r} is for chat prompts; text prompts are filled"
        )
    filled = fill(parts)
    blocks = _cleaned(_blocks(parts, filled), collapse=scene.inputs.power.collapse_newlines)
    final = parts.tokens(_joined(blocks))
    budget = scene.inputs.context_tokens
    if final > budget:
        message = "the fixed parts of the prompt exceed the context"
        refuse_or_warn(state, config, message, budget=budget, needed=final)
    else:
        _check_message(state, config, parts, filled)
    if (guided := parts.assembly.guided) is not None:
        against = _cleaned(_blocks(parts.against(guided), filled), collapse=scene.inputs.power.collapse_newlines)
        set_options(state, None, (), {"guidance_scale": guided.scale, "negative_prompt": _joined(against)})
    state.result.dialect_options |= {name: {"separator": ""} for name in sorted(TEXT_DIALECTS)}
    evicted = [parts.tokens(block.content) for block in blocks if not block.enabled]
    report_trimming(state, set_plan(state, blocks), evicted, budget=budget, final=final)


def _joined(blocks: Iterable[Block]) -> str:
    return "".join(block.content for block in blocks if block.enabled)


def _parts(state: State) -> TextParts:
    scene, inputs = scene_of(state), scene_of(state).inputs
    return TextParts(
        state.scratch[TEXT_COMPILED],
        state.scratch[TEXT_LINES],
        state.scratch[TEXT_REPLY],
        inputs.power.pin_examples,
        inputs.context_tokens - scene.guidance_tokens,
        inputs.power.token_padding,
        Counting.of(state, inputs).text,
    )


def _check_message(state: State, config: SillyTrimmingConfig, parts: TextParts, filled: TextFill) -> None:
    """Refuse to leave out the user's current message."""
    lines = parts.history.lines
    newest = next((index for index, line in enumerate(lines) if line.utterance.source == "history"), None)
    if newest is not None and lines[newest].utterance.is_user and newest not in filled.lines:
        needed = parts.base(lines[newest].text)
        refuse_or_warn(state, config, LEFT_OUT, budget=parts.budget, needed=needed, hint=MESSAGE_HINT)


def _blocks(parts: TextParts, filled: TextFill) -> Iterator[Block]:
    """The prompt from top to bottom; blocks that did not fit are disabled in their positions."""
    compiled, history = parts.compiled, parts.history
    yield _block(
        "system", compiled.story, "story_string", Origin(OriginAsset.PRESET, "story_string"), pieces=compiled.pieces
    )
    for index, example in enumerate(compiled.examples):
        yield _block(
            example.role,
            example.text,
            "examples",
            example.origin,
            group="examples",
            enabled=index < filled.examples,
            removable=not parts.pinned,
        )
    yield _block("system", parts.assembly.start, "chat_start", Origin("preset", "chat_start"))
    yield from _chat(parts, filled)
    if history.continued is not None:
        yield _line(history.continued, history.continued.text, removable=False)
    if parts.assembly.bias:
        yield _block(
            "assistant",
            strip_start(parts.assembly.bias),
            "bias",
            Origin(OriginAsset.REQUEST, "settings", "user_prompt_bias"),
        )


def _chat(parts: TextParts, filled: TextFill) -> Iterator[Block]:
    """The lines, oldest first, and after the newest the reply's opening. Without a line there is no opening."""
    lines, aligned = parts.history.lines, parts.history.alignment if filled.aligned else None
    newest, guided = min(filled.lines, default=None), _guided_line(parts, filled)
    if aligned is not None:
        if guided == len(lines):
            yield _guidance(parts)
        yield _line(aligned, _ended(parts, aligned) if newest is None else aligned.text)
    for index in reversed(range(len(lines))):
        line, enabled = lines[index], index in filled.lines
        if index == guided:
            yield _guidance(parts)
        yield _line(line, _ended(parts, line) if index == newest else line.text, enabled=enabled)
    last = aligned if newest is None else lines[newest]
    if last is not None:
        yield from _reply(parts, _ended(parts, last))


def _guided_line(parts: TextParts, filled: TextFill) -> int | None:
    """The index of the line that guidance precedes; the message of alignment comes after the last."""
    guided = parts.assembly.guided
    if guided is None or not guided.text:
        return None
    rows = [*([len(parts.history.lines)] if filled.aligned else []), *filled.lines[::-1]]
    position = guided.position(len(rows))
    return None if position is None or not rows else rows[position]


def _guidance(parts: TextParts, text: str | None = None) -> Block:
    guided = parts.assembly.guided
    written = f"{guided.text}\n" if text is None and guided is not None else text or ""
    return _block("system", written, "guidance", Origin(OriginAsset.REQUEST, "settings", "cfg"))


def _ended(parts: TextParts, line: TextLine) -> str:
    """The newest line: its own break is for the reply's opening to set."""
    return line.text.removesuffix("\n") if parts.assembly.drops_break else line.text


def _reply(parts: TextParts, last: str) -> Iterator[Block]:
    assembly = parts.assembly
    yield _block("system", assembly.quiet, "quiet_prompt", Origin("request", "quiet_prompt"))
    opening = assembly.after(last).removeprefix(assembly.quiet)
    yield _block(assembly.role, opening, "reply", Origin("preset", "instruct"))
    guided = assembly.guided
    if guided is not None and guided.is_glued and guided.text:
        apart = "" if is_space((last + assembly.quiet + opening)[-1:]) else " "
        yield _guidance(parts, f"{apart}{guided.text}")


def _line(line: TextLine, text: str, *, enabled: bool = True, removable: bool = True) -> Block:
    utterance = line.utterance
    return _block(
        utterance.role,
        text,
        "chat_history",
        utterance.origin,
        source=utterance.source,
        group="history" if utterance.source == "history" else "system",
        enabled=enabled,
        removable=removable and utterance.source == "history",
        depth=utterance.depth,
        pieces=_between_sequences(utterance, text),
    )


def _between_sequences(utterance: Utterance, text: str) -> Pieces:
    """The text of an utterance and the sequences around it apart; nothing where that text stands in the line twice."""
    spoken = utterance.text
    before, _, after = text.partition(spoken) if spoken else ("", "", "")
    if utterance.origin is None or not (before or after) or text.rfind(spoken) != len(before):
        return ()
    sequence = Origin(OriginAsset.PRESET, "instruct")
    return (*pieces_of(before, sequence), *pieces_of(spoken, utterance.origin), *pieces_of(after, sequence))


def _block(role: str, content: str, slot: str, origin: Origin | None, **fields: Any) -> Block:
    """A block at a fixed position; ``fields`` are its further fields."""
    facts = FrozenDict({"source": fields.pop("source", slot)})
    options = {"group": "system", "removable": False, **fields}
    return Block(role=role, content=content, slot=slot, origin=origin, metadata=facts, **options)


_BREAKS: Final = re.compile(r"\n+")


def _cleaned(blocks: Iterable[Block], *, collapse: bool) -> list[Block]:
    """Blocks as sent: without carriage returns and empty blocks; with ``collapse`` consecutive line breaks are one."""
    cleaned: list[Block] = []
    end = ""
    for block in blocks:
        text = block.content.replace("\r", "")
        if block.slot == "bias" and not is_space(end):
            text = f" {text}"
        if collapse and block.enabled:
            text = _BREAKS.sub("\n", text)
            text = text.removeprefix("\n") if end == "\n" else text
        if not text:
            continue
        end = text[-1] if block.enabled else end
        cleaned.append(block if text == block.content else block.with_(content=text))
    return cleaned


TEXT_TRIMMING: Final = Step("trimming", run, SillyTrimmingConfig)


TEXT_PIPELINE: Final = Pipeline(
    HOOKS,
    LORE,
    TEXT_ENTRIES,
    STORY_FIELDS,
    TEXT_INJECTION,
    TEXT_COMPILATION,
    TEXT_HISTORY,
    TEXT_ASSEMBLY,
    TEXT_TRIMMING,
)
"""The nine steps for text completion (dialect ``text``)."""
