"""MacroEnvironment: everything a macro may read, and the few things it may write, during one build."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from innkeeper.macros.engine.errors import where_in
from innkeeper.macros.engine.spending import Spent
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.determinism import EPOCH, Clock, Mulberry32, RandomStream
from innkeeper.prompt.errors import Where
from innkeeper.prompt.note import Note
from innkeeper.prompt.run.variables import InMemoryVariables, StagedVariables, VariablesStore


class ChatLine(msgspec.Struct, frozen=True):
    """One message as macros see it. ``swipes`` counts the alternatives (``None`` without any), ``swipe_id`` is the shown one."""

    name: str
    text: str
    is_user: bool = False
    is_system: bool = False
    send_date: str | int | float | None = None
    swipes: int | None = None
    swipe_id: int | None = None


class Voice(msgspec.Struct, frozen=True):
    """One member's part of a field that a group shares: in it ``{{char}}`` is that member.

    What stands ``before`` and ``after`` the member's text is resolved for itself.
    """

    char: str
    text: str
    before: str = ""
    after: str = ""


Field = str | tuple[Voice, ...]
"""A field as written, or the parts of a group's members, which are resolved one by one and joined by newlines."""


class CardFields(msgspec.Struct, frozen=True, kw_only=True):
    """The texts of a card as they are written, macros and all; a pack resolves one when a macro asks for it."""

    description: Field = ""
    personality: Field = ""
    scenario: Field = ""
    first_message: str = ""
    alternate_greetings: tuple[str, ...] = ()
    mes_examples: Field = ""
    system_prompt: str = ""
    post_history: str = ""
    depth_prompt: str = ""
    creator_notes: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MacroEnvironment:
    """One build's world for macros. Frozen; only ``variables``, ``random``, ``spent`` and the callbacks have state.

    ``group`` is all members' names (empty outside of groups), ``group_active`` those who are not muted. ``chat`` gives the
    messages, oldest first, and is called only by chat macros. ``instruct``, ``context``, ``sysprompt`` and ``reasoning`` are
    the settings of those names as SillyTavern spells them. ``stock`` has the values of macros that extensions which are on
    register. ``chat_id`` (``None``: there is no chat; or its hash, when one is kept) and ``pick_seed`` drive stable picks.
    ``warn`` gets a `Note` for every macro that could not be evaluated, once for each place that ``locate`` names of a text and
    a position in it; ``ban`` gets each ``{{banned}}`` word.
    """

    user: str = ""
    char: str = ""
    group: tuple[str, ...] = ()
    group_active: tuple[str, ...] = ()
    persona: str = ""
    card: CardFields = field(default_factory=CardFields)
    prefer_card_prompt: bool = True
    prefer_card_instruction: bool = True
    collapse_newlines: bool = False
    chat: Callable[[], Sequence[ChatLine]] = tuple
    first_included_id: int | None = None
    first_displayed_id: int | None = None
    input: str = ""
    generation: str = ""
    main_api: str = "openai"
    model: str = ""
    max_context: int = 0
    max_response: int = 0
    mobile: bool = False
    extensions: frozenset[str] = frozenset()
    instruct: Mapping[str, Any] = EMPTY
    context: Mapping[str, Any] = EMPTY
    sysprompt: Mapping[str, Any] = EMPTY
    reasoning: Mapping[str, Any] = EMPTY
    authors_note: str = ""
    char_authors_note: str = ""
    default_authors_note: str = ""
    outlets: Mapping[str, str] = EMPTY
    dynamic: Mapping[str, Any] = EMPTY
    stock: Mapping[str, Callable[[], str]] = EMPTY
    variables: VariablesStore = field(default_factory=lambda: StagedVariables(InMemoryVariables()))
    clock: Clock = field(default_factory=lambda: Clock(EPOCH))
    random: RandomStream = field(default_factory=lambda: Mulberry32(0))
    chat_id: str | None = ""
    chat_id_hash: int | str | None = None
    pick_seed: int | str | None = None
    spent: Spent = field(default_factory=Spent)
    warn: Callable[[Note], None] | None = None
    locate: Callable[[str, int], Where] = where_in
    ban: Callable[[str], None] | None = None
