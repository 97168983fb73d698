"""Keywords: every input that a build takes by keyword, with its type and a description, in one table.

Editors and type checkers read `BuildInputs`; `lists_inputs` writes the same into the signature and the docstring of a method,
for ``help`` and `inspect.signature`; the table of all inputs in the documentation is made of it (`innkeeper.taverns.inputs`).
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any, Final, Protocol, TypeAlias, TypedDict, TypeVar

from innkeeper.content.character import Character
from innkeeper.content.lorebook import Lorebook
from innkeeper.content.persona import Persona
from innkeeper.content.preset import Preset
from innkeeper.prompt import BuildRequest, Message
from innkeeper.prompt.allowance import BuildLimits
from innkeeper.prompt.determinism import Randomness
from innkeeper.prompt.note import Instrumenter, Note
from innkeeper.prompt.payload.dialect import Dialects
from innkeeper.prompt.run.context import Context
from innkeeper.prompt.run.extensions import HookRegistry, Injection, InjectionRegistry
from innkeeper.prompt.run.state import PassageSearch, TokenCounter
from innkeeper.prompt.run.variables import VariablesStore
from innkeeper.prompt.typed.once import once


class HasName(Protocol):
    """A person as an application's own object: ``name``, and any other fields of a card or a persona."""

    @property
    def name(self) -> str:
        """The name."""
        ...


class HasMessages(Protocol):
    """A stored chat, such as `innkeeper.content.ChatLog`."""

    @property
    def messages(self) -> Iterable[Any]:
        """The messages, oldest first."""
        ...


class Estimator(Protocol):
    """A counter of tokens as TavernKit has it."""

    def estimate(self, text: str, *, model_hint: str | None = None) -> int:
        """The tokens of a text."""
        ...


_Json: TypeAlias = Mapping[str, Any] | str | bytes
_Store: TypeAlias = VariablesStore | Mapping[str, Any] | None
_Injections: TypeAlias = InjectionRegistry | Iterable[Injection | Mapping[str, Any]] | None
_Counter: TypeAlias = TokenCounter | Estimator | Callable[[str], int] | None


class _OtherNames(TypedDict, total=False):
    """Inputs by the names that TavernKit and others have for them, each with our own."""

    user_message: Annotated[str, "message"]
    lore_book: Annotated[Lorebook | _Json, "lorebooks"]
    lore_books: Annotated[Iterable[Lorebook | _Json] | None, "lorebooks"]
    generation_type: Annotated[str, "generation"]
    llm_options: Annotated[Mapping[str, Any] | None, "options"]
    greeting_index: Annotated[int | None, "greeting"]
    force_world_info: Annotated[Iterable[Any] | None, "force_lore"]
    token_estimator: Annotated[_Counter, "token_counter"]
    variables_store: Annotated[_Store, "variables"]
    injection_registry: Annotated[_Injections, "injections"]
    hook_registry: Annotated[HookRegistry | None, "hooks"]


ALIASES: Final[Mapping[str, str]] = {name: kind.__metadata__[0] for name, kind in _OtherNames.__annotations__.items()}
"""Other names of inputs, and our own."""


class BuildInputs(_OtherNames, total=False):
    """The inputs of a build. All can be left out; a tavern uses each or names it in ``plan.notes``."""

    profile: Annotated[str | None, "a variant of the tavern's rules"]
    character: Annotated[Character | HasName | _Json | None, "who the model plays: a card, JSON, an object or a name"]
    user: Annotated[
        Persona | Character | HasName | _Json | None, "who the user is: a persona, a card, JSON, an object or a name"
    ]
    group: Annotated[Mapping[str, Any] | None, "several characters and how they take turns"]
    history: Annotated[
        HasMessages | Iterable[Message | Mapping[str, Any]] | None,
        "the chat, oldest first: messages, mappings, or a stored chat with its metadata",
    ]
    message: Annotated[str | None, "what the user says now"]
    system: Annotated[str | None, "a system text of the application"]
    generation: Annotated[str, "what is being generated: normal, continue, impersonate, swipe, regenerate or quiet"]
    greeting: Annotated[int | None, "which of the card's greetings the chat begins with, from 0"]
    preset: Annotated[Preset | _Json | None, "prompts, their order, sampling"]
    lorebooks: Annotated[
        Lorebook | _Json | Iterable[Lorebook | _Json] | None, "books beside the card's own, each with its scope"
    ]
    force_lore: Annotated[Iterable[Any] | None, "entries that fire without a key"]
    injections: Annotated[_Injections, "texts of the application at a position, or the registry that holds them"]
    authors_note: Annotated[str | Mapping[str, Any] | None, "a text, or its fields"]
    macro_vars: Annotated[Mapping[str, Any] | None, "macros of the application"]
    variables: Annotated[_Store, "the chat's variables before the build, or the store that holds them"]
    context: Annotated[Context | Mapping[str, Any] | None, "the application's snapshot, beside its `module_configs`"]
    configs: Annotated[Mapping[str, Any] | None, "configurations of steps, over those of the context"]
    meta: Annotated[Mapping[str, Any] | None, "texts of this build, by name"]
    settings: Annotated[Mapping[str, Any] | None, "settings of the tavern"]
    lore_state: Annotated[Any, "`carry` of the chat's last plan"]
    options: Annotated[Mapping[str, Any] | None, "request options such as temperature"]
    tools: Annotated[Iterable[Mapping[str, Any]] | None, "tools that the model may call"]
    step_options: Annotated[Mapping[str, Any] | None, "configurations of steps"]
    provider: Annotated[str | None, "who answers"]
    model: Annotated[str | None, "what answers, and what tokens are counted for"]
    dialect: Annotated[str | None, "the shape of the messages"]
    context_window: Annotated[int | None, "the tokens that the prompt and the reply may take together"]
    reserved_tokens: Annotated[int | None, "tokens kept for the reply"]
    strict: Annotated[bool, "warnings are errors"]
    limits: Annotated[
        BuildLimits | Mapping[str, Any] | None, "what the build may take: steps of work, characters made, seconds"
    ]
    now: Annotated[datetime | str | None, "the time, with its zone; as a text in ISO 8601"]
    locale: Annotated[str, "how dates are written"]
    seed: Annotated[int, "what all chance is drawn from"]
    token_counter: Annotated[_Counter, "an object that counts tokens"]
    instrumenter: Annotated[Instrumenter | Callable[..., Any] | None, "is called with each event of a step"]
    hooks: Annotated[HookRegistry | None, "functions before and after a build"]
    vectors: Annotated[PassageSearch | None, "a search for passages that the chat is about"]
    max_limits: Annotated[BuildLimits | None, "what no request may take more than"]
    media: Annotated[Callable[[str], bytes | None] | None, "reads pictures and files behind the addresses in a chat"]
    dialects: Annotated[Dialects | None, "dialects of your own"]
    warning_handler: Annotated[Callable[[Note], None] | None, "is called with each warning"]
    random: Annotated[Callable[[int], Randomness] | None, "another source of chance"]


def descriptions() -> dict[str, str]:
    """The description of each input, by its own name, in their order."""
    return {name: kind.__metadata__[0] for name, kind in _described().items()}


def _described() -> dict[str, Any]:
    return {name: kind for name, kind in BuildInputs.__annotations__.items() if name not in ALIASES}


F = TypeVar("F", bound=Callable[..., Any])

_MARK: Final = "inputs: every keyword of `BuildInputs`."
"""The line of a docstring that `lists_inputs` replaces by the list."""


def lists_inputs(method: F) -> F:
    """The method, with every input in its signature, and in its docstring where that says `_MARK`."""
    signature = inspect.signature(method)
    own = [
        parameter for parameter in signature.parameters.values() if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    others = inspect.Parameter("other_names", inspect.Parameter.VAR_KEYWORD, annotation=Any)
    method.__dict__["__signature__"] = signature.replace(parameters=[*own, *_parameters(), others])
    if method.__doc__ and _MARK in method.__doc__:
        indent = " " * (len(before := method.__doc__.partition(_MARK)[0]) - len(before.rstrip(" ")))
        lines = [f"{name}: {what}." for name, what in descriptions().items()]
        names = ", ".join(f"``{other}`` ({ours})" for other, ours in ALIASES.items())
        lines.append(f"**other_names: names that TavernKit has for the same: {names}.")
        method.__doc__ = method.__doc__.replace(_MARK, f"\n{indent}".join(lines))
    return method


@once
def _parameters() -> tuple[inspect.Parameter, ...]:
    nothing = BuildRequest()
    kind: Final = inspect.Parameter.KEYWORD_ONLY
    return tuple(
        [
            inspect.Parameter(name, kind, default=getattr(nothing, name, None), annotation=described.__origin__)
            for name, described in _described().items()
        ]
    )
