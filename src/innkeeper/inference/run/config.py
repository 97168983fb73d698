"""RunnerConfig: everything about how one model is asked that stays the same from request to request.

`DirectivesConfig` says how structured answers are asked for (``context.directives``), over presets for providers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.inference.adapters.providers import PROVIDERS
from innkeeper.inference.capabilities import CAPABILITIES, Capabilities, CapabilityTable, provider_id
from innkeeper.inference.output_tags import OutputTagsConfig
from innkeeper.inference.tools.definition import ToolCallingConfig
from innkeeper.prompt import (
    ConfigError,
    Context,
    FrozenDict,
    Pipeline,
    UnknownNameError,
    UsageError,
    deep_merge,
    freeze,
    thaw,
)
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.near import near_names
from innkeeper.prompt.run.context import read_config, refuse_config, section_of, step_key
from innkeeper.prompt.text import kind_of

if TYPE_CHECKING:
    from innkeeper.prompt import BuildRequest, Plan, Ports
    from innkeeper.taverns.tavern import Tavern


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
        section = section_of(values, _SECTION)
        config = read_config(cls, deep_merge(thaw(dict(preset)), thaw(dict(section))), _SECTION)
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


RESERVED_OPTIONS: Final = ("model", "messages", "tools", "tool_choice", "response_format", "stream", "stream_options")
"""Request fields that no default may set: they belong to a single request."""

_POLICY: Final = "language_policy"
_GUARD: Final = "max_tokens"


@dataclass(frozen=True, slots=True)
class RunnerConfig:
    """A model, the tavern that makes its prompts, and how its answers are handled. Build one with `build`.

    ``pipeline`` has all its options resolved (``step_layers``); ``custom`` says that it was given. ``language_policy`` is what
    the context says, whether the pipeline has such a step or not.
    """

    provider: str
    model: str
    context: Context
    tavern: str
    pipeline: Pipeline
    llm_options_defaults: FrozenDict
    capabilities: Capabilities
    tool_calling: ToolCallingConfig
    directives: DirectivesConfig
    language_policy: FrozenDict
    output_tags: OutputTagsConfig
    builder: Tavern
    step_layers: tuple[tuple[str, FrozenDict], ...] = ()
    custom: bool = False

    @classmethod
    def build(  # noqa: PLR0913 - the document's signature
        cls,
        provider: str,
        model: str,
        context: Context | Mapping[str, Any] | None = None,
        *,
        tavern: str | None = None,
        pipeline: Pipeline | None = None,
        step_options: Mapping[str, Mapping[str, Any]] | None = None,
        llm_options_defaults: Mapping[str, Any] | None = None,
        capabilities_overrides: Mapping[str, Any] | None = None,
        capability_table: CapabilityTable | None = None,
        taverns: Mapping[str, Tavern] | None = None,
    ) -> RunnerConfig:
        """A config for one model (1-vibetavern-pipeline, *Minimal PromptRunner + RunnerConfig Example*).

        ``context`` is the one place for settings of a run: ``language_policy``, ``tool_calling``, ``directives``,
        ``output_tags``, and ``module_configs`` with overrides per step. ``tavern`` names the pipeline unless ``pipeline`` is
        given; any will do. Without one it is ``silly``, as for the command line and the service, or ``vibe`` where a
        ``language_policy`` is set, which is a step of its pipeline. ``step_options`` change the steps' defaults; unlike
        ``module_configs`` they must name steps that exist. A provider of one's own may have any name but one that is nearly a
        known one's.

        Raises `ConfigError`, `UnknownNameError`, `UsageError`.
        """
        _check_provider(provider)
        settings = Context.build(context, type="vibe_tavern")
        capabilities = Capabilities.of(provider, model, capabilities_overrides, capability_table)
        tavern = tavern or _usual_tavern(settings, step_options or {}, pipeline)
        builder = _tavern(tavern, taverns, pipeline)
        steps = builder.pipeline
        policy: FrozenDict = freeze(dict(section_of(settings.get(_POLICY), _POLICY)))
        layers = _layers(steps, policy, step_options or {}, capabilities)
        return cls(
            provider=capabilities.provider,
            model=capabilities.model,
            context=settings,
            tavern=tavern,
            pipeline=_configured(steps, layers),
            llm_options_defaults=_defaults(llm_options_defaults),
            capabilities=capabilities,
            tool_calling=ToolCallingConfig.of(provider, model, settings.get("tool_calling")),
            directives=DirectivesConfig.of(provider, settings.get("directives")),
            language_policy=policy,
            output_tags=OutputTagsConfig.of(settings.get("output_tags")),
            builder=builder,
            step_layers=layers,
            custom=pipeline is not None,
        )

    def plan(self, request: BuildRequest, ports: Ports) -> Plan:
        """The plan of a request with the config's model, context and step options; variables stay as they were.

        What a replay of the request would not know is named in the plan. Raises what `Tavern.build` raises.
        """
        merged = request.with_(
            tavern=self.tavern,
            context=self.context,
            meta={"default_model_hint": self.model, **request.meta},
            provider=self.provider,
            model=self.model,
            context_window=self.capabilities.context_window_tokens or request.context_window,
            reserved_tokens=self.capabilities.reserved_response_tokens or request.reserved_tokens,
        )
        steps = self.builder.pipeline_for(merged)
        own = {name: options for name, options in self.step_layers if name in steps}
        merged = merged.with_(step_options=deep_merge(own, merged.step_options))
        plan = self.builder.build(merged, ports, commit=False)
        return plan.with_(unreplayable=(*plan.unreplayable, "pipeline")) if self.custom else plan

    def __repr__(self) -> str:
        return f"RunnerConfig({self.provider!r}, {self.model!r}, tavern={self.tavern!r})"


def _check_provider(name: Any) -> None:
    """Refuse a name that is nearly that of a known provider. Raises `UnknownNameError`."""
    known = {provider_id(each) for each in (*PROVIDERS, *(name for rule in CAPABILITIES.rules for name in rule.names))}
    if not isinstance(name, str) or not name.strip() or provider_id(name) in known:
        return
    if near_names(provider_id(name), known, likeness=0.8):
        raise UnknownNameError("provider", name, sorted(known))


def _usual_tavern(context: Context, step_options: Mapping[str, Any], pipeline: Pipeline | None) -> str:
    """Return the tavern where none is named: the usual one, or that whose pipeline has a step which is asked for."""
    named = (context.get(_POLICY), step_options.get(_POLICY))
    return "vibe" if pipeline is not None or any(named) else "silly"


def _tavern(name: str, taverns: Mapping[str, Tavern] | None, pipeline: Any) -> Tavern:
    """The tavern of that name, or one with the steps that are given."""
    from innkeeper.taverns.tavern import Tavern

    if pipeline is not None and not isinstance(pipeline, Pipeline):
        msg = f"pipeline must be a Pipeline, not {kind_of(pipeline)}"
        raise UsageError(msg)
    if pipeline is not None:
        return Tavern(name=name, pipeline=pipeline)
    if taverns is None:
        from innkeeper.taverns import TAVERNS

        taverns = TAVERNS
    return taverns[name]


def _layers(
    pipeline: Pipeline, policy: Mapping[str, Any], step_options: Mapping[str, Any], capabilities: Capabilities
) -> tuple[tuple[str, FrozenDict], ...]:
    """Options per step: what capabilities imply, then the context's policy, then ``step_options``."""
    layers: list[tuple[str, Mapping[str, Any]]] = []
    if _GUARD in pipeline and capabilities.context_window_tokens is not None:
        layers.append((_GUARD, deep_merge(_guard(capabilities), thaw(pipeline.options(_GUARD)))))
    if _POLICY in pipeline and policy:
        layers.append((_POLICY, policy))
    layers += [(step_key(str(name)), _options(name, options)) for name, options in step_options.items()]
    merged: dict[str, dict[str, Any]] = {}
    for name, options in layers:
        merged[name] = deep_merge(merged.get(name, {}), thaw(options))
    return tuple((name, freeze(options)) for name, options in merged.items())


def _configured(pipeline: Pipeline, layers: Iterable[tuple[str, FrozenDict]]) -> Pipeline:
    for name, options in layers:
        pipeline = pipeline.configure(name, **thaw(options))
    return pipeline


def _guard(capabilities: Capabilities) -> dict[str, Any]:
    return {
        "max_tokens": capabilities.context_window_tokens,
        "reserve_tokens": capabilities.reserved_response_tokens,
        "mode": "error",
    }


def _options(name: Any, options: Any) -> dict[str, Any]:
    if not isinstance(options, Mapping):
        msg = f"step_options[{str(name)!r}] must be a mapping"
        raise ConfigError(msg, hint='for example {"language_policy": {"style_hint": "casual"}}')
    return {str(key): value for key, value in options.items()}


def _defaults(options: Mapping[str, Any] | None) -> FrozenDict:
    if options is None:
        return EMPTY
    if not isinstance(options, Mapping):
        msg = f"llm_options_defaults must be a mapping, not {kind_of(options)}"
        raise ConfigError(msg)
    reserved = [name for name in RESERVED_OPTIONS if name in options]
    if reserved:
        msg = f"llm_options_defaults may not set {', '.join(reserved)}"
        raise ConfigError(msg, hint="pass them with a single request")
    frozen: FrozenDict = freeze(dict(options))
    return frozen
