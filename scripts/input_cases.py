"""Input cases: the variations of `scripts.input_matrix`: a request, its assets, and the values of every field of theirs.

Fields are those of the typed values; what is listed here is what makes the value of one count.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any, Final, Union, get_args, get_origin

import msgspec

from innkeeper.content.card_versions import FIELDS
from innkeeper.content.entry import LorebookEntry
from innkeeper.content.lorebook import Lorebook
from innkeeper.content.persona import Persona
from innkeeper.content.preset import Preset, PromptItem
from innkeeper.content.spellings.reading import SHARED_FIELDS, WORLD_FIELDS
from innkeeper.dialects.sillytavern.dialect import SillyTavern
from innkeeper.prompt import BuildLimits, InMemoryHooks, InMemoryInjections, InMemoryVariables
from innkeeper.prompt.determinism import Randomness
from innkeeper.prompt.payload.dialect import Dialects
from innkeeper.taverns.inputs import CHAT_METADATA
from innkeeper.text.bm25 import Bm25
from scripts.input_matrix import MARK, Variation

# ---- the request that is varied

CARD_DATA: Final[Mapping[str, Any]] = {
    "name": "Ann",
    "description": "{{char}} keeps the light.",
    "personality": "calm",
    "scenario": "A reef at night.",
    "first_mes": "Ahoy, sailor.",
    "mes_example": "<START>\n{{user}}: Is it far?\n{{char}}: Not by boat.",
}
CARD: Final[Mapping[str, Any]] = {"spec": "chara_card_v2", "spec_version": "2.0", "data": CARD_DATA}
ENTRY: Final[Mapping[str, Any]] = {
    "uid": 0,
    "key": ["reef"],
    "content": "The reef has a bell.",
    "comment": "Bell",
    "order": 100,
}
OTHER_ENTRY: Final[Mapping[str, Any]] = {"uid": 1, "key": ["reef"], "content": "The fog is thick.", "order": 90}
PROMPTS: Final[tuple[Mapping[str, Any], ...]] = (
    {"identifier": "main", "name": "Main", "role": "system", "content": "Write as Ann.", "system_prompt": True},
    *({"identifier": name, "name": name, "marker": True, "system_prompt": True} for name in (
        "worldInfoBefore", "personaDescription", "charDescription", "charPersonality", "scenario", "enhanceDefinitions",
        "worldInfoAfter", "dialogueExamples", "chatHistory",
    )),
    {"identifier": "jailbreak", "name": "Last", "role": "system", "content": "Stay brief.", "system_prompt": True},
)  # fmt: skip
HISTORY: Final[tuple[Mapping[str, Any], ...]] = (
    {"role": "user", "content": "Ahoy"},
    {"role": "assistant", "content": "Who goes there?"},
    {"role": "user", "content": "A friend of the reef."},
    {"role": "assistant", "content": "Come closer."},
)
BASE: Final[Mapping[str, Any]] = {
    "character": CARD,
    "user": {"name": "Bob", "description": "{{user}} is a diver."},
    "history": HISTORY,
    "message": "Where is the reef?",
    "now": "2026-01-15T12:00:00+00:00",
}


def book(*entries: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """A lorebook of these entries."""
    return {"name": "Sea", "entries": {str(entry["uid"]): entry for entry in entries}, **fields}


def preset(**fields: Any) -> dict[str, Any]:
    """A preset that orders the usual prompts."""
    order = [{"identifier": prompt["identifier"], "enabled": True} for prompt in PROMPTS]
    return {"prompts": list(PROMPTS), "prompt_order": [{"character_id": 100001, "order": order}], **fields}


def variations() -> Iterator[Variation]:
    """Every variation; several may be of one field."""
    for make in (_inputs, _ports, _metadata, _cards, _personas, _books, _presets, _messages, _beside):
        for variation in make():
            yield replace(variation, before={**BASE, **variation.before}, after={**BASE, **variation.after})


def _value(kind: Any, default: Any) -> Any:
    """Some other value of a field's type."""
    if get_origin(kind) in {Union, types.UnionType}:
        kind = next(part for part in get_args(kind) if part is not type(None))
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return next(str(member) for member in kind if member != default)
    if kind is bool:
        return not default
    if kind in {int, float}:
        return (default if isinstance(default, int) else 0) + 1
    if get_origin(kind) is tuple:
        return [MARK]
    return {MARK: MARK} if get_origin(kind) is dict else MARK


def _fields(kind: type[msgspec.Struct], *without: str) -> Iterator[tuple[str, Any]]:
    """The fields of a typed value, each with some other value."""
    for each in msgspec.structs.fields(kind):
        if each.name not in without:
            yield each.name, _value(each.type, each.default)


_READ: Final = ("document", "findings", "path", "raw", "spelling", "index", "data")
"""Fields that tell of the reading."""


# inputs of a build

LONG: Final[Mapping[str, Any]] = {"history": HISTORY * 40, "context_window": 700, "reserved_tokens": 10}
"""A chat that does not fit."""
WRONG: Final[Mapping[str, Any]] = {"history": [{"role": "usr", "content": "Ahoy"}]}
"""Something to warn of."""

_SAMPLES: Final[Mapping[str, tuple[Mapping[str, Any], Any]]] = {
    "character": ({"character": None}, CARD),
    "user": ({"user": None}, {"name": "Cid", "description": MARK}),
    "group": ({}, {"members": [CARD, {"name": "Eve", "description": "Eve sings."}]}),
    "history": ({}, [{"role": "user", "content": MARK}]),
    "message": ({}, MARK),
    "system": ({}, MARK),
    "generation": ({}, "continue"),
    "greeting": ({"history": []}, 0),
    "preset": ({}, preset(temperature=0.5)),
    "lorebooks": ({}, [book(ENTRY)]),
    "force_lore": ({"lorebooks": [book({**ENTRY, "key": ["gull"]})]}, ["Sea.0"]),
    "injections": ({}, [{"id": "i", "content": MARK}]),
    "authors_note": ({}, MARK),
    "macro_vars": ({"history": [{"role": "user", "content": "{{mood}} {{getvar:mood}}"}]}, {"mood": MARK}),
    "variables": ({}, {"local": {"mood": MARK}}),
    "context": ({"meta": {"system_template": "{{ context.app }}"}}, {"app": MARK}),
    "lore_state": (
        {"lorebooks": [book({**ENTRY, "key": ["gull"], "sticky": 5})]},
        {"timed": {"sticky": {"Sea.0": {"start": 1, "end": 9}}, "cooldown": {}}, "scans": {"a": "gull"}},
    ),
    "options": ({}, {"temperature": 1}),
    "tools": ({}, [{"name": "t", "description": "d", "parameters": {"type": "object"}}]),
    "step_options": (LONG, {"fit": {"max_tokens": 450, "keep_user": False}}),
    "provider": ({}, "openai"),
    "model": ({}, "gpt-4o"),
    "dialect": ({}, "anthropic"),
    "context_window": (LONG, 500),
    "reserved_tokens": ({**LONG, "reserved_tokens": 1}, 400),
    "strict": (WRONG, True),
    "limits": (LONG, {"steps": 1, "output": 1}),
    "now": (
        {
            "history": [{"role": "user", "content": "{{date}}"}],
            "meta": {"system_template": "{{ 'now' | date: '%Y' }}"},
        },
        "2027-02-16T12:00:00Z",
    ),
    "locale": ({"history": [{"role": "user", "content": "{{date}}"}]}, "de-DE"),
    "seed": ({"history": [{"role": "user", "content": "{{roll:d1000}}"}]}, 7),
    "meta.system_template": ({}, MARK),
    "meta.post_history_template": ({}, MARK),
    "meta.model_hint": ({**LONG, "history": [{"role": "user", "content": "深い海の底に鐘がある。"}] * 90}, "gpt-4"),
    "settings.anything": ({}, 1),
}
"""Inputs: the request in which a value counts, and the value."""


def _inputs() -> Iterator[Variation]:
    before: Any
    tied = {"lorebooks": [book(ENTRY, {**OTHER_ENTRY, "order": 100})]}
    python = {"history": [{"role": "user", "content": "{{python:1 + 1}}"}]}
    for before, profile in ((tied, "fixed"), (python, "smarttavern")):
        yield Variation(name="profile", before=before, after={**before, "profile": profile}, optional=True)
    for name, (before, value) in _SAMPLES.items():
        root, _, key = name.partition(".")
        yield Variation(
            name=name,
            before=before,
            after={**before, root: {key: value} if key else value},
            enforced=name in {"strict", "limits"},
        )


def _ports() -> Iterator[Variation]:
    calls: list[Any] = []

    def called(*args: Any, **facts: Any) -> None:
        calls.append((args, facts))

    hooks, injections = InMemoryHooks(), InMemoryInjections()
    hooks.before_build(called)
    injections.register(id="i", content=MARK)
    chance = {"history": [{"role": "user", "content": "{{roll:d1000}}"}]}
    texts = [
        {"role": "user", "content": text} for text in ("The reef is near.", "Fog.", "Wind.", "Rain.", "Sun.", "Hail.")
    ]
    passages = {"extensions": {"risuai": {"additionalText": "The reef is red.\n\nRain is cold."}}}
    searched = {
        "history": texts,
        "settings": {"vectors": {"enabled_chats": True, "protect": 1, "query": 1}},
        "character": {"spec": "chara_card_v2", "spec_version": "2.0", "data": {**CARD_DATA, **passages}},
    }
    attached = [{"kind": "image", "url": "a.png"}]
    picture = {"history": [{"role": "user", "content": "{{inlay::a.png}}", "attachments": attached}]}
    counter = _Letters()
    for name, port, before in (
        ("token_counter", counter, LONG),
        ("instrumenter", called, {}),
        ("hooks", hooks, {}),
        ("vectors", _Last(), searched),
        ("max_limits", BuildLimits(steps=1, output=1), LONG),
        ("media", lambda _url: b"\x89PNG\r\n\x1a\n", picture),
        ("dialects", Dialects(SillyTavern()), {}),
        ("warning_handler", called, WRONG),
        ("random", lambda seed: Randomness(seed + 1), chance),
        ("variables", InMemoryVariables({"local": {"mood": MARK}}), {}),
        ("injections", injections, {}),
    ):
        recorded = calls if port in (called, hooks) else []
        enforced = name in {"max_limits", "dialects"}
        yield Variation(
            name=f"ports.{name}", before=before, after=before, more={name: port}, calls=recorded, enforced=enforced
        )


class _Last:
    """A search that finds the last passage."""

    name = "the last"

    def search(self, texts: Sequence[str], query: str) -> list[tuple[int, float]]:
        return [(len(texts) - 1, 1.0)] if texts and query else []


class _Letters:
    """A counter of letters."""

    def count(self, text: str, model: str | None = None) -> int:
        return len(text) + (model is not None)

    def describe(self, model: str | None = None) -> dict[str, Any]:
        return {"exact": True, "model": model}


_STORED: Final[Mapping[str, tuple[Mapping[str, Any], Any]]] = {
    "variables": ({}, {"mood": MARK}),
    "timedWorldInfo": (
        {"lorebooks": [book({**ENTRY, "key": ["gull"], "sticky": 5})]},
        {"sticky": {"Sea.0": {"start": 1, "end": 9, "hash": 1}}, "cooldown": {}},
    ),
    "innkeeper": (
        {"lorebooks": [book({**ENTRY, "key": ["gull"]})]},
        {"carry": {"timed": {"sticky": {}, "cooldown": {}}, "scans": {"a": "gull"}}},
    ),
    "persona": ({"user": None}, MARK),
    "scenario": ({"character": {"name": "Ann", "description": "D"}}, MARK),
    "cfg_guidance_scale": ({}, 2),
    **{
        key: ({"cfg_guidance_scale": 2, "cfg_negative_prompt": "Mud."}, value)
        for key, value in (
            ("cfg_negative_prompt", MARK),
            ("cfg_positive_prompt", MARK),
            ("cfg_prompt_combine", [2]),
            ("cfg_prompt_insertion_depth", 3),
            ("cfg_groupchat_individual_chars", True),
        )
    },
    "cfg_prompt_separator": (
        {"cfg_guidance_scale": 2, "cfg_negative_prompt": "Mud.", "cfg_prompt_combine": [0, 2]},
        f'"{MARK}"',
    ),
    "attachments": ({}, [{"url": "/a.txt", "name": "a.txt", "text": MARK}]),
    "lastInContextMessageId": ({"history": [{"role": "user", "content": "{{firstIncludedMessageId}}"}]}, 1),
    "chat_id_hash": ({"history": [{"role": "user", "content": "{{pick::a::b::c::d::e::f::g::h}}"}]}, 5),
    "main_chat": ({"history": [{"role": "user", "content": "{{pick::a::b::c::d::e::f::g::h}}"}]}, MARK),
    "pick_reroll_seed": ({"history": [{"role": "user", "content": "{{pick::a::b::c::d::e::f::g::h}}"}]}, MARK),
}


def _metadata() -> Iterator[Variation]:
    before: Any
    others: Any
    for key in (*CHAT_METADATA, "anything"):
        before, value = _STORED.get(key, ({}, MARK))
        settings: dict[str, Any] = {}
        others = {}
        if key.startswith("cfg_"):
            others = {} if key == "cfg_guidance_scale" else before
            before = {"dialect": "text"}
            guided = {"guidance_scale": 3, "negative_prompt": "Grit."}
            settings = {"cfg": {"global": guided, "chara": [{**guided, "name": "Ann", "guidance_scale": 4}]}}
            settings["text"] = {"instruct": {"enabled": False}, "textgen": {"type": "llamacpp"}}
            before |= _GROUP if key == "cfg_groupchat_individual_chars" else {}
        if key == "attachments":
            settings = {"vectors": {"enabled_files": True}}
        yield Variation(
            name=f"chat_metadata.{key}",
            before={**before, "settings": {**settings, "chat_metadata": others}},
            after={**before, "settings": {**settings, "chat_metadata": {**others, key: value}}},
            ports={"vectors": _Last()} if key == "attachments" else {},
        )


# assets

_OF_CARDS: Final[Mapping[str, Any]] = {
    "book": book(ENTRY),
    "assets": [
        {"type": kind, "uri": "https://a.example/a.png", "name": "main", "ext": "png"}
        for kind in ("icon", "x-risu-asset")
    ],
    "creation_date": 1.0,
    "modification_date": 1.0,
    "creator_notes_multilingual": {"de": MARK},
}
_EXTENSIONS: Final[Mapping[str, Any]] = {
    "depth_prompt": {"prompt": MARK, "depth": 1, "role": "system"},
    "talkativeness": 0.9,
    "world": MARK,
    "fav": True,
    "regex_scripts": [{"scriptName": "r", "findRegex": "/light/g", "replaceString": MARK, "placement": [1, 2],
                       "promptOnly": True}],
    "anything": MARK,
}  # fmt: skip
_V1_FIELDS: Final = ("name", "description", "personality", "scenario", "first_mes", "mes_example", "creator_notes")


def _cards() -> Iterator[Variation]:
    before: Any
    after: Any
    others: Any
    around: Any
    values = {name: _OF_CARDS.get(name, [MARK] if name in _LISTED else MARK) for name in FIELDS if name != "extensions"}
    values |= {f"extensions.{name}": value for name, value in _EXTENSIONS.items()}
    values["anything"] = MARK
    start = {"history": [], "greeting": 0}
    for name, value in values.items():
        before = {**start, **_AROUND_CARDS.get(name, {})}
        for form, card in _FORMS.items():
            if form != "v1" or name in _V1_FIELDS:
                key = "character_book" if name == "book" else name
                data = _with(CARD_DATA, key, value)
                yield Variation(
                    name=f"character.{name}",
                    before={**before, "character": card(CARD_DATA)},
                    after={**before, "character": card(data)},
                )
    for name, data, around in (
        ("extensions.talkativeness", {**CARD_DATA, "extensions": {"talkativeness": 0}}, {"message": "Hm?"}),
        ("group_only_greetings", {**CARD_DATA, "group_only_greetings": [MARK]}, {"greeting": 1, "history": []}),
    ):
        others = [{"name": "Eve", "description": "Eve sings."}]
        before = {"character": None, "group": {"members": [_FORMS["v2"](CARD_DATA), *others]}, **around}
        after = {**before, "group": {"members": [_FORMS["v2"](data), *others]}}
        yield Variation(name=f"group.members.{name}", before=before, after=after)


_AROUND_CARDS: Final[Mapping[str, Mapping[str, Any]]] = {
    "assets": {"message": "{{assetlist}}"},
    "alternate_greetings": {"greeting": 1},
    "creator_notes": {"message": "{{charCreatorNotes}}"},
    "character_version": {"message": "{{charVersion}}"},
    "extensions.regex_scripts": {
        "message": "Where is the light?",
        "settings": {"character_allowed_regex": ["Ann.png"]},
    },
}
_LISTED: Final = ("alternate_greetings", "group_only_greetings", "tags", "source")
_FORMS: Final[Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]]] = {
    "v1": dict,
    "flat": dict,
    "v2": lambda data: {"spec": "chara_card_v2", "spec_version": "2.0", "data": data},
    "v3": lambda data: {"spec": "chara_card_v3", "spec_version": "3.0", "data": data},
}


def _with(value: Mapping[str, Any], path: str, item: Any) -> dict[str, Any]:
    """A copy with another value at a path."""
    first, _, rest = path.partition(".")
    return {**value, first: _with(value.get(first) or {}, rest, item) if rest else item}


def _personas() -> Iterator[Variation]:
    before: Any
    around: Any
    person = {"name": "Bob", "description": "{{user}} is a diver."}
    placed = {"depth": 4, "role": 2}
    for name, value in (*_fields(Persona, *_READ), ("persona", MARK), ("anything", MARK)):
        own = {"position": {"position": 4}}.get(name, {name: 1 if name == "role" else value})
        before = {**person, **placed, "position": 4} if name in placed else person
        around = {"meta": {"system_template": "{{ user }}"}} if name == "name" else {}
        yield Variation(
            name=f"user.{name}", before={**around, "user": before}, after={**around, "user": {**before, **own}}
        )


def _entry(**fields: Any) -> dict[str, Any]:
    return {**ENTRY, **fields}


_AT_DEPTH: Final = _entry(position=4)
_SECOND: Final = _entry(selective=True, keysecondary=["gull"])
_GROUPED: Final = (_entry(group="g"), {**OTHER_ENTRY, "group": "g"})
_RECURSIVE: Final[Mapping[str, Any]] = {"settings": {"wi_settings": {"recursive": True}}}
_CALLING: Final = (_entry(content="A gull cries."), {**OTHER_ENTRY, "key": ["gull"]})
_NOT_ASKED: Final = _entry(key=["gull"])
_SEARCH: Final[Mapping[str, Any]] = {
    "settings": {"vectors": {"enabled_world_info": True, "query": 2, "score_threshold": 0, "max_entries": 5}}
}

_OF_ENTRIES: Final[Mapping[str, tuple[Any, Any, Mapping[str, Any]]]] = {
    "id": (ENTRY, 7, {}),
    "keys": (ENTRY, ["gull"], {}),
    "secondary_keys": (_entry(selective=True), ["gull"], {}),
    "selective": ({**_SECOND, "selective": False}, True, {}),
    "selective_logic": (_SECOND, 2, {}),
    "constant": (_NOT_ASKED, True, {}),
    "vectorized": (_NOT_ASKED, True, _SEARCH),
    "order": ((ENTRY, OTHER_ENTRY), 5, {}),
    "position": (ENTRY, 1, {}),
    "outlet_name": (_entry(position=7), MARK, {"system": "{{outlet::" + MARK + "}}", "message": "reef {{outlet::" + MARK + "}}"}),
    "depth": (_AT_DEPTH, 1, {}),
    "role": (_AT_DEPTH, 1, {}),
    "scan_depth": (_entry(key=["Ahoy"]), 9, {}),
    "case_sensitive": (_entry(key=["REEF"]), True, {}),
    "match_whole_words": (_entry(key=["ree"]), True, {}),
    "use_group_scoring": ((_entry(group="g"), {**OTHER_ENTRY, "group": "g", "key": ["reef", "where"]}), True, {}),
    "exclude_recursion": (_CALLING[::-1], True, _RECURSIVE),
    "prevent_recursion": (_CALLING, True, _RECURSIVE),
    "delay_until_recursion": (ENTRY, True, {}),
    "probability": (_entry(useProbability=True), 0, {}),
    "use_probability": (_entry(probability=0), True, {}),
    "group": ((ENTRY, {**OTHER_ENTRY, "group": "g"}), "g", {}),
    "group_override": (_GROUPED[::-1], True, {}),
    "group_weight": (_GROUPED, 1_000_000, {"seed": 1}),
    "delay": (ENTRY, 100, {}),
    "ignore_budget": (ENTRY, True, {"settings": {"wi_settings": {"budget_cap": 1}}}),
    "match_persona_description": (_entry(key=["diver"]), True, {}),
    "match_character_description": (_entry(key=["keeps"]), True, {}),
    "match_character_personality": (_entry(key=["calm"]), True, {}),
    "match_character_depth_prompt": (_entry(key=[MARK]), True, {"character": _FORMS["v2"](
        {**CARD_DATA, "extensions": {"depth_prompt": {"prompt": MARK}}})}),
    "match_scenario": (_entry(key=["night"]), True, {}),
    "match_creator_notes": (_entry(key=[MARK]), True, {"character": _FORMS["v2"]({**CARD_DATA, "creator_notes": MARK})}),
    "character_filter": (ENTRY, {"names": [MARK]}, {}),
    "triggers": (ENTRY, ["continue"], {}),
    "extensions": (ENTRY, {"anything": MARK}, {}),
    "name": (_entry(comment=""), MARK, {}),
}  # fmt: skip
"""Fields of entries: the entries in which a value counts, the value in the first of them, and the request around."""

_ENTRY_KEYS: Final = {
    **{each.attribute: each.camel for each in (*WORLD_FIELDS, *SHARED_FIELDS)},
    "id": "uid",
    "enabled": "disable",
    "character_filter": "characterFilter",
}
_ABOUT_BOOKS: Final = {"scan_depth": 1, "token_budget": 1, "recursive_scanning": True}


def _books() -> Iterator[Variation]:
    before: Any
    others: Any
    varied: Any
    around: Any
    for name, usual in (*_fields(LorebookEntry, *_READ), ("keywords", [MARK]), ("text", MARK)):
        entries, value, around = _OF_ENTRIES.get(name, (ENTRY, True if name == "enabled" else usual, {}))
        first, *others = entries if isinstance(entries, tuple) else (entries,)
        if name == "spec_case_sensitive":
            first = {
                "id": 0,
                "keys": ["reef"],
                "content": "The reef has a bell.",
                "enabled": True,
                "insertion_order": 1,
            }
        key = {"spec_case_sensitive": "case_sensitive"}.get(name) or _ENTRY_KEYS.get(name, name)
        varied = {**first, key: value}
        for where, put in (("lorebooks", _beside_card), ("character.book", _in_card)):
            yield Variation(
                name=f"{where}.entries.{name}",
                before={**around, **put(_book_of(first, *others), around)},
                after={**around, **put(_book_of(varied, *others), around)},
                ports={"vectors": Bm25()} if name == "vectorized" else {},
            )
    for name, usual in (*_fields(Lorebook, *_READ, "entries", "extensions"), ("extensions.anything", MARK)):
        value = _ABOUT_BOOKS.get(name, usual)
        before = book(*_CALLING)
        yield Variation(
            name=f"lorebooks.{name}", before={"lorebooks": [before]}, after={"lorebooks": [_with(before, name, value)]}
        )
    for name, value in (("scope", "persona"), ("scope", MARK), ("anything", MARK)):
        before = {"book": book(ENTRY), "name": "Sea"}
        yield Variation(
            name=f"lorebooks.{name}",
            before={"lorebooks": [before, book(OTHER_ENTRY)]},
            after={"lorebooks": [{**before, name: value}, book(OTHER_ENTRY)]},
        )


def _book_of(*entries: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": "Sea", "entries": list(entries)}


def _beside_card(lorebook: Mapping[str, Any], _around: Mapping[str, Any]) -> dict[str, Any]:
    return {"lorebooks": [lorebook]}


def _in_card(lorebook: Mapping[str, Any], around: Mapping[str, Any]) -> dict[str, Any]:
    card: Any = around.get("character", CARD)
    return {"character": {**card, "data": {**card["data"], "character_book": lorebook}}}


_PICTURE: Final[Mapping[str, Any]] = {"history": [{"role": "user", "content": [
    {"type": "text", "text": "Look"},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
]}], "model": "gpt-4o"}  # fmt: skip
_GROUP: Final[Mapping[str, Any]] = {
    "group": {"members": [CARD, {"name": "Eve", "description": "Eve sings."}], "speaker": 0},
    "character": None,
}
_TOOLS: Final[Mapping[str, Any]] = {"tools": [{"name": "t", "description": "d", "parameters": {"type": "object"}}]}
_CLAUDE: Final[Mapping[str, Any]] = {"chat_completion_source": "claude", "claude_model": "claude-sonnet-4-5"}

_OF_PRESETS: Final[Mapping[str, tuple[Mapping[str, Any], Any, Mapping[str, Any]]]] = {
    "impersonation_prompt": ({}, MARK, {"generation": "impersonate"}),
    "new_group_chat_prompt": ({}, MARK, _GROUP),
    "continue_nudge_prompt": ({}, MARK, {"generation": "continue", "message": ""}),
    "group_nudge_prompt": ({}, MARK, _GROUP),
    "send_if_empty": ({}, MARK, {"message": ""}),
    "wi_format": ({}, "<{0}>", {"lorebooks": [book(ENTRY)]}),
    "names_behavior": ({}, 2, {}),
    "continue_prefill": ({}, True, {"generation": "continue", "message": ""}),
    "assistant_prefill": (_CLAUDE, MARK, {}),
    "assistant_impersonation": (_CLAUDE, MARK, {"generation": "impersonate"}),
    "use_sysprompt": (_CLAUDE, True, {}),
    "function_calling": ({}, False, _TOOLS),
    "media_inlining": ({"chat_completion_source": "openai"}, False, _PICTURE),
    "inline_image_quality": ({"chat_completion_source": "openai"}, "low", _PICTURE),
    "custom_prompt_post_processing": ({}, "strict", {}),
    "context_window": ({}, 500, {"history": HISTORY * 40}),
    "max_tokens": ({}, 77, {}),
    "chat_completion_source": ({}, "claude", {}),
    "show_thoughts": ({"chat_completion_source": "makersuite", "google_model": "gemini-2.5-pro"}, False, {}),
    "reasoning_effort": ({"chat_completion_source": "openai", "openai_model": "o3"}, "high", {}),
    "verbosity": ({"chat_completion_source": "openai", "openai_model": "gpt-5"}, "high", {}),
    "bias_preset_selected": ({}, "b", {"settings": {"bias_presets": {"b": [{"text": "[5]", "value": 1}]}}}),
    "extensions.regex_scripts": ({}, _EXTENSIONS["regex_scripts"], {}),
}
_OF_PROMPTS: Final[Mapping[str, tuple[Mapping[str, Any], Any]]] = {
    "identifier": ({}, "nsfw"),
    "marker": ({}, True),
    "system_prompt": ({}, False),
    "position": ({}, 1),
    "depth": ({"injection_position": 1}, 1),
    "order": ({"injection_position": 1, "injection_depth": 4}, 1),
    "role": ({}, "user"),
    "triggers": ({}, ["continue"]),
    "enabled": ({}, False),
    "forbid_overrides": ({}, True),
    "extension": ({}, True),
}
_PROMPT_KEYS: Final = {
    "position": "injection_position",
    "depth": "injection_depth",
    "order": "injection_order",
    "triggers": "injection_trigger",
}


def _presets() -> Iterator[Variation]:
    before: Any
    varied: Any
    around: Any
    for name, usual in (
        *_fields(Preset, *_READ, "prompts", "orders", "extensions"),
        ("extensions.regex_scripts", None),
        ("anything", MARK),
    ):
        fields, value, around = _OF_PRESETS.get(name, ({}, usual, {}))
        before = preset(**fields)
        key = name if "." in name else Preset.names(name)[0]
        yield Variation(
            name=f"preset.{name}",
            before={**around, "preset": before},
            after={**around, "preset": _with(before, key, value)},
        )
    order = preset()["prompt_order"]
    yield Variation(
        name="preset.orders",
        before={"preset": preset()},
        after={"preset": preset(prompt_order=[{**order[0], "order": order[0]["order"][::-1]}])},
    )
    spoken = {"character": {**CARD, "data": {**CARD_DATA, "system_prompt": "Speak low."}}}
    for name, usual in (*_fields(PromptItem, *_READ), ("anything", MARK)):
        fields, value = _OF_PROMPTS.get(name, ({}, usual))
        main, *rest = PROMPTS
        if name == "order":
            rest = [*rest[:-1], {**rest[-1], **fields}]
        if name == "system_prompt":
            main, rest = {"identifier": "own", "name": "Own", "content": "Own."}, [*PROMPTS]
        varied = {**main, **fields, _PROMPT_KEYS.get(name, name): value}
        around = spoken if name == "forbid_overrides" else {}
        listed = preset() if name != "enabled" else {"prompts": list(PROMPTS)}
        if name == "system_prompt":
            listed["prompt_order"] = [
                {
                    "character_id": 100001,
                    "order": [{"identifier": each["identifier"], "enabled": True} for each in (main, *rest)],
                }
            ]
        yield Variation(
            name=f"preset.prompts.{name}",
            before={**around, "preset": {**listed, "prompts": [{**main, **fields}, *rest]}},
            after={**around, "preset": {**listed, "prompts": [varied, *rest]}},
        )


_CALL: Final[Mapping[str, Any]] = {"id": "c1", "type": "function", "function": {"name": "t", "arguments": "{}"}}
_PNG: Final = "iVBORw0KGgo="
_OF_MESSAGES: Final[Mapping[str, Any]] = {
    "name": "Cid",
    "attachments": [{"kind": "image", "url": f"data:image/png;base64,{_PNG}"}],
    "swipes": ["Come closer.", "Stay."],
    "swipe_id": 1,
    "send_date": "2026-01-01T00:00:00Z",
    "tool_calls": [_CALL],
    "signature": MARK,
    "reasoning": MARK,
    "reasoning_content": MARK,
    "reasoning_details": [{"type": "reasoning.text", "text": MARK}],
    "hidden": True,
    "cache_control": {"type": "ephemeral"},
    "extra.reasoning": MARK,
    "extra.anything": MARK,
    "anything": MARK,
}
_TEXT: Final[Mapping[str, Any]] = {"type": "text", "text": "Come closer."}
_OF_CONTENT: Final[Mapping[str, Any]] = {
    "text": {"type": "text", "text": MARK},
    "image_url": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_PNG}"}},
    "input_audio": {"type": "input_audio", "input_audio": {"data": _PNG, "format": "mp3"}},
    "file": {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{_PNG}"}},
    "refusal": {"type": "refusal", "refusal": MARK},
    "image": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _PNG}},
    "document": {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": _PNG}},
    "tool_use": {"type": "tool_use", "id": "c1", "name": "t", "input": {}},
    "tool_result": {"type": "tool_result", "tool_use_id": "c1", "content": MARK},
    "thinking": {"type": "thinking", "thinking": MARK, "signature": MARK},
    "anything": {"type": MARK, MARK: MARK},
}


def _messages() -> Iterator[Variation]:
    before: Any
    after: Any
    around: Any
    *earlier, last = HISTORY
    for name, value in _OF_MESSAGES.items():
        before = {**last, "swipes": _OF_MESSAGES["swipes"]} if name == "swipe_id" else last
        macros = "{{lastSwipeId}} {{currentSwipeId}} {{idleDuration}}"
        around = {"preset": preset(assistant_prefill=macros), "message": "", "authors_note": macros}
        yield Variation(
            name=f"history.{name}",
            before={**around, "history": [*earlier, before]},
            after={**around, "history": [*earlier, _with(before, name, value)]},
            optional=name in {"name", "send_date"},
        )
        if name in {"tool_calls", "name"}:
            around = {**_TOOLS, "preset": preset(names_behavior=2)}
            yield Variation(
                name=f"history.{name}",
                before={**around, "history": [*earlier, before]},
                after={**around, "history": [*earlier, {**before, name: value}]},
                optional=True,
            )
    for role in ("system", "developer", "usr"):
        yield Variation(name="history.role", after={"history": [*earlier, {**last, "role": role}]})
    for index, role in ((-1, "assistant"), (-2, "user")):
        for name, value in _OF_CONTENT.items():
            before = [*HISTORY]
            before[index] = {"role": role, "content": [_TEXT]}
            after = [*before]
            after[index] = {"role": role, "content": [_TEXT, value]}
            yield Variation(name=f"history.content.{name}", before={"history": before}, after={"history": after})
    marked = [*earlier, {**last, "content": [{**_TEXT, "cache_control": {"type": "ephemeral"}}]}]
    yield Variation(
        name="history.cache_control",
        before={"history": [*earlier, {**last, "content": [_TEXT]}]},
        after={"history": marked},
    )
    idle = {"message": "{{idleDuration}}", "history": [*HISTORY[:2], HISTORY[2], HISTORY[3]]}
    dated = [*HISTORY[:2], {**HISTORY[2], "send_date": "2026-01-01T00:00:00Z"}, HISTORY[3]]
    yield Variation(name="history.send_date", before=idle, after={**idle, "history": dated}, optional=True)
    calls = [_CALL, {**_CALL, "id": "c2"}]
    answered = [{**last, "tool_calls": calls}, {"role": "tool", "content": "it is far", "tool_call_id": "c1"}]
    before = {**_TOOLS, "history": [*earlier, *answered]}
    after = {**before, "history": [*earlier, answered[0], {**answered[1], "tool_call_id": "c2"}]}
    yield Variation(name="history.tool_call_id", before=before, after=after)


_OF_INJECTIONS: Final[Mapping[str, Any]] = {
    "position": "chat",
    "role": "user",
    "depth": 1,
    "scan": True,
    "ephemeral": True,
    "dept": 3,
}
_OF_NOTES: Final[Mapping[str, Any]] = {
    "text": MARK,
    "depth": 1,
    "position": 2,
    "role": 1,
    "interval": 5,
    "allow_wi_scan": True,
    "dept": 3,
}
_OF_GROUPS: Final[Mapping[str, tuple[Mapping[str, Any], Any]]] = {
    "name": ({}, MARK),
    "members": ({}, [CARD]),
    "speaker": ({}, 1),
    "disabled": ({"generation_mode": 1}, [1]),
    "generation_mode": ({}, 1),
    "join_prefix": ({"generation_mode": 1}, MARK),
    "join_suffix": ({"generation_mode": 1}, MARK),
    "activation_strategy": ({"speaker": None}, 1),
    "allow_self_responses": ({"speaker": None, "activation_strategy": 0}, True),
    "anything": ({}, MARK),
}


def _beside() -> Iterator[Variation]:
    """Injections, notes, groups and what stands for itself."""
    before: Any
    around: Any
    scanned = {"lorebooks": [book(_entry(key=["lamp"]))]}
    for name, value in _OF_INJECTIONS.items():
        before = {
            "id": "i",
            "content": "The lamp burns.",
            **({"position": "chat"} if name in {"depth", "role"} else {}),
        }
        yield Variation(
            name=f"injections.{name}",
            before={**scanned, "injections": [before]},
            after={**scanned, "injections": [{**before, name: value}]},
        )
    for name, value in _OF_NOTES.items():
        note = {"text": "The lamp burns."}
        yield Variation(
            name=f"authors_note.{name}",
            before={**scanned, "authors_note": note},
            after={**scanned, "authors_note": {**note, name: value}},
        )
    for name, (fields, value) in _OF_GROUPS.items():
        before = {**_GROUP["group"], **fields}
        around = {"character": None, "message": "", "history": [{**HISTORY[-1], "name": "Ann", "content": "Ann?"}]}
        yield Variation(
            name=f"group.{name}",
            before={**around, "group": before},
            after={**around, "group": {**before, name: value}},
        )
    yield Variation(name="options.zzz", after={"options": {"zzz": 1}})
    for name, before, value in _ODD:
        yield Variation(name=name, before=before, after={**before, name: value})


_ODD_GROUPS: Final[tuple[Any, ...]] = (5, "x", [], {}, {"members": 5}, {"members": []})
_ODD: Final[tuple[tuple[str, Mapping[str, Any], Any], ...]] = (
    *(("group", {}, value) for value in _ODD_GROUPS),
    *(("lore_state", {}, value) for value in (5, "x", [1], {"x": 1})),
    *(
        ("force_lore", {"lorebooks": [book(ENTRY)]}, value)
        for value in (["nonexistent"], [{"world": "L", "uid": 0}], "x", 5)
    ),
    *(("authors_note", {}, value) for value in (5, {"text": MARK, "depth": -3}, {"depth": 2})),
    *(("greeting", {"history": []}, value) for value in (-5, 99)),
    *(("locale", {"message": "{{date}} {{time}}"}, value) for value in ("de-DE", "fr", "zzz")),
    ("injections", {}, {"a": {"content": MARK}}),
    ("injections", {}, [{"id": "a", "content": "x"}, {"id": "a", "content": MARK}]),
    ("dialect", {}, "opnai"),
    ("provider", {}, "opnai"),
    ("generation", {}, MARK),
    ("tools", {}, [{"name": "t"}, {"name": "t"}]),
    ("preset", {}, {"temperature": 0.3}),
)
"""Values that are odd as a whole."""
