"""Character: a character card of any version as one typed, unchangeable value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from innkeeper.content.asset import DEFAULT_ASSETS, Asset
from innkeeper.content.cache import Cache
from innkeeper.content.document import Document, remembered
from innkeeper.content.finding import Finding
from innkeeper.content.jsontext import encode_json
from innkeeper.content.lorebook import Lorebook
from innkeeper.content.record import as_integer, as_number, as_role
from innkeeper.prompt.errors import UsageError

__all__ = ["CardVersion", "Character", "DepthPrompt"]

TALKATIVENESS: Final = 0.5
"""How readily a character speaks in a group where the card does not say."""


class CardVersion(StrEnum):
    """The specification a card follows."""

    V1 = "v1"
    V2 = "v2"
    V3 = "v3"


class DepthPrompt(msgspec.Struct, frozen=True):
    """A card's note at a depth of the chat: its text, depth in messages and role."""

    prompt: str
    depth: int = 4
    role: str = "system"


class Character(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A character. Field names are those of the card specifications; texts are as written, macros and all.

    Every version is read into the same fields; what a version does not have is empty. ``document`` keeps the card as it
    was read, unknown fields included; ``findings`` say what in it was not as it should be.
    """

    name: str
    description: str = ""
    personality: str = ""
    scenario: str = ""
    first_mes: str = ""
    mes_example: str = ""
    creator_notes: str = ""
    system_prompt: str = ""
    post_history_instructions: str = ""
    alternate_greetings: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    creator: str = ""
    character_version: str = ""
    nickname: str = ""
    group_only_greetings: tuple[str, ...] = ()
    creator_notes_multilingual: dict[str, str] = {}
    source: tuple[str, ...] = ()
    creation_date: float | None = None
    modification_date: float | None = None
    assets: tuple[Asset, ...] = DEFAULT_ASSETS
    extensions: dict[str, Any] = {}
    book: Lorebook | None = None
    version: CardVersion = CardVersion.V2
    spec_version: str = ""
    document: Document = Document(None)
    findings: tuple[Finding, ...] = ()

    @classmethod
    def of(cls, value: Any) -> Character:
        """A character from itself, a card as a JSON object, or JSON text. Remembered by content.

        Raises:
            CardError: it is no card, or one without a name.
            FormatError: the text is not JSON.
            ContentLimitError: it is beyond a limit.
        """
        from innkeeper.content.character_reading import read_character

        return value if isinstance(value, Character) else remembered(_CACHE, value, read_character, what="a character")

    @property
    def display_name(self) -> str:
        """What the character is called in a prompt: the nickname where there is one, else the name."""
        return self.nickname if self.nickname.strip() else self.name

    @property
    def persona_text(self) -> str:
        """The character as somebody to play: description and personality, a blank line between them."""
        return "\n\n".join(text for text in (self.description, self.personality) if text.strip())

    @property
    def digest(self) -> str:
        """A hash of the card's content."""
        return self.document.digest

    @property
    def raw(self) -> Mapping[str, Any]:
        """The card as read. It must not be changed; `to_dict` gives a copy."""
        tree: Mapping[str, Any] = self.document.tree
        return tree

    def greetings(self, *, group: bool = False) -> tuple[str, ...]:
        """All greetings in the order of their indexes; in a group those for groups only come last."""
        return (self.first_mes, *self.alternate_greetings, *(self.group_only_greetings if group else ()))

    def greeting(self, index: int = 0, *, group: bool = False) -> str:
        """One greeting: 0 or -1 is the first message, 1 the first alternative. Raises `UsageError` for one that is not there."""
        greetings = self.greetings(group=group)
        if not -1 <= index < len(greetings):
            hint = f"indexes go from 0 to {len(greetings) - 1}"
            raise UsageError(f"{self.name!r} has no greeting {index}", hint=hint)
        return greetings[max(index, 0)]

    @property
    def depth_prompt(self) -> DepthPrompt | None:
        """The character's note (``extensions.depth_prompt``), or ``None`` where it is absent or empty."""
        note = self.extensions.get("depth_prompt")
        if not isinstance(note, dict) or not isinstance(note.get("prompt"), str) or not note["prompt"]:
            return None
        depth = as_integer(note.get("depth"))
        return DepthPrompt(note["prompt"], 4 if depth is None else depth, as_role(note.get("role")) or "system")

    @property
    def talkativeness(self) -> float:
        """How readily the character speaks in a group, 0 to 1 (``extensions.talkativeness``)."""
        number = as_number(self.extensions.get("talkativeness"))
        return TALKATIVENESS if number is None or math.isnan(number) else float(number)

    @property
    def world(self) -> str | None:
        """The name of the world info file the card is linked to (``extensions.world``)."""
        name = self.extensions.get("world")
        return name if isinstance(name, str) and name else None

    def creator_notes_for(self, language: str = "en") -> str:
        """The creator's notes in a language (ISO 639-1), in English, or as they are."""
        notes = self.creator_notes_multilingual
        wanted = language.lower().replace("_", "-").partition("-")[0]
        english = notes.get("en") or self.creator_notes
        return notes.get(wanted) or english or next((text for text in notes.values() if text), "")

    def main_asset(self, type_: str = "icon") -> Asset | None:
        """The asset named ``main`` of a type, or its first."""
        found = [asset for asset in self.assets if asset.type == type_]
        return next((asset for asset in found if asset.name == "main"), found[0] if found else None)

    def replace(self, **fields: Any) -> Character:
        """The character with other values in some fields; the rest of the card keeps its bytes.

        Raises:
            UnknownNameError: a card has no such field.
            UsageError: a V1 card has no such field; convert it first.
        """
        from innkeeper.content.character_writing import replace_fields

        return replace_fields(self, fields)

    def to_version(self, version: CardVersion | str) -> Character:
        """The character as a V2 or V3 card. Fields that only V3 knows stay in a V2 card, where V2 readers pass them by."""
        from innkeeper.content.character_writing import convert

        return convert(self, CardVersion(version))

    def to_dict(self) -> dict[str, Any]:
        """The card as read, as data of the caller's own."""
        card: dict[str, Any] = msgspec.json.decode(encode_json(self.document.tree))
        return card

    def to_json(self) -> bytes:
        """The card as JSON text: byte for byte as read, except where it was edited."""
        return self.document.encode()


_CACHE: Final[Cache[Character]] = Cache()
