"""Conversation: from a stored conversation to a request: which use case serves it, and the values its templates take.

The intent is a field of the request, never guessed from the words of a message; `ROUTES` is the table (reference §3.3).
Characters, personas and scenes are rows with the document's columns, as plain mappings, and one table reads them (reference
§3.4). Where its three tables disagreed, this one decides: a personality is the persona, else what stands in the traits beside
labelled lines; a background is the backstory, else what follows ``Background:`` in the description; goals, quirks and
relationships are labelled lines of the traits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.library.prepare.parts import PromptPart
from innkeeper.library.prepare.request import PrepareRequest
from innkeeper.library.rows import CharacterRow, MessageRow
from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.prompt.errors import UnknownNameError
from innkeeper.prompt.message import Message

if TYPE_CHECKING:
    from innkeeper.library.db.engine import Database
    from innkeeper.library.db.owner import Owner


def conversation_request(  # noqa: PLR0913 - each may be known or not
    db: Database,
    conversation_id: str,
    text: str,
    *,
    intent: str | None = None,
    persona: Person | None = None,
    scene: Row | None = None,
    owner: Owner | None = None,
    memories: Sequence[str] = (),
    **more: Any,
) -> PrepareRequest:
    """The request for the next turn of a stored conversation, as `Library.prepare` takes it.

    Its type and character choose the use case, character, persona and scene give the values, the newest messages are the
    history, beside those that are pinned. ``text`` is what the user says now; with ``client_msg_id`` its stored copy is not sent
    twice.

    Args:
        db: where the conversation is.
        conversation_id: the conversation.
        text: what the user says now.
        intent: what is wanted instead of a reply: ``scene``, ``image_prompt`` … (`ROUTES`).
        persona: who the user plays; the conversation's own where left out.
        scene: where they are; what the conversation remembers of its place is used without one.
        owner: whose conversation it is; anybody's where left out.
        memories: what is remembered.
        **more: further fields of `PrepareRequest`, which go before those that are read here.

    Raises:
        NotFoundError: there is no such conversation.
        UnknownNameError: an intent or a type of conversation that no route is for.
    """
    from innkeeper.library.log.conversations import CharacterStore, ConversationStore

    store, people = ConversationStore(db, owner=owner), CharacterStore(db)
    row = store.get(conversation_id)
    character = None if row.character_id is None else people.seen_by(owner, row.character_id)
    if persona is None and row.user_character_id is not None:
        persona = people.seen_by(owner, row.user_character_id)
    here = scene or ({"setting": row.current_location} if row.current_location else EMPTY)
    values = template_values(character, persona, here, userPrompt=text)
    kind, has_character = row.conversation_type, character is not None
    fields: dict[str, Any] = {
        "use_case": more.get("use_case") or use_case_for(kind, has_character=has_character, intent=intent),
        "history": more["history"] if "history" in more else history_of(store.turns(conversation_id)),
        "user_id": row.user_id,
        "conversation_id": conversation_id,
        "parts": parts_of(values, memories),
        **more,
    }
    values = {name: value for name, value in values.items() if name not in _PARTS}
    return PrepareRequest(**{**fields, "text": text, "values": {**values, **more.get("values", EMPTY)}})


def history_of(rows: Iterable[MessageRow]) -> tuple[Message, ...]:
    """Stored messages as a history. Which are pinned, and the ids of their clients, go with them."""
    return tuple([_message(row) for row in rows])


def _message(row: MessageRow) -> Message:
    sent = {} if row.client_msg_id is None else {"client_msg_id": row.client_msg_id}
    metadata = {**sent, **({"pinned": True} if row.pinned else {})}
    return Message(row.role, row.content, metadata=FrozenDict(metadata) if metadata else EMPTY)


def parts_of(values: Mapping[str, Any], memories: Sequence[str] = ()) -> tuple[PromptPart, ...]:
    """The parts of a prompt: what is remembered, the scene and the examples of a voice that are among its values."""
    texts: dict[Any, str] = {"memory": "\n".join(f"- {text}" for text in memories)}
    texts |= {kind: values.get(name) or "" for name, kind in _PARTS.items()}
    return tuple([PromptPart(kind, text) for kind, text in texts.items() if text])


_PARTS: Final[Mapping[str, Any]] = {"scene_context": "scene", "voice_examples": "voice"}


# --------------------------------------------------------------------------------------------------------------- use case


class ContextRoute(msgspec.Struct, frozen=True):
    """One row. None matches anything; ``intent`` None matches only a request without one, ``"*"`` any."""

    use_case: str
    conversation_type: str | None = None
    has_character: bool | None = None
    intent: str | None = None

    def matches(self, conversation_type: str, *, has_character: bool, intent: str | None) -> bool:
        """Whether the row is for such a request."""
        return (
            self.conversation_type in {None, conversation_type}
            and self.has_character in {None, has_character}
            and self.intent in {"*", intent}
        )


ROUTES: Final = (
    ContextRoute("enhancement", intent="image_prompt"),
    ContextRoute("enhancement", intent="video_prompt"),
    ContextRoute("scene_generation", intent="scene"),
    ContextRoute("scene_narrative_generation", intent="scene_narrative"),
    ContextRoute("character_roleplay", has_character=True),
    ContextRoute("chat", conversation_type="general", has_character=False),
    ContextRoute("chat", conversation_type="creative", has_character=False),
    ContextRoute("chat", conversation_type="story_development", has_character=False),
    ContextRoute("roleplay", conversation_type="roleplay", has_character=False),
    ContextRoute("character_roleplay", conversation_type="character_roleplay", has_character=False),
    ContextRoute("character_roleplay", conversation_type="scene_roleplay", has_character=False),
    ContextRoute("admin", conversation_type="admin", has_character=False),
)
"""The first row that fits counts: what was asked for, then the character, then the kind of conversation."""


def use_case_for(
    conversation_type: str | None = None,
    *,
    has_character: bool = False,
    intent: str | None = None,
    routes: Iterable[ContextRoute] = ROUTES,
) -> str:
    """The use case of a request; a conversation without a type is ``general``.

    Raises `UnknownNameError` for an intent or a conversation type that no row speaks of.
    """
    kind, table = conversation_type or "general", tuple(routes)
    for route in table:
        if route.matches(kind, has_character=has_character, intent=intent):
            return route.use_case
    if intent is not None and not any(route.intent in {intent, "*"} for route in table):
        raise UnknownNameError("intent", intent, {route.intent for route in table if route.intent})
    raise UnknownNameError(
        "conversation type", kind, {route.conversation_type for route in table if route.conversation_type}
    )


# ----------------------------------------------------------------------------------------------------------------- values

Row = Mapping[str, Any]
Person = CharacterRow | Row
"""A stored character, or its columns."""

Pronouns = tuple[str, str, str]
"""Subject, object, possessive."""

PRONOUNS: Final[Mapping[str, Pronouns]] = {"male": ("he", "him", "his"), "female": ("she", "her", "her")}
"""By gender; everyone else is they, them, their."""

_THEY: Final[Pronouns] = ("they", "them", "their")
_LABELLED: Final = re.compile(r"^[ \t]*(?:[-*][ \t]*)?([A-Za-z][A-Za-z ]{1,30}):[ \t]*(.*)$")
_BACKGROUND: Final = re.compile(r"\bBackground:[ \t]*(.+?)(?:\n\s*\n|\Z)", re.DOTALL | re.IGNORECASE)
_TRAIT_LABELS: Final = frozenset({"speaking style", "goals", "quirks", "relationships"})


def pronouns_of(gender: object) -> Pronouns:
    """The pronouns of a gender; whatever is not ``male`` or ``female`` is they.

    >>> pronouns_of("female")
    ('she', 'her', 'her')
    """
    return PRONOUNS.get(gender.strip().lower(), _THEY) if isinstance(gender, str) else _THEY


def template_values(
    character: Person | None = None, persona: Person | None = None, scene: Row | None = None, **more: Any
) -> dict[str, Any]:
    """A value for every name of `NAMES` that the rows say anything about; ``more`` are further values and come last.

    ``character`` speaks, ``persona`` is the one the human plays, ``scene`` is where they are.
    """
    rows = {"character": _columns(character), "persona": _columns(persona), "scene": scene or EMPTY}
    values: dict[str, Any] = {}
    for name, (source, read) in _TABLE.items():
        value = read(rows[source]) if rows[source] or name in _ALWAYS else None
        if value is not None:
            values[name] = value
    return {**values, **{name: value for name, value in more.items() if value is not None}}


def _columns(person: Person | None) -> Row:
    return person.to_dict() if isinstance(person, CharacterRow) else person or EMPTY


# ---------------------------------------------------------------------------------------------------------------- reading


def _text(value: Any) -> str | None:
    """A column as text: lists joined by commas, blanks as nothing."""
    if isinstance(value, Mapping):
        value = [item for item in value.values() if isinstance(item, (str, int, float))]
    if isinstance(value, (list, tuple)):
        value = ", ".join(str(item).strip() for item in value if str(item).strip())
    return None if value is None else str(value).strip() or None


def _column(*names: str) -> Callable[[Row], str | None]:
    """The first of some columns that is not blank."""
    return lambda row: next((text for name in names if (text := _text(row.get(name)))), None)


def _line(*names: str) -> Callable[[Row], str | None]:
    """The same on one line: what a template does not set off begins no line of its own."""
    read = _column(*names)
    return lambda row: " ".join((read(row) or "").split()) or None


def _or(read: Callable[[Row], str | None], otherwise: str) -> Callable[[Row], str | None]:
    return lambda row: read(row) or otherwise


def _trait(label: str, *columns: str) -> Callable[[Row], str | None]:
    """A labelled line of the traits, else a column."""
    return lambda row: _traits(row)[0].get(label) or _line(*columns)(row)


def _traits(row: Row) -> tuple[dict[str, str], str]:
    """The labelled lines of the traits that have a variable of their own, by their labels, and the other lines."""
    labelled: dict[str, str] = {}
    rest: list[str] = []
    for line in (_text(row.get("traits")) or "").split("\n"):
        match = _LABELLED.match(line)
        label = "" if match is None else match[1].strip().lower()
        if match is None or label not in _TRAIT_LABELS:
            rest.append(line)
        elif text := match[2].strip():
            labelled[label] = text
    return labelled, "\n".join(rest).strip()


def _personality(row: Row) -> str | None:
    return _column("persona")(row) or _traits(row)[1] or _column("personality_traits")(row)


def _background(row: Row) -> str | None:
    match = _BACKGROUND.search(_text(row.get("description")) or "")
    return _column("backstory")(row) or (match[1].strip() if match else None)


def _examples(row: Row) -> str | None:
    """Voice examples, one a line, numbered and quoted."""
    examples = row.get("voice_examples")
    lines: Iterable[Any] = examples if isinstance(examples, (list, tuple)) else (examples or "").split("\n")
    quotes = [str(line).strip().strip('"') for line in lines if str(line).strip()]
    return "\n".join(f'{number}. "{line}"' for number, line in enumerate(quotes, 1)) or None


def _pronoun(index: int) -> Callable[[Row], str | None]:
    return lambda row: pronouns_of(row.get("gender"))[index]


_TABLE: Final[Mapping[str, tuple[str, Callable[[Row], str | None]]]] = {
    "character_name": ("character", _line("name")),
    "character_description": ("character", _column("description")),
    "character_personality": ("character", _personality),
    "character_persona": ("character", _column("persona")),
    "character_background": ("character", _background),
    "character_speaking_style": ("character", _trait("speaking style", "voice_tone")),
    "character_goals": ("character", _trait("goals")),
    "character_quirks": ("character", _trait("quirks")),
    "character_relationships": ("character", _trait("relationships")),
    "character_visual_description": ("character", _column("appearance_tags", "physical_traits", "description")),
    "voice_tone": ("character", _or(_line("voice_tone"), "neutral")),
    "mood": ("character", _or(_line("mood"), "neutral")),
    "voice_examples": ("character", _examples),
    "character_pronoun_they": ("character", _pronoun(0)),
    "character_pronoun_them": ("character", _pronoun(1)),
    "character_pronoun_their": ("character", _pronoun(2)),
    "user_name": ("persona", _or(_line("name"), "User")),
    "user_gender": ("persona", _line("gender")),
    "user_appearance": ("persona", _column("appearance_tags", "physical_traits")),
    "user_persona": ("persona", _column("persona", "description")),
    "user_pronoun_they": ("persona", _pronoun(0)),
    "user_pronoun_them": ("persona", _pronoun(1)),
    "user_pronoun_their": ("persona", _pronoun(2)),
    "scene_context": ("scene", _column("scene_context", "scene_prompt", "scene_description", "description")),
    "setting": ("scene", _column("setting")),
    "actions": ("scene", _column("actions")),
    "positioning": ("scene", _column("positioning")),
    "conversation_context": ("scene", _column("conversation_context")),
}
_ALWAYS: Final = frozenset({"user_name", "user_pronoun_they", "user_pronoun_them", "user_pronoun_their"})
"""What is said of the human even where no persona is given."""

NAMES: Final = (*_TABLE, "userPrompt")
"""Every name that the document's templates use. ``userPrompt`` is the text of the request: hand it in as ``userPrompt=``."""
