"""Context: the application's frozen snapshot for one build, with per-step overrides.

Its sections are read as typed configurations by `read_config`, and there is one error where they do not fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final, TypeVar

import msgspec

from innkeeper.prompt.data import FrozenDict, deep_merge, freeze, key_text, thaw
from innkeeper.prompt.errors import ConfigError, UsageError, Where
from innkeeper.prompt.text import kind_of
from innkeeper.prompt.typed.once import convert

_ACRONYM: Final = re.compile(r"([A-Z])([A-Z][a-z])")
_USUAL_TYPE: Final = "app"
_TYPE_KEY: Final = "@type"
_ID_KEY: Final = "@id"
_CAMEL: Final = re.compile(r"([a-z\d])([A-Z])")


def underscore(key: str) -> str:
    """A key in snake case: ``chatIndex`` → ``chat_index``, ``JSONValue`` → ``json_value``, ``a-b`` → ``a_b``."""
    spaced = _CAMEL.sub(r"\1_\2", _ACRONYM.sub(r"\1_\2", key.replace("::", "/")))
    return spaced.replace("-", "_").lower()


def step_key(name: str) -> str:
    """A step's name as configurations spell it, whatever their spelling: ``LanguagePolicy`` → ``language_policy``."""
    return underscore(name.strip())


class Context(Mapping[str, Any]):
    """A read-only mapping whose top-level keys are snake case, read as items or attributes.

    Values are frozen at every depth but their keys are left as they are (1-vibetavern-pipeline, *Key normalization*).
    ``module_configs`` holds per-step overrides; ``type`` and ``id`` say whose snapshot this is. Not part of the data.
    """

    __slots__ = ("_data", "id", "module_configs", "type")

    _data: FrozenDict
    type: str | None
    id: str | None
    module_configs: FrozenDict

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        type: str | None = None,  # noqa: A002 - the document's word
        id: str | None = None,  # noqa: A002 - the document's word
        module_configs: Mapping[str, Any] | None = None,
    ) -> None:
        normal = _normalise({} if data is None else data)
        within = normal.pop("module_configs", None)
        keep = partial(object.__setattr__, self)
        keep("type", _label(_TYPE_KEY, normal.pop(_TYPE_KEY, type)))
        keep("id", _label(_ID_KEY, normal.pop(_ID_KEY, id)))
        keep("module_configs", _module_configs(within if module_configs is None else module_configs))
        keep("_data", freeze(normal))

    @classmethod
    def build(cls, raw: Any, *, type: str | None = _USUAL_TYPE, id: str | None = None) -> Context:  # noqa: A002
        """A context from ``None``, a mapping or another context (kept whole). Raises `UsageError` otherwise."""
        if isinstance(raw, Context):
            return raw
        return cls(raw, type=type, id=id)

    def with_configs(self, configs: Mapping[str, Any]) -> Context:
        """Return a copy with ``configs`` merged over its ``module_configs``."""
        merged = deep_merge(thaw(self.module_configs), thaw(_module_configs(configs)))
        return Context(self._data, type=self.type, id=self.id, module_configs=merged)

    def __getitem__(self, key: str) -> Any:
        """The value under a snake-case key."""
        return self._data[key]

    def __getattr__(self, name: str) -> Any:
        """The value under ``name``; `AttributeError` when there is none."""
        if name in Context.__slots__ or name.startswith("__"):
            raise AttributeError(name)
        try:
            return self._data[name]
        except KeyError:
            raise AttributeError(f"the context has no {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        """Contexts are frozen."""
        raise AttributeError("a Context is frozen; build a new one for another build")

    def __iter__(self) -> Iterator[str]:
        """The keys."""
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __repr__(self) -> str:
        """The data's keys only: values may be private."""
        return f"Context(type={self.type!r}, keys={list(self._data)!r})"

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `Context.build` reads back: with ``module_configs``, and type and id where they are not the usual."""
        data: dict[str, Any] = thaw(self._data)
        if self.module_configs:
            data["module_configs"] = thaw(self.module_configs)
        if self.type != _USUAL_TYPE:
            data[_TYPE_KEY] = self.type
        if self.id is not None:
            data[_ID_KEY] = self.id
        return data

    def __eq__(self, other: object) -> bool:
        """Contexts are equal when all they hold is; a context equals another mapping with the same data."""
        if isinstance(other, Context):
            return self._whole() == other._whole()
        return Mapping.__eq__(self, other)

    def __hash__(self) -> int:
        """Hash by the keys; contexts are equal more seldom than their hashes."""
        return hash(frozenset(self._data))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy through plain data."""
        return _restored, self._whole()

    def _whole(self) -> tuple[Any, ...]:
        return dict(self._data), self.type, self.id, dict(self.module_configs)


def _restored(data: dict[str, Any], kind: str | None, name: str | None, configs: dict[str, Any]) -> Context:
    return Context(data, type=kind, id=name, module_configs=configs)


def _normalise(data: Any) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        raise UsageError(f"context must be a mapping or a Context, not {data.__class__.__name__}")
    named = ((underscore(key_text(key)).strip(), value) for key, value in data.items())
    return {key: value for key, value in named if key}


def _label(key: str, value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise UsageError(f"a context's {key} must be text, not {kind_of(value)}")


def _module_configs(raw: Any) -> FrozenDict:
    if raw is None:
        return FrozenDict()
    if not isinstance(raw, Mapping) or not all(isinstance(value, Mapping) for value in raw.values()):
        raise ConfigError(
            "module_configs must map step names to mappings of their configuration",
            hint='for example {"language_policy": {"style_hint": "casual"}}',
        )
    merged: dict[str, Any] = {}
    for key, value in raw.items():
        name = step_key(key_text(key))
        merged[name] = deep_merge(merged.get(name, {}), thaw(freeze(dict(value))))
    configs: FrozenDict = freeze(merged)
    return configs


T = TypeVar("T", bound=msgspec.Struct)


def section_of(values: Any, section: str) -> Mapping[str, Any]:
    """The mapping under ``context[section]``; ``None`` is empty. Raises `ConfigError` for anything else."""
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        refuse_config(section, f"it must be a mapping, not {kind_of(values)}")
    level: Mapping[str, Any] = values
    return level


def read_config(kind: type[T], values: Mapping[str, Any], section: str) -> T:
    """``values`` as a ``kind``. Raises `ConfigError` for unknown keys and wrong types."""
    try:
        return convert(dict(values), kind, dec_hook=_frozen)
    except msgspec.ValidationError as error:
        keys = ", ".join(kind.__struct_fields__)
        where = Where(asset="context", path=section)
        raise ConfigError(f"{section}: {error}", where=where, hint=f"keys: {keys}") from error


def refuse_config(section: str, why: str) -> None:
    """Raise `ConfigError` about a section."""
    raise ConfigError(f"{section}: {why}", where=Where(asset="context", path=section))


def _frozen(kind: type, value: Any) -> Any:
    if kind is FrozenDict and isinstance(value, Mapping):
        return freeze(dict(value))
    msg = f"Expected `object`, got `{type(value).__name__}`"
    raise TypeError(msg)  # msgspec adds the path
