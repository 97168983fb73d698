"""Media: an attachment as providers ask for it: one of four kinds, by address or as base64, with a MIME type."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from innkeeper.dialects.report import Report, jsonable
from innkeeper.dialects.turn import Turn
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.parts import Attachment
from innkeeper.prompt.text import scalar_text

_DATA_URL: Final = re.compile(r"data:(?P<type>[^;,]*)(?:;[^;,]*)*;base64,(?P<data>.*)", re.DOTALL)
_KINDS: Final = {
    "document": "file",
    "pdf": "file",
    "input_image": "image",
    "input_audio": "audio",
    "input_file": "file",
}
_MAGIC: Final = (
    ("iVBOR", "image/png"),
    ("/9j/", "image/jpeg"),
    ("R0lGOD", "image/gif"),
    ("UklGR", "image/webp"),
    ("JVBERi", "application/pdf"),
    ("SUQz", "audio/mpeg"),
    ("T2dnU", "audio/ogg"),
)
"""The beginnings of the base64 of some formats."""

_LIKELY: Final = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4", "file": "application/pdf"}


class Media(msgspec.Struct, frozen=True):
    """A parsed attachment: ``kind`` is image, audio, video, file, or the word as written."""

    kind: str
    url: str | None = None
    data: str | None = None
    media_type: str = ""
    name: str | None = None
    detail: str | None = None
    extra: Mapping[str, Any] = EMPTY

    @property
    def data_url(self) -> str | None:
        """The address, or the data as a ``data:`` URL."""
        return self.url if self.data is None else f"data:{self.media_type};base64,{self.data}"

    @property
    def file_id(self) -> str | None:
        """``extra["file_id"]``: a file the provider already holds."""
        file_id = self.extra.get("file_id")
        return None if file_id is None else scalar_text(str(file_id))


OF_MEDIA: Final = frozenset({"file_id", "size"})
"""What of an attachment's ``extra`` is no field of a part."""

Render = Callable[[Media], dict[str, Any] | str]
"""A provider's part for a media, or, as text, why it has none."""


def media_part(item: Attachment, index: int, render: Render, report: Report) -> dict[str, Any] | None:
    """The part of one attachment, with the fields of its own; none where the provider has no place for it, which is reported."""
    media = _media(item, index, report)
    part = render(media) if media.url or media.data or media.file_id else "it has neither address nor data"
    if isinstance(part, str):
        _lost(media.kind, index, part, report)
        return None
    fields = [part, *[value for value in part.values() if isinstance(value, Mapping)]]
    if media.detail not in (None, "auto") and not any("detail" in each for each in fields):
        report.loss("'detail' of an attachment is not sent", index)
    own = {name: jsonable(value) for name, value in item.extra.items() if name not in OF_MEDIA}
    return {**part, **own} if own else part


def media_parts(turn: Turn, render: Render, report: Report) -> list[dict[str, Any]]:
    """The parts of a turn's attachments; those without a part are reported with their kind."""
    parts = [media_part(item, turn.index, render, report) for item in turn.attachments]
    return [part for part in parts if part is not None]


def unsupported(turn: Turn, why: str, report: Report) -> None:
    """Report all attachments of a turn as lost, because of ``why``."""
    for attachment in turn.attachments:
        _lost(_kind(attachment), turn.index, why, report)


def _lost(kind: str, index: int, why: str, report: Report) -> None:
    article = "an" if kind[:1] in "aeiou" else "a"
    report.loss(f"{article} {kind} attachment was left out: {why}", index)


def _kind(attachment: Attachment) -> str:
    kind = _KINDS.get(attachment.kind, attachment.kind)
    main = (attachment.media_type or "").partition("/")[0]
    return scalar_text(main if kind == "file" and main in ("image", "audio", "video") else kind)


def _media(attachment: Attachment, index: int, report: Report) -> Media:
    url, data, media_type = attachment.url, attachment.data, attachment.media_type
    match = _DATA_URL.fullmatch(url) if url and data is None and url.startswith("data:") else None
    if data is not None:
        url = None
    if match:
        url, data, media_type = None, match["data"], media_type or match["type"]
    kind = _kind(attachment)
    if data is not None and not media_type:
        media_type = _sniffed(kind, data, index, report)
    return Media(
        kind=kind,
        url=None if url is None else scalar_text(url),
        data=None if data is None else scalar_text(data),
        media_type=scalar_text(media_type or ""),
        name=scalar_text(attachment.name) if attachment.name else None,
        detail=scalar_text(attachment.detail) if attachment.detail else None,
        extra=attachment.extra,
    )


def _sniffed(kind: str, data: str, index: int, report: Report) -> str:
    known = next((name for start, name in _MAGIC if data.startswith(start)), None)
    if known is not None:
        return known
    guess = _LIKELY.get(kind, "application/octet-stream")
    report.repair(f"{kind} data without a media type was sent as {guess}", index)
    return guess
