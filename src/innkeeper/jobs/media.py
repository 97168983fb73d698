"""What a provider is asked for: the body of a media request, made from the catalogue's schema of its model.

The request has one set of names for all models; a model's own names come from its row (``input_schema``,
``input_key_mappings``) or from the usual ones. A value that a model does not take becomes the nearest one that it takes, with a
note; nothing is changed or left out silently. Whether the provider's safety checker is on is decided here, by the tier that
counts and by the operator's row, never by the request (dynamic-prompting reference, S4, 1.4.1 and 6.4).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from math import inf
from typing import Any, Final

import msgspec

from innkeeper.gate.tier import Tier
from innkeeper.inference.errors import PreflightError
from innkeeper.jobs.job import Mode
from innkeeper.jobs.limits import MAX_OUTPUTS, MAX_PICTURES, MAX_PIXELS
from innkeeper.library.catalogue.rows import CatalogueModel
from innkeeper.prompt.data import EMPTY, to_json
from innkeeper.prompt.errors import LimitError, Where
from innkeeper.prompt.text import kind_of


class MediaRequestError(PreflightError):
    """A media request that its model cannot be asked. ``missing_fields`` are those that it needs and did not get."""

    def __init__(self, message: str, *, missing_fields: tuple[str, ...] = (), **kwargs: Any) -> None:
        if missing_fields:
            kwargs["missing_fields"] = list(missing_fields)
        super().__init__(message, **kwargs)
        self.missing_fields = missing_fields


class MediaRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A picture or video that is wanted. What is None is for the model to choose; a ``seed`` of 0 is a seed.

    ``image`` is where an ``i2i`` or ``i2v`` starts: an address, or ``asset:`` and the name of a stored result; ``references`` are
    further pictures, sent after it in their order to a model that reads several. ``width`` and ``height`` are in pixels,
    ``duration`` in seconds. ``strength`` is how much may change, from 0 to 1. ``extra`` are parameters by the model's own names.
    """

    prompt: str
    mode: Mode = Mode.T2I
    model: str | None = None
    negative_prompt: str = ""
    seed: int | None = None
    count: int = 1
    width: int | None = None
    height: int | None = None
    aspect_ratio: str | None = None
    steps: int | None = None
    guidance: float | None = None
    strength: float | None = None
    image: str | None = None
    references: tuple[str, ...] = ()
    duration: float | None = None
    fps: float | None = None
    extra: Mapping[str, Any] = EMPTY

    def checked(self) -> MediaRequest:
        """The request, once it is whole. Raises `MediaRequestError`, `LimitError`."""
        if not self.prompt.strip():
            raise MediaRequestError("the prompt is empty", missing_fields=("prompt",))
        if self.mode.takes_picture and not self.image:
            raise MediaRequestError(f"{self.mode} needs a picture to start from", missing_fields=("image",))
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                number = f"from {least:g} to {most:g}" if most < inf else f"at least {least:g}"
                raise MediaRequestError(f"{name} is a number {number}, not {value:g}", where=Where(path=name))
        if not 1 <= self.count <= MAX_OUTPUTS:
            raise LimitError("results of one job", limit="MAX_OUTPUTS", allowed=MAX_OUTPUTS, found=self.count)
        if self.references and not self.image:
            raise MediaRequestError("further pictures go with a first one", missing_fields=("image",))
        if len(self.pictures) > MAX_PICTURES:
            count = len(self.pictures)
            raise LimitError("pictures that a job starts from", limit="MAX_PICTURES", allowed=MAX_PICTURES, found=count)
        if self.image and not self.mode.takes_picture:
            hint = f"mode {'i2i' if self.mode.modality == 'image' else 'i2v'} starts from it"
            raise MediaRequestError(f"{self.mode} starts from no picture", where=Where(path="image"), hint=hint)
        return self

    @property
    def pictures(self) -> tuple[str, ...]:
        """The pictures that it starts from, in the order in which they are sent."""
        return (*(() if self.image is None else (self.image,)), *self.references)

    @property
    def sha256(self) -> str:
        """The hash by which two requests are the same."""
        return hashlib.sha256(to_json(msgspec.to_builtins(self))).hexdigest()


_RANGES: Final[Mapping[str, tuple[float, float]]] = {
    **dict.fromkeys(("width", "height", "steps"), (1, inf)),
    **dict.fromkeys(("guidance", "duration", "fps"), (0, inf)),
    "strength": (0, 1),
}
"""What fields of a request can mean. Whether a model takes it is for its row to say."""


class MediaNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """A value that was not sent as it was asked for: by its model's name, what was asked, what was sent, and why."""

    parameter: str
    asked: Any
    sent: Any
    reason: str


class BuiltBody(msgspec.Struct, frozen=True):
    """A body, and what in it is not as it was asked for."""

    body: Mapping[str, Any]
    notes: tuple[MediaNote, ...] = ()


_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "prompt": ("prompt",),
    "negative_prompt": ("negative_prompt",),
    "seed": ("seed",),
    "count": ("num_images", "num_outputs", "batch_size", "n"),
    "width": ("width",),
    "height": ("height",),
    "aspect_ratio": ("aspect_ratio",),
    "steps": ("num_inference_steps", "steps"),
    "guidance": ("guidance_scale", "guide_scale", "cfg_scale", "guidance", "cfg"),
    "strength": ("strength", "prompt_strength", "denoising_strength", "denoise_strength", "denoise"),
    "image": ("image_url", "image", "init_image", "input_image", "start_image", "image_urls", "images"),
    "duration": ("duration",),
    "fps": ("fps", "frames_per_second"),
}
"""What models call the fields of a request. The first is used where a model's row says nothing."""

PICTURES: Final = frozenset({*_NAMES["image"], "init_images"})
"""Inputs for pictures: no request sets them by the model's name, since addresses are looked at before they are sent."""

_MAPPED: Final = {
    "steps": "steps",
    "guidance": "guidance_scale",
    "image": "i2i_image_key",
    "strength": "i2i_strength_key",
}
"""The names that ``input_key_mappings`` of a row has for fields."""

SAFETY: Final = frozenset({"enable_safety_checker", "disable_safety_checker", "safety_tolerance", "safety_checker"})
"""Parameters by which providers' safety checkers are set: no request sets them."""

_SIZES: Final = {
    "square_hd": 1.0,
    "landscape_4_3": 4 / 3,
    "landscape_16_9": 16 / 9,
    "portrait_4_3": 3 / 4,
    "portrait_16_9": 9 / 16,
}


def build(request: MediaRequest, model: CatalogueModel, tier: Tier, *, picture: str | None = None) -> BuiltBody:
    """The body of a request for a model.

    Args:
        request: what is wanted, `MediaRequest.checked`.
        model: the row of the model, or what stands for one: ``capabilities`` and ``input_defaults`` are read.
        tier: the tier that counts.
        picture: what stands in the body for ``request.image``; that itself where left out.

    Raises:
        MediaRequestError: a prompt that is too long, a parameter that the model needs, a value of a wrong kind.
    """
    capabilities = model.capabilities
    limit = capabilities.get("char_limit")
    if isinstance(limit, int) and len(request.prompt) > limit:
        raise MediaRequestError(f"the prompt has {len(request.prompt):,} characters, and the model reads {limit:,}")
    maker = _Maker(capabilities, _schema(capabilities))
    maker.defaults(model.input_defaults)
    maker.fields(request, picture)
    for name, value in request.extra.items():
        maker.own(name, value)
    maker.safety(tier)
    maker.require()
    return BuiltBody(maker.body, tuple(maker.notes))


def pictures_read(capabilities: Mapping[str, Any]) -> int:
    """How many pictures to start from a model reads at once: as many as its row's list of them takes, else one."""
    schema = _schema(capabilities) or EMPTY
    lists = [facts for name, facts in schema.items() if name in PICTURES and _is_list(name, facts)]
    if not lists:
        return 1
    most = lists[0].get("maxItems", lists[0].get("max_items"))
    return min(most, MAX_PICTURES) if type(most) is int and most > 0 else MAX_PICTURES


def _schema(capabilities: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]] | None:
    schema = capabilities.get("input_schema")
    if not isinstance(schema, Mapping):
        return None
    schema = schema.get("properties", schema) if schema.get("type") == "object" else schema
    return {name: facts for name, facts in schema.items() if isinstance(facts, Mapping)}


class _Maker:
    """A body as it is made. ``schema`` is None where a model's row has none: then every field is sent by its usual name."""

    def __init__(self, capabilities: Mapping[str, Any], schema: Mapping[str, Mapping[str, Any]] | None) -> None:
        self.capabilities = capabilities
        self.schema = schema
        self.body: dict[str, Any] = {}
        self.notes: list[MediaNote] = []

    def defaults(self, defaults_of_model: Mapping[str, Any]) -> None:
        """The row's own values; never a prompt, which is the request's, nor a safety checker."""
        for name, value in defaults_of_model.items():
            if name not in {"prompt", *SAFETY} and value is not None and self._has(name):
                self.body[name] = self._fitted(name, value, value)

    def fields(self, request: MediaRequest, picture: str | None) -> None:
        """The fields of the request, by the model's names."""
        fields = {name: getattr(request, name) for name in _NAMES}
        fields["image"] = None if request.image is None else picture or request.image
        if request.references:
            fields["image"] = self._several(picture or str(request.image), request.references)
        fields["negative_prompt"] = request.negative_prompt or None
        fields["video"] = request.mode.modality == "video"
        self._size(fields)
        self._frames(fields)
        for field, value in fields.items():
            if value is None or (field == "count" and value == 1 and self.schema is None):
                continue
            name = self._name(field)
            if name is not None:
                single = _is_list(name, self._facts(name)) and not isinstance(value, list)
                self.body[name] = self._fitted(name, [value] if single else value, value)
            elif not (field == "count" and value == 1):
                shown = None if field == "image" else value
                self.notes.append(MediaNote(field, shown, None, "the model has no such input"))

    def own(self, name: str, value: Any) -> None:
        """A parameter by the model's own name."""
        if name in SAFETY | {str(self.capabilities.get("safety_checker_param"))}:
            self.notes.append(MediaNote(name, value, None, "safety checkers are set by the tier, not by requests"))
        elif name in PICTURES:
            self.notes.append(MediaNote(name, None, None, "a picture to start from is said as `image`"))
        elif name == "prompt" or (self.schema is not None and not self._has(name)):
            self.notes.append(MediaNote(name, value, None, "the model has no such input"))
        elif value is not None:
            self.body[name] = self._fitted(name, value, value)

    def safety(self, tier: Tier) -> None:
        """Set the provider's checker: on, unless the tier is the adult one *and* the operator's row says that it may be off."""
        lowered = tier is Tier.NSFW and self.capabilities.get("safety_checker_may_be_off") is True
        known = [str(self.capabilities.get("safety_checker_param") or ""), *(self.schema or {})]
        for name in dict.fromkeys(name for name in known if name in SAFETY):
            facts = self._facts(name)
            if name == "safety_tolerance":
                strict = facts.get("min", facts.get("minimum", 1))
                value = facts.get("default", strict) if lowered else strict
                self.body[name] = str(value) if facts.get("type") == "string" else value
            else:
                self.body[name] = lowered if name == "disable_safety_checker" else not lowered

    def require(self) -> None:
        """Refuse a body without what the model needs."""
        needed = [name for name, facts in (self.schema or {}).items() if facts.get("required") is True]
        missing = tuple(name for name in needed if self.body.get(name) in (None, "", []))
        if missing:
            raise MediaRequestError(f"the model needs {', '.join(missing)}", missing_fields=missing)

    # ------------------------------------------------------------------------------------------------------------ names

    def _has(self, name: str) -> bool:
        return self.schema is None or (name in self.schema and self.schema[name].get("active") is not False)

    def _facts(self, name: str) -> Mapping[str, Any]:
        facts = (self.schema or {}).get(name, EMPTY)
        ranges = self.capabilities.get("input_ranges")
        more = ranges.get(name) if isinstance(ranges, Mapping) else None
        return {**more, **facts} if isinstance(more, Mapping) else facts

    def _name(self, field: str) -> str | None:
        mappings = self.capabilities.get("input_key_mappings")
        own = mappings.get(_MAPPED.get(field, field)) if isinstance(mappings, Mapping) else None
        if isinstance(own, str) and own and self._has(own):
            return own
        if self.schema is None:
            return _NAMES[field][0]
        return next((name for name in _NAMES[field] if self._has(name)), None)

    def _size(self, fields: dict[str, Any]) -> None:
        """The size where a model has one input for it: an object, a word, or a ratio."""
        width, height, ratio = fields["width"], fields["height"], _ratio(fields["aspect_ratio"])
        if self.schema is None or not self._has("image_size"):
            if width and height and self._name("width") is None and self._name("aspect_ratio") is not None:
                fields.update(width=None, height=None, aspect_ratio=fields["aspect_ratio"] or f"{width}:{height}")
            elif ratio and not width and not height and self._name("aspect_ratio") is None and self._name("width"):
                fields.update(zip(("width", "height"), _sides(ratio), strict=True), aspect_ratio=None)
            return
        shape = width / height if width and height else ratio
        if shape is not None:
            asked = (width, height) if width and height else _sides(shape)
            options = self._facts("image_size").get("options", self._facts("image_size").get("enum"))
            size: Any = {"width": asked[0], "height": asked[1]}
            if options:
                known = {name: one for name, one in _SIZES.items() if name in options} or {options[0]: 1.0}
                size = min(known, key=lambda name: abs(known[name] - shape))
                if abs(known[size] - shape) > _SLACK:
                    asked_size = fields["aspect_ratio"] or f"{width}x{height}"
                    self.notes.append(MediaNote("image_size", asked_size, size, "the nearest shape"))
            self.body["image_size"] = size
        fields.update(width=None, height=None, aspect_ratio=None)

    def _several(self, first: str, others: tuple[str, ...]) -> list[str]:
        """All pictures, for a model that reads so many: a prompt that speaks of several is not sent with fewer."""
        name, count = self._name("image"), 1 + len(others)
        facts = self._facts(name or "")
        most = pictures_read(self.capabilities)
        if name is None or not _is_list(name, facts) or count > most:
            raise MediaRequestError(f"the model reads {most} pictures, and the request has {count}")
        return [first, *others]

    def _frames(self, fields: dict[str, Any]) -> None:
        """The length where a model counts frames."""
        seconds, facts = fields["duration"], self._facts("num_frames")
        if fields.pop("video") and "default" in facts:
            self.body.setdefault("num_frames", facts["default"])
        if seconds is None or self.schema is None or self._name("duration") or not self._has("num_frames"):
            return
        fps = fields["fps"] or self._facts(self._name("fps") or "").get("default") or facts.get("fps") or _FPS
        self.body["num_frames"] = self._fitted("num_frames", round(seconds * fps), f"{seconds:g} s")
        fields["duration"] = None

    # ----------------------------------------------------------------------------------------------------------- values

    def _fitted(self, name: str, value: Any, asked: Any) -> Any:
        """The nearest value that the model takes, with a note where that is another one."""
        facts = self._facts(name)
        try:
            sent, why = _nearest(value, facts, name)
        except (TypeError, ValueError):
            kind = facts.get("type", "another kind of value")
            raise MediaRequestError(f"{name} takes {kind}, not {kind_of(value)}") from None
        if why:
            self.notes.append(MediaNote(name, asked, sent, why))
        return sent


_SLACK: Final = 0.01
_FPS: Final = 16
_MEGAPIXEL: Final = 1024
_SEED_MOST: Final = 2**31 - 1


def _is_list(name: str, facts: Mapping[str, Any]) -> bool:
    return facts.get("type") in {"array", "list"} or name in {"image_urls", "images"}


def _ratio(text: Any) -> float | None:
    left, colon, right = str(text or "").partition(":")
    try:
        return float(left) / float(right) if colon else None
    except (ValueError, ZeroDivisionError):
        return None


def _sides(ratio: float) -> tuple[int, int]:
    """Sides of this ratio with about a megapixel, in steps of 64."""
    width = min(MAX_PIXELS, max(64, round(_MEGAPIXEL * ratio**0.5 / 64) * 64))
    return width, min(MAX_PIXELS, max(64, round(_MEGAPIXEL / ratio**0.5 / 64) * 64))


def _nearest(value: Any, facts: Mapping[str, Any], name: str) -> tuple[Any, str]:
    options = facts.get("options", facts.get("enum"))
    if options:
        return _option(value, list(options))
    kind = facts.get("type", "")
    if kind in {"integer", "int", "number", "float"} or (
        not kind and isinstance(value, (int, float)) and not isinstance(value, bool)
    ):
        return _number(value, facts, name, whole=kind in {"integer", "int"})
    if kind in {"boolean", "bool"} and not isinstance(value, bool):
        raise TypeError(name)
    if kind == "string" and not isinstance(value, str):
        return str(value), ""
    return value, ""


def _option(value: Any, options: list[Any]) -> tuple[Any, str]:
    if value in options:
        return value, ""
    same = [one for one in options if str(one).casefold() == str(value).casefold()]
    if same:
        return same[0], ""
    number, numbers = _figure(value), {_figure(one): one for one in options if _figure(one) is not None}
    if number is None or not numbers:
        return options[0], f"not one of {', '.join(map(str, options[:8]))}"
    return numbers[min(numbers, key=lambda one: abs((one or 0) - number))], "the nearest that the model has"


def _figure(value: Any) -> float | None:
    """A value as a number: a ratio as its quotient, ``480p`` as 480."""
    if isinstance(value, bool):
        return None
    text = str(value)
    try:
        return _ratio(text) if ":" in text else float(text.removesuffix("p").removesuffix("s"))
    except ValueError:
        return None


def _number(value: Any, facts: Mapping[str, Any], name: str, *, whole: bool) -> tuple[Any, str]:
    if isinstance(value, bool):
        raise TypeError(name)
    number = float(value) if not isinstance(value, int) else value
    most = MAX_PIXELS if name in {"width", "height"} else None
    low, high = facts.get("min", facts.get("minimum")), facts.get("max", facts.get("maximum", most))
    step = facts.get("multipleOf", facts.get("step"))
    if name == "seed":
        return _seed(int(number), low, high)
    sent = max(number, low) if low is not None else number
    sent = min(sent, high) if high is not None else sent
    if step:
        base = facts.get("offset", 0)
        sent = base + round((sent - base) / step) * step
        sent = (
            sent + step if low is not None and sent < low else sent - step if high is not None and sent > high else sent
        )
    if whole or (isinstance(value, int) and float(sent).is_integer()):
        sent = round(sent)
    return sent, "" if sent == value else "the nearest that the model takes"


def _seed(seed: int, low: int | None, high: int | None) -> tuple[int, str]:
    """A seed that the model takes: it keeps its number where it can, and else is folded into the range."""
    least, most = low or 0, _SEED_MOST if high is None else high
    if least <= seed <= most:
        return seed, ""
    return least + seed % (most - least + 1), "folded into the range of the model's seeds"
