"""LorebookEntry: one entry of a lorebook, with all fields of SillyTavern's world info and the card books.

Decorators are the ``@@name value`` lines at the head of an entry's content (Character Card V3, *Decorators*). They are read
here as the specification has them; applications differ in which lines they accept, so their lore engines read the content
themselves.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any, Final

import msgspec


class LorePosition(StrEnum):
    """The position of an entry's text. In the order of SillyTavern's numbers, 0 to 7."""

    BEFORE_CHAR = "before_char"
    AFTER_CHAR = "after_char"
    AN_TOP = "an_top"
    AN_BOTTOM = "an_bottom"
    AT_DEPTH = "at_depth"
    EM_TOP = "em_top"
    EM_BOTTOM = "em_bottom"
    OUTLET = "outlet"


class SelectiveLogic(StrEnum):
    """How secondary keys decide. In the order of SillyTavern's numbers, 0 to 3."""

    AND_ANY = "and_any"
    NOT_ALL = "not_all"
    NOT_ANY = "not_any"
    AND_ALL = "and_all"


class Spelling(StrEnum):
    """In whose words a book or an entry is written."""

    WORLD = "world"
    """SillyTavern world info: ``key``, ``keysecondary``, ``disable``, ``order``; numbers for positions."""
    CARD = "card"
    """A book of a V2 or V3 card: ``keys``, ``secondary_keys``, ``enabled``, ``insertion_order``, ``extensions``."""
    NOVELAI = "novelai"
    AGNAI = "agnai"
    RISU = "risu"
    SMART = "smarttavern"
    """SmartTavern: ``mode``, ``condition``, roles for positions."""


class CharacterFilter(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """For which characters an entry holds: file names and tag ids; with ``exclude`` for all others."""

    names: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    exclude: bool = False


class LorebookEntry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One entry. ``raw`` is the object it was read from, which must not be changed.

    ``id`` is the entry's own (``uid`` or ``id``, a number or text), or its key or index in the book; ``index`` counts the
    entries as read. ``None`` means "not said": use the setting that holds for all entries. ``order`` may be ``None``
    too, which SillyTavern sorts like no number. ``depth`` and ``scan_depth`` are in messages; ``sticky``, ``cooldown``
    and ``delay`` in messages of the chat; ``probability`` in percent. ``delay_until_recursion`` is a level, 0 for none.

    ``case_sensitive`` is what SillyTavern reads (in card books only within ``extensions``); ``spec_case_sensitive`` and
    ``use_regex`` are the fields of the card specification, which SillyTavern does not look at.
    """

    id: int | str
    index: int
    keys: tuple[str, ...] = ()
    secondary_keys: tuple[str, ...] = ()
    content: str = ""
    comment: str = ""
    name: str | None = None
    enabled: bool = True
    constant: bool = False
    vectorized: bool = False
    selective: bool = False
    selective_logic: SelectiveLogic = SelectiveLogic.AND_ANY
    order: float | None = None
    priority: float | None = None
    position: LorePosition = LorePosition.BEFORE_CHAR
    outlet_name: str = ""
    depth: int = 4
    role: str = "system"
    scan_depth: int | None = None
    case_sensitive: bool | None = None
    spec_case_sensitive: bool | None = None
    match_whole_words: bool | None = None
    use_regex: bool | None = None
    use_group_scoring: bool | None = None
    exclude_recursion: bool = False
    prevent_recursion: bool = False
    delay_until_recursion: int = 0
    probability: float | None = None
    use_probability: bool = False
    group: str = ""
    group_override: bool = False
    group_weight: float = 100
    sticky: int | None = None
    cooldown: int | None = None
    delay: int | None = None
    ignore_budget: bool = False
    match_persona_description: bool = False
    match_character_description: bool = False
    match_character_personality: bool = False
    match_character_depth_prompt: bool = False
    match_scenario: bool = False
    match_creator_notes: bool = False
    character_filter: CharacterFilter = CharacterFilter()
    triggers: tuple[str, ...] = ()
    automation_id: str = ""
    display_index: int | None = None
    add_memo: bool = False
    extensions: dict[str, Any] = {}
    spelling: Spelling = Spelling.WORLD
    raw: dict[str, Any] = {}

    @property
    def title(self) -> str:
        """The entry's label for users: its comment, its name, its first key or its id."""
        return self.comment or self.name or next((key for key in self.keys if key), "") or str(self.id)

    @property
    def groups(self) -> tuple[str, ...]:
        """The inclusion groups it belongs to, parted by commas; as in SillyTavern blanks before a comma are of the name."""
        return tuple(name for name in _GROUPS.split(self.group) if name)

    @property
    def decorators(self) -> tuple[Decorator, ...]:
        """The decorators at the head of the content, as the V3 specification reads them."""
        return split_decorators(self.content)[0]


_GROUPS: Final = re.compile(r",\s*")

MARK: Final = "@@"
FALLBACK_MARK: Final = "@@@"


class Decorator(msgspec.Struct, frozen=True, omit_defaults=True):
    """One decorator: its name, the text after it, and those to use instead where it is not known, first choice first."""

    name: str
    argument: str = ""
    fallbacks: tuple[Decorator, ...] = ()

    @property
    def values(self) -> tuple[str, ...]:
        """The argument as a list: split at commas, trimmed, without empty ones."""
        return tuple(value for part in self.argument.split(",") if (value := part.strip()))


def split_decorators(content: str) -> tuple[tuple[Decorator, ...], str]:
    r"""The decorators at the head of ``content``, and the text that is left.

    >>> split_decorators("@@depth 4\n@@role user\n\nThe gate is shut.")[1]
    'The gate is shut.'
    """
    if not content.lstrip().startswith(MARK):
        return (), content
    lines = content.lstrip().split("\n")
    count = next((index for index, line in enumerate(lines) if not line.strip().startswith(MARK)), len(lines))
    return _grouped(lines[:count]), "\n".join(lines[count:]).strip("\r\n")


def _grouped(lines: list[str]) -> tuple[Decorator, ...]:
    """Decorators with their fallbacks; a fallback that follows nothing is left out."""
    decorators: list[list[Decorator]] = []
    for line in lines:
        text = line.strip()
        is_fallback = text.startswith(FALLBACK_MARK)
        name, _, argument = text.lstrip("@").partition(" ")
        if not is_fallback:
            decorators.append([Decorator(name, argument.strip())])
        elif decorators:
            decorators[-1].append(Decorator(name, argument.strip()))
    return tuple(Decorator(first.name, first.argument, tuple(rest)) for first, *rest in decorators)
