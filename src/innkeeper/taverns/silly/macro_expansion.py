"""Step ``macro_expansion``: the history's macros, newest message first, and texts at depths. Leaves `History`.

A line becomes messages here: with its speaker in the content, in the name field or nowhere, as the preset says
(`sillytavern.md` 54, 55), and with stored reasoning in front of the newest lines that have some.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from innkeeper.content.preset import NamesBehavior
from innkeeper.macros.silly import is_plain
from innkeeper.prompt.memo import Memo
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.origin import Origin
from innkeeper.prompt.state import State
from innkeeper.prompt.step import NoConfig, Step
from innkeeper.taverns.silly.injection import MAX_DEPTH, DepthText, Injections
from innkeeper.taverns.silly.inputs import SillyInputs
from innkeeper.taverns.silly.line import Line, note_calls, spoken_lines, without_calls
from innkeeper.taverns.silly.prompts import Prompt, prompts_of
from innkeeper.taverns.silly.room import Draft
from innkeeper.taverns.silly.scene import Scene, scene_of

__all__ = ["MACRO_EXPANSION", "History", "Reasoning", "field_name", "named_text", "of_depth"]

ROLE_ORDER: Final = ("system", "user", "assistant")
"""The order of roles within one depth and order, counted from the end of the chat (`sillytavern.md` 43)."""


@dataclass(slots=True)
class History:
    """The history newest first, depth texts in their places.

    ``units`` yields messages that go together (a call and its results); a message's macros are expanded when its turn
    comes, so those beyond the budget have no effect. ``rest`` gives what was not asked for, as written. ``continued`` is
    the message to go on with, taken out; ``last_text`` its text.
    """

    units: Iterator[list[Draft]]
    rest: Callable[[], list[Draft]]
    continued: tuple[Draft, ...] = ()
    last_text: str = ""


def run(state: State, _config: NoConfig) -> None:
    """Line the history up, newest first (`sillytavern.md` 3); a message to continue is expanded at once.

    Of a line with tool calls its text is continued, and the calls are not sent.
    """
    scene = scene_of(state)
    if not scene.inputs.calls_tools:
        note_calls(state, scene.lines, "the preset calls no tools", "set its function_calling")
    walk = _Walk(scene, _depth_texts(state, scene))
    continued: tuple[Draft, ...] = ()
    last_text = ""
    if scene.type == "continue" and walk.lines:
        line = without_calls(walk.lines.pop())
        if scene.inputs.preset.continue_prefill:
            continued = _after_prefill(scene, tuple(_drafts(scene, line, walk.reasoning, expand=False)))
        else:
            continued, last_text = _continued(scene, line, walk.reasoning)
            walk.skipped = 1
    state.scratch["macro_expansion"] = History(walk.units(), walk.rest, continued, last_text)


def _continued(scene: Scene, line: Line, reasoning: Reasoning) -> tuple[tuple[Draft, ...], str]:
    """The message to go on with, without a name, and its text for the nudge: macros are resolved once for each."""
    text = reasoning(line, line.text)
    drafts = _said(scene, line, scene.expand(named_text(scene.inputs, line, text)))
    return tuple(msgspec.structs.replace(draft, name=None) for draft in drafts), scene.expand(text)


def _after_prefill(scene: Scene, continued: tuple[Draft, ...]) -> tuple[Draft, ...]:
    """The text to continue behind the preset's beginning of replies, for the Claude source."""
    preset = scene.inputs.preset
    prefill = scene.expand(preset.assistant_prefill) if preset.chat_completion_source == "claude" else ""
    if not (prefill and continued):
        return continued
    last = continued[-1]
    return (*continued[:-1], msgspec.structs.replace(last, content=f"{prefill}\n\n{last.content}"))


class _Walk:
    """Goes through the history from its newest line, putting depth texts between."""

    def __init__(self, scene: Scene, texts: list[DepthText]) -> None:
        self.scene, self.reasoning, self.skipped = scene, Reasoning(scene), 0
        lines = scene.lines if scene.inputs.calls_tools else spoken_lines(scene.lines)
        self.lines = [line for line in lines if _speaks(scene, line) or line.attachments or line.has_tools]
        self._texts: dict[int, list[DepthText]] = {}
        for text in texts:
            if 0 <= text.depth <= MAX_DEPTH:
                self._texts.setdefault(text.depth, []).append(text)

    def units(self) -> Iterator[list[Draft]]:
        """Units newest first; a filler before them when the newest is the assistant's."""
        placed = self._placed()
        newest = next(placed, None)
        if newest is not None:
            yield from self._filler(newest[0])
            yield newest
        yield from placed

    def _placed(self) -> Iterator[list[Draft]]:
        depth, voice = 0, self.scene.voice
        for skipped in range(self.skipped):
            yield from self._at(skipped)
            depth = skipped + 1
        while self.lines:
            if depth in self._texts:
                yield from self._at(depth)
            line = self.lines[-1]
            drafts = _drafts(self.scene, line, self.reasoning, voice=voice)
            if drafts:
                yield drafts
                depth += 1
            self.lines.pop()
        for deeper in sorted(self._texts):
            yield from self._at(deeper)

    def _at(self, depth: int) -> Iterator[list[Draft]]:
        return ([draft] for draft in of_depth(self._texts.pop(depth, []), depth))

    def rest(self) -> list[Draft]:
        """The lines no unit was made of, newest first, as they are written."""
        return [draft for line in reversed(self.lines) for draft in _drafts(self.scene, line, None, expand=False)]

    def _filler(self, newest: Draft) -> Iterator[list[Draft]]:
        """The preset's ``send_if_empty`` after an assistant's message (`sillytavern.md` 53)."""
        text = self.scene.inputs.preset.send_if_empty
        if text and newest.role == "assistant":
            yield [Draft(role="user", content=text, source="send_if_empty", kind="history")]


def _speaks(scene: Scene, line: Line) -> bool:
    """Whether the line says something, if only who speaks or what was thought."""
    return bool(line.text or line.reasoning or named_text(scene.inputs, line, ""))


def _drafts(
    scene: Scene, line: Line, reasoning: Reasoning | None, *, voice: tuple[Any, ...] = (), expand: bool = True
) -> list[Draft]:
    """A line's messages, newest first. With the scene's ``voice``, those of a line without macros are kept for other builds."""
    if line.has_tools:
        return _tool_drafts(line, scene.expand(line.text) if expand else line.text)
    text = line.text if reasoning is None else reasoning(line, line.text)
    written = bool(voice) and text is line.text
    known = _SAID.get((id(line), voice)) if written else None
    if known is not None:
        return known
    named = named_text(scene.inputs, line, text)
    said = _said(scene, line, scene.expand(named) if expand else named)
    return _SAID.put((id(line), voice), said, len(text), alive=line) if written and is_plain(named) else said


_SAID: Final[Memo[tuple[int, tuple[Any, ...]], list[Draft]]] = Memo()
"""What lines become whose text macros leave alone."""


def _said(scene: Scene, line: Line, text: str) -> list[Draft]:
    if not text and not line.attachments:
        return []
    role = "system" if line.narrator else "user" if line.is_user else "assistant"
    return [
        Draft(
            role=role,
            content=text,
            name=field_name(scene.inputs, line),
            id=f"history-{line.place}",
            source="history",
            kind="history",
            attachments=line.attachments,
            origin=Origin("history", entry=str(line.place)),
        )
    ]


def _tool_drafts(line: Line, text: str) -> list[Draft]:
    """A call, with what was said beside it, and its results, newest first."""
    origin, bundle = Origin("history", entry=str(line.place)), f"tools:{line.place}"
    calls = Draft(
        role="assistant", content=text, source="history", kind="history", metadata={"tool_calls": list(line.tool_calls)},
        origin=origin, bundle=bundle,
    )  # fmt: skip
    results = [
        Draft(
            role="tool", content=content or NO_RESULT, source="history", kind="history", metadata={"tool_call_id": key},
            origin=origin, bundle=bundle,
        )
        for key, content in line.tool_results
    ]  # fmt: skip
    return [*reversed(results), calls]


NO_RESULT: Final = "[No content]"


def _depth_texts(state: State, scene: Scene) -> list[DepthText]:
    injections: Injections = state.made_by("injection")
    for item in injections.depth:
        if not 0 <= item.depth <= MAX_DEPTH:
            message = f"the text at depth {item.depth} is left out: depths go from 0 to {MAX_DEPTH}"
            state.note(NoteKind.IGNORED, message, data={"input": item.key})
    own = [_own(prompt, _text(prompt, injections)) for prompt in prompts_of(state).values() if prompt.in_chat]
    return [*(text for text in own if text.text), *injections.depth]


def _own(prompt: Prompt, text: str) -> DepthText:
    return DepthText(key="", text=text, depth=prompt.depth, role=prompt.role, order=prompt.order)


def _text(prompt: Prompt, injections: Injections) -> str:
    """A prompt's text; a main prompt in the chat takes the texts beside it along, even when it is off (`sillytavern.md` 45)."""
    if prompt.identifier != "main":
        return prompt.content
    before = [item.content for item in reversed(injections.before)]
    after = [item.content for item in reversed(injections.after)]
    return "\n".join([*before, *([prompt.content] if prompt.content else []), *after])


def of_depth(texts: list[DepthText], depth: int) -> list[Draft]:
    """One depth's messages, newest first: orders from high to low, in each system, user, assistant."""
    drafts = []
    for order in sorted({text.order for text in texts} | {100} if texts else (), reverse=True):
        for role in ROLE_ORDER:
            chosen = [text for text in texts if text.role == role and text.order == order]
            own = [text.text for text in chosen if not text.key]
            others = [text.text for text in sorted(chosen, key=lambda text: text.key) if text.key]
            joined = "\n".join(part for part in (text.strip() for text in (*own, *others)) if part)
            if joined:
                drafts.append(_injected(role, joined, depth))
    return drafts


def _injected(role: str, text: str, depth: int) -> Draft:
    return Draft(role=role, content=text, source="injection", kind="injection", depth=depth, origin=Origin("injection"))


MACRO_EXPANSION: Final = Step("macro_expansion", run, NoConfig)


_NOT_ALLOWED: Final = re.compile(r"[^a-zA-Z0-9_]")
LONGEST_NAME: Final = 64


def named_text(inputs: SillyInputs, line: Line, text: str) -> str:
    """The text with the speaker's name in front where the preset's names behaviour puts it (`sillytavern.md` 54, 55)."""
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


class Reasoning:
    """Called with lines from the newest on.

    Whoever speaks keeps what was thought; the line to go on with keeps it whatever the settings say.
    """

    def __init__(self, scene: Scene) -> None:
        rule = scene.inputs.power.reasoning
        self._rule, self._expand, self._added = rule, scene.expand, 0
        self._most = rule.max_additions if rule.add_to_prompts else 0
        self._goes_on = scene.type == "continue"

    def __call__(self, line: Line, text: str) -> str:
        """The text with the line's reasoning in front of it, as long as there is room for more."""
        goes_on, self._goes_on = self._goes_on, False
        if not line.reasoning or not (goes_on or self._added < self._most):
            return text
        self._added += 1
        thought = self._expand(self._rule.prefix) + line.reasoning
        if goes_on and not text:
            return thought
        return f"{thought}{self._expand(self._rule.suffix)}{self._expand(self._rule.separator)}{text}"
