"""Write ``inspector/src/files/forms.json``: the fields of cards, entries, presets and personas, from the structs that read them.

A form has every field of its struct: those that `FORMS` puts into no group come last. What a field is called in a file, its kind,
choices and default are those of the reader; names for people are words of the page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Final, NamedTuple, Union, get_args, get_origin

import msgspec

from innkeeper.content.character import TALKATIVENESS, Character, DepthPrompt
from innkeeper.content.entry import LorebookEntry
from innkeeper.content.json import ABSENT
from innkeeper.content.json.json_asset import JsonAsset, NumberedEnum
from innkeeper.content.lorebook import Lorebook
from innkeeper.content.persona import Persona
from innkeeper.content.preset import PROMPT_NAMES, Preset, PromptItem, TextPreset
from innkeeper.content.regex_script import PatternMacros, RegexScript, ScriptPlacement
from innkeeper.content.spellings import reading
from innkeeper.content.templates import ContextTemplate, InstructTemplate, ReasoningTemplate, SystemPrompt

WRITTEN: Final = Path(__file__).parents[1] / "inspector" / "src" / "files" / "forms.json"

NO_FIELDS: Final = frozenset({"document", "path", "findings", "raw"})
"""What a struct knows of where it was read."""


class Form(NamedTuple):
    """A form: the struct that it is of, its fields by groups, those that are edited elsewhere, names in a file that differ."""

    struct: type[msgspec.Struct]
    groups: Mapping[str, str] = {}
    elsewhere: frozenset[str] = frozenset()
    names: Mapping[str, tuple[str, ...]] = {}


FORMS: Final[Mapping[str, Form]] = {
    "card": Form(
        Character,
        {
            "main": "name nickname description personality scenario first_mes alternate_greetings group_only_greetings"
            " mes_example",
            "instructions": "system_prompt post_history_instructions depth_prompt.prompt depth_prompt.depth depth_prompt.role",
            "creator": "creator_notes tags creator character_version creator_notes_multilingual source creation_date"
            " modification_date",
        },
        frozenset({"book", "version", "spec_version", "extensions"}),
    ),
    "entry": Form(
        LorebookEntry,
        {
            "main": "comment keys secondary_keys selective_logic content enabled constant",
            "position": "position order depth role outlet_name",
            "matching": "scan_depth case_sensitive match_whole_words use_regex selective vectorized match_persona_description"
            " match_character_description match_character_personality match_character_depth_prompt match_scenario"
            " match_creator_notes",
            "recursion": "exclude_recursion prevent_recursion delay_until_recursion",
            "chance": "probability use_probability group group_weight group_override use_group_scoring",
            "timing": "sticky cooldown delay",
            "filter": "character_filter.names character_filter.tags character_filter.exclude triggers",
        },
        frozenset({"id", "index", "extensions", "spelling"}),
    ),
    "book": Form(Lorebook, elsewhere=frozenset({"entries", "spelling", "extensions"})),
    "persona": Form(Persona, {"main": "name title description", "position": "position depth role"}),
    "preset": Form(
        Preset,
        {
            "sampling": "temperature top_p top_k top_a min_p frequency_penalty presence_penalty repetition_penalty seed n"
            " context_window max_tokens max_context_unlocked stream reasoning_effort verbosity show_thoughts",
            "texts": "new_chat_prompt new_group_chat_prompt new_example_chat_prompt continue_nudge_prompt group_nudge_prompt"
            " impersonation_prompt send_if_empty wi_format scenario_format personality_format",
        },
        frozenset({"prompts", "orders", "extensions"}),
    ),
    "prompt": Form(PromptItem, {"main": "name content role position depth order triggers"}, names=PROMPT_NAMES),
    "text_preset": Form(TextPreset, elsewhere=frozenset({"samplers"})),
    "context": Form(ContextTemplate),
    "instruct": Form(InstructTemplate),
    "system_prompt": Form(SystemPrompt),
    "reasoning": Form(ReasoningTemplate),
    "script": Form(
        RegexScript,
        elsewhere=frozenset({"index"}),
        names={
            "name": ("scriptName",), "find": ("findRegex",), "replace": ("replaceString",), "trim": ("trimStrings",),
            "prompt_only": ("promptOnly",), "markdown_only": ("markdownOnly",), "run_on_edit": ("runOnEdit",),
            "pattern_macros": ("substituteRegex",), "min_depth": ("minDepth",), "max_depth": ("maxDepth",),
        },
    ),
}  # fmt: skip
"""The forms of the page. An asset has the names of its class."""

EXTENSIONS: Final[Mapping[str, tuple[Any, Any]]] = {
    **{f"depth_prompt.{field.name}": (field.type, field.default) for field in msgspec.structs.fields(DepthPrompt)},
    "talkativeness": (float, TALKATIVENESS),
    "world": (str, ""),
}
"""Fields that a card has in its ``extensions``: their types and defaults."""

LONG: Final = frozenset({
    "description", "personality", "scenario", "first_mes", "mes_example", "creator_notes", "system_prompt",
    "post_history_instructions", "content", "depth_prompt.prompt", "story_string", "post_history", "assistant_prefill",
    "assistant_impersonation", "send_if_empty", "banned_strings", "find", "replace",
})  # fmt: skip
"""Texts of several lines, beside those that are prompts."""

RANGES: Final[Mapping[str, tuple[float | None, float | None]]] = {
    "probability": (0, 100), "talkativeness": (0, 1), "temperature": (0, None), "top_p": (0, 1), "min_p": (0, 1),
    "top_a": (0, 1), "top_k": (0, None), "frequency_penalty": (-2, 2), "presence_penalty": (-2, 2), "n": (1, None),
    "context_window": (0, None), "max_tokens": (0, None), "depth": (0, None), "depth_prompt.depth": (0, None),
    "story_string_depth": (0, None), "scan_depth": (0, None), "token_budget": (0, None), "sticky": (0, None),
    "cooldown": (0, None), "delay": (0, None), "delay_until_recursion": (0, None), "group_weight": (0, None),
}  # fmt: skip
"""The least and the greatest value of numbers that have them."""

ROLES: Final = ("system", "user", "assistant")
NUMBERED_ROLES: Final = frozenset({("entry", "role"), ("persona", "role"), ("context", "story_string_role")})
"""Roles that SillyTavern writes as numbers."""


def forms() -> dict[str, Any]:
    """All forms, and the names by which the two spellings of an entry are told apart."""
    return {
        "forms": {name: list(fields(name, form)) for name, form in FORMS.items()},
        "spellings": {"card": sorted(reading.CARD_ONLY), "world": sorted(reading.WORLD_ONLY)},
    }


def fields(name: str, form: Form) -> Iterator[dict[str, Any]]:
    """The fields of a form in their order."""
    kinds = {one.name: (one.type, one.default) for one in msgspec.structs.fields(form.struct)}
    for inner, own in [("character_filter", kinds.pop("character_filter", None))]:
        parts = () if own is None else msgspec.structs.fields(own[0])
        kinds |= {f"{inner}.{part.name}": (part.type, part.default) for part in parts}
    kinds |= EXTENSIONS if form.struct is Character else {}
    groups = {field: group for group, names in form.groups.items() for field in names.split()}
    for field in [*groups, *(one for one in kinds if one not in groups and one not in form.elsewhere | NO_FIELDS)]:
        kind, default = kinds[field]
        yield {
            "name": field,
            "group": groups.get(field, "more" if groups else "main"),
            "kind": kind_of(name, field, kind),
            "in": locations_of(form, field, None if default is msgspec.NODEFAULT else default),
            **choices(name, field, kind),
            **({"range": RANGES[field]} if field in RANGES else {}),
        }


def kind_of(form: str, field: str, kind: Any) -> str:
    """How a field is edited, by its type."""
    inner = (
        [one for one in get_args(kind) if one is not type(None)] if get_origin(kind) in {Union, type(int | str)} else []
    )
    own = inner[0] if len(inner) == 1 else kind
    if own is bool:
        return "maybe" if inner else "flag"
    if field.endswith("role") or (isinstance(own, type) and issubclass(own, Enum)):
        return "choice"
    if own is str:
        return "text" if field in LONG or field.endswith(("_prompt", "_note")) else "line"
    if own in {int, float}:
        return "integer" if own is int else "number"
    if get_args(own)[:1] == (str,) and get_origin(own) is tuple:
        return "keys" if field.endswith("keys") else "texts" if field.endswith("greetings") else "tags"
    return "numbers" if form == "script" and field == "placement" else "shown" if field == "assets" else "json"


def choices(form: str, field: str, kind: Any) -> dict[str, Any]:
    """The values that a field can have: as they are written, and the word for each."""
    if field.endswith("role"):
        pairs = [[index if (form, field) in NUMBERED_ROLES else role, role] for index, role in enumerate(ROLES)]
    elif field == "placement":
        pairs = [[int(one), one.name.lower()] for one in ScriptPlacement]
    elif kind is PatternMacros:
        pairs = [[int(one), one.name.lower()] for one in PatternMacros]
    elif isinstance(kind, type) and issubclass(kind, NumberedEnum):
        pairs = [[number, one.value] for number, one in kind.numbers().items()]
    elif isinstance(kind, type) and issubclass(kind, Enum):
        pairs = [[index, one.value] for index, one in enumerate(kind)]
    else:
        return {}
    return {"choices": pairs}


def locations_of(form: Form, field: str, default: Any) -> dict[str, Any]:
    """Return where a field is in a file, by its entry's spelling: the first that is there is read, the first is written."""
    if form.struct is LorebookEntry:
        return {spelling: _in_entry(spelling, field, default) for spelling in ("card", "world")}
    if form.struct is Character and field in EXTENSIONS:
        return {"": _location([("extensions", *field.split("."))], default)}
    names = form.names.get(field, (field,))
    if issubclass(form.struct, JsonAsset):
        names = (*form.struct.NAMES.get(field, ()), field)
    return {"": _location([(name,) for name in dict.fromkeys(names)], default)}


def _in_entry(spelling: str, field: str, default: Any) -> dict[str, Any]:
    if field == "enabled":
        return (
            _location([("enabled",)], default)
            if spelling == "card"
            else _location([("disable",)], default) | {"inverted": True}
        )
    if "." in field:
        name = {"exclude": "isExclude"}.get(field.partition(".")[2], field.partition(".")[2])
        return _location(
            [("characterFilter", name)] if spelling == "world" else [("extensions", "character_filter", name)], default
        )
    own, inner = reading.WORLD_FIELDS + reading.SHARED_FIELDS, reading.SHARED_FIELDS[:0]
    if spelling == "card":
        own, inner = reading.CARD_FIELDS, reading.EXTENSION_FIELDS
    paths, first = [], default
    for prefix, table in ((("extensions",), inner), ((), own)):
        for one in table:
            if one.attribute == field:
                paths += [(*prefix, one.camel), (*prefix, one.snake)]
                first = default if one.default is ABSENT else one.default
    if field == "position" and spelling == "card":
        paths.insert(0, ("extensions", "position"))
    return _location(list(dict.fromkeys(paths)), first)


def _location(paths: list[tuple[str, ...]], default: Any) -> dict[str, Any]:
    value = sorted(default) if isinstance(default, frozenset) else default
    return {"paths": paths, "default": None if value is msgspec.NODEFAULT else msgspec.to_builtins(value)}


def written() -> str:
    """The whole file."""
    return json.dumps(forms(), ensure_ascii=False, separators=(",", ":")).replace('{"name"', '\n{"name"') + "\n"


if __name__ == "__main__":
    WRITTEN.write_text(written(), encoding="utf-8")
