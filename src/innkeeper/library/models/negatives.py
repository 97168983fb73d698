"""Negatives: the negative prompt of a generation, joined from a table's fragments by family, tier and mode.

Lower priority numbers come first, since a full window loses its end (dynamic-prompting reference 6.9). A table without rows
for a tier is asked for the general tier of the same family, and never for a higher one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal

import msgspec

from innkeeper.library.models.measure import CLIP, Measure, TokenizerSpec
from innkeeper.library.tier import Tier

__all__ = ["DroppedFragment", "NegativeFragment", "NegativePrompt", "NegativeRow", "join_negatives"]

I2I_FRAGMENTS: Final = 3
"""How many fragments an image-to-image generation takes at most: more would change the reference image too much."""

_JOINER: Final = ", "


class NegativeRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One row of the table: a fragment, or several between commas, for a family, tier and generation mode."""

    id: str
    model_type: str
    negative_prompt: str
    content_mode: Tier = Tier.SFW
    generation_mode: str = "txt2img"
    priority: int = 1
    is_active: bool = True


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
    rows: Iterable[NegativeRow],
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
    wanted = [*_fragments(used), *_split(user_text, "", 0)]
    if not wanted:
        return NegativePrompt(skipped="no_rows", tier=rows_tier)
    sizes = measure or spec.measure()
    kept: list[NegativeFragment] = []
    dropped: list[DroppedFragment] = []
    for fragment in wanted:
        reason = _refused(fragment, kept, mode, sizes, spec.limit_usable - spec.reserve)
        if reason is None:
            kept.append(fragment)
        else:
            dropped.append(DroppedFragment(fragment, reason))
    text = _joined(kept)
    return NegativePrompt(text, tuple(kept), tuple(dropped), sizes.count(text), rows_tier)


def _chosen(rows: list[NegativeRow], family: str, tier: Tier, mode: str) -> tuple[list[NegativeRow], Tier | None]:
    """The rows of the tier, else those of the general tier, else none."""
    for wanted in dict.fromkeys((tier, Tier.SFW)):
        found = [
            row
            for row in rows
            if row.is_active
            and (row.model_type, row.generation_mode, Tier.of(row.content_mode)) == (family, mode, wanted)
        ]
        if found:
            return sorted(found, key=lambda row: (row.priority, row.id)), wanted
    return [], None


def _fragments(rows: Iterable[NegativeRow]) -> Iterator[NegativeFragment]:
    for row in rows:
        yield from _split(row.negative_prompt, row.id, row.priority)


def _split(text: str, row: str, priority: int) -> Iterator[NegativeFragment]:
    """The parts of a text between commas that are in no brackets, which weigh what is in them."""
    depth, start = 0, 0
    for place, sign in enumerate(f"{text},"):
        depth = max(0, depth + (sign in "([{") - (sign in ")]}"))
        if sign == "," and (depth == 0 or place == len(text)):
            if part := " ".join(text[start:place].split()):
                yield NegativeFragment(part, row, priority)
            start = place + 1


def _refused(
    fragment: NegativeFragment, kept: list[NegativeFragment], mode: str, sizes: Measure, room: int
) -> Reason | None:
    """Why a fragment cannot be added, or None where it can."""
    if any(fragment.text.casefold() == other.text.casefold() for other in kept):
        return "duplicate"
    if mode == "i2i" and len(kept) >= I2I_FRAGMENTS:
        return "i2i_limit"
    return "budget" if sizes.most(_joined([*kept, fragment])) > room else None


def _joined(fragments: Iterable[NegativeFragment]) -> str:
    return _JOINER.join(fragment.text for fragment in fragments)
