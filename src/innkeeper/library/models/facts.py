"""What the library knows of a model: its limits and ceilings, how it measures what it is given, its negative prompts.

`ModelFacts` is what the catalogue knows of the model a prompt is for or by. A `TokenizerSpec` makes the `Measure` of its texts,
which says how far it may be off. A negative prompt is joined from a table's fragments by family, tier and mode: lower priority
numbers come first, since a full window loses its end (dynamic-prompting reference 6.9). A table without rows for a tier is asked
for the general tier of the same family, and never for a higher one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from innkeeper.gate.tier import Ceilings, Tier
from innkeeper.library.catalogue.catalogue import Catalogue
from innkeeper.library.catalogue.rows import CatalogueModel, CatalogueNegative, CatalogueProvider
from innkeeper.library.models.emphasis import unweighted
from innkeeper.library.models.json_columns import ModelCapabilities, read_json
from innkeeper.prompt.data import FrozenDict, thaw
from innkeeper.prompt.errors import ConfigError, InnkeeperError, UnknownNameError
from innkeeper.prompt.run.state import TokenCounter
from innkeeper.prompt.typed.once import convert
from innkeeper.tokens import default_counter

ROOM: Final = "a limit is above 0 and larger than what is reserved of it"
"""How a limit, reserve or budget that leaves no room is mended (`ConfigError`)."""

_WINDOW: Final = 75
"""CLIP reads 77 positions, two of which are its markers."""


class TokenizerSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """How one model's input is limited (dynamic-prompting reference 4.5).

    Of a prompt for CLIP, weights (``(word:1.2)``) and references (``<lora:…>``) are no part of what is read.
    ``id`` is a model or hint the token counter knows (none for ``chars``). ``limit_usable`` counts tokens, or characters for
    ``chars``; ``reserve`` of them are kept for what is added later. ``chunking`` ``compel``: the runtime reads several windows.
    """

    kind: Literal["clip", "bpe", "sentencepiece", "chars"]
    id: str = ""
    limit_usable: int = _WINDOW
    reserve: int = 0
    chunking: Literal["none", "compel"] = "none"
    overflow: Literal["error", "compress", "truncate"] = "compress"

    def __post_init__(self) -> None:
        """Refuse limits that leave nothing. Raises `ConfigError`."""
        if not 0 <= self.reserve < self.limit_usable:
            message = f"a reserve of {self.reserve} in a limit of {self.limit_usable} leaves nothing to use"
            raise ConfigError(message, hint=ROOM)

    def measure(self, counter: TokenCounter | None = None) -> Measure:
        """What measures texts for this model."""
        if self.kind == "chars":
            return Measure("chars", len, 0.0)
        model = self.id or ("clip" if self.kind == "clip" else None)
        counts = counter or default_counter()
        facts = counts.describe(model)
        error = facts.get("error_percent")
        name = str(facts.get("tokenizer") or facts.get("backend") or model)
        percent = None if error is None else float(error)
        if self.kind == "clip":
            return Measure(name, lambda text: counts.count(unweighted(text), model), percent)
        return Measure(name, lambda text: counts.count(text, model), percent)

    def windows(self, size: int) -> int:
        """How many windows a text of this size fills: more than one only where the runtime reads several."""
        return max(1, math.ceil(size / self.limit_usable)) if self.chunking == "compel" else 1


CLIP: Final = TokenizerSpec("clip", "clip", _WINDOW)
"""The text encoders of Stable Diffusion and SDXL, whose two encoders read the same window."""


@dataclass(frozen=True, slots=True)
class Measure:
    """Measures texts. ``error_percent`` is 0 where it is exact, and None where nobody knows."""

    name: str
    count: Callable[[str], int]
    error_percent: float | None = 0.0

    @property
    def exact(self) -> bool:
        """Whether it is the model's own measure."""
        return self.error_percent == 0

    def most(self, text: str) -> int:
        """The size a text may have at most: of an estimate, its upper edge."""
        size = self.count(text)
        return size if not self.error_percent else math.ceil(size * (1 + self.error_percent / 100))


I2I_FRAGMENTS: Final = 3
"""How many fragments an image-to-image generation takes at most: more would change the reference image too much."""

_JOINER: Final = ", "


class NegativeFragment(msgspec.Struct, frozen=True):
    """One thing that a picture should not have. ``row`` is empty for the user's own."""

    text: str
    row: str
    priority: int


Reason = Literal["duplicate", "i2i_limit", "budget"]


class DroppedFragment(msgspec.Struct, frozen=True):
    """A fragment that was left out, and why."""

    fragment: NegativeFragment
    reason: Reason


class NegativePrompt(msgspec.Struct, frozen=True):
    """A negative prompt, its fragments and those left out, and its size.

    ``tier`` is that of the rows used, None where there were none. ``skipped`` says why there is no prompt at all
    (``no_negative_input``, ``no_rows``) and is empty where there is one.
    """

    text: str = ""
    kept: tuple[NegativeFragment, ...] = ()
    dropped: tuple[DroppedFragment, ...] = ()
    tokens: int = 0
    tier: Tier | None = None
    skipped: str = ""


def join_negatives(
    rows: Iterable[CatalogueNegative],
    family: str,
    tier: Tier,
    mode: str,
    *,
    spec: TokenizerSpec | None = CLIP,
    user_text: str = "",
    measure: Measure | None = None,
) -> NegativePrompt:
    """The negative prompt for a family in its effective tier and generation mode; ``user_text`` comes last.

    ``spec`` is how the model reads it, None where it has no such input. Inactive rows, other families and other modes are
    left aside.
    """
    if spec is None:
        return NegativePrompt(skipped="no_negative_input")
    used, rows_tier = _chosen(list(rows), family, Tier.of(tier), mode)
    fragments = (part for row in used for part in _split(row.negative_prompt, row.id, row.priority))
    fragments_all = [*fragments, *_split(user_text, "", 0)]
    if not fragments_all:
        return NegativePrompt(skipped="no_rows", tier=rows_tier)
    sizes = measure or spec.measure()
    chosen: list[NegativeFragment] = []
    dropped: list[DroppedFragment] = []
    for fragment in fragments_all:
        reason = _refused(fragment, chosen, mode, sizes, spec.limit_usable - spec.reserve)
        if reason is None:
            chosen.append(fragment)
        else:
            dropped.append(DroppedFragment(fragment, reason))
    text = _joined(chosen)
    return NegativePrompt(text, tuple(chosen), tuple(dropped), sizes.count(text), rows_tier)


def _chosen(
    rows: list[CatalogueNegative], family: str, tier: Tier, mode: str
) -> tuple[list[CatalogueNegative], Tier | None]:
    """The rows of the tier, else those of the general tier, else none."""
    for candidate in dict.fromkeys((tier, Tier.SFW)):
        matches = [
            row
            for row in rows
            if row.is_active and (row.model_type, row.generation_mode, row.content_mode) == (family, mode, candidate)
        ]
        if matches:
            return sorted(matches, key=lambda row: (row.priority, row.id)), candidate
    return [], None


def _split(text: str, row: str, priority: int) -> Iterator[NegativeFragment]:
    """The parts of a text between commas that are in no brackets, which weigh what is in them."""
    depth, start = 0, 0
    for position, sign in enumerate(f"{text},"):
        depth = max(0, depth + (sign in "([{") - (sign in ")]}"))
        if sign == "," and (depth == 0 or position == len(text)):
            if part := " ".join(text[start:position].split()):
                yield NegativeFragment(part, row, priority)
            start = position + 1


def _refused(
    fragment: NegativeFragment, chosen: list[NegativeFragment], mode: str, sizes: Measure, room: int
) -> Reason | None:
    """Why a fragment cannot be added, or None where it can."""
    if any(fragment.text.casefold() == other.text.casefold() for other in chosen):
        return "duplicate"
    if mode == "i2i" and len(chosen) >= I2I_FRAGMENTS:
        return "i2i_limit"
    return "budget" if sizes.most(_joined([*chosen, fragment])) > room else None


def _joined(fragments: Iterable[NegativeFragment]) -> str:
    return _JOINER.join(fragment.text for fragment in fragments)


CLIP_FAMILIES: Final = frozenset({"sdxl", "replicate-sdxl", "rv51", "sd15", "sd21"})
"""Families that read CLIP's window, where a model's row says nothing of its tokenizer."""

_IMAGES: Final = frozenset({"image", "video"})


class ModelFacts(msgspec.Struct, frozen=True):
    """One model. ``negative`` is off where it has no input for negative prompts; ``window`` None where it is not known."""

    key: str | None = None
    family: str | None = None
    window: int | None = None
    spec: TokenizerSpec | None = None
    char_limit: int | None = None
    negative: bool = True
    visual: bool = False
    known: bool = False

    def measured(self, limit: int | None) -> TokenizerSpec | None:
        """How the model reads: its own tokenizer, CLIP for families that read it, else a count of tokens up to ``limit``.

        None where nobody knows a limit: then there is nothing to keep to.
        """
        if self.spec is not None:
            return self.spec
        if {self.key, self.family} & CLIP_FAMILIES:
            return CLIP
        if limit is not None:
            return TokenizerSpec("bpe", self.key or "", max(limit, 1))
        return None if self.char_limit is None else TokenizerSpec("chars", "", self.char_limit)


def facts_of(
    catalogue: Catalogue, key: str | None, family: str | None = None, job_type: str | None = None
) -> ModelFacts:
    """What is known of a model; where it has no row, its key may be the name of a family."""
    row = _row(catalogue, key)
    if row is None:
        return ModelFacts(key, family or key, visual=job_type in _IMAGES)
    able = read_json(row.capabilities, ModelCapabilities)
    return ModelFacts(
        key,
        family or row.model_family or key,
        row.context_window,
        _spec(row.tokenizer),
        able.char_limit,
        able.negative_prompt and (able.input_schema is None or "negative_prompt" in able.input_schema),
        row.modality in _IMAGES,
        known=True,
    )


def ceilings_of(catalogue: Catalogue, ceilings: Ceilings, keys: Iterable[str | None]) -> Ceilings:
    """The ceilings with those of models and their providers, as their rows have them; of a family, those of all its models.

    A model that a catalogue with models does not know is for the general tier: a name nobody has entered gets around no ceiling.
    """
    names = [key for key in keys if key and key.strip()]
    named = [
        [row] if (row := _row(catalogue, key)) else [row for row in catalogue.models if row.model_family == key]
        for key in names
    ]
    models = [row for rows in named for row in rows]
    unknown = bool(catalogue.models) and not all(named)
    owners = {row.provider_id for row in models}
    providers = [row for row in catalogue.providers if row.id in owners]
    least = Tier.SFW if unknown else ceilings.model
    return msgspec.structs.replace(ceilings, model=_least(least, models), provider=_least(ceilings.provider, providers))


def require_known(catalogue: Catalogue, key: str | None) -> None:
    """Refuse a model that the catalogue knows nothing of: not as a model, nor as a family, nor as the target of a template.

    Raises `UnknownNameError` with near names. A catalogue without models refuses nothing.
    """
    if key is None or not catalogue.models or facts_of(catalogue, key).known:
        return
    known = {name for row in catalogue.models for name in (row.model_key, row.model_family) if name}
    keys = [row.version.key for row in catalogue.labelled]
    known |= {name for held in keys for name in (held.target_model, held.enhancer_model) if name}
    if key not in known:
        raise UnknownNameError("model", key, known)


def _row(catalogue: Catalogue, key: str | None) -> CatalogueModel | None:
    return None if key is None else next((row for row in catalogue.models if row.model_key == key), None)


def _least(ceiling: Tier | None, rows: Iterable[CatalogueModel | CatalogueProvider]) -> Tier | None:
    tiers = [tier for tier in (ceiling, *(row.tier_ceiling for row in rows)) if tier is not None]
    return Tier.lowest(*tiers) if tiers else None


def _spec(value: FrozenDict | None) -> TokenizerSpec | None:
    """A row's tokenizer; one that cannot be read is as none."""
    try:
        return None if value is None else convert(thaw(value), TokenizerSpec)
    except (msgspec.ValidationError, InnkeeperError):
        return None
