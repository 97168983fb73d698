"""Inlays: pictures that a chat's messages name (``{{inlay::ID}}``), which the application has: the port ``media`` gives them.

Those of the user's messages are sent beside the text, to models that take pictures; their tags are cut from all messages.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from innkeeper.prompt import NoteKind, State
from innkeeper.prompt.errors import Where
from innkeeper.prompt.parts import Attachment
from innkeeper.taverns.risu.line import RisuMessage
from innkeeper.taverns.risu.request_flags import model_of

MAX_INLAYS: Final = 100
"""Pictures of one build that messages name and that are sent (a note; further ones are left out)."""

TAG: Final = re.compile(r"\{\{(?:inlay|inlayed|inlayeddata)::")
_NAMED: Final = re.compile(rf"{TAG.pattern}([^{{}}\n]*)\}}\}}")
_TYPES: Final = ((b"\x89PNG", "image/png"), (b"GIF8", "image/gif"), (b"RIFF", "image/webp"))
_USUAL_TYPE: Final = "image/jpeg"


def with_inlays(state: State, messages: Sequence[RisuMessage], model: str) -> Sequence[RisuMessage]:
    """The messages with the pictures that the user's name. A note says of each that is not sent why."""
    if not any("{{inlay" in message.data for message in messages):
        return messages
    known = model_of(model)
    takes_pictures = known is None or "hasImageInput" in known.flags
    shown, left = [], MAX_INLAYS
    for index, message in enumerate(messages):
        names = _NAMED.findall(message.data) if message.role == "user" and not message.disabled else []
        pictures = [*_pictures(state, names[:left], index)] if takes_pictures else []
        why = f"{model!r} takes no pictures" if not takes_pictures else f"a prompt has {MAX_INLAYS} of them at most"
        if len(names) > left or (names and not takes_pictures):
            _note(state, f"pictures of a message are left out: {why}", index)
        left = max(left - len(names), 0)
        attachments = (*message.attachments, *pictures)
        shown.append(msgspec.structs.replace(message, attachments=attachments) if pictures else message)
    return shown


def _pictures(state: State, names: Iterable[str], index: int) -> Iterable[Attachment]:
    port = state.inputs.ports.media
    for name in names:
        data = None if port is None else port(name)
        if data is None:
            _note(state, f"the picture {name[:60]!r} cannot be had, and is left out", index)
            continue
        state.result.media_read = True
        media_type = next((type_ for mark, type_ in _TYPES if data.startswith(mark)), _USUAL_TYPE)
        yield Attachment("image", data=base64.b64encode(data).decode("ascii"), media_type=media_type, name=name)


def _note(state: State, message: str, index: int) -> None:
    hint = "give the port `media`, which reads what a chat names" if state.inputs.ports.media is None else None
    where = Where(asset="history", path=f"[{index}]")
    state.note(NoteKind.IGNORED, message, where=where, hint=hint, data={"input": "inlay"})
