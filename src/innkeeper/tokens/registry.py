"""A user's own registry of tokenizers: which file or rule counts which model, before Innkeeper's table is asked.

A registry is a mapping from ids and globs (``* ? [``; exact ids first, then globs in their order), a callable, an object
with ``lookup``, or one `Engine` for everything. It gives an `Entry`, a mapping of its fields, an `Engine`, or None
(TavernKit's *TokenEstimator registry*). What it says of a model that cannot be used is never an error: the table answers
instead.
"""

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import msgspec

from innkeeper.prompt.errors import ConfigError
from innkeeper.tokens.engines.engine import Engine

_FILE_FAMILIES: Final = frozenset({"hf_tokenizers", "huggingface_tokenizers", "tokenizers"})
_GLOB: Final = frozenset("*?[")
_CHARS_PER_TOKEN: Final = 4.0
"""The default for values that are not positive numbers, as in TavernKit."""


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """How one model is counted.

    ``tokenizer_family``: ``heuristic``, ``hf_tokenizers`` (also ``huggingface_tokenizers``, ``tokenizers``), the name of a
    vocabulary or of a family of the table; anything else is the default tokenizer. ``tokenizer_path``: a
    ``tokenizer.json`` for ``hf_tokenizers``. ``chars_per_token``: for ``heuristic``; absent, the estimate by scripts.
    ``error``: ± percent, where the user knows it. ``source_hint``, ``source_repo``: where the file is from, only shown.
    ``ignored``: fields of the user's entry that Innkeeper does not know.
    """

    tokenizer_family: str = ""
    chars_per_token: float | None = None
    tokenizer_path: str = ""
    error: float | None = None
    source: str = "registry"
    source_hint: str | None = None
    source_repo: str | None = None
    ignored: tuple[str, ...] = ()

    @property
    def wants_file(self) -> bool:
        """Whether a tokenizer file is named and asked for."""
        return self.tokenizer_family in _FILE_FAMILIES and bool(self.tokenizer_path)

    @classmethod
    def of(cls, value: Any) -> "Entry | Engine | None":
        """Return an entry from an entry, an engine, or a mapping with keys and family in any spelling; else None."""
        if isinstance(value, (cls, Engine)):
            return value
        if not isinstance(value, Mapping):
            return None
        fields = {_plain(key): item for key, item in value.items()}
        chars, path = fields.get("chars_per_token"), fields.get("tokenizer_path")
        return cls(
            tokenizer_family=_plain(fields.get("tokenizer_family") or ""),
            chars_per_token=None if chars is None else _number(chars) or _CHARS_PER_TOKEN,
            tokenizer_path=str(path).strip() if isinstance(path, (str, Path)) else "",
            error=_number(fields.get("error")),
            source=str(fields.get("source") or "registry"),
            source_hint=_text(fields.get("source_hint")),
            source_repo=_text(fields.get("source_repo")),
            ignored=tuple(sorted(set(fields) - set(cls.__struct_fields__))),
        )


Lookup = Callable[[str], Entry | Engine | None]
"""A registry as it is asked: a model id or hint to its entry."""


def lookup_of(registry: Any) -> Lookup:
    """The question to a registry of any kind; what goes wrong inside it counts as "no entry".

    Raises:
        ConfigError: it is neither a mapping, a callable nor has ``lookup``.
    """
    if registry is None:
        return lambda _model: None
    if isinstance(registry, Engine):
        return lambda _model: registry
    if isinstance(registry, Mapping):
        return _quiet(_mapping(dict(registry)))
    if callable(getattr(registry, "lookup", None)):
        return _quiet(registry.lookup)
    if callable(registry):
        return _quiet(registry)
    raise ConfigError(
        f"a token registry must be a mapping, a callable or have lookup(); {type(registry).__name__} is none of these"
    )


def entries_of(registry: Any) -> Iterable[Entry | Engine]:
    """All entries of a registry that can be listed."""
    values = registry.values() if isinstance(registry, Mapping) else ()
    return [entry for entry in map(Entry.of, values) if entry is not None]


def _mapping(table: dict[Any, Any]) -> Callable[[str], Any]:
    globs = [key for key in table if isinstance(key, str) and _GLOB & set(key)]

    def find(model: str) -> Any:
        if model in table:
            return table[model]
        return next((table[glob] for glob in globs if fnmatchcase(model, glob)), None)

    return find


def _quiet(find: Callable[[str], Any]) -> Lookup:
    def ask(model: str) -> Entry | Engine | None:
        try:
            return Entry.of(find(model)) if model else None
        except Exception:  # noqa: BLE001 - a registry is the user's code
            return None

    return ask


def _plain(value: Any) -> str:
    return str(value).strip().lower().replace("-", "_")


def _text(value: Any) -> str | None:
    return str(value) if value is not None else None


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if 0 <= number < float("inf") else None
