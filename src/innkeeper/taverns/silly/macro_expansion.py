"""Step ``macro_expansion``: the history's macros, newest message first, and the texts at depths put between. Leaves `History`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from innkeeper.prompt.state import State
from innkeeper.prompt.step import NoConfig, Step
from innkeeper.prompt.text import Origin
from innkeeper.taverns.silly.injection import MAX_DEPTH, DepthText, Injections
from innkeeper.taverns.silly.line import Line
from innkeeper.taverns.silly.names import field_name, named_text
from innkeeper.taverns.silly.pinned_groups import prompts_of
from innkeeper.taverns.silly.room import Draft
from innkeeper.taverns.silly.scene import Scene, scene_of

__all__ = ["MACRO_EXPANSION", "History"]

ROLE_ORDER: Final = ("system", "user", "assistant")
"""The order of roles within one depth and order, counted from the end of the chat (`sillytavern.md` 43)."""


class History(msgspec.Struct, frozen=True, kw_only=True):
    """The history newest first, depth texts in their places. ``continued`` is the message to go on with, taken out."""

    drafts: tuple[Draft, ...]
    continued: tuple[Draft, ...] = ()
    last_text: str = ""


def run(state: State, _config: NoConfig) -> None:
    """Expand each message once, newest first (`sillytavern.md` 3), then put depth texts between them."""
    scene = scene_of(state)
    reasoning = _Reasoning(scene)
    newest: list[list[Draft]] = [_drafts(scene, line, reasoning) for line in reversed(scene.lines)]
    newest = [drafts for drafts in newest if drafts]
    last = newest[0][-1].content if newest else ""
    continued: tuple[Draft, ...] = ()
    prefilled = scene.type == "continue" and scene.inputs.preset.continue_prefill
    if prefilled and newest:
        continued = tuple(newest.pop(0))
    placed = _with_depths(newest, _depth_texts(state, scene))
    if scene.type == "continue" and not prefilled and newest:
        continued = tuple(newest[0])
        placed = [draft for draft in placed if not any(draft is other for other in continued)]
    state.scratch["macro_expansion"] = History(
        drafts=tuple(_send_if_empty(scene, placed)), continued=continued, last_text=last
    )
    state.stat("expanded_blocks", len(placed))


def _send_if_empty(scene: Scene, drafts: list[Draft]) -> list[Draft]:
    """Outside normal generations a history that ends with the assistant gets the preset's filler (`sillytavern.md` 53)."""
    text = scene.expand(scene.inputs.preset.send_if_empty.strip())
    if not text or scene.type not in ("swipe", "regenerate") or not drafts or drafts[0].role != "assistant":
        return drafts
    return [Draft(role="user", content=text, source="send_if_empty", kind="history"), *drafts]


class _Reasoning:
    """Puts stored reasoning in front of the newest messages that have some."""

    def __init__(self, scene: Scene) -> None:
        self._rule = scene.inputs.power.reasoning
        self._left = self._rule.max_additions if self._rule.add_to_prompts else 0

    def __call__(self, line: Line, text: str) -> str:
        if self._left <= 0 or not line.reasoning or line.is_user:
            return text
        self._left -= 1
        return f"{self._rule.prefix}{line.reasoning}{self._rule.suffix}{self._rule.separator}{text}"


def _drafts(scene: Scene, line: Line, reasoning: _Reasoning) -> list[Draft]:
    if line.has_tools:
        return _tool_drafts(scene, line)
    text = scene.expand(reasoning(line, line.text))
    text = named_text(scene.inputs, line, text) if text else text
    if not text and not line.attachments:
        return []
    role = "system" if line.narrator else "user" if line.is_user else "assistant"
    return [
        Draft(
            role=role,
            content=text,
            name=field_name(scene.inputs, line),
            source="history",
            kind="history",
            attachments=line.attachments,
            origin=Origin("history", entry=str(line.place)),
        )
    ]


def _tool_drafts(scene: Scene, line: Line) -> list[Draft]:
    """A call and its results, newest first; nothing where the preset does not call tools (`sillytavern.md` 61)."""
    if not scene.inputs.preset.function_calling:
        return []
    origin, bundle = Origin("history", entry=str(line.place)), f"tools:{line.place}"
    calls = Draft(
        role="assistant", content="", source="history", kind="history", metadata={"tool_calls": list(line.tool_calls)},
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
    own = [
        DepthText(key="", text=prompt.content, depth=prompt.depth, role=prompt.role, order=prompt.order)
        for prompt in prompts_of(state).values()
        if prompt.in_chat and prompt.on and prompt.content
    ]
    return [*own, *injections.depth, *_moved_to_main(state, injections)]


def _moved_to_main(state: State, injections: Injections) -> Iterable[DepthText]:
    """Texts beside a main prompt that itself is in the chat join its depth (`sillytavern.md` 45)."""
    main = prompts_of(state).get("main")
    if main is None or not main.in_chat or not main.on:
        return
    for item in (*injections.before, *injections.after):
        yield DepthText(key="", text=item.content, depth=main.depth, role=item.role, order=main.order)


def _with_depths(newest: list[list[Draft]], texts: list[DepthText]) -> list[Draft]:
    """The history newest first with the texts of each depth in their places."""
    by_depth: dict[int, list[DepthText]] = {}
    for text in texts:
        if 0 <= text.depth <= MAX_DEPTH:
            by_depth.setdefault(text.depth, []).append(text)
    placed: list[Draft] = []
    for index, drafts in enumerate(newest):
        placed += _of_depth(by_depth.pop(index, []), index)
        placed += drafts
    for depth in sorted(by_depth):
        placed += _of_depth(by_depth[depth], depth)
    return placed


def _of_depth(texts: list[DepthText], depth: int) -> list[Draft]:
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
