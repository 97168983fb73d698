"""Triggers as they are stored; what those of one run have changed so far; `Operands`, which reads the fields of an effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import msgspec

from innkeeper.macros.cbs import CbsScope, expand
from innkeeper.macros.cbs.scope import NO_VALUE
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import LimitError
from innkeeper.prompt.note import Note, NoteKind
from innkeeper.taverns.risu.scripts import ScriptPattern
from innkeeper.text.javascript.values import length_of, to_number
from innkeeper.text.jsreplace import ReplaceRunner, Split


class Trigger(msgspec.Struct, frozen=True, kw_only=True):
    """A trigger. ``type`` says when it runs: start, manual, output, input, display, request."""

    name: str = ""
    type: str = ""
    conditions: Sequence[Mapping[str, Any]] = ()
    effects: Sequence[Mapping[str, Any]] = ()
    low_level: bool = False
    """Whether it may ask for a model's answer and the like."""


def read_triggers(stored: Sequence[Mapping[str, Any]], *, low_level: bool = False) -> tuple[Trigger, ...]:
    """The triggers of a card or a module; ``low_level`` is what that allows them."""
    return tuple(
        Trigger(
            name=str(item.get("comment") or ""),
            type=str(item.get("type") or ""),
            conditions=_records(item.get("conditions")),
            effects=_records(item.get("effect")),
            low_level=low_level,
        )
        for item in _records(stored)
    )


def _records(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list; none where it is no list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list | tuple) else []


def four_units(text: str) -> int:
    """A token for each four UTF-16 units."""
    return -(-length_of(text) // 4)


class TriggerInputs(msgspec.Struct, frozen=True, kw_only=True):
    """What triggers read and may change. ``lorebook`` are the character's own entries, as they are stored."""

    scope: CbsScope
    lorebook: Sequence[Mapping[str, Any]] = ()
    author_note: str = ""
    global_note: str = ""
    """The character's replacement of the global note."""
    display_data: str | None = None
    """The text that is shown, or the request's messages as JSON."""
    count: Callable[[str], int] = four_units
    """Counts the tokens of a text."""


class TriggerOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What triggers left. A field that they did not change is ``None``; so is the value of a variable that is gone."""

    messages: tuple[Mapping[str, Any], ...] = ()
    variables: Mapping[str, str | None] = EMPTY
    temporary: Mapping[str, str] = EMPTY
    """Variables of a trigger that rewrites a shown text or a request: they go with it."""
    prompts: Mapping[str, str] = EMPTY
    """Texts for the prompt at ``start``, ``historyend``, ``promptend``."""
    tokens: int = 0
    """The tokens of these texts."""
    stop_sending: bool = False
    send_prompt: bool = False
    """Whether the model is to be asked again."""
    display_data: str | None = None
    lorebook: tuple[Mapping[str, Any], ...] | None = None
    author_note: str | None = None
    global_note: str | None = None
    description: str | None = None
    persona: str | None = None
    notes: tuple[Note, ...] = ()


MAX_TRIGGER_STEPS: Final = 100_000
"""Effects that the triggers of one run may take, those that they skip included (`LimitError`)."""

MAX_TRIGGER_CHARACTERS: Final = 64 * 1024 * 1024
"""Characters that the triggers of one run may read and write (`LimitError`)."""

MAX_TRIGGER_CALLS: Final = 32
"""Triggers that run inside one another (`LimitError`)."""

_STEPS: Final = 10
_OF_SCOPE: Final = ("description", "persona")


@dataclass(slots=True)
class TriggerState:
    """The chat, variables and texts of one run; ``inputs.scope`` reads the lists and mappings that are written here."""

    inputs: TriggerInputs
    mode: str
    variables: dict[str, Any] = field(init=False)
    messages: list[Mapping[str, Any]] = field(init=False)
    lorebook: list[Mapping[str, Any]] = field(init=False)
    written: dict[str, str] = field(default_factory=dict)
    temporary: dict[str, str] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=lambda: {"start": "", "historyend": "", "promptend": ""})
    texts: dict[str, str] = field(default_factory=dict)
    """Texts that were changed: author_note, global_note, description, persona, display_data."""
    local: dict[int, dict[str, str]] = field(default_factory=dict)
    """Local variables of the triggers of a mode or name, by the indent of their block."""
    indent: int = 0
    stop_sending: bool = False
    send_prompt: bool = False
    lorebook_changed: bool = False
    notes: list[Note] = field(default_factory=list)
    _steps: int = 0
    _characters: int = 0
    _runner: ReplaceRunner = field(init=False)

    def __post_init__(self) -> None:
        scope = self.inputs.scope
        self.variables, self.messages = dict(scope.variables), list(scope.messages)
        self.lorebook = list(self.inputs.lorebook)
        scope = msgspec.structs.replace(
            scope, variables=self.variables, messages=self.messages, run_variables=False, chat_index=-1
        )
        self.inputs = msgspec.structs.replace(self.inputs, scope=scope)
        self._runner = ReplaceRunner(lambda what, why: self.notes.append(Note(NoteKind.LIMIT, f"{what}: {why}")))

    @property
    def is_safe(self) -> bool:
        """Whether it rewrites a shown text or a request, and may change nothing else."""
        return self.mode in {"display", "request"}

    def step(self, count: int = 1) -> None:
        """Count effects. Raises `LimitError`."""
        self._steps += count
        if self._steps > MAX_TRIGGER_STEPS:
            raise LimitError("the number of effects of triggers", limit="MAX_TRIGGER_STEPS", allowed=MAX_TRIGGER_STEPS)
        charge("triggers", count * _STEPS)

    def spend(self, characters: int) -> None:
        """Count characters that are read or written. Raises `LimitError`."""
        self._characters += characters
        if self._characters > MAX_TRIGGER_CHARACTERS:
            what = "the number of characters that triggers read and write"
            raise LimitError(what, limit="MAX_TRIGGER_CHARACTERS", allowed=MAX_TRIGGER_CHARACTERS)

    def expand(self, field: object) -> str:
        """A field with its macros expanded, which write no variables."""
        text = field if isinstance(field, str) else "" if field is None else str(field)
        if "{" in text or "<" in text:
            expanded = expand(text, self.inputs.scope)
            text = expanded.text
            self.spend(expanded.work)
        self.spend(len(text))
        return text

    def get(self, name: str) -> str:
        """The text of a variable: a local one, the chat's, a temporary one, ``null``."""
        blocks = (self.local[indent] for indent in range(self.indent, -1, -1) if indent in self.local)
        value, scope = next((block[name] for block in blocks if name in block), None), self.inputs.scope
        if value is None:
            known = scope.variables.get(name) is not None or name in scope.defaults
            value = scope.variable(name) if known else self.temporary.get(name, NO_VALUE)
        self.spend(len(value))
        return value

    def set(self, name: str, value: str) -> None:
        """Set a variable: a local one where there is one of this name, else the chat's; or a temporary one."""
        self.spend(len(value))
        block = self.block_of(name)
        if self.is_safe:
            self.temporary[name] = value
        elif block is not None:
            self.local[block][name] = value
        else:
            self.variables[name] = self.written[name] = value

    def block_of(self, name: str) -> int | None:
        """The indent of the innermost block at work that has a local variable of this name."""
        return next((indent for indent in range(self.indent, -1, -1) if name in self.local.get(indent, ())), None)

    def split(self, pattern: str, flags: str, text: str) -> Split | None:
        """The matches of a pattern; ``None`` without one, and for a pattern that cannot be run."""
        self.spend(len(text))
        expression = ScriptPattern(pattern, flags)
        return self._runner.split(expression, text) if self._runner.accepts(expression) else None

    def text(self, name: str) -> str:
        """A text that triggers may change, as it is now."""
        if name in self.texts:
            return self.texts[name]
        return str(getattr(self.inputs.scope if name in _OF_SCOPE else self.inputs, name) or "")

    def set_text(self, name: str, value: str) -> None:
        """Change one of these texts."""
        self.texts[name] = value
        if name in _OF_SCOPE:
            scope = msgspec.structs.replace(self.inputs.scope, **{name: value})
            self.inputs = msgspec.structs.replace(self.inputs, scope=scope)


class Operands(NamedTuple):
    """The fields of an effect as they are read: each a value, or by its ``…Type`` (of ``v2…``) the name of a variable."""

    state: TriggerState
    effect: Mapping[str, Any]

    def name(self, field: str = "var") -> str:
        """A field that names something."""
        return self.state.expand(self.effect.get(field))

    def text(self, field: str) -> str:
        """A field that is a value or a variable's name."""
        value, kind = self.name(field), self.effect.get(f"{field}Type")
        is_value = kind == "value" or not str(self.effect.get("type") or "").startswith("v2")
        return value if is_value else self.state.get(value)

    def number(self, field: str) -> float:
        """The same as a number."""
        return to_number(self.text(field))

    def output(self, value: str | None) -> None:
        """Write a result; ``null`` where there is none."""
        self.state.set(self.name("outputVar"), NO_VALUE if value is None else value)
