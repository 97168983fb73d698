"""SecondReader: the port for a moderation model that is asked where the grammar is in doubt in the general tier.

It may lift a doubt there, and nothing else: no block beside words of sex, and none of the adult tier. One that fails lifts
nothing. Where an operator wants it, it is asked about every text, and may block what the grammar let pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from innkeeper.gate.tier import Decision, Tier, TierDecision
from innkeeper.prompt.bounded_cache import BoundedCache

if TYPE_CHECKING:
    from innkeeper.gate.gate import Checked

LIFTS: Final = 0.2
"""Below this score a doubt is lifted."""

BLOCKS: Final = 0.5
"""From this score on, a text is blocked that a reader is always asked about."""

_ROMANCE_ALONE: Final = ("absolute:age_ambiguous",)
_SEXUAL: Final = 0.4
_KNOWN: Final = 4_096
_KNOWN_BYTES: Final = 8 * 1024 * 1024

Texts = tuple[tuple[str, str], ...]


class SecondReader(Protocol):
    """Judges texts. ``label`` is its name, as decisions write it. May raise: then the doubt stays."""

    label: str

    def score(self, text: str, /) -> float:
        """How likely a minor is in a sexual or romantic context in it, from 0 to 1."""
        ...


_lifted: Final[BoundedCache[Texts, str]] = BoundedCache(items=_KNOWN, size=_KNOWN_BYTES)
"""The labels of readers by the texts of which they have lifted a doubt: the doors below know of it."""


def is_lifted(texts: Mapping[str, str]) -> bool:
    """Whether a reader has lifted the doubt about exactly these texts."""
    return _lifted.get(tuple(texts.items())) is not None


def may_be_lifted(checked: Checked) -> bool:
    """Whether a decision is only a doubt: in the general tier, held, or a romance beside an age without a word of sex."""
    decision, scores = checked.decision, checked.event["scores"]
    if decision.passed or decision.effective is not Tier.SFW:
        return False
    if decision.decision is Decision.HOLD:
        return True
    return decision.reasons == _ROMANCE_ALONE and scores.get("sexual", 0.0) < _SEXUAL


def read_again(reader: SecondReader, checked: Checked, texts: Mapping[str, str], *, always: bool) -> TierDecision:
    """The decision with a second reader's word. Raises nothing: a reader that fails changes nothing."""
    decision, doubtful = checked.decision, may_be_lifted(checked)
    if not (doubtful or (always and decision.passed)):
        return decision
    try:
        score = float(reader.score("\n\n".join(texts.values())))
    except Exception:  # noqa: BLE001 - a guest that fails never opens the gate
        return msgspec.structs.replace(decision, reasons=(*decision.reasons, f"reader_failed:{reader.label}"))
    if doubtful and 0 <= score < LIFTS:
        _lifted.put(tuple(texts.items()), reader.label, sum(map(len, texts.values())))
        return msgspec.structs.replace(decision, decision=Decision.REVIEW, reasons=(f"lifted:{reader.label}",))
    if not doubtful and not 0 <= score < BLOCKS:
        reasons = (*decision.reasons, f"absolute:{reader.label}")
        return msgspec.structs.replace(decision, decision=Decision.BLOCK, categories=("minor_sexual",), reasons=reasons)
    return decision
