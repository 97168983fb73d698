"""Context: the application's frozen snapshot for one build, with per-step overrides."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from innkeeper.prompt.errors import ConfigError, UsageError
from innkeeper.prompt.frozen import FrozenDict, deep_merge, freeze, thaw

__all__ = ["Context", "step_key", "underscore"]

_ACRONYM: Final = re.compile(r"([A-Z]+)([A-Z][a-z])")
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
        normal = _normalise(data or {})
        within = normal.pop("module_configs", None)
        object.__setattr__(self, "_data", freeze(normal))
        object.__setattr__(self, "type", type)
        object.__setattr__(self, "id", id)
        object.__setattr__(
            self, "module_configs", _module_configs(within if module_configs is None else module_configs)
        )

    @classmethod
    def build(cls, raw: Any, *, type: str | None = "app", id: str | None = None) -> Context:  # noqa: A002
        """A context from ``None``, a mapping or another context (kept whole). Raises `UsageError` otherwise."""
        if isinstance(raw, Context):
            return raw
        if raw is not None and not isinstance(raw, Mapping):
            msg = f"context must be a mapping or a Context, not {raw.__class__.__name__}"
            raise UsageError(msg)
        return cls(raw, type=type, id=id)

    def with_configs(self, configs: Mapping[str, Any]) -> Context:
        """A copy whose ``module_configs`` have ``configs`` merged over them; type and id are kept."""
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
            msg = f"the context has no {name!r}"
            raise AttributeError(msg) from None

    def __setattr__(self, name: str, value: Any) -> None:
        """Contexts are frozen."""
        msg = "a Context is frozen; build a new one for another build"
        raise AttributeError(msg)

    def __iter__(self) -> Iterator[str]:
        """The keys."""
        return iter(self._data)

    def __len__(self) -> int:
        """How many keys."""
        return len(self._data)

    def __repr__(self) -> str:
        """The data's keys only: values may be private."""
        return f"Context(type={self.type!r}, keys={list(self._data)!r})"

    def to_dict(self) -> dict[str, Any]:
        """Plain data including ``module_configs``, which `Context.build` reads back."""
        data: dict[str, Any] = thaw(self._data)
        return {**data, "module_configs": thaw(self.module_configs)} if self.module_configs else data


def _normalise(data: Mapping[str, Any]) -> dict[str, Any]:
    named = ((underscore(str(key)).strip(), value) for key, value in data.items())
    return {key: value for key, value in named if key}


def _module_configs(raw: Any) -> FrozenDict:
    if raw is None:
        return FrozenDict()
    if not isinstance(raw, Mapping) or not all(isinstance(value, Mapping) for value in raw.values()):
        msg = "module_configs must map step names to mappings of their configuration"
        raise ConfigError(msg, hint='for example {"language_policy": {"style_hint": "casual"}}')
    return FrozenDict({step_key(str(key)): freeze(dict(value)) for key, value in raw.items()})
