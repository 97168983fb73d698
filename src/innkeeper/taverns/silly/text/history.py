"""Step ``macro_expansion`` of text prompts: the history's lines, texts at depths between. Leaves `TextHistory`.

The lines' own macros are not resolved here (`sillytavern.md` 4): only templates and what the tavern adds have theirs done.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from innkeeper.prompt.block import Block
from innkeeper.prompt.origin import Origin
from innkeeper.prompt.state import State
from innkeeper.prompt.step import NoConfig, Step
from innkeeper.taverns.silly.injection import MAX_DEPTH, InjectedText, Injections
from innkeeper.taverns.silly.line import Line, note_calls, spoken_lines
from innkeeper.taverns.silly.macro_expansion import Reasoning, of_depth
from innkeeper.taverns.silly.scene import Scene, scene_of
from innkeeper.taverns.silly.text.instruct import Instruct, SequenceTurn, instruct_of
from innkeeper.taverns.silly.text.story import TextCompiled, post_history

__all__ = ["TEXT_HISTORY", "Said", "TextHistory", "TextLine"]


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """Something that stands in the chat: a line of it, a text put into it, what follows the history."""

    role: str
    name: str
    text: str
    source: str = "history"
    is_user: bool = False
    guest: bool = False
    depth: int = 0
    origin: Origin | None = None

    @property
    def is_injected(self) -> bool:
        """Whether it is a text put in at a depth."""
        return self.source == "injection"


class TextLine(msgspec.Struct, frozen=True):
    """What was said, written out."""

    said: Said
    text: str


class TextHistory(msgspec.Struct, frozen=True, kw_only=True):
    """``lines`` newest first; ``continued`` is the one to go on with; ``alignment`` the user's, where one must be first."""

    lines: tuple[TextLine, ...]
    continued: TextLine | None = None
    alignment: TextLine | None = None


def run(state: State, _config: NoConfig) -> None:
    """Line up the chat and write it."""
    scene = scene_of(state)
    instruct = instruct_of(scene)
    note_calls(state, scene.lines, "a text prompt has no place for them")
    chat = _with_tail(scene, _with_depths(state, scene, _said(scene)))
    lines = list(_written(scene, instruct, chat))
    continued = lines.pop(0) if scene.type == "continue" and len(lines) > 1 else None
    state.scratch["macro_expansion"] = TextHistory(
        lines=tuple(lines) or (TextLine(NOTHING, ""),),
        continued=continued,
        alignment=_alignment(scene, instruct),
    )


NOTHING: Final = Said(role="assistant", name="", text="", source="reply")
"""The line of a chat without any: the reply is opened on it."""


def _said(scene: Scene) -> list[Said]:
    """The lines, newest first; tool calls are not text."""
    reasoning = Reasoning(scene)
    return [_of_line(scene, line, reasoning) for line in spoken_lines(reversed(scene.lines))]


def _of_line(scene: Scene, line: Line, reasoning: Reasoning) -> Said:
    role = "system" if line.narrator else "user" if line.is_user else "assistant"
    return Said(
        role=role,
        name=line.name if role == "user" else line.name or scene.inputs.char,
        text=reasoning(line, line.text),
        is_user=line.is_user,
        guest=line.force_avatar is not None,
        origin=line.origin,
    )


def _with_depths(state: State, scene: Scene, chat: list[Said]) -> list[Said]:
    """Texts at depths put between, newest first. The line to continue stays the newest."""
    injections: Injections = state.made_by("injection")
    compiled: TextCompiled = state.made_by("compilation")
    depths: dict[int, list[InjectedText]] = {}
    for text in (*injections.depth, *([compiled.placed] if compiled.placed else [])):
        if text.text and 0 <= text.depth <= MAX_DEPTH:
            depths.setdefault(text.depth, []).append(text)
    put = 0
    for depth in sorted(depths):
        texts = [_injected(scene, block) for block in of_depth(depths[depth], depth)]
        place = (1 if depth == 0 and scene.type == "continue" else depth) + put
        chat[place:place] = texts
        put += len(texts)
    return chat


def _injected(scene: Scene, block: Block) -> Said:
    role = block.role
    names = {"user": scene.inputs.user, "assistant": scene.inputs.char}
    return Said(
        role=role,
        name=names.get(role, ""),
        text=block.content,
        source="injection",
        is_user=role == "user",
        depth=block.depth,
        origin=block.origin,
    )


def _with_tail(scene: Scene, chat: list[Said]) -> list[Said]:
    """What stands behind the history: the user's, under no name (`sillytavern.md` 64)."""
    text = post_history(scene)
    if text:
        origin = Origin("preset", "post_history")
        tail = Said(role="user", name="", text=text, source="post_history", is_user=True, origin=origin)
        chat.insert(1 if scene.type == "continue" and chat else 0, tail)
    return chat


def _written(scene: Scene, instruct: Instruct | None, chat: list[Said]) -> Iterator[TextLine]:
    """The lines, newest first; the first of the chat, the user's last one and the one to continue have sequences of their own."""
    own = scene.type == "impersonate"
    last_user = None if own else next((place for place, said in enumerate(chat) if said.is_user), None)
    for place, said in enumerate(chat):
        opened = place == 0 and scene.type == "continue"
        turn = (
            SequenceTurn.LAST
            if opened or place == last_user
            else SequenceTurn.FIRST
            if place == len(chat) - 1
            else SequenceTurn.MIDDLE
        )
        yield TextLine(said, _text(instruct, said, turn, opened=opened))


def _text(instruct: Instruct | None, said: Said, turn: SequenceTurn, *, opened: bool) -> str:
    if instruct is not None:
        return instruct.line(said.role, said.name, said.text, turn, guest=said.guest, closed=not opened)
    named = said.name and said.role != "system"
    text = f"{said.name}: {said.text}\n" if named else f"{said.text}\n"
    return text[: text.rfind(said.text) + len(said.text)] if opened else text


def _alignment(scene: Scene, instruct: Instruct | None) -> TextLine | None:
    if instruct is None or not instruct.template.user_alignment_message:
        return None
    text = scene.expand(instruct.template.user_alignment_message)
    said = Said(role="user", name=scene.inputs.user, text=text, source="alignment", origin=Origin("preset", "instruct"))
    return TextLine(said, instruct.line("user", said.name, text, SequenceTurn.FIRST))


TEXT_HISTORY: Final = Step("macro_expansion", run, NoConfig)
