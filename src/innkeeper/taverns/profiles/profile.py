"""Profile: what a ``profile.toml`` says: who speaks, by whose rules, to whom, and which model answers.

Files are named here and read elsewhere (`innkeeper.taverns.profiles.files`). A profile never holds a key: it names a route, or a
provider and a model, and whoever serves it knows the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec

from innkeeper.content.toml import parse_toml
from innkeeper.prompt.allowance import BuildLimits
from innkeeper.prompt.data import EMPTY, FrozenDict, check_depth, freeze
from innkeeper.prompt.errors import ConfigError, FormatError, LimitError, Where
from innkeeper.prompt.near import nearest
from innkeeper.prompt.request import MAX_TOKENS
from innkeeper.prompt.text import kind_of, type_words
from innkeeper.prompt.typed.misfit import Misfit
from innkeeper.prompt.typed.once import convert

MAX_NAME: Final = 64
"""Characters of a profile's name (`ConfigError`)."""

MAX_PROFILE_BYTES: Final = 64 * 1024
"""Bytes of a ``profile.toml`` (`LimitError`)."""

SystemPolicy: TypeAlias = Literal["append", "prepend", "chat", "ignore"]
"""Where a client's own system prompt goes: after the tavern's, before it, into the chat as it came, or nowhere."""

SYSTEM_POLICIES: Final[tuple[SystemPolicy, ...]] = ("append", "prepend", "chat", "ignore")

_NAME: Final = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{MAX_NAME - 1}}}")
_Tokens = Annotated[int, msgspec.Meta(ge=0, le=MAX_TOKENS)]


class Profile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A profile. ``character``, ``persona``, ``preset``, ``lorebooks`` and members of a ``group`` are files, or their content.

    ``name`` is what clients call as a model. ``variant`` is a variant of the tavern's rules (``profile`` of a build request).
    ``route`` names a route of whoever serves it; else ``model`` at ``provider`` answers, ``PROVIDER:NAME`` where one word says
    both. ``context_window`` and ``reserve`` (what the reply may take) are in tokens. ``system`` is where a client's own system
    prompt goes. ``greeting`` is the number of the card's greeting that a chat begins with, ``False`` for none. ``seed`` is a
    number, ``fresh`` (another with each turn) or ``messages`` (the same for the same messages); ``now`` a time, or ``clock``.
    With ``names`` a client's ``name`` of a message is who says it. ``tier`` is the highest content tier of its chats, which a key
    and the operator's policy bound, and ``gate`` the service's word for it: ``on`` or ``observe``.
    """

    name: str = ""
    description: str = ""
    tavern: str = "silly"
    variant: str | None = None
    character: tuple[Any, ...] = ()
    group: FrozenDict | None = None
    persona: Any = None
    preset: tuple[Any, ...] = ()
    lorebooks: tuple[Any, ...] = ()
    variables: FrozenDict = EMPTY
    macro_vars: FrozenDict = EMPTY
    authors_note: Any = None
    settings: FrozenDict = EMPTY
    meta: FrozenDict = EMPTY
    options: FrozenDict = EMPTY
    route: str | None = None
    model: str | None = None
    provider: str | None = None
    dialect: str | None = None
    context_window: _Tokens | None = None
    reserve: _Tokens | None = None
    limits: BuildLimits | None = None
    system: SystemPolicy = "append"
    greeting: int | bool = 0
    seed: int | Literal["fresh", "messages"] = "fresh"
    now: str = "clock"
    locale: str | None = None
    names: bool = True
    tier: Literal["", "sfw", "nsfw"] = ""
    gate: Literal["", "on", "observe"] = ""

    @classmethod
    def of(cls, value: Any, *, name: str = "", asset: str = "profile") -> Profile:
        """A profile from itself or a mapping; ``name`` is what it is called where it does not say.

        Raises `ConfigError` for a key that does not exist, with the nearest, and for a value that does not fit.
        """
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping):
            raise FormatError(f"a profile is a table, not {kind_of(value)}", where=Where(asset=asset))
        check_depth(value, "the profile")
        _check_keys(value, cls.__struct_fields__, asset)
        fields = {"name": name, **freeze(dict(value))}
        for key in _LISTED:
            if key in fields:
                fields[key] = fields[key] if isinstance(fields[key], tuple) else (fields[key],)
        return _checked(_converted(fields, asset), asset)

    @property
    def cards(self) -> tuple[Any, ...]:
        """The characters: one, or those of a group; each the name of a file, content, or ``{card, filename, tags}``."""
        listed = self.character if self.group is None else self.group.get("members", ())
        return listed if isinstance(listed, tuple) else (listed,)

    @property
    def files(self) -> tuple[str, ...]:
        """The names of all files, each once, in order."""
        return tuple(dict.fromkeys(item for _, item in self._items() if isinstance(item, str)))

    def without_files(self) -> Profile:
        """Return it with the content that stands in it alone: no file is named any more."""
        fields = {name: tuple(filter(_is_content, getattr(self, name))) for name in _LISTED}
        members = tuple(filter(_is_content, self.cards))
        group = None if self.group is None else FrozenDict({**self.group, "members": members})
        persona = self.persona if _is_content(self.persona) else None
        return msgspec.structs.replace(self, **fields, persona=persona, group=group)

    def _items(self) -> Iterator[tuple[str, Any]]:
        """Each file or content with its key."""
        for card in self.cards:
            key = "character" if self.group is None else "group.members"
            yield key, card["card"] if isinstance(card, Mapping) and "card" in card else card
        if self.persona is not None:
            yield "persona", self.persona
        yield from (("preset", item) for item in self.preset)
        yield from (("lorebooks", item) for item in self.lorebooks)

    @property
    def greeting_number(self) -> int | None:
        """The greeting that a chat begins with, None for no greeting."""
        return None if self.greeting is False else int(self.greeting) if self.greeting is not True else 0

    @property
    def model_name(self) -> str:
        """Who answers, in a word: the route, ``PROVIDER:NAME``, or the model alone; empty where the profile does not say."""
        if self.route is not None:
            return self.route
        provider = self.provider if self.provider is not None and "://" not in self.provider else None
        return ":".join(part for part in (provider, self.model) if part)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready data that `Profile.of` reads back: fields at their default are left out."""
        return _plain(msgspec.to_builtins(self))


_LISTED: Final = ("character", "preset", "lorebooks")
"""Keys of several files or contents."""


def _is_content(item: Any) -> bool:
    """Whether a file or content is no file."""
    return isinstance(item, Mapping) and not isinstance(item.get("card"), str)


def _plain(fields: dict[str, Any]) -> dict[str, Any]:
    """One character and one preset stand for themselves."""
    return {
        key: value[0]
        if key in ("character", "preset") and isinstance(value, (list, tuple)) and len(value) == 1
        else value
        for key, value in fields.items()
    }


def _check_keys(value: Mapping[str, Any], known: Iterable[str], asset: str) -> None:
    for key in value:
        if key not in known:
            near = nearest(str(key), [*_MEANT, *known])
            hint = f"did you mean {_MEANT.get(near, near)!r}?" if near else f"keys: {', '.join(known)}"
            raise ConfigError(f"a profile has no key {str(key)[:60]!r}", where=Where(asset=asset), hint=hint)


_MEANT: Final[Mapping[str, str]] = {
    "card": "character",
    "characters": "character",
    "user": "persona",
    "lorebook": "lorebooks",
    "world": "lorebooks",
    "books": "lorebooks",
    "base_url": "provider",
    "reserved_tokens": "reserve",
    "max_tokens": "reserve",
    "note": "authors_note",
    "temperature": "options",
    "profile": "variant",
    "system_prompt": "system",
}
"""What people write for keys of other names."""


def _converted(fields: dict[str, Any], asset: str) -> Profile:
    try:
        return convert(fields, Profile, dec_hook=_decode)
    except Misfit as error:
        hint = f"one of {', '.join(SYSTEM_POLICIES)}" if error.path == "system" else None
        where = Where(asset=asset, path=error.path or None)
        raise ConfigError(f"profile: {error.problem}", where=where, hint=hint) from error


def _decode(kind: type, value: Any) -> Any:
    if isinstance(value, kind):
        return value
    if kind is FrozenDict and isinstance(value, Mapping):
        return freeze(dict(value))
    raise TypeError(f"Expected `{type_words(kind)}`, got `{type(value).__name__}`")  # msgspec adds the path


def _checked(profile: Profile, asset: str) -> Profile:
    for what, path, hint in _problems(profile):
        raise ConfigError(what, where=Where(asset=asset, path=path), hint=hint)
    if len(profile.cards) > 1 and profile.group is None:
        return msgspec.structs.replace(profile, character=(), group=FrozenDict({"members": profile.cards}))
    return profile


def _problems(profile: Profile) -> Iterator[tuple[str, str, str]]:
    """What does not go together: a sentence, the key, and how to mend it."""
    if not _NAME.fullmatch(profile.name):
        hint = f"letters, digits, dots, dashes and underscores, at most {MAX_NAME}: name = 'wenna'"
        yield f"{profile.name[:MAX_NAME]!r} cannot be the name of a profile", "name", hint
    if profile.group is not None and profile.character != ():
        yield "a character and a group are both named", "group", "the members of a group are its characters"
    if profile.group is not None and not profile.cards:
        yield "a group has no members", "group.members", 'members = ["ann.png", "bo.png"]'
    for key, item in profile._items():  # noqa: SLF001 - of the same module
        if not (isinstance(item, str) and item) and not isinstance(item, Mapping):
            yield "this names no file", key, "the name of a file in the profile's folder, or a table with its content"
    if profile.route is not None and (profile.model or profile.provider):
        yield "a route and a model are both named", "route", "leave one of them out: a route says which model answers"
    if profile.greeting_number is not None and profile.greeting_number < 0:
        yield "a greeting has a number from 0", "greeting", "greeting = false begins without one"


def parse_profile(data: bytes, *, name: str = "", asset: str = "profile.toml") -> Profile:
    """The profile that a ``profile.toml`` holds. Raises `LimitError`, `FormatError` for what is not TOML, and as `Profile.of`."""
    if len(data) > MAX_PROFILE_BYTES:
        where = Where(asset=asset)
        raise LimitError(
            "a profile", limit="MAX_PROFILE_BYTES", allowed=MAX_PROFILE_BYTES, found=len(data), where=where
        )
    return Profile.of(parse_toml(data, asset=asset), name=name, asset=asset)
