"""MacroEnvironment: everything a macro may read, and the few things it may write, during one build."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from innkeeper.prompt.clock import EPOCH, Clock
from innkeeper.prompt.frozen import EMPTY
from innkeeper.prompt.note import Note
from innkeeper.prompt.randomness import Mulberry32, Stream
from innkeeper.prompt.variables import InMemoryVariables, StagedVariables, VariablesStore

__all__ = ["CardFields", "ChatLine", "MacroEnvironment", "Spent"]


class ChatLine(msgspec.Struct, frozen=True):
    """One message as macros see it. ``swipes`` counts the alternatives, ``swipe_id`` is the one shown (from 0)."""

    name: str
    text: str
    is_user: bool = False
    is_system: bool = False
    send_date: str | int | float | None = None
    swipes: int = 0
    swipe_id: int | None = None


class CardFields(msgspec.Struct, frozen=True, kw_only=True):
    """The texts of a card as they are written, macros and all; a pack resolves one when a macro asks for it."""

    description: str = ""
    personality: str = ""
    scenario: str = ""
    first_message: str = ""
    alternate_greetings: tuple[str, ...] = ()
    mes_examples: str = ""
    system_prompt: str = ""
    post_history: str = ""
    depth_prompt: str = ""
    creator_notes: str = ""
    version: str = ""


@dataclass(slots=True)
class Spent:
    """What the macros of one build have used up so far: expansions and characters of output."""

    expansions: int = 0
    output: int = 0


def _no_variables() -> StagedVariables:
    return StagedVariables(InMemoryVariables())


def _fixed() -> Stream:
    return Mulberry32(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class MacroEnvironment:
    """One build's world for macros. Frozen; only ``variables``, ``random``, ``spent`` and the callbacks have state.

    ``group`` is all members' names, ``group_not_muted`` those who may speak, ``not_char`` everybody but the speaker.
    ``chat`` gives the messages, oldest first, and is called only by chat macros. ``instruct``, ``context`` and
    ``sysprompt`` are the settings of those names as SillyTavern spells them. ``pick_seed`` and ``chat_id`` drive stable
    picks. ``warn`` gets a `Note` for every macro that could not be evaluated; ``ban`` each word of ``{{banned}}``.
    """

    user: str = ""
    char: str = ""
    group: str = ""
    group_not_muted: str = ""
    not_char: str = ""
    persona: str = ""
    card: CardFields = CardFields()
    chat: Callable[[], Sequence[ChatLine]] = tuple
    first_included_id: int | None = None
    first_displayed_id: int | None = None
    input: str = ""
    generation: str = ""
    main_api: str = "openai"
    model: str = ""
    max_prompt: int = 0
    mobile: bool = False
    extensions: frozenset[str] = frozenset()
    instruct: Mapping[str, Any] = EMPTY
    context: Mapping[str, Any] = EMPTY
    sysprompt: Mapping[str, Any] = EMPTY
    prefer_card_prompt: bool = True
    authors_note: str = ""
    char_authors_note: str = ""
    default_authors_note: str = ""
    outlets: Mapping[str, str] = EMPTY
    dynamic: Mapping[str, Any] = EMPTY
    variables: VariablesStore = field(default_factory=_no_variables)
    clock: Clock = Clock(EPOCH)
    random: Stream = field(default_factory=_fixed)
    chat_id: str = ""
    chat_id_hash: int | None = None
    pick_seed: int | None = None
    spent: Spent = field(default_factory=Spent)
    warn: Callable[[Note], None] | None = None
    ban: Callable[[str], None] | None = None
