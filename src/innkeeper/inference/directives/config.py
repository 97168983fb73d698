"""DirectivesConfig: how structured answers are asked for (``context.directives``), over presets for providers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from innkeeper.inference.capabilities import Capabilities, provider_id
from innkeeper.inference.sections import read_config, refuse_config, section_of
from innkeeper.prompt import FrozenDict, deep_merge, freeze, thaw
from innkeeper.prompt.data import EMPTY

__all__ = ["DIRECTIVE_PRESETS", "MODES", "DirectivesConfig", "supports"]

MODES: Final = ("json_schema", "json_object", "prompt_only")
"""The ways to ask for structure, the surest first."""

_SECTION: Final = "directives"


class DirectivesConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How directives are asked for.

    ``modes`` are tried in order, each with ``repair_retry_count`` further attempts. The overrides are request fields to add: to
    every request, to structured ones, to unstructured ones. Transforms are names.
    """

    modes: tuple[str, ...] = MODES
    repair_retry_count: int = 1
    request_overrides: FrozenDict = EMPTY
    structured_request_overrides: FrozenDict = EMPTY
    prompt_only_request_overrides: FrozenDict = EMPTY
    message_transforms: tuple[str, ...] = ()
    response_transforms: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        provider: str,
        values: Mapping[str, Any] | None = None,
        presets: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> DirectivesConfig:
        """The config for a provider. Unknown modes are left out; without any known one all are tried. Raises `ConfigError`."""
        preset = (DIRECTIVE_PRESETS if presets is None else presets).get(provider_id(provider), {})
        given = section_of(values, _SECTION)
        config = read_config(cls, deep_merge(thaw(dict(preset)), thaw(dict(given))), _SECTION)
        if config.repair_retry_count < 0:
            refuse_config(_SECTION, "repair_retry_count must not be negative")
        return msgspec.structs.replace(config, modes=_known(config.modes))

    def overrides(self, mode: str) -> dict[str, Any]:
        """The request fields of one mode."""
        more = self.prompt_only_request_overrides if mode == "prompt_only" else self.structured_request_overrides
        return deep_merge(thaw(self.request_overrides), thaw(more))


def _known(modes: Iterable[str]) -> tuple[str, ...]:
    spelled = [mode.strip().lower().replace("-", "_") for mode in modes]
    return tuple(dict.fromkeys(mode for mode in spelled if mode in MODES)) or MODES


def supports(mode: str, capabilities: Capabilities) -> bool:
    """Whether a model can be asked in ``mode``."""
    return {
        "json_schema": capabilities.supports_response_format_json_schema,
        "json_object": capabilities.supports_response_format_json_object,
    }.get(mode, True)


_OPENROUTER: Final = {
    "structured_request_overrides": {"provider": {"require_parameters": True}},
    "prompt_only_request_overrides": {"provider": {"require_parameters": False}},
}

DIRECTIVE_PRESETS: Final[Mapping[str, Mapping[str, Any]]] = FrozenDict(
    {"openrouter": freeze(_OPENROUTER), "open_router": freeze(_OPENROUTER)}
)
"""The built-in presets by provider: OpenRouter is told whether its upstream must know every parameter."""
