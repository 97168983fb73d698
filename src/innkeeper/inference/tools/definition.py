"""Tools: what a tool is, and how a run may use its tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final, Literal

import msgspec

from innkeeper.inference.capabilities import provider_id
from innkeeper.inference.errors import DEFAULT_MAX_TOOL_BYTES
from innkeeper.prompt import FrozenDict as PromptFrozenDict
from innkeeper.prompt import UsageError, deep_merge, freeze, thaw
from innkeeper.prompt.data import EMPTY, FrozenDict, Registry
from innkeeper.prompt.run.context import read_config, refuse_config, section_of


class ToolDefinition(msgspec.Struct, frozen=True):
    """One function: ``parameters`` is its JSON Schema. A tool that is not exposed can neither be seen nor called."""

    name: str
    description: str = ""
    parameters: FrozenDict = EMPTY
    exposed_to_model: bool = True

    @classmethod
    def of(cls, value: Any) -> ToolDefinition:
        """A definition from itself or a mapping: ours, or the OpenAI shape. Raises `UsageError`.

        ``parameters`` may also be an object with a ``json_schema`` (a method or an attribute).
        """
        if isinstance(value, cls):
            return value
        fields = value.get("function", value) if isinstance(value, Mapping) else None
        if not isinstance(fields, Mapping) or not str(fields.get("name") or "").strip():
            msg = "a tool definition needs a name"
            raise UsageError(msg, hint='for example {"name": "look", "description": "...", "parameters": {...}}')
        return cls(
            name=str(fields["name"]).strip(),
            description=str(fields.get("description") or ""),
            parameters=_schema(fields.get("parameters"), str(fields["name"])),
            exposed_to_model=bool(fields.get("exposed_to_model", True)),
        )

    def openai(self) -> dict[str, Any]:
        """The definition as a request holds it; empty ``required`` lists, which some providers refuse, are left out."""
        schema = _without_empty_required(thaw(self.parameters)) or {"type": "object", "properties": {}}
        function = {"name": self.name, "description": self.description, "parameters": schema}
        return {"type": "function", "function": function}


def _schema(value: Any, name: str) -> FrozenDict:
    schema = getattr(value, "json_schema", value)
    schema = schema() if callable(schema) else schema
    if schema is None:
        return EMPTY
    if not isinstance(schema, Mapping):
        msg = f"tool {name!r}: parameters must be a JSON Schema (a mapping) or have a json_schema"
        raise UsageError(msg)
    frozen: FrozenDict = freeze(dict(schema))
    return frozen


def _without_empty_required(value: Any) -> Any:
    if isinstance(value, dict):
        fields = {k: v for k, v in value.items() if not (k == "required" and v == [])}
        return {key: _without_empty_required(item) for key, item in fields.items()}
    return [_without_empty_required(item) for item in value] if isinstance(value, list) else value


class ToolRegistry(Registry[ToolDefinition]):
    """An immutable set of definitions by name."""

    __slots__ = ()

    WHAT = "tool"

    def __init__(self, definitions: Iterable[Any] = ()) -> None:
        tools = [ToolDefinition.of(each) for each in definitions]
        super().__init__(*tools)
        if len(self) < len(tools):
            names = [tool.name for tool in tools]
            msg = f"two tools are called {next(name for name in names if names.count(name) > 1)!r}"
            raise UsageError(msg)

    def with_(self, *values: ToolDefinition) -> ToolRegistry:
        """A registry with further tools; one of the same name replaces."""
        return ToolRegistry({**self, **{tool.name: tool for tool in values}}.values())

    @classmethod
    def of(cls, value: Any) -> ToolRegistry:
        """A registry from itself, or any iterable of definitions; ``None`` is empty."""
        return value if isinstance(value, cls) else cls(value or ())

    def offers(self, name: str) -> bool:
        """Whether the model may call ``name``."""
        return name in self._by_name and self._by_name[name].exposed_to_model

    def filtered(self, allow: Iterable[str] | None = None, deny: Iterable[str] | None = None) -> ToolRegistry:
        """Only the tools of ``allow`` (all when ``None``), without those of ``deny``: neither shown nor called."""
        allowed = None if allow is None else set(allow)
        denied = set(deny or ())
        tools = [t for n, t in self._by_name.items() if (allowed is None or n in allowed) and n not in denied]
        return ToolRegistry(tools)

    def openai_tools(self) -> list[dict[str, Any]]:
        """The exposed definitions as a request holds them."""
        return [tool.openai() for tool in self._by_name.values() if tool.exposed_to_model]


_SECTION: Final = "tool_calling"

_UNITED: Final = frozenset(
    {
        "tool_allowlist",
        "tool_denylist",
        "message_transforms",
        "tool_transforms",
        "response_transforms",
        "tool_call_transforms",
        "tool_result_transforms",
    }
)
_NOT_OVERRIDABLE: Final = frozenset({"model", "messages", "tools", "tool_choice", "response_format"})


class ToolCallingConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """See the documentation's table of keys. Lists of transforms hold names only, so that a context stays data.

    ``tool_timeout`` (seconds a tool) is an addition of ours; ``None`` waits as long as it takes.
    """

    tool_use_mode: Literal["enforced", "relaxed", "disabled"] = "relaxed"
    tool_failure_policy: Literal["fatal", "tolerated"] = "tolerated"
    tool_allowlist: tuple[str, ...] | None = None
    tool_denylist: tuple[str, ...] | None = None
    fix_empty_final: bool = True
    fix_empty_final_user_text: str | None = None
    fix_empty_final_disable_tools: bool = True
    fallback_retry_count: int = 0
    max_tool_args_bytes: int = DEFAULT_MAX_TOOL_BYTES
    max_tool_output_bytes: int = DEFAULT_MAX_TOOL_BYTES
    max_tool_calls_per_turn: int | None = None
    tool_timeout: float | None = None
    tool_choice: str | dict[str, Any] | None = None
    message_transforms: tuple[str, ...] = ()
    tool_transforms: tuple[str, ...] = ()
    response_transforms: tuple[str, ...] = ()
    tool_call_transforms: tuple[str, ...] = ()
    tool_result_transforms: tuple[str, ...] = ()
    request_overrides: PromptFrozenDict = EMPTY

    @classmethod
    def of(
        cls,
        provider: str,
        model: str,
        values: Mapping[str, Any] | None = None,
        presets: Iterable[ToolPreset] | None = None,
    ) -> ToolCallingConfig:
        """The config of a model: each preset that matches, in order, then ``values``. Raises `ConfigError`."""
        settings = section_of(values, _SECTION)
        known = TOOL_PRESETS if presets is None else presets
        layers = [preset.values for preset in known if preset.matches(provider_id(provider), model.lower())]
        config = read_config(cls, merged([*layers, settings]), _SECTION)
        _check(config)
        overrides = {k: v for k, v in config.request_overrides.items() if k not in _NOT_OVERRIDABLE}
        return msgspec.structs.replace(config, request_overrides=PromptFrozenDict(overrides))

    @property
    def calls_per_turn(self) -> int | None:
        """How many calls of one answer are run: one when the model was asked not to call in parallel."""
        if self.max_tool_calls_per_turn is not None:
            return self.max_tool_calls_per_turn
        return 1 if self.request_overrides.get("parallel_tool_calls") is False else None


def _check(config: ToolCallingConfig) -> None:
    numbers = (config.max_tool_args_bytes, config.max_tool_output_bytes, config.max_tool_calls_per_turn)
    if any(number is not None and number < 1 for number in numbers) or config.fallback_retry_count < 0:
        refuse_config(_SECTION, "sizes and counts must be positive")
    if config.tool_timeout is not None and not config.tool_timeout > 0:
        refuse_config(_SECTION, "tool_timeout must be positive (seconds)")


def merged(layers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Layers of one config as one.

    Lists are united, each name once, and an empty list clears; ``request_overrides`` are merged at every depth; of anything
    else the last counts.
    """
    result: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            if key in _UNITED and isinstance(value, (list, tuple)):
                result[key] = list(dict.fromkeys((*(result.get(key) or ()), *value))) if value else []
            elif key == "request_overrides" and isinstance(value, Mapping):
                result[key] = deep_merge(result.get(key, {}), thaw(dict(value)))
            else:
                result[key] = thaw(value)
    return result


class ToolPreset(msgspec.Struct, frozen=True):
    """Values for the providers called one of ``providers`` (any when empty) whose model fits one of ``models`` (globs)."""

    values: PromptFrozenDict
    providers: tuple[str, ...] = ()
    models: tuple[str, ...] = ("*",)

    def matches(self, provider: str, model: str) -> bool:
        """Whether it is about this model."""
        known = not self.providers or provider in self.providers
        return known and any(fnmatchcase(model, pattern) for pattern in self.models)


_RELIABLE: Final = {
    "fix_empty_final": True,
    "response_transforms": [
        "assistant_function_call_to_tool_calls",
        "assistant_tool_calls_object_to_array",
        "assistant_tool_calls_arguments_json_string_if_hash",
    ],
    "tool_call_transforms": ["assistant_tool_calls_arguments_blank_to_empty_object"],
}


def _preset(values: Mapping[str, Any], **where: tuple[str, ...]) -> ToolPreset:
    return ToolPreset(freeze(dict(values)), **where)


TOOL_PRESETS: Final = (
    _preset({**_RELIABLE, "tool_use_mode": "relaxed"}),
    _preset(
        {**_RELIABLE, "tool_use_mode": "enforced", "request_overrides": {"parallel_tool_calls": False}},
        providers=("openai", "openrouter", "open_router", "volcano_engine", "volcanoengine", "volcano"),
    ),
    _preset({"tool_use_mode": "disabled"}, models=("minimax/minimax-m2-her",)),
    _preset(
        {"message_transforms": ["assistant_tool_calls_reasoning_content_empty_if_missing"]},
        models=("deepseek/*", "*reasoner*"),
    ),
    _preset(
        {
            "tool_use_mode": "enforced",
            "message_transforms": ["assistant_tool_calls_signature_skip_validator_if_missing"],
        },
        models=("google/gemini-*",),
    ),
)
"""The built-in presets (TavernKit's): for all, for providers, for families of models; later ones win."""
