"""The inputs of a build: the keywords that a caller writes, and what each tavern does with them.

Keywords are read into a `BuildRequest` and `Ports`, the same for every tavern. A tavern uses an input, ignores it for a
reason, or refuses it; it declares what it ignores (`InputRules`). From that declaration come the notes of its plans
(`read_inputs`, called at the door of each build) and the table of all inputs in the documentation (``scripts/reference.py``).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from innkeeper.content.chat import OURS
from innkeeper.content.filled import Filled, filled
from innkeeper.prompt import BuildRequest, Context, FrozenDict, Note, NoteKind, Ports, UsageError
from innkeeper.prompt.beginnings import Beginnings
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import Where
from innkeeper.prompt.message import ROLES, Message
from innkeeper.prompt.near import did_you_mean
from innkeeper.prompt.text import shorten
from innkeeper.taverns.assets import KNOWN_ROLES, ROLES_OF, Assets
from innkeeper.taverns.keywords import ALIASES

if TYPE_CHECKING:
    from innkeeper.content.finding import Finding
    from innkeeper.prompt import State


_FIELDS: Final = frozenset(BuildRequest.__struct_fields__)
_PORTS: Final = frozenset(field.name for field in dataclasses.fields(Ports))

_REPLACED: Final[Mapping[str, str]] = {
    "expander": "macros are expanded by the tavern itself",
    "lore_engine": "lore is activated by the tavern itself; its settings are in the request",
    "macro_registry": "macros of your own are given as macro_vars",
}
"""Keywords of TavernKit for objects that Innkeeper's taverns do without, with the reason."""

_MARKS: Final[Mapping[str, tuple[str, ...]]] = {"variables": ("set",), "injections": ("active", "each")}
"""Keywords that are a field or a port: the methods of which any tells the port from data."""

KEYWORDS: Final = _FIELDS | _PORTS | frozenset(ALIASES) | frozenset(_REPLACED) | {"configs"}
"""Every keyword that a build accepts."""


class BuildArguments(NamedTuple):
    """The result of reading a caller's keywords. ``notes`` name those without effect."""

    request: BuildRequest
    ports: Ports
    notes: tuple[Note, ...]


def canonical_name(keyword: str) -> str:
    """The keyword under Innkeeper's own name. Raises `UsageError` with the nearest one for an unknown one."""
    if keyword not in KEYWORDS:
        listed = f"inputs: {', '.join(sorted(KEYWORDS))}"
        raise UsageError(f"unknown input {keyword!r}", hint=did_you_mean(keyword, KEYWORDS, listed))
    return ALIASES.get(keyword, keyword)


def read_keywords(request: Any, ports: Ports | None, keywords: Mapping[str, Any]) -> BuildArguments:
    """The request (or a mapping of its fields, or nothing) and ports with the keywords over them.

    Raises:
        UsageError: a keyword is unknown, or given twice under two names.
        FormatError: a value is not what its field holds.
    """
    named = _named(keywords)
    notes = tuple(
        Note(NoteKind.IGNORED, f"{name} has no effect: {_REPLACED[name]}", data=FrozenDict({"input": name}))
        for name in [name for name in named if name in _REPLACED]
        if named.pop(name) is not None
    )
    configs = named.pop("configs", None)
    objects = {name: value for name, value in named.items() if _is_port(name, value)}
    fields = {name: value for name, value in named.items() if name not in objects}
    base = BuildRequest() if request is None else BuildRequest.of(request)
    read = base.with_(**fields) if fields else base
    if configs is not None:
        read = read.with_(context=Context.build(read.context or {}).with_configs(configs))
    beside = ports or Ports()
    return BuildArguments(read, dataclasses.replace(beside, **_ports(objects)) if objects else beside, notes)


def _named(keywords: Mapping[str, Any]) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for keyword, value in keywords.items():
        name = canonical_name(keyword)
        if name in named:
            raise UsageError(f"the input {name!r} is given twice", hint=f"{keyword!r} is another name for it")
        named[name] = value
    return named


def _is_port(name: str, value: Any) -> bool:
    if name in _MARKS:
        return any(hasattr(value, method) for method in _MARKS[name])
    return name in _PORTS


def _ports(objects: Mapping[str, Any]) -> dict[str, Any]:
    if objects.get("token_counter") is None:
        return dict(objects)
    from innkeeper.tokens.estimators import counter_of

    return {**objects, "token_counter": counter_of(objects["token_counter"])}


_NOTHING: Final = BuildRequest()

CHAT_METADATA: Final[Mapping[str, str]] = {
    "note_prompt": "authors_note",
    "variables": "variables",
    "timedWorldInfo": "lore_state",
    "innkeeper": "lore_state",
    "scenario": "",
    "mes_example": "",
    "system_prompt": "",
    "chat_id_hash": "",
    "main_chat": "",
    "pick_reroll_seed": "",
    "lastInContextMessageId": "",
    "world_info": "lorebooks",
    "script_injects": "injections",
    "persona": "user",
    "cfg_guidance_scale": "",
    "cfg_negative_prompt": "",
    "cfg_positive_prompt": "",
    "cfg_prompt_combine": "",
    "cfg_prompt_insertion_depth": "",
    "cfg_prompt_separator": "",
    "cfg_groupchat_individual_chars": "",
    "attachments": "",
}
"""The keys of a chat's metadata that any tavern reads, and the equivalent input, if there is one."""

_BESIDE: Final = frozenset({"note_interval", "note_position", "note_depth", "note_role"})
"""Keys that say more of ``note_prompt``."""

_NOT_FOR_PROMPTS: Final = frozenset(
    {"integrity", "tainted", "narrator_name", "quickReply", "custom_background", "chat_backgrounds"}
)
"""Keys that SillyTavern keeps for itself, its page or its other functions."""

ASKING_PORTS: Final = ("ports.hooks", "ports.injections", "ports.vectors", "ports.media")
"""Ports that only the steps of a tavern ask."""

_HINTS: Final = ("model_hint", "default_model_hint")
"""Keys of ``meta`` that every tavern counts tokens by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRules:
    """How a tavern treats its inputs.

    ``ignored`` are names of inputs (fields of the request, ``ports.hooks`` and so on) with the reason; whatever it does not
    name is used. ``meta`` and ``settings`` are the keys of these fields that it reads, ``metadata`` the keys of
    `CHAT_METADATA` without an input of their own, ``reads`` the fields of assets (`innkeeper.content.filled`) by the assets'
    names; ``None`` where only its steps can know. With ``refuses_settings`` its steps
    raise `ConfigError` for a setting that they do not know. ``own_words(field, raw)`` tells assets that are written in the
    tavern's own format, which it reads itself.
    """

    ignored: Mapping[str, str] = EMPTY
    meta: tuple[str, ...] | None = None
    settings: frozenset[str] | None = None
    refuses_settings: bool = False
    metadata: frozenset[str] | None = None
    reads: Mapping[str, frozenset[str]] | None = None
    own_words: Callable[[str, Any], bool] = lambda _field, _raw: False

    def uses(self, field: str, raw: Any) -> bool:
        """Whether the asset in this field is read as every tavern reads it."""
        return field not in self.ignored and not self.own_words(field, raw)

    def leaves(self, asset: str, field: str) -> bool:
        """Whether a field of an asset has no effect; of a book that has none as a whole, no field is told of."""
        if self.reads is None:
            return False
        part, _, rest = field.partition(".")
        if part == "book" and rest:
            return "book" in self.reads[asset] and self.leaves("lorebooks", rest)
        return field not in self.reads[asset]

    def reason(self, name: str) -> str | None:
        """The reason why the input has no effect; ``None`` for one that is used."""
        root, _, key = name.partition(".")
        match root:
            case "chat_metadata" if same := CHAT_METADATA.get(key):
                return self.ignored.get(same)
            case "chat_metadata":
                return _unread(key, self.metadata)
            case "settings" if key:
                return self.ignored.get("settings") or _unread(key, self.settings)
            case "meta" if key and key not in _HINTS:
                return _unread(key, self.meta)
        return self.ignored.get(name)


def _unread(key: str, known: Collection[str] | None) -> str | None:
    return None if known is None or key in known else _UNREAD


UNDECLARED: Final = InputRules(own_words=lambda _field, _raw: True)
"""Of a tavern that declares nothing: no input is known to be ignored, and its steps read the assets as they like."""


def read_inputs(state: State, rules: InputRules, original: BuildRequest | None = None) -> Assets:
    """The assets of a build. Notes each input that has no effect; warns of what is wrong in the assets that are used.

    ``original`` is the request without what the build has added to it: the time, the caller's variables.
    """
    assets = Assets(state.request)
    note_unused(state, {} if rules is UNDECLARED else {**EVERYWHERE, **rules.ignored}, original)
    _warn_of_roles(state)
    _warn_of_tools(state)
    names = [f"meta.{key}" for key in state.request.meta]
    if "settings" not in rules.ignored and not rules.refuses_settings:
        names += [f"settings.{key}" for key in state.request.settings if key != "chat_metadata"]
    for name in names:
        if reason := rules.reason(name):
            _ignored(state, name, reason)
    _note_metadata(state, assets, rules)
    _note_fields(state, assets, rules)
    for asset, finding in assets.findings(rules.uses):
        warn_of(state, asset, finding)
    return assets


EVERYWHERE: Final[Mapping[str, str]] = {
    "provider": "whoever sends the prompt knows who answers; give the model's name as model, and a dialect",
}
"""Inputs that no tavern reads, and why."""


def _warn_of_roles(state: State) -> None:
    """Warn of each role that nobody knows, which every tavern reads as the user's."""
    history = state.request.history
    for role in sorted(ROLES_OF.of(history) - KNOWN_ROLES):
        first = [message.role for message in history].index(role)
        where = Where(asset="history", path=f"[{first}].role")
        hint = did_you_mean(role, ROLES, f"roles are {', '.join(ROLES)}")
        state.warn(f"role {shorten(role, 40)!r} is not known and read as user", where=where, hint=hint)


def _warn_of_tools(state: State) -> None:
    """Warn of tools that a model could not tell apart, or providers refuse to hear of."""
    names: set[str] = set()
    for index, tool in enumerate(state.request.tools):
        named = tool.get("function", tool)
        name = named.get("name") if isinstance(named, Mapping) else None
        where = Where(asset="tools", path=f"[{index}].name")
        if isinstance(name, str) and name in names:
            state.warn(f"another tool is called {shorten(name, 40)!r}", where=where, hint="give each its own name")
        elif isinstance(name, str) and not _TOOL_NAME.fullmatch(name):
            message = f"providers refuse the tool's name {shorten(name, 40)!r}"
            state.warn(message, where=where, hint="use letters, digits, - and _, at most 64")
        names.add(str(name))


_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


def _note_fields(state: State, assets: Assets, rules: InputRules) -> None:
    """Note the fields of assets that are filled in and have no effect, and the keys that are no fields, with the nearest."""
    for name, asset in assets.typed(rules.uses):
        contents = filled(asset)
        unread: dict[str, list[str]] = {}
        for field, reason in _left(name, contents, rules):
            if not (field in _OF_BOOKS and assets.brings(name, field, asset)):
                unread.setdefault(reason, []).append(field)
        for reason, fields in unread.items():
            note_unread(state, name, fields, reason)
        if contents.keys:
            near = [f"{other!r} for {key!r}" for key, other in contents.keys.items() if other]
            hint = f"did you mean {', '.join(near)}?" if near else None
            reason = f"nothing reads {'it' if len(contents.keys) == 1 else 'them'}"
            note_unread(state, name, list(contents.keys), reason, hint)
    if rules.reads is not None:
        if "lorebooks" in rules.reads:
            _note_wrappers(state, rules.reads["lorebooks"])
        known = rules.reads.get("history", _SENT_ALONG)
        if fields := [name for name in _FIELDS_OF_CHATS.of(assets.history, known) if name not in known]:
            note_unread(state, "history", fields, _UNREAD)


_OF_BOOKS: Final = frozenset({"extensions.world", "lorebook"})
"""Fields that name a book, which the request may bring."""

_LEFT: Final[BoundedCache[tuple[str, int, int], tuple[tuple[str, str], ...]]] = BoundedCache(items=1024)
_FIELD_BYTES: Final = 64


def _left(name: str, contents: Filled, rules: InputRules) -> tuple[tuple[str, str], ...]:
    """The fields of an asset that have no effect, each with the reason. Remembered for as long as both live."""
    key = (name, id(contents), id(rules))
    known = _LEFT.get(key)
    if known is None:
        left = [field for field in contents.fields if rules.leaves(name, field)]
        names = [(field, f"{name}.{field}") for field in left]
        known = tuple([(field, rules.ignored.get(whole) or _ABOUT.get(whole) or _UNREAD) for field, whole in names])
        _LEFT.put(key, known, _FIELD_BYTES * len(known), alive=(contents, rules))
    return known


def _note_wrappers(state: State, known: frozenset[str]) -> None:
    """Note what stands around a book and is not read."""
    for value in state.request.lorebooks:
        if isinstance(value, Mapping) and "book" in value:
            read = {"book", "name"} | ({"scope"} if "scope" in known or value.get("scope") == "global" else set())
            if fields := [str(key) for key in value if key not in read]:
                note_unread(state, "lorebooks", fields, _UNREAD)


_SENT_ALONG: Final = frozenset({"metadata"})
"""What a dialect reads, which tells of what it does not send."""


def _history_fields(before: dict[str, None], messages: tuple[Message, ...], known: frozenset[str]) -> dict[str, None]:
    """The fields that the messages of a chat have beside role, text, name and attachments; ``extra`` is looked into."""
    fields = dict(before)
    for message in messages:
        if message.swipes:
            fields["swipes"] = None
        if message.swipe_id is not None:
            fields["swipe_id"] = None
        if message.send_date is not None:
            fields["send_date"] = None
        if message.metadata and "metadata" not in known:
            calls = _BESIDE_CALLS if "tool_calls" in message.metadata else _NOTHING_BESIDE
            fields |= dict.fromkeys(message.metadata.keys() - known - calls)
            extra = message.metadata.get("extra")
            if isinstance(extra, Mapping):
                fields |= {f"extra.{key}": None for key in sorted(extra) if extra[key] not in (None, "", 0)}
    return fields


_FIELDS_OF_CHATS: Final[Beginnings[Message, dict[str, None]]] = Beginnings({}, _history_fields)

_NOTHING_BESIDE: Final[frozenset[str]] = frozenset()
_BESIDE_CALLS: Final = frozenset({"signature", "reasoning_content", "reasoning_details"})
"""Metadata that goes to the provider with calls of tools."""


def note_unread(state: State, asset: str, fields: list[str], reason: str, hint: str | None = None) -> None:
    """Note fields of an asset that have no effect."""
    if len(fields) == 1:
        _ignored(state, f"{asset}.{fields[0]}", reason, hint)
    else:
        message = f"{asset}: {', '.join(fields)} have no effect: {_UNREAD_BOTH if reason == _UNREAD else reason}"
        state.note(NoteKind.IGNORED, message, hint=hint, data={"input": asset, "fields": tuple(fields)})


_UNREAD: Final = "this tavern does not read it"
_UNREAD_BOTH: Final = "this tavern does not read them"
_ABOUT: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            *(
                f"character.{name}"
                for name in ("creator", "tags", "source", "creation_date", "modification_date", "assets")
            ),
            *(f"character.{name}" for name in ("creator_notes_multilingual", "extensions.fav")),
            *(f"user.{name}" for name in ("title", "avatar", "is_default")),
            *("lorebooks.description", "preset.name", "preset.prompts.name", "preset.prompts.extension"),
            *(f"lorebooks.entries.{name}" for name in ("display_index", "add_memo", "automation_id")),
        ),
        "about the file, not for prompts",
    ),
    "preset.prompts.marker": "the prompt's identifier says what it stands for",
    "preset.prompts.enabled": "the order of prompts says which are on",
    "character.extensions.world": "it names a book, which is not given",
    "user.lorebook": "it names a book, which is not given",
}
"""The reasons for fields that no tavern reads."""


def warn_of(state: State, asset: str, finding: Finding) -> None:
    """Warn of what is wrong in an asset."""
    note = finding.to_note(asset)
    state.warn(note.message, kind=note.kind, where=note.where, hint=note.hint)


def note_unused(state: State, reasons: Mapping[str, str], original: BuildRequest | None = None) -> None:
    """Note each input of the request that is set although the tavern does nothing with it; ``reasons`` say why.

    A name is a field of the request, or ``ports.`` and the name of a port.
    """
    for name, reason in reasons.items():
        if ("." not in name or name.startswith("ports.")) and _is_set(state, original or state.request, name):
            _ignored(state, name, reason)  # those with a point are fields of assets


def _is_set(state: State, request: BuildRequest, name: str) -> bool:
    if name.startswith("ports."):
        return getattr(state.inputs.ports, name.removeprefix("ports.")) is not None
    if name == "context":
        return len(state.context) > 0
    if name == "settings":
        return bool(request.settings.keys() - {"chat_metadata"})
    return bool(getattr(request, name) != getattr(_NOTHING, name))


def _note_metadata(state: State, assets: Assets, rules: InputRules) -> None:
    for key, value in assets.metadata.items():
        if key in _BESIDE or key in _NOT_FOR_PROMPTS or (key in CHAT_METADATA and not value):
            continue
        reason = rules.reason(f"chat_metadata.{key}")
        if reason is None and _is_superseded(assets, key, value):
            reason = f"another {CHAT_METADATA[key]} is given"
        if reason is not None:
            _ignored(state, f"chat_metadata.{key}", reason)
        elif key in _ELSEWHERE and not _is_brought(assets, key, value):
            state.note(
                NoteKind.WARNING, f"chat_metadata.{key} {_ELSEWHERE[key]}", data={"input": f"chat_metadata.{key}"}
            )
    if own := sorted(_NOT_FOR_PROMPTS & assets.metadata.keys()):
        names = ", ".join(own)
        state.note(NoteKind.IGNORED, f"chat_metadata: {names} are not for prompts", data={"input": "chat_metadata"})


def _is_superseded(assets: Assets, key: str, value: Any) -> bool:
    """Whether an input of its own says something else than this key of the chat's metadata."""
    match CHAT_METADATA[key]:
        case "authors_note":
            return bool(assets.note.text != value)
        case "variables":
            return bool(assets.request.variables.get("local") != value)
        case "lore_state":
            stored = value.get("carry") if key == OURS else value
            return bool(assets.lore_state != stored and not assets.joins_lore_state)
    return False


def _is_brought(assets: Assets, key: str, value: Any) -> bool:
    """Whether the request brings what this key of the chat's metadata names."""
    if key == "world_info":
        return any(book.explicit_name == value for book in assets.books)
    if key == "script_injects":
        return any(injection.id.startswith(SCRIPTED) for injection in assets.request.injections)
    return assets.request.user is not None


SCRIPTED: Final = "script_inject_"
"""The prefixes of the ids of injections that SillyTavern makes of a chat's ``script_injects``."""

_ELSEWHERE: Final[Mapping[str, str]] = {
    "world_info": "names a book of the install, which is not given: give it as a lorebook with the scope chat",
    "script_injects": "has texts that are not given: give them as injections, as a build of the whole folder does",
    "persona": "names a persona of the install, and no user is given",
}
"""The notes on keys that name something outside of the chat if the request does not bring it."""


def _ignored(state: State, name: str, reason: str, hint: str | None = None) -> None:
    shown = f"the {name.removeprefix('ports.')} registry" if name.startswith("ports.") else name
    state.note(NoteKind.IGNORED, f"{shown} has no effect: {reason}", hint=hint, data={"input": name})
