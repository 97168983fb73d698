"""What is publicly known of models: their windows, the longest answers they give, and list prices with the date of each.

``catalogue.json`` ships with its date and sources. A file of the same form is laid over it (`use_catalogue`): its rows win. A
price counts at the provider that it names alone; a window counts wherever the model runs.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Final, Protocol

import msgspec

from innkeeper.prompt.errors import FormatError, UnavailableError, Where
from innkeeper.prompt.near import near_names
from innkeeper.prompt.typed.once import decode
from innkeeper.tokens.table.models import bare_model_id

_Tokens = Annotated[int, msgspec.Meta(ge=1)]
_Money = Annotated[float, msgspec.Meta(ge=0)]


class LongPrice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a million tokens cost where a prompt has more than ``above``."""

    above: _Tokens
    input: _Money
    output: _Money


class ListPrice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What ``provider`` asked for a million tokens on ``date``; ``cached`` for those that it had read shortly before."""

    provider: str
    date: str
    input: _Money
    output: _Money
    cached: _Money | None = None
    long: LongPrice | None = None


class KnownModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row. ``names`` are ids, or globs (``* ? [``), without dates; ``output`` is the longest answer, in tokens."""

    names: tuple[str, ...]
    window: _Tokens | None = None
    output: _Tokens | None = None
    price: ListPrice | None = None


class ModelCatalogue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rows of models, of ``date``. An id that a row names counts before globs, an earlier row before later ones."""

    date: str
    models: tuple[KnownModel, ...]
    sources: tuple[str, ...] = ()
    currency: str = "USD"

    def find(self, model: str) -> KnownModel | None:
        """Return the row of a model, as providers and routers write its id, with a date or without."""
        bare = bare_model_id(model)
        for name in dict.fromkeys((bare, _DATE.sub("", bare))):
            for fits in (str.__eq__, _fits):
                for row in self.models:
                    if any(fits(name, pattern) for pattern in row.names):
                        return row
        return None

    def over(self, other: ModelCatalogue) -> ModelCatalogue:
        """Return this catalogue laid over another."""
        return msgspec.structs.replace(self, models=(*self.models, *other.models))


def _fits(name: str, pattern: str) -> bool:
    """Whether a glob fits. A pattern is made only where the name has what stands before its first set of characters."""
    literals = pattern.partition("[")[0].replace("?", "*").split("*")
    return all(map(name.__contains__, literals)) and fnmatchcase(name, pattern)


_DATE: Final = re.compile(r"[-@](?:20\d\d-?\d\d-?\d\d|latest|\d{4})$")
"""What ids end with that name one state of a model."""


def read_catalogue(path: Path) -> ModelCatalogue:
    """Read a catalogue. Raises `UnavailableError`, `FormatError`."""
    where = Where(asset=str(path))
    try:
        return decode(path.read_bytes(), ModelCatalogue)
    except OSError as error:
        raise UnavailableError(f"the catalogue of models cannot be read: {error.strerror}", where=where) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        hint = 'like {"date": "2026-01-31", "models": [{"names": ["my-model"], "window": 32768}]}'
        raise FormatError(f"this is no catalogue of models: {error}", where=where, hint=hint) from error


SHIPPED: Final = read_catalogue(Path(__file__).with_name("catalogue.json"))
"""The catalogue that comes with Innkeeper."""

_IN_USE: Final = [SHIPPED]


def use_catalogue(path: Path | None) -> None:
    """Lay an operator's file over the shipped catalogue, for all of this process; None: the shipped one alone.

    Raises as `read_catalogue`.
    """
    _IN_USE[0] = SHIPPED if path is None else read_catalogue(path).over(SHIPPED)
    known_model.cache_clear()
    near_model.cache_clear()


@lru_cache(maxsize=1_024)
def known_model(model: str) -> KnownModel:
    """Return what is known of a model; an empty row where nothing is."""
    return _IN_USE[0].find(model) or KnownModel((model,))


MILLION: Final = 1_000_000
"""Tokens that a price is for."""


class Rates(Protocol):
    """Money for a million tokens."""

    @property
    def input(self) -> float:
        """Of tokens that are read."""
        ...

    @property
    def output(self) -> float:
        """Of tokens that are written."""
        ...

    @property
    def cached(self) -> float | None:
        """Of tokens that are read from a cache, None: as others."""
        ...

    @property
    def long(self) -> LongPrice | None:
        """The price of a prompt that is longer than it says."""
        ...


def tokens_cost(price: Rates, input_tokens: int, output_tokens: int = 0, *, cached_tokens: int = 0) -> float:
    """Return what tokens cost. ``cached_tokens`` are among those that were read; a long prompt has no cheaper ones."""
    if price.long is not None and input_tokens > price.long.above:
        return (price.long.input * input_tokens + price.long.output * output_tokens) / MILLION
    cheaper = 0.0 if price.cached is None else (price.input - price.cached) * cached_tokens
    return (price.input * input_tokens - cheaper + price.output * output_tokens) / MILLION


def listed_cost(model: str | None, input_tokens: int, *, cached_tokens: int = 0) -> float | None:
    """Return what a prompt costs at the maker's list price; None where nobody knows one."""
    price = known_model(model).price if model else None
    return None if price is None else tokens_cost(price, input_tokens, cached_tokens=cached_tokens)


def known_window(model: str | None) -> int | None:
    """Return the window of a model in tokens; None where nobody knows it."""
    return known_model(model).window if model else None


@lru_cache(maxsize=1_024)
def near_model(model: str) -> str | None:
    """Return the listed id that a mistyped one was probably meant to be; None where none is much like it."""
    names = [name for row in _IN_USE[0].models for name in row.names if not _GLOB.search(name)]
    return next(iter(near_names(bare_model_id(model), names, likeness=_MODEL_LIKENESS)), None)


_GLOB: Final = re.compile(r"[*?\[]")
_MODEL_LIKENESS: Final = 0.85
"""Higher than of other names: people give their own models names, too."""
