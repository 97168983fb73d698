"""The step *prepare*: participants, the user's message, and how tokens are counted (1-vibetavern-pipeline, *:prepare*).

Liquid in the user's input is rendered before it is stored, where the application wants that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from innkeeper.budget.settings import PREPARED, CounterChoice
from innkeeper.content.character import Character
from innkeeper.content.persona import Persona
from innkeeper.macros.liquid.templates import LiquidResult, liquid_registers, render
from innkeeper.prompt import (
    Clock,
    ConfigError,
    Context,
    NoConfig,
    NoteKind,
    State,
    Step,
    TokenCounter,
    UsageError,
    VariablesStore,
    Where,
)
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.text import kind_of
from innkeeper.taverns.assets import assets_of
from innkeeper.taverns.inputs import ASKING_PORTS, InputRules
from innkeeper.taverns.vibe.language_policy import check_context_policy

TOGGLE: Final = "expand_user_input_macros"
"""The key in ``context.toggles`` that turns it on: exactly this spelling, and exactly ``True``."""


def preprocess_user_input(  # noqa: PLR0913 - the document's inputs, all by keyword
    text: str,
    *,
    variables: VariablesStore | None = None,
    assigns: Mapping[str, Any] = EMPTY,
    context: Context | Mapping[str, Any] | None = None,
    enabled: bool | None = None,
    strict: bool = False,
    on_error: str = "passthrough",
    clock: Clock | None = None,
) -> LiquidResult:
    """The input with its Liquid rendered, or unchanged if that is off.

    Args:
        text: what the user wrote.
        variables: the chat's variables; write tags change them.
        assigns: names that the input may use.
        context: the application's snapshot: its toggle decides where ``enabled`` is not given, filters read it.
        enabled: whether to render at all.
        strict: as in `innkeeper.macros.liquid.templates.render`.
        on_error: likewise.
        clock: likewise.

    Raises:
        MacroError: only with ``strict`` or ``on_error="raise"``.
    """
    snapshot = Context.build(context or {})
    if enabled is None:
        toggles = snapshot.get("toggles")
        enabled = isinstance(toggles, Mapping) and toggles.get(TOGGLE) is True
    if not enabled:
        return LiquidResult(text)
    return render(
        text,
        assigns,
        variables=variables,
        strict=strict,
        on_error=on_error,
        registers=liquid_registers(snapshot),
        clock=clock,
    )


_TOKEN_KEYS: Final = ("model_hint", "token_estimator", "registry")

INPUTS: Final = InputRules(
    ignored={
        "profile": "the vibe tavern has no profiles",
        "group": "the vibe tavern knows one character and one user",
        "generation": "the vibe tavern builds the same prompt for every kind of generation",
        "greeting": "the vibe tavern starts from the history it is given",
        "preset": "the order of the vibe tavern is fixed; presets belong to the silly tavern",
        **dict.fromkeys(("lorebooks", "force_lore", "lore_state"), "the vibe tavern activates no lore"),
        "injections": "the vibe tavern injects nothing; use a step of your own",
        "authors_note": "the vibe tavern has no author's note; use post_history_template",
        "macro_vars": "templates read the context and the chat's variables",
        "settings": "the vibe tavern has no settings; its steps have configurations",
        "locale": "templates write dates in English",
        "seed": "nothing in the vibe tavern is left to chance",
        "character.mes_example": "the vibe tavern sends no examples; a template may have them as mes_examples",
        "character.book": "the vibe tavern activates no lore",
        "character.extensions.depth_prompt": "the vibe tavern injects nothing; use a step of your own",
        "character.extensions.regex_scripts": "the vibe tavern runs no scripts",
        **dict.fromkeys(
            ("character.first_mes", "character.alternate_greetings", "character.group_only_greetings"),
            "the vibe tavern starts from the history it is given",
        ),
        "dialect": "it decides how the plan is counted and rendered, not what is in it",
        "ports.random": "nothing in the vibe tavern is left to chance",
        **dict.fromkeys(ASKING_PORTS, "the vibe tavern has no step that asks it"),
    },
    metadata=frozenset({"scenario", "system_prompt"}),
    meta=("system_template", "post_history_template"),
    reads={
        "character": frozenset(
            {"name", "nickname", "description", "personality", "scenario", "system_prompt", "post_history_instructions"}
        ),
        "user": frozenset({"name", "description", "personality"}),
    },
)
"""What has no effect here, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared(CounterChoice):
    """The results of *prepare* for the other steps.

    ``model_hint`` names what tokens are counted for and ``model_hint_source`` where that is from: ``meta``, ``context`` or
    ``default``. ``token_counter`` is ``None`` where nobody asked for a particular one.
    """

    character: Character | None = None
    user: Persona | Character | None = None
    model_hint_source: str | None = None
    token_counter_source: str | None = None


def prepared(state: State) -> Prepared:
    """The results of *prepare* in the state; without it, there are no participants."""
    choice = state.scratch.get(PREPARED)
    return choice if isinstance(choice, Prepared) else Prepared()


def _prepare(state: State, config: NoConfig) -> None:
    check_context_policy(state.context)
    settings = _token_settings(state)
    hint, hint_source = _model_hint(state, settings)
    counter, counter_source = _counter(state, settings)
    assets = assets_of(state)
    state.scratch[PREPARED] = Prepared(
        character=assets.character,
        user=assets.user,
        model_hint=hint,
        model_hint_source=hint_source,
        token_counter=counter,
        token_counter_source=counter_source,
    )


def _token_settings(state: State) -> Mapping[str, Any]:
    settings = state.context.get("token_estimation")
    if settings is None:
        return {}
    if not isinstance(settings, Mapping):
        raise _wrong("it must be a mapping", kind_of(settings))
    for key in settings:
        if key not in _TOKEN_KEYS:
            state.note(NoteKind.IGNORED, f"token_estimation.{key} has no effect: known are {', '.join(_TOKEN_KEYS)}")
    return settings


def _model_hint(state: State, settings: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """An explicit ``meta`` hint as it is; else the context's, else the default's, each as the table of models names it."""
    meta = state.request.meta
    if text := _text(meta.get("model_hint")):
        return text, "meta"
    for value, source in (
        (settings.get("model_hint"), "context"),
        (meta.get("default_model_hint"), "default"),
        (state.request.model, "default"),
    ):
        if text := _text(value):
            from innkeeper.tokens.table.models import canonical_model_hint

            return canonical_model_hint(text), source
    return None, None


def _counter(state: State, settings: Mapping[str, Any]) -> tuple[TokenCounter | None, str | None]:
    """The counter of the build, else the context's, else one with the context's registry."""
    if state.inputs.ports.token_counter is not None:
        return state.inputs.ports.token_counter, "input"
    if (estimator := settings.get("token_estimator")) is not None:
        from innkeeper.tokens.estimators import counter_of

        try:
            return counter_of(estimator), "context"
        except UsageError as error:
            raise _wrong(f"token_estimator: {error.message}", error.hint) from error
    if (registry := settings.get("registry")) is not None:
        if not isinstance(registry, Mapping):
            raise _wrong("registry must be a mapping", kind_of(registry))
        from innkeeper.tokens.counter import Counter

        return Counter(registry), "context_registry"
    return None, None


def _text(value: Any) -> str | None:
    return value.strip() if isinstance(value, str) and value.strip() else None


def _wrong(what: str, hint: str | None) -> ConfigError:
    return ConfigError(
        f"invalid token_estimation: {what}", where=Where(asset="context", path="token_estimation"), hint=hint
    )


PREPARE: Final = Step("prepare", _prepare, NoConfig)
"""Reads the participants and the token settings."""
