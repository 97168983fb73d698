"""Settings of SillyTavern that a build depends on, read from ``request.settings`` under its own names; and its quirks.

Every setting is used, or named in the plan's notes as without effect. Values of a wrong type or shape are a
`ConfigError` that names the field: `read_settings` checks those that have a type, `check_shapes` the others, both
before anything uses them.

A quirk that users ask to be rid of is a switch of `Quirks`; a profile is a set of them. One is only there where leaving it
out makes a sensible prompt. The default profile keeps them all: same prompt, defects included. A plan names its profile.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from innkeeper.lore import LoreSettings
from innkeeper.prompt.data import thaw
from innkeeper.prompt.errors import ConfigError, UnknownNameError, Where
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.run.state import State
from innkeeper.prompt.text import kind_of
from innkeeper.prompt.typed.once import convert

if TYPE_CHECKING:
    from innkeeper.taverns.silly.inputs import SillyInputs


T = TypeVar("T", bound=msgspec.Struct)

MAIN_PROMPT: Final = "Write the next message of {{char}} in this story with {{user}}."
"""The main and the system prompt of an install that has none: our own, of the same meaning as SillyTavern's."""

ROLES: Final = {0: "system", 1: "user", 2: "assistant"}
"""SillyTavern's numbers for roles."""


class ReasoningSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How stored reasoning goes into prompts: the newest ``max_additions`` of it, between ``prefix`` and ``suffix``."""

    add_to_prompts: bool = False
    prefix: str = "<think>"
    suffix: str = "</think>"
    separator: str = "\n"
    max_additions: int = 1


class PowerUser(msgspec.Struct, frozen=True, kw_only=True):
    """User settings that change prompts (SillyTavern's *power user* settings).

    ``context``, ``instruct`` and ``sysprompt`` are the chosen templates, which macros read in chats too; text completion is
    built by those of ``settings.text``.
    """

    experimental_macro_engine: bool = True
    prefer_character_prompt: bool = True
    prefer_character_jailbreak: bool = True
    collapse_newlines: bool = False
    pin_examples: bool = False
    strip_examples: bool = False
    always_force_name2: bool | None = None
    user_prompt_bias: str = ""
    single_line: bool = False
    token_padding: int = 64
    custom_stopping_strings: str = ""
    custom_stopping_strings_macro: bool = True
    trim_sentences: bool = False
    encode_tags: bool = False
    disable_group_trimming: bool = False
    request_token_probabilities: bool = False
    media_display: str = "list"
    reasoning: ReasoningSettings = ReasoningSettings()
    context: dict[str, Any] = {}
    instruct: dict[str, Any] = {}
    sysprompt: dict[str, Any] = {}


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    """The options of one generation. A dry run squashes nothing and leaves timed effects alone."""

    quiet_prompt: str = ""
    quiet_to_loud: bool = False
    quiet_name: str = ""
    skip_wian: bool = False
    force_name2: bool | None = None
    dry_run: bool = False


class CharacterNote(msgspec.Struct, frozen=True, kw_only=True):
    """A character's own note: instead of (0), before (1) or after (2) the chat's."""

    text: str = ""
    use: bool = True
    position: int = 0


class GroupSettings(msgspec.Struct, frozen=True, kw_only=True):
    """A group chat. ``members`` are ``{card, filename, tags}``; ``speaker`` and ``disabled`` are places in that list.

    ``generation_mode``: each speaker's own card (0), all cards appended (1), muted members' cards too (2).
    """

    name: str = "Group"
    members: tuple[Any, ...] = ()
    speaker: int | None = None
    disabled: tuple[int, ...] = ()
    generation_mode: int = 0
    join_prefix: str = ""
    join_suffix: str = ""
    activation_strategy: int = 0
    allow_self_responses: bool = False


def read_settings(kind: type[T], raw: Any, name: str) -> tuple[T, tuple[str, ...]]:
    """A settings value from a mapping, and the names of fields it does not have. Raises `ConfigError`."""
    if isinstance(raw, kind):
        return raw, ()
    fields = dict(raw) if isinstance(raw, Mapping) else {}
    known = {key: thaw(value) for key, value in fields.items() if key in kind.__struct_fields__ and value is not None}
    try:
        return convert(known, kind, strict=False), tuple(sorted(fields.keys() - known.keys()))
    except (msgspec.ValidationError, UnicodeError) as error:
        raise ConfigError(f"{name}: {error}", where=Where(asset="settings", path=name)) from error


def noted_settings(state: State, kind: type[T], raw: Any, name: str) -> T:
    """`read_settings` with a note for each unknown field. Raises `ConfigError`."""
    value, unknown = read_settings(kind, raw, name)
    for field in unknown:
        state.note(NoteKind.IGNORED, f"{name}.{field} has no effect in this tavern", data={"input": f"{name}.{field}"})
    return value


_OBJECTS: Final = (
    "power_user",
    "sd",
    "expressions",
    "wi_settings",
    "world_info",
    "chat_metadata",
    "generation",
    "character_note",
    "text",
    "cfg",
    "memory",
    "vectors",
    "note",
)
_LISTS: Final = ("attachments", "disabled_attachments", "extensions", "character_tags", "disabled_extensions")
_METADATA_TEXTS: Final = ("scenario", "mes_example", "system_prompt")
_TEXT_NUMBERS: Final = ("max_context", "amount_gen")
LARGEST_WINDOW: Final = 2**53
_PREFIX: Final = "world_info_"


def check_shapes(state: State) -> None:
    """Raise `ConfigError` naming the setting that has the wrong shape; note fields that mean nothing here."""
    settings = state.request.settings
    for name in _OBJECTS:
        _check(settings, name, Mapping, "an object", "")
    for name in _LISTS:
        _check(settings, name, (list, tuple), "a list", "")
    for name in _METADATA_TEXTS:
        _check(settings.get("chat_metadata") or {}, name, str, "a text", "chat_metadata.")
    for name in _TEXT_NUMBERS:
        _check_number(settings.get("text") or {}, name)
    _note_lore(state, settings.get("wi_settings") or settings.get("world_info") or {})


def _check(fields: Mapping[str, Any], name: str, kind: Any, what: str, parent: str) -> None:
    value = fields.get(name)
    if value is not None and not isinstance(value, kind):
        path = f"{parent}{name}"
        raise ConfigError(f"{path} is {what}, not {kind_of(value)}", where=Where(asset="settings", path=path))


def _check_number(fields: Mapping[str, Any], name: str) -> None:
    _check(fields, name, int, "a whole number", "text.")
    value = fields.get(name)
    if value is not None and (isinstance(value, bool) or not 0 <= value <= LARGEST_WINDOW):
        where = Where(asset="settings", path=f"text.{name}")
        raise ConfigError(f"text.{name} is a number of tokens between 0 and {LARGEST_WINDOW}", where=where)


def _note_lore(state: State, fields: Mapping[str, Any]) -> None:
    known = set(LoreSettings.__struct_fields__)
    for name in fields:
        if str(name).removeprefix(_PREFIX) not in known:
            field = f"wi_settings.{name}"
            state.note(NoteKind.IGNORED, f"{field} has no effect in this tavern", data={"input": field})


def listed(setting: str) -> tuple[str, ...] | None:
    """The texts in the setting, as written; ``None`` where it is not a JSON list."""
    try:
        texts = json.loads(setting) if setting else []
    except (ValueError, RecursionError):
        return None
    return tuple(text for text in texts if isinstance(text, str) and text) if isinstance(texts, list) else None


_PRESET: Final[Mapping[str, str]] = {
    "continue_postfix": "it joins a reply to the text that it continues, which is the caller's to do",
    "wrap_in_quotes": "SillyTavern 1.19 no longer has it",
    "bias_preset_selected": "give logit_bias as an option",
    "max_context_unlocked": "windows are never capped",
    "enable_web_search": "give the provider's own option",
}
_SMART: Final = ("api_config", "regex_rules")
"""The fields of SmartTavern's presets alone."""

_POWER: Final[Mapping[str, str]] = {
    "trim_sentences": "it cuts replies, not prompts",
    "encode_tags": "it is for display",
    "disable_group_trimming": "it cuts replies, not prompts",
}
_LORE: Final[Mapping[str, str]] = {"overflow_alert": "an overflow is always noted"}


def note_unused(state: State, inputs: SillyInputs) -> None:
    """Note each setting without effect that is set to something."""
    for name, value, reasons in (
        ("preset", inputs.preset, _PRESET),
        ("power_user", inputs.power, _POWER),
        ("wi_settings", inputs.lore, _LORE),
    ):
        default = type(value)()
        for field in (field for field in reasons if getattr(value, field) != getattr(default, field)):
            _ignored(state, f"{name}.{field}", reasons[field])
    for field in [field for field in _SMART if inputs.preset.raw.get(field)]:
        _ignored(state, f"preset.{field}", "the preset is one of SmartTavern's; the tavern smart builds by it")
    if listed(inputs.power.custom_stopping_strings) is None:
        where = Where(asset="settings", path="power_user.custom_stopping_strings")
        state.warn(
            "the stop strings are not a JSON list: none is used", where=where, hint='write them as ["first", "second"]'
        )
    settings = state.request.settings
    if settings.get("text") and inputs.text is None:
        _ignored(state, "settings.text", "it is for the dialect text")


def _ignored(state: State, name: str, why: str) -> None:
    state.note(NoteKind.IGNORED, f"{name} has no effect in this tavern: {why}", data={"input": name})


class Quirks(msgspec.Struct, frozen=True, kw_only=True):
    """Each field is true where SillyTavern's behaviour is kept."""

    double_removal: bool = True
    """A loser of two inclusion groups is removed twice, the second time taking the last new entry with it, whatever it is
    (`sillytavern.md` 31; case ``group-multi-3``). Off: only losers go."""

    reversed_ties: bool = True
    """Entries of one order stand in reverse of their activation (`sillytavern.md` 29; case ``order-ties``). Off: in it."""

    ascii_words: bool = True
    """Any letter beyond ASCII ends a word, so a whole-word key is found inside words of most languages
    (`sillytavern.md` 23). Off: letters of scripts that are written with spaces belong to words."""

    note_lore_vanishes: bool = True
    """Lore at the author's note is lost in turns the note is not due (`sillytavern.md` 37). Off: it is sent without the note."""

    injections_need_main: bool = True
    """Injections beside the main prompt vanish when the order does not name it (`sillytavern.md` 45). Off: they come first."""

    own_prompts_say_so: bool = True
    """A preset's own prompt that does not say ``"system_prompt": false`` is sent only in the chat (measured on SillyTavern
    1.19). Off: it is sent in its turn."""

    repeated_effects: bool = True
    """Texts that SillyTavern expands more often than it sends them, as the note, change variables and draw each time (measured
    on SillyTavern 1.19). Off: each text once, where it is used."""

    groups_run_on: bool = True
    """In the replacement of a regex script the number after the last group's is where the match stands, and the next one the
    whole text (measured on SillyTavern 1.19). Off: they are groups that there are none of, and put nothing in."""

    squashed_media_vanish: bool = True
    """A system message with media that is joined with its neighbour becomes ``[object Object]``, once for each of its parts
    (measured on SillyTavern 1.19). Off: it stays apart."""

    neighbours_stay: bool = True
    """Of two messages in a row that a search finds, the second stays in the history, and so is sent twice (`sillytavern.md` E3).
    Off: each is moved."""


DEFAULT_PROFILE: Final = "sillytavern-1.19"
"""The profile of requests that name none."""

PROFILES: Final = MappingProxyType(
    {
        DEFAULT_PROFILE: Quirks(),
        "fixed": Quirks(
            double_removal=False,
            reversed_ties=False,
            ascii_words=False,
            note_lore_vanishes=False,
            injections_need_main=False,
            own_prompts_say_so=False,
            repeated_effects=False,
            groups_run_on=False,
            squashed_media_vanish=False,
            neighbours_stay=False,
        ),
    }
)


def compat_of(profile: str | None) -> Quirks:
    """The quirks of a profile (``None``: the default one). Raises `UnknownNameError`."""
    name = profile or DEFAULT_PROFILE
    if name not in PROFILES:
        raise UnknownNameError("profile", name, PROFILES)
    return PROFILES[name]
