"""The tavern: its steps, and its functions besides building a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from innkeeper.dialects.registry import TEXT_DIALECTS
from innkeeper.prompt import BuildRequest, Pipeline, Ports, Step
from innkeeper.prompt.build import start
from innkeeper.prompt.run.pipeline import NoConfig
from innkeeper.prompt.run.state import State
from innkeeper.taverns.silly.chat.compilation import COMPILATION
from innkeeper.taverns.silly.chat.macro_expansion import MACRO_EXPANSION
from innkeeper.taverns.silly.chat.plan_assembly import PLAN_ASSEMBLY, set_plan
from innkeeper.taverns.silly.chat.prompts import ENTRIES, PINNED_GROUPS
from innkeeper.taverns.silly.chat.trimming import TRIMMING
from innkeeper.taverns.silly.hooks import HOOKS
from innkeeper.taverns.silly.injection import INJECTION
from innkeeper.taverns.silly.lint import lint_fields
from innkeeper.taverns.silly.lore import LORE
from innkeeper.taverns.silly.reads import INPUTS
from innkeeper.taverns.silly.scripts.texts import REPLIES
from innkeeper.taverns.silly.settings import PROFILES
from innkeeper.taverns.tavern import Tavern

if TYPE_CHECKING:
    from innkeeper.dialects.sillytavern.endpoints import SourceEndpoint
    from innkeeper.prompt import Plan
    from innkeeper.prompt.payload.dialect import Payload


PIPELINE: Final = Pipeline(
    HOOKS, LORE, ENTRIES, PINNED_GROUPS, INJECTION, COMPILATION, MACRO_EXPANSION, PLAN_ASSEMBLY, TRIMMING
)
"""The nine steps of the contract (2-wave4-contracts, *Middleware Data Flow Contract*)."""


def _pipeline_for(request: BuildRequest) -> Pipeline:
    if request.dialect not in TEXT_DIALECTS:
        return PIPELINE
    from innkeeper.taverns.silly.text.fill import TEXT_PIPELINE

    return TEXT_PIPELINE


def _carrying(request: BuildRequest) -> Pipeline | None:
    """The steps up to the texts in the chat. A cache-friendly prompt also leaves where it was cut: that takes all steps."""
    return None if request.settings.get("cache_friendly") else _carrying_steps(_pipeline_for(request))


@cache
def _carrying_steps(whole: Pipeline) -> Pipeline:
    return Pipeline(*islice(whole, whole.names.index(INJECTION.name) + 1), Step("carry", _set_carry, NoConfig))


def _set_carry(state: State, _config: NoConfig) -> None:
    set_plan(state, ())


TAVERN: Final = Tavern(
    name="silly",
    pipeline=PIPELINE,
    inputs=INPUTS,
    choose=_pipeline_for,
    carrying=_carrying,
    summary="SillyTavern's prompts: cards, lore, presets, groups; for chats and for text completion.",
    profiles=tuple(PROFILES),
    replies=REPLIES,
    lint=lint_fields,
    lore_settings=lambda options: {"wi_settings": options},
)

build = TAVERN.build
builder = TAVERN.builder
to_messages = TAVERN.to_messages


def substitute(
    request: BuildRequest, texts: Iterable[Any], ports: Ports | None = None
) -> tuple[list[str], Mapping[str, Any]]:
    """Texts with their macros replaced as a build of ``request`` would, and the variables afterwards.

    An item is a text, or ``{text, original, dynamic, replace_character_card}``. Nothing is built: the card's fields are
    resolved only where a macro asks for them.
    """
    from innkeeper.macros.silly import substitute as expand
    from innkeeper.taverns.silly.environment import environment_of
    from innkeeper.taverns.silly.inputs import read_inputs

    state = start(request, ports or Ports())
    inputs = read_inputs(state)
    env = replace(environment_of(state, inputs, inputs.lines), generation="", input=inputs.message)
    pack: Any = "new" if inputs.power.experimental_macro_engine else "legacy"
    answers = []
    for item in texts:
        fields: dict[str, Any] = {"text": item} if isinstance(item, str) else dict(item)
        answers.append(expand(fields.pop("text"), env, pack=pack, **fields))
    return answers, state.variables.to_dict()


def to_provider(plan: Plan) -> Payload:
    """The body that SillyTavern's server sends to the source of the plan's preset, with notes: dialect ``sillytavern``.

    Raises `FormatError` for messages that the source's rules cannot carry.
    """
    from innkeeper.dialects.sillytavern.dialect import SillyTavern
    from innkeeper.prompt.payload.dialect import Dialects

    return plan.to_request("sillytavern", dialects=Dialects(SillyTavern()))


def to_endpoint(plan: Plan) -> SourceEndpoint:
    """Return the address of that body, its headers, and the place of the key; no secrets.

    Raises `ConfigError` where the preset does not say, as for a server of the user's own without an address.
    """
    from innkeeper.dialects.sillytavern.dialect import SillyTavern

    options = {**plan.dialect_options.get("sillytavern", {}), **plan.options, "stop": list(plan.stop)}
    return SillyTavern().endpoint(plan.messages, model=plan.model, options=options, tools=plan.tools)
