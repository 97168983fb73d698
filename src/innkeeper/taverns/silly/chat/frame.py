"""The frame of the history: what stands around it, and what opens it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from innkeeper.prompt.block import Block, Origin, OriginAsset
from innkeeper.taverns.silly.chat.history import History, again_expanded
from innkeeper.taverns.silly.chat.prompts import Pinned
from innkeeper.taverns.silly.chat.room import message_block
from innkeeper.taverns.silly.expansion import pieces_of
from innkeeper.taverns.silly.scene import Scene


class HistoryFrame(msgspec.Struct, frozen=True, kw_only=True):
    """What surrounds the history. ``nudge`` stands behind it, ``control`` at the very end.

    ``prefilled`` is the beginning of the reply: it stands at the very end, even without a history.
    """

    nudge: Block | None = None
    control: tuple[Block, ...] = ()
    prefilled: tuple[Block, ...] = ()
    bias: Block | None = None


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """What frames a history that is sent: ``continued`` stands behind it, before the nudge that asks to go on with it."""

    new_chat: Block
    continued: tuple[Block, ...] = ()
    continue_nudge: Block | None = None


def frame_of(scene: Scene, pinned: Pinned, history: History) -> HistoryFrame:
    """What surrounds the history, as its macros have been expanded before."""
    return HistoryFrame(
        nudge=_nudge(scene, pinned),
        control=tuple(_control(scene, pinned)),
        prefilled=history.continued if scene.inputs.preset.continue_prefill else (),
        bias=_bias(pinned),
    )


def opened_history(scene: Scene, history: History, *, expand: bool = True) -> Opened:
    """What frames the history, its macros replaced when its turn has come; without ``expand`` as it is written."""
    opened = Opened(new_chat=_new_chat(scene))
    if scene.type == "continue" and not scene.inputs.preset.continue_prefill:
        nudge = _block(scene, scene.inputs.preset.continue_nudge_prompt, "continue_nudge_prompt", "continue")
        opened = msgspec.structs.replace(opened, continued=history.continued, continue_nudge=nudge)
    if expand:
        made = [opened]
        scene.order.follow(
            {
                "new_chat": lambda: made.append(_with_new_chat(scene, made[-1])),
                "continued": lambda: made.append(_with_continued(scene, made[-1], history.last_text)),
            }
        )
        opened = made[-1]
    return opened


def _with_new_chat(scene: Scene, opened: Opened) -> Opened:
    return msgspec.structs.replace(opened, new_chat=again_expanded(scene, opened.new_chat))


def _with_continued(scene: Scene, opened: Opened, last_text: str) -> Opened:
    """The nudge, the message to continue, and the nudge once more, with the message in it as it is written."""
    if opened.continue_nudge is None:
        return opened
    nudge = again_expanded(scene, opened.continue_nudge)
    continued = tuple(again_expanded(scene, block) for block in opened.continued)
    text = nudge.content.replace("{{lastChatMessage}}", last_text.strip())
    if text != nudge.content:
        nudge = nudge.with_(content=text, pieces=())
    return msgspec.structs.replace(opened, continued=continued, continue_nudge=again_expanded(scene, nudge))


def _block(scene: Scene, text: str, source: str, slot: str) -> Block:
    """A text of the preset."""
    return message_block("system", pieces_of(text, Origin(OriginAsset.PRESET, source)), source, slot)


def _new_chat(scene: Scene) -> Block:
    preset = scene.inputs.preset
    text = preset.new_chat_prompt if scene.inputs.group is None else preset.new_group_chat_prompt
    return _block(scene, text, "new_chat_prompt", "chatHistory")


def _nudge(scene: Scene, pinned: Pinned) -> Block | None:
    nudged = scene.inputs.group is not None and scene.type != "impersonate" and pinned.group_nudge
    return message_block("system", pinned.group_nudge, "group_nudge_prompt", "chatHistory") if nudged else None


def _control(scene: Scene, pinned: Pinned) -> Iterator[Block]:
    if scene.type == "impersonate" and pinned.impersonation:
        yield message_block("system", pinned.impersonation, "impersonation_prompt", "control")
    if pinned.quiet:
        yield message_block("system", pinned.quiet, "quiet_prompt", "control")


def _bias(pinned: Pinned) -> Block | None:
    text, origin = pinned.bias, Origin(OriginAsset.REQUEST, "settings", "user_prompt_bias")
    return message_block("assistant", text, "user_prompt_bias", "bias", origin=origin) if text.strip() else None
