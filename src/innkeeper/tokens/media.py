"""Media: what a picture, a sound, a video or a file costs, by the rule that its provider publishes.

What the bytes say (pixels, seconds, pages, text) is counted by that; where there are no bytes, or they do not say, the most that
the rule allows is counted, as an estimate. No rule is a promise of a provider: prices of media change with their models.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import zlib
from collections.abc import Callable
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.parts import Attachment
from innkeeper.tokens.dimensions import PictureSize, picture_size, seconds_of
from innkeeper.tokens.table.models import bare_model_id


class MediaRule(msgspec.Struct, frozen=True, kw_only=True):
    """What media cost at one family of models, in tokens. ``most`` is the most for one picture.

    A picture is scaled down to a square of ``within`` pixels, then its shorter side to ``short``. ``form`` says how it is counted
    then: ``tiles`` (``unit`` for each ``side``² pixels, and ``base``), ``patches`` (``unit`` for each ``side``² pixels, and
    ``base``), ``area`` (one for each ``unit`` pixels), or ``crops`` (``unit`` for each crop of Gemini's). ``low`` is the cost in
    low detail, or of a picture within ``small`` pixels. ``models`` and ``dialects`` say for which it counts.
    """

    name: str
    models: str = ""
    dialects: tuple[str, ...] = ()
    form: str = "tiles"
    within: int = 2048
    short: int = 0
    side: int = 512
    base: int = 0
    unit: float = 170
    most: int = 1445
    low: int | None = None
    small: int = 0
    second_of_sound: float = 32
    second_of_video: float = 300
    page: int = 4500
    basis: str = ""

    def picture(self, size: PictureSize, detail: str | None = None) -> int:
        """Tokens of a picture of this size."""
        if self.low is not None and (detail == "low" or max(size) <= self.small):
            return self.low
        scale = min(1.0, self.within / max(size))
        if self.short:
            scale = min(scale, self.short / min(size))
        width, height = (max(1.0, side * scale) for side in size)
        return min(self.most, math.ceil(self._scaled(width, height)))

    def _scaled(self, width: float, height: float) -> float:
        if self.form == "area":
            return width * height / self.unit
        side = float(self.side)
        if self.form == "crops":
            side = min(768.0, max(256.0, min(width, height) // 1.5))
        return self.base + self.unit * math.ceil(round(width / side, 6)) * math.ceil(round(height / side, 6))


_LONG: Final = 1_000_000
"""More pixels than a side has that is scaled."""

RULES: Final = (
    MediaRule(
        name="gpt-4o-mini", models=r"gpt-4o-mini", short=768, base=2833, unit=5667, most=48169, low=2833, page=52000,
        second_of_sound=10, basis="OpenAI: 2,833 and 5,667 for each tile of 512 pixels",
    ),
    MediaRule(
        name="small OpenAI models", models=r"(?:gpt-(?:4\.1|5(?:\.\d)?)-(?:mini|nano)|o4-mini)", form="patches", side=32,
        unit=2.46, most=3779, page=6800, second_of_sound=10,
        basis="OpenAI: 2.46 (1.62 to 2.46 by model) for each patch of 32 pixels, 1,536 patches at most",
    ),
    MediaRule(
        name="gpt-5.2 and later", models=r"gpt-(?:5\.[2-9]|[6-9])", form="patches", side=32, unit=1, most=2500, page=5500,
        second_of_sound=10, basis="OpenAI: one for each patch of 32 pixels, 2,500 at most",
    ),
    MediaRule(
        name="gpt-5", models=r"gpt-5", short=768, base=70, unit=140, most=1190, low=70, second_of_sound=10,
        basis="OpenAI: 70 and 140 for each tile of 512 pixels, shorter side 768",
    ),
    MediaRule(
        name="o-series", models=r"o[13](?:-|$)", short=768, base=75, unit=150, most=1275, low=75, second_of_sound=10,
        basis="OpenAI: 75 and 150 for each tile of 512 pixels, shorter side 768",
    ),
    MediaRule(
        name="claude-opus-4-7 and later", models=r"claude-(?:(?:opus|sonnet|haiku)-(?:4[-.][7-9]|[5-9])|fable)", form="area",
        within=2576, unit=750, most=4784, page=7800, basis="Anthropic: width times height by 750, 4,784 at most",
    ),
    MediaRule(
        name="anthropic", models=r"claude", dialects=("anthropic",), form="area", within=1568, unit=750, most=1600, page=4600,
        basis="Anthropic: width times height by 750, 1,600 at most; a page is up to 3,000 and a picture",
    ),
    MediaRule(
        name="gemini-3", models=r"gemini-3", form="tiles", within=_LONG, side=_LONG, unit=1120, most=1120, page=1120,
        basis="Google: 1,120 for a picture and a page in high resolution",
    ),
    MediaRule(
        name="google", models=r"(?:gemini|gemma)", dialects=("gemini", "google"), form="crops", within=3072, unit=258,
        most=4128, low=258, small=384, page=258,
        basis="Google: 258 up to 384 pixels and for each crop of up to 768; a page 258, a second of sound 32, of video 300",
    ),
    MediaRule(
        name="mistral", models=r"(?:pixtral|mistral|magistral|ministral|voxtral)", dialects=("mistral",), form="patches",
        within=1540, side=16, base=64, unit=1, most=4160, page=7200,
        basis="Mistral: one for each patch of 16 pixels and each row",
    ),
    MediaRule(
        name="xai", models=r"grok", dialects=("xai",), within=_LONG, side=448, base=256, unit=256, most=1792, page=4800,
        basis="xAI: 256 for each tile of 448 pixels and one more, 1,792 at most",
    ),
    MediaRule(
        name="cohere", models=r"(?:command|c4ai|aya)", dialects=("cohere",), base=256, unit=256, most=3328, page=6400,
        basis="Cohere: 256 for each tile of 512 pixels and one more, 3,328 at most",
    ),
    MediaRule(
        name="openai", models=r"(?:gpt|chatgpt|o\d)", dialects=("openai", "responses", "sillytavern"), short=768, base=85,
        most=1445, low=85, second_of_sound=10, basis="OpenAI: 85 and 170 for each tile of 512 pixels, shorter side 768",
    ),
    MediaRule(
        name="local", form="patches", within=_LONG, side=28, base=64, unit=1, most=4096, page=7200,
        basis="open models: one for each patch of 28 pixels, 4,096 at most",
    ),
)  # fmt: skip
"""The rules, in the order in which they are looked for: by the model's name, then by the dialect."""

_BY_MODEL: Final = tuple((re.compile(rule.models), rule) for rule in RULES if rule.models)

GUESSED_SECONDS: Final = 300
"""The length of a sound or video that nobody knows; that of one with data is at most that of its bytes at 8 kbit/s."""

GUESSED_PAGES: Final = 10
"""The pages of a document that is elsewhere."""

PAGE_BYTES: Final = 5_000
"""The bytes of a document for each page that it may have, where its pages cannot be counted."""

MOST_PAGES: Final = 100
"""The most pages that a document is taken to have where they cannot be counted."""

_BYTES_A_SECOND: Final = 1_000


@lru_cache(maxsize=256)
def media_rule(dialect: str | None, model: str | None) -> MediaRule:
    """The rule for a model, by its name; else that of the dialect; ``openai`` without either."""
    name = bare_model_id(model) if model else ""
    for pattern, rule in _BY_MODEL:
        if pattern.match(name):
            return rule
    return next((rule for rule in RULES if (dialect or "openai") in rule.dialects), RULES[-1])


class MediaCost(NamedTuple):
    """Tokens of one attachment; ``guess`` says what could not be read, and is empty where nothing had to be guessed."""

    tokens: int
    guess: str = ""


def media_cost(item: Attachment, rule: MediaRule, count: Callable[[str], int]) -> MediaCost | None:
    """What an attachment costs: what it says itself in ``tokens``, else by a rule; ``None`` for a kind that no rule knows.

    ``count`` counts the text of a file that is text.
    """
    if item.tokens is not None:
        return MediaCost(item.tokens)
    kind = kind_of(item)
    if kind not in _READERS:
        return None
    read = _READ.get((id(item), rule.name))
    if read is None:
        data = _bytes_of(item)
        if kind == "file" and data is not None and _TEXTS.match(item.media_type or ""):
            return MediaCost(count(data.decode("utf-8", "replace")))
        read = _READ.put((id(item), rule.name), _READERS[kind](item, data, rule), 64, alive=item)
    return read


_READ: Final[BoundedCache[tuple[int, str], MediaCost]] = BoundedCache()
"""The costs of attachments, by their identity and the rule."""

_KINDS: Final = {
    "document": "file", "pdf": "file", "image_url": "image", "input_image": "image", "input_audio": "audio",
    "input_file": "file", "video_url": "video",
}  # fmt: skip


_EMBEDDED: Final = re.compile(rb'"(?:data:[^",]{0,200},)?([A-Za-z0-9+/_=\\\\-]{256,})"')
"""A long text of a JSON body in base64, with a ``data:`` address before it or none; slashes may be escaped."""

_BYTES_A_TOKEN: Final = 4


def body_tokens(body: bytes, model: str | None = None) -> int:
    """Return about how many tokens a written body has, in any protocol: four bytes are one, media cost what they say.

    Text in base64 that is no medium (a signature) counts as the text it is.
    """
    size, media = len(body), 0
    for match in _EMBEDDED.finditer(body):
        cost = _embedded_cost(_decoded(match[1].replace(b"\\", b"")), media_rule(None, model))
        if cost is not None:
            size, media = size - len(match[1]), media + cost
    return media + math.ceil(size / _BYTES_A_TOKEN)


def _embedded_cost(data: bytes | None, rule: MediaRule) -> int | None:
    """What bytes cost whose kind only they can say; None where they are no medium that has a length, a size, pages."""
    if data is None:
        return None
    size, seconds = picture_size(data), seconds_of(data)
    if size is not None:
        return rule.picture(size)
    if seconds is not None:
        # MP4, WebM: who cannot tell counts pictures.
        moves = data[4:8] == b"ftyp" or data.startswith(b"\x1a\x45\xdf\xa3")
        return math.ceil(math.ceil(seconds) * (rule.second_of_video if moves else rule.second_of_sound))
    return max(1, page_count(data)) * rule.page if data.startswith(b"%PDF") else None


def kind_of(item: Attachment) -> str:
    """``image``, ``audio``, ``video`` or ``file``, by the attachment's kind and type; else its kind as it is written."""
    kind = _KINDS.get(item.kind, item.kind)
    main = (item.media_type or "").partition("/")[0]
    return main if kind == "file" and main in ("image", "audio", "video") else kind


def _bytes_of(item: Attachment) -> bytes | None:
    """The decoded data, or that of a ``data:`` address; ``None`` where it is elsewhere or cannot be read."""
    data = item.data
    if data is None and item.url is not None and item.url.startswith("data:"):
        data = item.url.partition(",")[2]
    return None if data is None else _decoded(data)


def _decoded(data: str | bytes) -> bytes | None:
    try:
        return base64.b64decode(data)
    except (binascii.Error, ValueError):
        return None


_TEXTS: Final = re.compile(r"text/|application/(?:json|xml|yaml|x-yaml|toml|javascript)")


def _picture(item: Attachment, data: bytes | None, rule: MediaRule) -> MediaCost:
    size = None if data is None else picture_size(data)
    if size is not None:
        return MediaCost(rule.picture(size, item.detail))
    if item.detail == "low" and rule.low is not None:
        return MediaCost(rule.low)
    return MediaCost(rule.most, "its size")


def _length(data: bytes | None) -> tuple[float, str]:
    seconds = None if data is None else seconds_of(data)
    if seconds is not None:
        return seconds, ""
    return float(GUESSED_SECONDS) if data is None else math.ceil(len(data) / _BYTES_A_SECOND), "its length"


def _sound(_item: Attachment, data: bytes | None, rule: MediaRule) -> MediaCost:
    seconds, guess = _length(data)
    return MediaCost(math.ceil(math.ceil(seconds) * rule.second_of_sound), guess)


def _video(_item: Attachment, data: bytes | None, rule: MediaRule) -> MediaCost:
    seconds, guess = _length(data)
    return MediaCost(math.ceil(math.ceil(seconds) * rule.second_of_video), guess)


def _file(_item: Attachment, data: bytes | None, rule: MediaRule) -> MediaCost:
    """A document by its pages; any other file as one token for each of its bytes, which no text exceeds."""
    if data is None:
        return MediaCost(GUESSED_PAGES * rule.page, "its pages")
    if not data.startswith(b"%PDF"):
        return MediaCost(len(data), "its text")
    pages = page_count(data)
    if pages:
        return MediaCost(pages * rule.page, "what is on its pages")
    return MediaCost(min(MOST_PAGES, math.ceil(len(data) / PAGE_BYTES)) * rule.page, "its pages")


_READERS: Final = {"image": _picture, "audio": _sound, "video": _video, "file": _file}

_PAGE: Final = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_STREAM: Final = re.compile(rb"/ObjStm.{0,400}?stream\r?\n", re.DOTALL)
_MOST_OBJECTS: Final = 64
_MOST_UNPACKED: Final = 4 * 1024 * 1024


def page_count(data: bytes) -> int:
    """The pages of a PDF, counted in its objects, packed ones too; 0 where none is found."""
    pages = len(_PAGE.findall(data))
    for match in islice(_STREAM.finditer(data), _MOST_OBJECTS):
        try:
            unpacked = zlib.decompressobj().decompress(data[match.end() : match.end() + _MOST_UNPACKED], _MOST_UNPACKED)
        except zlib.error:
            continue
        pages += len(_PAGE.findall(unpacked))
    return pages
