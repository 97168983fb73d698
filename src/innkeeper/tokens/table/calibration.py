"""The tokens of a word, a letter of each script, a digit and a sign, by family of vocabularies.

Fitted to the exact tokenizers by ``benchmarks/core/calibrate_tokens.py`` on passages of 2,000 characters: dialogues, user
interfaces and fantasy tales in 45 languages, code, JSON and Markdown. ``error`` is the 90th percentile of the relative
error in percent on passages the fit had not seen, each kind of text weighing the same, ``typical`` the median. ``generic``
is the mean of seven current vocabularies, measured against each of them: most of its error is the difference between them,
not the estimate.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec


class HeuristicProfile(msgspec.Struct, frozen=True):
    """A heuristic's weights, one for each of `innkeeper.tokens.engines.heuristic.FEATURES`, and its measured error in percent."""

    error: float
    typical: float
    weights: tuple[float, ...]


def _read() -> dict[str, HeuristicProfile]:
    rows = msgspec.json.decode(Path(__file__).with_name("calibration.json").read_bytes())
    # not decoded as profiles: msgspec would make 16 a 16.0, which prints differently
    return {name: HeuristicProfile(row["error"], row["typical"], tuple(row["weights"])) for name, row in rows.items()}


PROFILES: Final[Mapping[str, HeuristicProfile]] = MappingProxyType(_read())
"""The profiles by family of vocabularies, from ``calibration.json``."""
