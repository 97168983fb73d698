"""Which tokenizer a model has: an immutable table from model ids and globs to families, and from families to ways to count.

A way is a tokenizer with the error it has for the family: 0 for the model's own vocabulary. Ways are tried in order, so a
family whose vocabulary is not installed is still counted, as an estimate that says how far it may be off. Model ids come as
people and routers write them (`bare_model_id`); `canonical_model_hint` gives the shorter names that registries know.
"""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import msgspec

from innkeeper.prompt.errors import UnknownNameError
from innkeeper.tokens.table.calibration import PROFILES

_MEASURED: Final = "measured on passages in 45 languages, 90th percentile"


class Way(msgspec.Struct, frozen=True):
    """One way to count: a vocabulary's name or ``heuristic:<profile>``; ``error`` in percent, 0 where exact."""

    tokenizer: str
    error: float = 0.0


class Family(msgspec.Struct, frozen=True):
    """Models that count alike; ``ways`` from best to last, ``basis`` says where the errors are known from."""

    name: str
    ways: tuple[Way, ...]
    basis: str = _MEASURED


class ModelMatch(NamedTuple):
    """The row of a table for a model: the pattern that matched and the family."""

    pattern: str
    family: Family


class ModelTable(msgspec.Struct, frozen=True):
    """Rows of (id or glob, family name), first match wins; exact ids before globs. ``families`` are by name."""

    rows: tuple[tuple[str, str], ...]
    families: tuple[Family, ...]

    def find(self, model: str) -> ModelMatch | None:
        """The row for a model id as providers and routers write it (`bare_model_id`), or None."""
        bare = bare_model_id(model)
        for fits in (str.__eq__, fnmatchcase):
            for pattern, family in self.rows:
                if fits(bare, pattern):
                    return ModelMatch(pattern, self.family(family))
        return None

    def family(self, name: str) -> Family:
        """The family of this name. Raises `UnknownNameError`."""
        for family in self.families:
            if family.name == name:
                return family
        raise UnknownNameError("model family", name, (family.name for family in self.families))

    def with_(self, rows: Mapping[str, str] | None = None, families: tuple[Family, ...] = ()) -> Self:
        """Return a table with further rows, which match first, and further families; one of the same name replaces."""
        names = {family.name for family in families}
        remaining = tuple(family for family in self.families if family.name not in names)
        table = type(self)((*(rows or {}).items(), *self.rows), families + remaining)
        for _, family in table.rows:
            table.family(family)
        return table

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.rows)


def _family(row: Mapping[str, Any]) -> Family:
    ways = tuple(Way(tokenizer, *(error or _measured_error(tokenizer))) for tokenizer, *error in row["ways"])
    return Family(row["name"], ways, row.get("basis", _MEASURED))


def _measured_error(tokenizer: str) -> tuple[float, ...]:
    """Return the error of a calibrated estimate; nothing for a vocabulary, which is exact."""
    kind, _, profile = tokenizer.partition(":")
    return (PROFILES[profile].error,) if kind == "heuristic" else ()


_DATA: Final = msgspec.json.decode(Path(__file__).with_name("models.json").read_bytes())
"""Families with their ways to count, groups of patterns in the order they are tried, and hints by part of an id."""

FAMILIES: Final = tuple(map(_family, _DATA["families"]))
"""The families of models. Gemini's 25 % is far above the 5 % by which SillyTavern's known Gemma counts differ."""

MODELS: Final = ModelTable(
    tuple((pattern, family) for rows in _DATA["patterns"].values() for pattern, family in rows), FAMILIES
)
"""The default table: OpenAI, Anthropic, Google, and the open families with those built on them."""


def canonical_model_hint(model: str) -> str:
    """The name a registry of tokenizer files knows a model by (VibeTavern's ``canonical_model_hint``).

    >>> canonical_model_hint("deepseek/deepseek-chat-v3-0324:nitro")
    'deepseek-v3'
    >>> canonical_model_hint("openai/gpt-4o")
    'gpt-4o'
    """
    bare = model.strip().partition(":")[0]
    if bare.startswith("openai/"):
        bare = bare.removeprefix("openai/")
    lower = bare.lower()
    # VibeTavern's rules, in its order: the first part that the id contains decides
    return next((hint for part, hint in _DATA["hints"] if part in lower), bare)


def bare_model_id(model: str) -> str:
    """A model id in lower case without vendor, route or fine-tuning parts.

    >>> bare_model_id("Meta-Llama/Llama-3.1-8B-Instruct:free")
    'llama-3.1-8b-instruct'
    >>> bare_model_id("ft:gpt-4o-mini:shop::abc")
    'gpt-4o-mini'
    """
    name = model.strip().lower().removeprefix("ft:").partition(":")[0]
    return name.rstrip("/").rpartition("/")[2]
