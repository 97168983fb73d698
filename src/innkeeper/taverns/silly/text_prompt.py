"""Step ``trimming`` of text prompts: fill the prompt, write its blocks, make the plan. The blocks, joined, are the prompt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from innkeeper.prompt.block import Block
from innkeeper.prompt.errors import MaxTokensExceededError
from innkeeper.prompt.frozen import FrozenDict
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.state import State
from innkeeper.prompt.step import Step
from innkeeper.prompt.text import Origin
from innkeeper.taverns.silly.carry import Carry
from innkeeper.taverns.silly.counting import Counting
from innkeeper.taverns.silly.fill_report import finish_plan
from innkeeper.taverns.silly.injection import Injections
from innkeeper.taverns.silly.scene import scene_of
from innkeeper.taverns.silly.story_string import text_of
from innkeeper.taverns.silly.text_fill import TextFill, TextParts, fill
from innkeeper.taverns.silly.text_history import TextLine
from innkeeper.taverns.silly.trimming import TrimmingConfig

__all__ = ["TEXT_TRIMMING"]


def run(state: State, config: TrimmingConfig) -> None:
    """Fill, write, count, finish."""
    scene = scene_of(state)
    parts = _parts(state)
    if config.cutting() is not None:
        state.note(
            NoteKind.IGNORED, f"the trimming strategy {config.strategy!r} is for chat prompts; text prompts are filled"
        )
    blocks = list(_blocks(parts, fill(parts)))
    blocks = _cleaned(blocks, collapse=scene.inputs.power.collapse_newlines)
    final = parts.tokens("".join(block.content for block in blocks if block.enabled))
    window = text_of(scene).max_context
    _check(state, config, final, window, parts.budget)
    injections: Injections = state.made_by("injection")
    timed = state.result.lore.state if state.result.lore is not None else None
    state.result.carry = Carry(timed, injections.carried).to_dict()
    state.result.dialect_options["separator"] = ""
    finish_plan(
        state,
        blocks,
        budget=parts.budget,
        window=window,
        final=final,
        evicted=[parts.tokens(block.content) for block in blocks if not block.enabled],
    )


def _parts(state: State) -> TextParts:
    inputs = scene_of(state).inputs
    return TextParts(
        state.made_by("compilation"),
        state.made_by("macro_expansion"),
        state.made_by("plan_assembly"),
        inputs.power.pin_examples,
        inputs.context_tokens,
        inputs.power.token_padding,
        Counting.of(state, inputs).text,
    )


def _check(state: State, config: TrimmingConfig, final: int, window: int, budget: int) -> None:
    """A prompt that is too long although nothing is left to leave out."""
    if final <= budget:
        return
    if config.on_overflow == "error":
        raise MaxTokensExceededError(
            estimated_tokens=final, max_tokens=window, reserve_tokens=max(window - budget, 0), step="trimming"
        )
    state.warn(
        "the fixed parts of the prompt exceed the context",
        kind=NoteKind.LIMIT,
        data={"needed": final, "budget": budget},
    )


def _blocks(parts: TextParts, filled: TextFill) -> Iterator[Block]:
    """The prompt from top to bottom; what is not in it disabled, in its place."""
    compiled, history = parts.compiled, parts.history
    yield _block("system", compiled.story, "story_string", Origin("preset", "story_string"))
    for place, example in enumerate(compiled.examples):
        yield _block(
            example.role,
            example.text,
            "examples",
            Origin("character", "mes_example", str(example.block)),
            group="examples",
            enabled=place < filled.examples,
            removable=not parts.pinned,
        )
    yield _block("system", compiled.start, "chat_start", Origin("preset", "chat_start"))
    yield from _chat(parts, filled)
    if history.continued is not None:
        yield _line(history.continued, history.continued.text, removable=False)
    if parts.assembly.bias:
        yield _block("assistant", parts.assembly.bias.lstrip(), "bias", Origin("settings", "user_prompt_bias"))


def _chat(parts: TextParts, filled: TextFill) -> Iterator[Block]:
    """The lines, oldest first, and behind the newest what opens the reply. Without a line there is no opening."""
    lines, aligned = parts.history.lines, parts.history.alignment if filled.aligned else None
    newest = min(filled.lines, default=None)
    if aligned is not None:
        yield _line(aligned, _ended(parts, aligned) if newest is None else aligned.text)
    for place in reversed(range(len(lines))):
        line, enabled = lines[place], place in filled.lines
        yield _line(line, _ended(parts, line) if place == newest else line.text, enabled=enabled)
    last = aligned if newest is None else lines[newest]
    if last is not None:
        yield from _reply(parts, _ended(parts, last))


def _ended(parts: TextParts, line: TextLine) -> str:
    """The newest line: its own break is for the reply's opening to set."""
    return line.text.removesuffix("\n") if parts.assembly.drops_break else line.text


def _reply(parts: TextParts, last: str) -> Iterator[Block]:
    assembly = parts.assembly
    yield _block("system", assembly.quiet, "quiet_prompt", Origin("request", "quiet_prompt"))
    opening = assembly.after(last).removeprefix(assembly.quiet)
    yield _block(assembly.role, opening, "reply", Origin("preset", "instruct"))


_GROUPS: Final = {"history": "history"}


def _line(line: TextLine, text: str, *, enabled: bool = True, removable: bool = True) -> Block:
    said = line.said
    return _block(
        said.role,
        text,
        "chat_history",
        said.origin,
        source=said.source,
        group=_GROUPS.get(said.source, "system"),
        enabled=enabled,
        removable=removable and said.source == "history",
        depth=said.depth,
    )


def _block(role: str, content: str, slot: str, origin: Origin | None, **fields: Any) -> Block:
    """A block that stays where it is; ``fields`` say what else it is."""
    facts = FrozenDict({"source": fields.pop("source", slot)})
    given = {"group": "system", "removable": False, **fields}
    return Block(role=role, content=content, slot=slot, origin=origin, metadata=facts, **given)


_BREAKS: Final = re.compile(r"\n+")


def _cleaned(blocks: Iterable[Block], *, collapse: bool) -> list[Block]:
    """Blocks as they are sent: without carriage returns, empty ones gone; with ``collapse`` line breaks in a row as one."""
    cleaned: list[Block] = []
    end = ""
    for block in blocks:
        text = block.content.replace("\r", "")
        if block.slot == "bias" and not end.isspace():
            text = f" {text}"
        if collapse and block.enabled:
            text = _BREAKS.sub("\n", text)
            text = text.removeprefix("\n") if end == "\n" else text
        if not text:
            continue
        end = text[-1] if block.enabled else end
        cleaned.append(block if text == block.content else block.with_(content=text))
    return cleaned


TEXT_TRIMMING: Final = Step("trimming", run, TrimmingConfig)
