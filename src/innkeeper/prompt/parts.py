"""Parts: what a message is written as a list of, in every provider's shape, and the order in which its parts stand.

A message's text is one, whatever it was written as: the texts of its parts, joined by line ends. Where that, its attachments and
its tool calls are not all there is to say of the order, ``metadata["parts"]`` lists it, a mapping for each part: ``type`` is
``text`` (with the ``text`` itself), ``attachment``, ``reasoning`` or ``call`` (each the next one of the message's), or ``other``
for a ``block`` that only the provider of this ``shape`` reads. Whatever else stands in it, such as a cache mark, is the part's
own. A text that was changed since is found again by `aligned`.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from innkeeper.prompt.data import EMPTY, FrozenDict, freeze
from innkeeper.prompt.errors import FormatError, Where
from innkeeper.prompt.text import kind_of, scalar_text

_KINDS: Final = {
    "image_url": "image",
    "input_image": "image",
    "input_audio": "audio",
    "video_url": "video",
    "input_file": "file",
    "document": "file",
}
_PART_FIELDS: Final = frozenset(
    {
        "kind",
        "type",
        "url",
        "data",
        "file_data",
        "media_type",
        "name",
        "filename",
        "detail",
        "format",
        "tokens",
        "extra",
    }
)
_DATA_URL: Final = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,(?P<data>.*)", re.DOTALL)


class Attachment(msgspec.Struct, frozen=True, omit_defaults=True):
    """Media beside a message's text: an image, audio, video or file, by URL or as base64 ``data``.

    ``media_type`` is a MIME type (``image/png``); ``detail`` is a provider's fidelity hint (``low``, ``high``, ``auto``);
    ``tokens`` is what it costs, where whoever made it knows.
    """

    kind: str
    url: str | None = None
    data: str | None = None
    media_type: str | None = None
    name: str | None = None
    detail: str | None = None
    tokens: int | None = None
    extra: FrozenDict = EMPTY

    @classmethod
    def of(cls, value: Any, *, where: Where | None = None) -> Attachment:
        """An attachment from itself or a mapping: ours, or an OpenAI content part, whose other fields go to ``extra``.

        Anthropic's images and documents are read, too. Raises `FormatError`.
        """
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping):
            raise FormatError(f"an attachment must be a mapping, not {kind_of(value)}", where=where)
        if isinstance(value.get("source"), Mapping):
            value = _sourced(value, value["source"])
        kind = _field(value, ("kind", "type"), where) or "file"
        inside = "image_url" if kind == "input_image" else kind
        body = None if inside in cls.__struct_fields__ else value.get(inside)
        part = {**value, **body} if isinstance(body, Mapping) else value
        url = _field(part, ("url",), where) or (body if isinstance(body, str) else None)
        data = _field(part, ("data", "file_data"), where)
        embedded = _DATA_URL.fullmatch(url or data or "")
        return cls(
            kind=_KINDS.get(kind, kind),
            url=None if embedded else url,
            data=embedded["data"] if embedded else data,
            media_type=(embedded["type"] if embedded else None)
            or _field(part, ("media_type",), where)
            or _media_type(part),
            name=_field(part, ("name", "filename"), where),
            detail=_field(part, ("detail",), where),
            tokens=optional_int(part, "tokens", where),
            extra=_extra(part, {*_PART_FIELDS, inside}),
        )

    @property
    def data_url(self) -> str | None:
        """``url``, or the data as a ``data:`` URL."""
        return (
            self.url
            if self.data is None
            else f"data:{self.media_type or 'application/octet-stream'};base64,{self.data}"
        )

    def decode(self) -> bytes:
        """The bytes of ``data``. Raises `FormatError` when there are none or they are not base64."""
        try:
            return base64.b64decode(self.data or "", validate=True)
        except (binascii.Error, ValueError) as error:
            raise FormatError("attachment data is not base64") from error


def _field(part: Mapping[str, Any], names: tuple[str, ...], where: Where | None) -> str | None:
    """The text under the first of ``names`` that has some."""
    for name in names:
        value = part.get(name)
        if isinstance(value, str) and value:
            return scalar_text(value)
        if value is not None and not isinstance(value, str):
            raise FormatError(f"an attachment's {name} must be text, not {kind_of(value)}", where=where)
    return None


def optional_int(fields: Mapping[str, Any], key: str, where: Where | None) -> int | None:
    """Return a whole number, or None where there is none. Raises `FormatError`."""
    value = fields.get(key)
    if value is None or type(value) is int:
        return value
    raise FormatError(f"{key} must be a whole number, not {kind_of(value)}", where=where)


def _extra(part: Mapping[str, Any], known: set[str]) -> FrozenDict:
    own = part.get("extra")
    rest = {key: item for key, item in part.items() if key not in known and item is not None}
    extra = {**rest, **own} if isinstance(own, Mapping) else rest
    return freeze(extra) if extra else EMPTY


def _media_type(part: Mapping[str, Any]) -> str | None:
    form = part.get("format")
    return f"audio/{form}" if isinstance(form, str) else None


def _sourced(block: Mapping[str, Any], source: Mapping[str, Any]) -> dict[str, Any]:
    """An image or a document of Anthropic's as a flat part; text in it becomes base64, as all data is."""
    fields = {name: value for name, value in block.items() if name not in ("source", "title")}
    data, media_type = source.get("data"), source.get("media_type")
    if source.get("type") == "text":
        data = base64.b64encode(scalar_text(str(data or "")).encode()).decode()
    named = {"url": source.get("url"), "data": data, "media_type": media_type, "file_id": source.get("file_id")}
    return {**fields, "name": block.get("title"), **{name: value for name, value in named.items() if value is not None}}


class Content(msgspec.Struct, frozen=True):
    """What a list of parts says: the text of a message, its attachments, and what of the parts is metadata."""

    text: str
    attachments: tuple[Attachment, ...] = ()
    metadata: Mapping[str, Any] = EMPTY


_TEXT, _MEDIA, _THOUGHT, _CALL, _OTHER = "text", "attachment", "reasoning", "call", "other"
_ORDER: Final = (_THOUGHT, _TEXT, _MEDIA, _CALL)
"""The order in which parts stand where nothing is said of it."""

ANTHROPIC: Final = "anthropic"
_RESULT: Final = "tool_result"
_OWN_BLOCKS: Final = frozenset(
    {"server_tool_use", "mcp_tool_use", "container_upload", "search_result", "tool_reference"}
)
"""Blocks that only Anthropic reads, besides results of its tools."""


def read_content(parts: Iterable[Any], where: Where | None = None, *, shape: str = "", mark: bool = True) -> Content:
    """Return what the parts of a message say. Raises `FormatError` for what is no part.

    Args:
        parts: texts, attachments, and mappings in OpenAI's, Anthropic's or our own shape.
        where: the place of the message, for errors.
        shape: whose blocks those are that are of no known kind; attachments where left out.
        mark: whether the cache mark of the last part becomes the message's.
    """
    reader = _Reader(where, shape)
    for part in parts:
        reader.take(part)
    return reader.content(mark=mark)


class _Reader:
    """Parts as they come."""

    def __init__(self, where: Where | None, shape: str) -> None:
        self._where, self._shape = where, shape
        self._listed: list[dict[str, Any]] = []
        self._media: list[Attachment] = []
        self._facts: dict[str, Any] = {}

    def take(self, part: Any) -> None:
        """Add a part."""
        if isinstance(part, str):
            self._listed.append({"type": _TEXT, "text": scalar_text(part)})
        elif isinstance(part, Attachment):
            self._attach(part)
        elif isinstance(part, Mapping):
            self._mapping(part)
        else:
            message = f"a content part must be a mapping or text, not {kind_of(part)}"
            raise FormatError(message, where=self._where)

    def _mapping(self, part: Mapping[str, Any]) -> None:
        kind = part.get("type") or part.get("kind")
        if not isinstance(kind, str | None):
            raise FormatError(f"the type of a content part must be text, not {kind_of(kind)}", where=self._where)
        if kind == "refusal":
            self._facts["refusal"] = f"{self._facts.get('refusal') or ''}{part.get('refusal') or ''}"
        elif kind == "tool_use":
            function = {"name": part.get("name"), "arguments": part.get("input") or {}}
            call = {"id": part.get("id"), "type": "function", "function": function}
            self._facts.setdefault("tool_calls", []).append(call)
            self._list(_CALL, part, "id", "name", "input")
        elif kind in ("thinking", "redacted_thinking"):
            self._facts.setdefault("reasoning", []).append(_thought(part))
            self._list(_THOUGHT, part, "thinking", "signature", "data")
        elif self._is_native(part, kind):
            block = freeze({name: value for name, value in part.items() if name != "cache_control"})
            mark = {"cache_control": part["cache_control"]} if part.get("cache_control") else {}
            self._listed.append({"type": _OTHER, "shape": self._shape or ANTHROPIC, "block": block, **mark})
        elif isinstance(part.get("text"), str):
            self._list(_TEXT, part, "text", text=scalar_text(part["text"]))
        else:
            fields = {name: value for name, value in part.items() if name != "cache_control"}
            self._attach(Attachment.of(_flat_file(fields), where=self._where), part.get("cache_control"))

    def _is_native(self, part: Mapping[str, Any], kind: Any) -> bool:
        """Whether only one provider can read a part."""
        source = part.get("source")
        if isinstance(source, Mapping) and kind in ("image", "document"):
            return source.get("type") == "content"
        known = isinstance(part.get("text"), str) or (not self._shape and not isinstance(source, Mapping))
        return kind in _OWN_BLOCKS or str(kind).endswith(_RESULT) or not known

    def _attach(self, item: Attachment, mark: Any = None) -> None:
        self._media.append(item)
        self._listed.append({"type": _MEDIA, **({"cache_control": mark} if mark else {})})

    def _list(self, kind: str, part: Mapping[str, Any], *known: str, **facts: Any) -> None:
        own = {name: value for name, value in part.items() if name not in {"type", "kind", *known}}
        self._listed.append({"type": kind, **facts, **{n: v for n, v in own.items() if v not in (None, [], (), {})}})

    def content(self, *, mark: bool) -> Content:
        """Return what the parts say, all of them read."""
        marked = [part for part in self._listed if part.get("cache_control")]
        if mark and len(marked) == 1 and marked[0] is self._listed[-1]:
            self._facts["cache_control"] = marked[0].pop("cache_control")
        if not _is_plain(self._listed):
            self._facts["parts"] = self._listed
        texts = [part["text"] for part in self._listed if part["type"] == _TEXT]
        return Content("\n".join(texts), tuple(self._media), self._facts)


def _is_plain(listed: Sequence[Mapping[str, Any]]) -> bool:
    """Whether parts stand in the order of `_ORDER`, at most one text among them, and have nothing of their own."""
    kinds = [part["type"] for part in listed]
    if _OTHER in kinds or kinds.count(_TEXT) > 1 or any(part.keys() - {"type", "text"} for part in listed):
        return False
    return kinds == sorted(kinds, key=_ORDER.index)


def _thought(part: Mapping[str, Any]) -> dict[str, Any]:
    if part.get("type") == "redacted_thinking":
        return {"data": part.get("data")}
    text = part.get("thinking")
    if isinstance(text, (list, tuple)):  # Mistral's
        text = "".join([str(each.get("text") or "") for each in text if isinstance(each, Mapping)])
    return {"text": text or "", **({"signature": part["signature"]} if part.get("signature") else {})}


def _flat_file(part: dict[str, Any]) -> dict[str, Any]:
    """A file's part with its fields at the top, its data as a ``data:`` address or its address as ``url``."""
    if part.get("type") not in ("file", "input_file"):
        return part
    inner = part.pop("file", None)
    fields = {**part, **(inner if isinstance(inner, Mapping) else {})}
    address = fields.pop("file_url", None)
    return fields if address is None else {**fields, "url": address}


def without_results(value: Any) -> tuple[Any, ...]:
    """Return a message of Anthropic's as one for each tool's result in it, and one of the rest; any other as it is."""
    content = value.get("content") if isinstance(value, Mapping) else None
    if not isinstance(content, (list, tuple)) or not any(_is_result(part) for part in content):
        return (value,)
    rest = [part for part in content if not _is_result(part)]
    results = [_result(part) for part in content if _is_result(part)]
    return (*results, {**value, "content": rest}) if rest or value.keys() - {"role", "content"} else tuple(results)


def _is_result(part: Any) -> bool:
    return isinstance(part, Mapping) and part.get("type") == _RESULT


def _result(block: Mapping[str, Any]) -> dict[str, Any]:
    facts = {name: value for name, value in block.items() if name not in ("type", "content", "tool_use_id") and value}
    return {"role": "tool", "content": block.get("content"), "tool_call_id": block.get("tool_use_id"), **facts}


def aligned(texts: Sequence[str], whole: str) -> list[str]:
    """Return the texts as they stand in ``whole``, which was made of them and may have been changed since.

    What was changed belongs to the text that is not found there, and otherwise to the one after it; nothing of ``whole`` is lost
    but the white space between two texts.
    """
    if "\n".join(texts) == whole:
        return list(texts)
    stands: list[str] = []
    missing: list[int] = []
    end = 0
    for text in texts:
        at = whole.find(text, end) if text else -1
        if at < 0:
            missing.append(len(stands))
            stands.append("")
            continue
        before = whole[end:at]
        if missing:
            stands[missing[0]], before = before.strip("\n"), ""
        stands.append((before if before.strip() else "") + text)
        missing, end = [], at + len(text)
    rest = whole[end:]
    if missing:
        stands[missing[0]] = rest.strip("\n")
    elif stands and rest.strip():
        stands[-1] += rest
    return stands
