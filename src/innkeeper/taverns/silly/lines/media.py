"""Media: the files, pictures, videos and sounds of the chat's messages, as SillyTavern puts them into prompts.

Texts of files stand before what a message says and titles behind it, in every kind of prompt; regex scripts do not see them,
the lore scan does. Pictures, videos and sounds go into chat prompts as attachments of their message, where the preset sends
them (``media_inlining``) and its source takes them for its model; they have their cost in tokens with them.

Nothing here opens a file or an address: what is not in the chat itself is asked of the port ``media``, and of nobody else.
What is not sent is in the plan's notes.
"""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import msgspec

from innkeeper.budget.costing import is_sent, shape_of
from innkeeper.prompt.block import Origin, OriginAsset, Piece
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import FormatError, Where
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.parts import Attachment
from innkeeper.taverns.silly.lines.media_rules import KINDS, accepted_kinds, media_tokens
from innkeeper.tokens import SILLYTAVERN_TOKENIZERS
from innkeeper.tokens.counter import default_counter
from innkeeper.tokens.media import media_cost, media_rule

if TYPE_CHECKING:
    from innkeeper.prompt.run.state import State
    from innkeeper.taverns.silly.inputs import SillyInputs
    from innkeeper.taverns.silly.lines.line import Line


MAX_MEDIA: Final = 1_000
"""Media, files and titles of one message that are used (a note; further ones are left out)."""


class FileText(msgspec.Struct, frozen=True):
    """A file whose text goes into the prompt: the text, or where it is."""

    text: str = ""
    url: str = ""
    name: str = ""


class MessageMedia(msgspec.Struct, frozen=True, kw_only=True):
    """The media of a message. Of a gallery only the item at ``index`` is sent.

    An empty ``display`` is the setting's.
    """

    files: tuple[FileText, ...] = ()
    titles: tuple[str, ...] = ()
    items: tuple[Attachment | None, ...] = ()
    display: str = ""
    index: int = 0

    def chosen(self, display: str) -> tuple[Attachment, ...]:
        """The media that are sent; ``display`` is the setting."""
        items = self.items
        if items and (self.display or display) == GALLERY:
            items = (items[self.index if 0 <= self.index < len(items) else 0],)
        return tuple(item for item in items if item is not None)


GALLERY: Final = "gallery"
_LISTED: Final = frozenset({"media", "files"})
_SINGLE: Final = ("image", "video", "audio")
MEDIA_KEYS: Final = ("media", "media_display", "media_index", "image", "image_swipes", "video", "audio", "file", "files", "title",
                     "append_title")  # fmt: skip
"""Keys of ``extra`` that are read here."""

_KEYS: Final = frozenset({*_LISTED, *_SINGLE, "file", "title", "image_swipes"})


def media_of(extra: Mapping[str, Any], attachments: tuple[Attachment, ...] = ()) -> MessageMedia | None:
    """The media of a message: what its ``extra`` names, in today's lists or the fields before them, else its attachments.

    ``None`` where it has none.
    """
    if not (attachments or (extra and not _KEYS.isdisjoint(extra))):
        return None
    listed, display, index = _listed(extra)
    files = tuple(_file(item) for item in _files(extra) if isinstance(item, Mapping))
    media = MessageMedia(
        files=files,
        titles=tuple(_titles(extra, listed)),
        items=tuple(map(_item, listed)) if listed or files else attachments,
        display=display,
        index=index,
    )
    return None if media == MessageMedia(display=display, index=index) else media


def _listed(extra: Mapping[str, Any]) -> tuple[list[Any], str, int]:
    """The items as they are written, how they are displayed, and which is chosen."""
    listed = extra.get("media")
    if isinstance(listed, (list, tuple)) and listed:
        return list(listed[:MAX_MEDIA]), str(extra.get("media_display") or ""), _index(extra.get("media_index"))
    image, swipes = extra.get("image"), extra.get("image_swipes")
    if isinstance(swipes, (list, tuple)) and swipes:
        urls = [url for url in swipes[:MAX_MEDIA] if isinstance(url, str)]
        urls += [image] if isinstance(image, str) and image and image not in urls else []
        chosen = urls.index(image) if image in urls else 0
        return [{"url": url} for url in urls], GALLERY, chosen
    single = [
        {"url": extra[kind], "type": kind} for kind in _SINGLE if isinstance(extra.get(kind), str) and extra[kind]
    ]
    return single, "", 0


def _index(value: Any) -> int:
    """The number of the chosen item, which may be written as text; the first for anything else."""
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return 0


def _files(extra: Mapping[str, Any]) -> Iterable[Any]:
    files = extra.get("files")
    return files[:MAX_MEDIA] if isinstance(files, (list, tuple)) else (extra.get("file"),)


def _file(item: Mapping[str, Any]) -> FileText:
    text = item.get("text")
    fields = (text if isinstance(text, (str, int, float)) and text else "", item.get("url"), item.get("name"))
    return FileText(*(str(field or "") for field in fields))


def _titles(extra: Mapping[str, Any], listed: Iterable[Any]) -> Iterator[str]:
    for item in (extra, *listed):
        if isinstance(item, Mapping) and item.get("append_title") and item.get("title"):
            yield str(item["title"])


def _item(item: Any) -> Attachment | None:
    """A medium as written; ``None`` for an invalid one, which counts in a gallery all the same."""
    if not isinstance(item, Mapping) or not isinstance(item.get("url"), str) or not item["url"]:
        return None
    title = item.get("title")
    fields = {"kind": str(item.get("type") or "image"), "url": item["url"]}
    return Attachment.of(fields | ({"name": title} if isinstance(title, str) else {}))


class MediaRoom:
    """The media of one build: those that are sent, with their texts in the lines, and their costs."""

    def __init__(self, state: State, inputs: SillyInputs, shorten: Callable[[str], str] | None = None) -> None:
        preset = inputs.preset
        self._state = state
        self._shorten = shorten or str
        self._type = inputs.type
        self._display = inputs.power.media_display
        self._quality = preset.inline_image_quality or "auto"
        self._source, self._model = preset.chat_completion_source, preset.model or state.request.model
        dialect, dialects = state.request.dialect, state.inputs.dialects
        self._rule = media_rule(dialect, self._model)
        is_plain = state.request.model is None or state.request.model in SILLYTAVERN_TOKENIZERS
        self._counts_own = dialect == "sillytavern" or (is_plain and dialect in (None, "openai"))
        self._shape = shape_of(dialect, dialects)
        self._why = (
            "a text prompt has no place for them"
            if inputs.is_text
            else ""
            if preset.media_inlining
            else "media_inlining is off in the preset"
        )
        taken = accepted_kinds(self._source, self._model if preset.model else None)
        self._kinds = frozenset() if self._why else taken
        self._made: dict[int, tuple[Attachment, ...]] = {}
        self._left_out: dict[tuple[str, str], list[int]] = {}
        self._reported: set[tuple[str, int]] = set()

    def lines(self, lines: tuple[Line, ...]) -> tuple[Line, ...]:
        """The lines with their files' texts and titles, and with the media that are to be sent."""
        last = lines[-1] if lines else None
        made = tuple([line if line.media is None else self._line(line, line is last) for line in lines])
        for (kind, why), indices in self._left_out.items():
            message = f"{len(indices)} {kind} of the chat's messages left out: {why}"
            where = Where(asset="history", path=f"[{indices[0]}]")
            self._state.note(NoteKind.IGNORED, message, where=where, data={"lines": tuple(indices), "kind": kind})
        return made

    def _read(self, url: str) -> bytes | None:
        """Read the content at an address, if there is a port for it."""
        port = self._state.inputs.ports.media
        data = None if port is None else port(url)
        if data is not None:
            self._state.result.media_read = True
        return data

    def _line(self, line: Line, is_last: bool) -> Line:  # noqa: FBT001
        media = line.media
        if media is None:
            return line
        chosen = tuple(item for item in media.chosen(self._display) if self._is_sent(item, line, is_last=is_last))
        if not (media.files or media.titles):
            return msgspec.structs.replace(line, attachments=chosen) if chosen != line.attachments else line
        before = "\n\n".join(filter(None, (self._shorten(self._text(file, line)) for file in media.files)))
        before = f"{before}\n\n" if media.files else ""
        after = "".join([f"\n\n{title}" for title in media.titles])
        pieces = (
            *_piece(before, line, "files"),
            *(line.pieces or ((Piece(line.text, line.origin),) if line.text else ())),
            *_piece(after, line, "title"),
        )
        return msgspec.structs.replace(line, text=f"{before}{line.text}{after}", pieces=pieces, attachments=chosen)

    def _is_sent(self, item: Attachment, line: Line, *, is_last: bool) -> bool:
        kind = item.kind
        if kind == "file" or (kind in KINDS and kind in self._kinds):
            why = "the message is continued" if is_last and self._type == "continue" else self._why
        elif kind not in KINDS:
            why = "there is no such kind of media"
        else:
            why = self._why or f"the source {self._source!r} does not take them for {self._model or 'its model'!r}"
        if why:
            self._left_out.setdefault((_PLURAL.get(kind, f"{kind[:20]!r} media"), why), []).append(line.index)
        return not why

    def _text(self, file: FileText, line: Line) -> str:
        if file.text:
            return file.text
        data = self._read(file.url) if file.url else None
        if data is None:
            self._unavailable("the text of a file", file.name or file.url, line)
            return ""
        return data.decode("utf-8-sig", errors="replace")

    def attachments(self, line: Line, *, fetch: bool = True) -> tuple[Attachment, ...]:
        """The line's media as they are sent, with their detail and their cost; without ``fetch`` none is read for that."""
        made = self._made.get(line.index)
        if made is None:
            if not fetch and any(item.data is None for item in line.attachments):
                return line.attachments
            made = self._made[line.index] = tuple(self._attachment(item, line) for item in line.attachments)
        return made

    def _attachment(self, item: Attachment, line: Line) -> Attachment:
        if item.kind == "file":
            return self._noted(self._ready(item), line)
        if item.data is None:
            return self._fetched(item, line)
        key = (id(item), self._quality, "" if self._counts_own else self._rule.name)
        ready = _READY.get(key)
        if ready is None:
            ready = _READY.put(key, self._ready(item), len(item.data), alive=item)
        return self._noted(ready, line)

    def _fetched(self, item: Attachment, line: Line) -> Attachment:
        """A medium that is elsewhere: asked of the port, or named by its address where the provider can get it itself."""
        url = item.url or ""
        data = self._read(url)
        if data is not None:
            media_type = item.media_type or mimetypes.guess_type(urlsplit(url).path)[0] or _LIKELY.get(item.kind)
            encoded = base64.b64encode(data).decode("ascii")
            item = msgspec.structs.replace(item, url=None, data=encoded, media_type=media_type)
            return self._noted(self._ready(item), line)
        if url.startswith(("https://", "http://")):
            return self._noted(self._ready(item), line)
        self._unavailable(f"this {item.kind}", item.name or url, line)
        return Attachment(item.kind, name=item.name, tokens=0, extra=FrozenDict(unavailable=url[:_SHOWN]))

    def _ready(self, item: Attachment) -> Attachment:
        """The medium with its detail and its cost; ``extra`` says where that is a guess.

        By SillyTavern's count for its own bodies, and where one of its tokenizers counts for OpenAI's; else by what the provider
        takes, if that is more, and so always for files, which SillyTavern has no rule for.
        """
        quality = item.detail or self._quality
        tokens, is_known = (0, True) if item.kind == "file" else media_tokens(item.kind, _decoded(item), quality)
        detail = item.detail if item.kind == "file" else None if item.kind == "audio" else quality
        is_own = self._counts_own if item.kind != "file" else not is_sent(item, self._shape)
        cost = None if is_own else media_cost(item, self._rule, self._count)
        if cost is not None and cost.tokens > tokens:
            tokens, is_known = cost.tokens, not cost.guess
        extra = item.extra if is_known else FrozenDict({**item.extra, "size": "unknown"})
        return msgspec.structs.replace(item, tokens=tokens, detail=detail, extra=extra)

    def _noted(self, item: Attachment, line: Line) -> Attachment:
        """Say of a medium that its cost is a guess, or that SillyTavern would send it in another form."""
        if item.extra.get("size") == "unknown":
            how = "as SillyTavern does" if self._counts_own and item.kind != "file" else "the most that it may cost"
            message = f"the size of this {item.kind} cannot be read: it is counted as {item.tokens:,} tokens, {how}"
            self._note(NoteKind.ESTIMATE, message, line)
        if item.kind == "image" and item.data is not None and item.media_type not in _AS_THEY_ARE:
            message = (
                f"a picture of the type {str(item.media_type)[:40]!r} is sent as it is; SillyTavern makes a JPEG of it"
            )
            self._note(NoteKind.FALLBACK, message, line)
        if item.kind == "image" and self._source in _SCALED and len(item.data or "") * 3 // 4 > LARGE:
            self._note(
                NoteKind.FALLBACK, "a large picture is sent as it is; SillyTavern scales it to 2,048 pixels", line
            )
        return item

    def _count(self, text: str) -> int:
        """Tokens of a file that is text."""
        counter = self._state.inputs.ports.token_counter or default_counter()
        return counter.count(text, self._model)

    def _unavailable(self, what: str, name: str, line: Line) -> None:
        hint = "give the port `media`, which reads what a chat names"
        message = f"{what} cannot be had, and is left out: {name[:_SHOWN]!r}"
        self._note(NoteKind.WARNING, message, line, hint if self._state.inputs.ports.media is None else None)

    def _note(self, kind: NoteKind, message: str, line: Line, hint: str | None = None) -> None:
        """Say something of a line's media, once."""
        if (message, line.index) not in self._reported:
            self._reported.add((message, line.index))
            where = Where(asset="history", path=f"[{line.index}]")
            self._state.note(kind, message, where=where, hint=hint)


_READY: Final[BoundedCache[tuple[int, str, str], Attachment]] = BoundedCache()
"""Media that are in the chat itself, with their cost, by their identity, the quality and the provider's rule."""

_PLURAL: Final = {"image": "pictures", "video": "videos", "audio": "sounds", "file": "files"}
_LIKELY: Final = {"image": "image/png", "video": "video/mp4", "audio": "audio/mpeg"}
_AS_THEY_ARE: Final = frozenset({"image/jpeg", "image/png", "image/webp"})
"""Types of pictures that SillyTavern sends as they are."""
_SCALED: Final = frozenset({"openrouter", "makersuite", "mistralai", "vertexai"})
"""Sources that it scales large pictures for."""
LARGE: Final = 2 * 1024 * 1024
"""Bytes of a picture that is large."""
_SHOWN: Final = 80


def _decoded(item: Attachment) -> bytes:
    """The bytes of a medium, none where they are not base64."""
    try:
        return item.decode()
    except FormatError:
        return b""


def _piece(text: str, line: Line, field: str) -> tuple[Piece, ...]:
    return (Piece(text, Origin(OriginAsset.HISTORY, field, entry=str(line.index))),) if text else ()
