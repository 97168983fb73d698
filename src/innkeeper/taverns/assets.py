"""Assets: what a request brings (people, chat, books, preset, note, templates), read once, the same for every tavern.

A field may be typed content, the JSON it is read from, or a text where a text can be meant. `Assets` is a view of one
request: each asset is read when it is first asked for, and then kept; equal content is read once in a process, since every
reader remembers by digest. `innkeeper.taverns.inputs.read_inputs` does this at the beginning of a build: it says what
is wrong in the assets that the tavern uses, and names each input that it does not use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.content.character import Character
from innkeeper.content.chat import OURS
from innkeeper.content.finding import Finding, Level
from innkeeper.content.lorebook import Lorebook
from innkeeper.content.persona import Persona
from innkeeper.content.preset import Preset
from innkeeper.content.regex_script import RegexScripts
from innkeeper.content.templates import ContextTemplate, InstructTemplate, SystemPrompt
from innkeeper.prompt import BuildRequest, Message, UsageError
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.beginnings import Beginnings
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import ConfigError, UnknownNameError, Where
from innkeeper.prompt.message import ROLES
from innkeeper.prompt.text import kind_of, scalar_text
from innkeeper.prompt.typed.once import convert

if TYPE_CHECKING:
    from innkeeper.prompt import State


class AuthorsNote(msgspec.Struct, frozen=True, kw_only=True):
    """The note: after (0), in (1) or before (2) the prompt, every ``interval`` user messages (0: never).

    ``role`` is SillyTavern's number: 0 system, 1 user, 2 assistant.
    """

    text: str = ""
    depth: int = 4
    position: int = 1
    role: int = 0
    interval: int = 1
    allow_wi_scan: bool = False


class Member(msgspec.Struct, frozen=True):
    """One of a group: the card, the name of its file and its tags, by which settings and lore filters know it."""

    card: Character
    filename: str
    tags: tuple[str, ...] = ()


class Book(msgspec.Struct, frozen=True, dict=True):
    """A lorebook of the request and its owner. ``value`` is the source from which ``lorebook`` is read on first use.

    ``scope`` is ``global``, ``chat``, ``persona``, ``character`` or ``character_extra``; others belong to no tavern.
    """

    value: Any
    explicit_name: str = ""
    scope: str = "global"

    @cached_property
    def lorebook(self) -> Lorebook:
        """The book. Raises what `Lorebook.of` raises."""
        return Lorebook.of(self.value)

    @property
    def name(self) -> str:
        """The name it was given, else its own."""
        return self.explicit_name or self.lorebook.name


class Templates(msgspec.Struct, frozen=True, kw_only=True):
    """The templates of text completion; ``instruct`` is ``None`` when it is off."""

    context: ContextTemplate
    sysprompt: SystemPrompt
    instruct: InstructTemplate | None = None


_MEMBER_STEPS: Final = 400
"""The steps charged for reading a member's card, however short."""


class Assets(msgspec.Struct, frozen=True, dict=True):
    """The assets of one request, typed. Errors of a reader are raised when the asset is first used."""

    request: BuildRequest

    @cached_property
    def character(self) -> Character | None:
        """The character that the model plays, with the texts that the chat overrides; in a group the members do."""
        card = character_of(self.request.character)
        texts = {name: text for name in _CHAT_TEXTS if isinstance(text := self.metadata.get(name), str) and text}
        return card if card is None or not texts else msgspec.structs.replace(card, **texts)

    @cached_property
    def user(self) -> Persona | Character | None:
        """The user."""
        return user_of(self.request.user)

    @property
    def persona(self) -> Persona:
        """The user as a persona, called *User* by default."""
        return persona_of(self.user)

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """The members of the group, in its order; each a card, or ``{card, filename, tags}``."""
        listed = listed_members(self.request.group)
        charge("groups", _MEMBER_STEPS * len(listed))
        return tuple([_member(item) for item in listed])

    @cached_property
    def history(self) -> tuple[Message, ...]:
        """The chat, oldest first, without the new message, in roles that every tavern knows."""
        return messages_in_known_roles(self.request.history)

    @cached_property
    def books(self) -> tuple[Book, ...]:
        """The request's lorebooks in its order; the card's own is not among them."""
        return tuple([_book(value) for value in self.request.lorebooks])

    @cached_property
    def preset(self) -> Preset | None:
        """The preset."""
        return preset_of(self.request.preset)

    @cached_property
    def note(self) -> AuthorsNote:
        """The author's note: the request's, else the one in the chat's metadata. Raises `ConfigError`."""
        return note_of(self.note_fields)

    @property
    def note_fields(self) -> Any:
        """The author's note as it was given."""
        if self.request.authors_note is not None:
            return self.request.authors_note
        return {field: self.metadata[key] for key, field in NOTE_KEYS.items() if self.metadata.get(key) is not None}

    @cached_property
    def templates(self) -> Templates:
        """The templates in ``settings.text``."""
        text = self.request.settings.get("text")
        fields = text if isinstance(text, Mapping) else EMPTY
        instruct = fields.get("instruct")
        return Templates(
            context=ContextTemplate.of(fields.get("context") or {}),
            sysprompt=SystemPrompt.of(fields.get("sysprompt") or {}),
            instruct=InstructTemplate.of(instruct) if instruct else None,
        )

    @cached_property
    def regex_scripts(self) -> RegexScripts:
        """The global regex scripts (``settings.regex``); those of cards and presets are theirs."""
        return RegexScripts.of(self.request.settings.get("regex"), legacy=True)

    @cached_property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata of this chat (``settings.chat_metadata``, or that of a `ChatLog` passed as ``history``)."""
        metadata = self.request.settings.get("chat_metadata")
        return metadata if isinstance(metadata, Mapping) else EMPTY

    @property
    def lore_state(self) -> Any:
        """The lore state of the chat's last build: the request's, else the one that we or SillyTavern stored in the chat."""
        if self.request.lore_state is not None:
            return self.request.lore_state
        carry, timed = self._carry, self.metadata.get("timedWorldInfo")
        return {"timed": timed, **carry} if self.joins_lore_state else timed if carry is None else carry

    @property
    def joins_lore_state(self) -> bool:
        """Whether the states that SillyTavern and we stored in the chat are parts of one."""
        carry = self._carry
        return self.request.lore_state is None and isinstance(carry, Mapping) and "timed" not in carry

    @property
    def _carry(self) -> Any:
        ours = self.metadata.get(OURS)
        return ours.get("carry") if isinstance(ours, Mapping) else None

    def findings(self, uses: Any) -> Iterator[tuple[str, Finding]]:
        """The defects of the assets, each with its asset's name; ``uses(field, raw)`` says which count."""
        for name, findings in self._read(uses):
            yield from ((name, finding) for finding in findings if finding.level is not Level.INFO)

    def _read(self, uses: Any) -> Iterator[tuple[str, tuple[Finding, ...]]]:
        for field, asset in self.typed(uses):
            if field != "lorebooks":
                yield (asset.name or field if field == "character" else field), asset.findings
        for index, book in enumerate(self.books):
            if uses("lorebooks", raw_of(book.value)):
                yield book.name or f"book {index}", book.lorebook.findings

    def typed(self, uses: Any) -> Iterator[tuple[str, Character | Persona | Preset | Lorebook]]:
        """The assets that are used, each with the name of its field; the members of a group in the place of a character."""
        request = self.request
        if uses("preset", raw_of(request.preset)) and self.preset is not None:
            yield "preset", self.preset
        if uses("user", raw_of(request.user)) and self.user is not None:
            yield "user", self.user
        cards = tuple(member.card for member in self.members) if uses("group", request.group) else ()
        if not cards and uses("character", raw_of(request.character)) and self.character is not None:
            cards = (self.character,)
        for card in cards:
            yield "character", card
        for book in self.books:
            if uses("lorebooks", raw_of(book.value)):
                yield "lorebooks", book.lorebook

    def brings(self, field: str, name: str, asset: Any) -> bool:
        """Whether a field names a book that the request brings."""
        book = asset.world if (field, name) == ("character", "extensions.world") else None
        book = asset.lorebook if (field, name) == ("user", "lorebook") else book
        return book is not None and any(other.name == book for other in self.books)


def listed_members(group: Any) -> tuple[Any, ...]:
    """The members of a group as they are given, none without a group. Raises `ConfigError` for what is no group."""
    listed = group.get("members") if isinstance(group, Mapping) else getattr(group, "members", None)
    is_group = group is None or isinstance(group, Mapping) or hasattr(group, "members")
    if not is_group or not (listed is None or isinstance(listed, (list, tuple))):
        kind = kind_of(listed if is_group else group)
        shape = "group.members is a list of cards" if is_group else "group is an object with members"
        where = Where(asset="request", path="group.members" if is_group else "group")
        raise ConfigError(f"{shape}, not {kind}", where=where, hint='a group is {"members": [card, card]}')
    return tuple(listed or ())


KNOWN_ROLES: Final = frozenset({*ROLES, "thinking", "developer", "model"})
"""Roles of messages that mean something; ``thinking`` is SmartTavern's."""

_OTHER_ROLES: Final[Mapping[str, str]] = {"developer": "system", "model": "assistant"}


def messages_in_known_roles(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The messages with each foreign role as the one it means, and with one that nobody knows as the user's."""
    return messages if ROLES_OF.of(messages) <= _NATIVE else _IN_KNOWN_ROLES.of(messages)


def _in_known_roles(before: tuple[Message, ...], messages: tuple[Message, ...], _key: None) -> tuple[Message, ...]:
    more = [
        message
        if message.role in _NATIVE
        else msgspec.structs.replace(message, role=_OTHER_ROLES.get(message.role, "user"))
        for message in messages
    ]
    return (*before, *more)


ROLES_OF: Final[Beginnings[Message, frozenset[str]]] = Beginnings(
    frozenset(), lambda roles, messages, _: roles.union([message.role for message in messages])
)
"""The roles of a chat's messages."""

_IN_KNOWN_ROLES: Final[Beginnings[Message, tuple[Message, ...]]] = Beginnings((), _in_known_roles)


_NATIVE: Final = KNOWN_ROLES - _OTHER_ROLES.keys()

_NOBODY: Final = Persona(name="User")

_CHAT_TEXTS: Final = ("scenario", "mes_example", "system_prompt")
"""Texts of the card that a chat's metadata may have instead."""

NOTE_KEYS: Final[Mapping[str, str]] = {
    "note_prompt": "text",
    "note_interval": "interval",
    "note_position": "position",
    "note_depth": "depth",
    "note_role": "role",
}
"""SillyTavern's keys for the note of a chat, and the fields of ours."""

_NOTE_POSITIONS: Final = {"after": 0, "in_prompt": 0, "chat": 1, "in_chat": 1, "before": 2, "before_prompt": 2}
_NOTE_ROLES: Final = {"system": 0, "user": 1, "assistant": 2}

_CARD_TEXTS: Final = (
    "description",
    "personality",
    "scenario",
    "first_mes",
    "mes_example",
    "system_prompt",
    "post_history_instructions",
    "nickname",
)


def assets_of(state: State) -> Assets:
    """The assets of a build, as its door has read them; where a state came in by no door, those of its request."""
    assets = state.inputs.assets
    return assets if isinstance(assets, Assets) else Assets(state.request)


def raw_of(value: Any) -> Any:
    """The source of an asset: the JSON of typed content, anything else unchanged."""
    return value.raw if isinstance(value, (Character, Persona, Preset, Lorebook)) else value


def character_of(value: Any) -> Character | None:
    """The character: a `Character`, a card as JSON, an object with a card's fields (or with them in ``data``), or a name.

    A name may stand alone or as ``{"name": …}``.
    Raises `FormatError` for JSON that is not a card, `UsageError` for an object without a name.
    """
    if value is None or isinstance(value, Character):
        return value
    if isinstance(value, str) and not _is_json(value):
        return Character(name=scalar_text(value))
    if (
        isinstance(value, Mapping)
        and value.keys() == {"name"}
        and isinstance(value["name"], str)
        and value["name"].strip()
    ):
        return Character(name=scalar_text(value["name"]))
    if isinstance(value, Mapping) and "spec" not in value and isinstance(value.get("message"), (list, tuple)):
        value = {"description": "", **value}  # SmartTavern's file needs none
    if isinstance(value, (str, bytes, Mapping)):
        return _with_smart_parts(Character.of(value))
    card = getattr(value, "data", value)
    texts: dict[str, Any] = {field: str(getattr(card, field, None) or "") for field in _CARD_TEXTS}
    texts["description"] = texts["description"] or str(getattr(value, "persona_text", None) or "")
    return Character(name=_name(value, card), **texts)


def _with_smart_parts(card: Character) -> Character:
    """With what SmartTavern's file has in words of its own: greetings in ``message``, entries in ``world_book``."""
    greetings, book = card.raw.get("message"), card.raw.get("world_book")
    if "spec" in card.raw or not isinstance(greetings, list):
        return card
    texts = tuple(text for text in greetings if isinstance(text, str))
    return msgspec.structs.replace(
        card,
        first_mes=texts[0] if texts else "",
        alternate_greetings=texts[1:],
        book=Lorebook.of(book) if isinstance(book, (dict, list)) and book else None,
    )


def user_of(value: Any) -> Persona | Character | None:
    """The user: a `Persona`, one as JSON, an object with a name and ``persona_text`` or ``description``, or a name.

    A `Character` can be the user as well. Raises `FormatError` for JSON that is not a persona, `UsageError` for an object
    without a name.
    """
    if value is None or isinstance(value, (Persona, Character)):
        return value
    if isinstance(value, str) and not _is_json(value):
        return Persona(name=scalar_text(value))
    if isinstance(value, (str, bytes, Mapping)):
        return Persona.of(value)
    texts = (getattr(value, key, None) for key in ("persona_text", "description", "persona"))
    return Persona(name=_name(value, value), description=str(next(filter(None, texts), "")))


def persona_of(value: Any) -> Persona:
    """`user_of` as a persona, called *User* if there is none."""
    user = user_of(value)
    if isinstance(user, Character):
        return Persona(name=user.name, description=user.persona_text, findings=user.findings)
    return _NOBODY if user is None else user


def preset_of(value: Any) -> Preset | None:
    """The preset: a `Preset`, or one as JSON. Raises `FormatError`."""
    return None if value is None else Preset.of(value)


def note_of(value: Any) -> AuthorsNote:
    """The author's note: an `AuthorsNote`, its text, or its fields; position and role by SillyTavern's number or by name.

    Fields that a note does not have are left out. Raises `ConfigError`, and `UnknownNameError` for an unknown position or role.
    """
    if isinstance(value, AuthorsNote):
        return value
    if isinstance(value, str):
        return AuthorsNote(text=value)
    if value is not None and not isinstance(value, Mapping):
        raise ConfigError(f"authors_note must be a text or its fields, not {kind_of(value)}")
    fields = {
        key: item for key, item in (value or {}).items() if key in AuthorsNote.__struct_fields__ and item is not None
    }
    for field, known in (("position", _NOTE_POSITIONS), ("role", _NOTE_ROLES)):
        name = fields.get(field)
        if isinstance(name, str) and not name.strip().lstrip("-").isdecimal():
            fields[field] = _number_of(name, field, known)
    try:
        return convert(fields, AuthorsNote, strict=False)
    except (msgspec.ValidationError, UnicodeError) as error:
        raise ConfigError(f"authors_note: {error}", where=Where(asset="settings", path="authors_note")) from error


def _number_of(name: str, field: str, known: Mapping[str, int]) -> int:
    """SillyTavern's number for the name of a position or role. Raises `UnknownNameError`."""
    number = known.get(name.strip().lower())
    if number is None:
        raise UnknownNameError(field, name, known, where=Where(asset="settings", path=f"authors_note.{field}"))
    return number


def _member(item: Any) -> Member:
    wrapped = isinstance(item, Mapping) and "card" in item
    card = character_of(item["card"] if wrapped else item)
    if card is None:
        raise UsageError("a member of a group is a card, not nothing")
    filename = item.get("filename") if isinstance(item, Mapping) else None
    tags = item.get("tags") if wrapped else ()
    return Member(card, str(filename or card.name), tuple(map(str, tags or ())))


def _book(value: Any) -> Book:
    """A book, or ``{"book", "name", "scope"}`` around one."""
    if not isinstance(value, Mapping):
        return Book(value)
    return Book(value.get("book", value), str(value.get("name") or ""), str(value.get("scope") or "global"))


def _is_json(text: str) -> bool:
    return text.lstrip().startswith("{")


def _name(value: Any, card: Any) -> str:
    name = getattr(value, "name", None) or getattr(card, "name", None)
    if not isinstance(name, str) or not name.strip():
        raise UsageError(f"a participant needs a name; {kind_of(value)} has none")
    return name
