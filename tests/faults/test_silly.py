"""Bad input to the silly tavern: a typed error or a plan, and nothing that is set without effect stays untold."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from innkeeper.content.preset import Preset
from innkeeper.lore import LoreSettings
from innkeeper.prompt import BuildRequest, Plan
from innkeeper.prompt.errors import ConfigError, InnkeeperError
from innkeeper.taverns import silly
from innkeeper.taverns.silly.settings import PowerUser

CARD = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Mira", "description": "A clockmaker."}}
ENTRY = {"uid": 0, "key": ["yo", "/y./i"], "content": "lore", "position": 4, "depth": 1, "role": 1, "order": 5}
BOOK = {"name": "W", "scope": "global", "book": {"entries": {"0": ENTRY, "1": {**ENTRY, "uid": 1, "constant": True}}}}
ORDER = [{"identifier": name, "enabled": True} for name in ("main", "charDescription", "u", "chatHistory")]
PRESET = {
    "prompts": [
        {"identifier": "main", "system_prompt": True, "role": "system", "content": "Main {{char}}"},
        {"identifier": "u", "role": "user", "content": "U", "injection_position": 1, "injection_depth": 1},
    ],
    "prompt_order": [{"character_id": 100001, "order": ORDER}],
    "openai_max_context": 4000,
    "openai_max_tokens": 100,
}
REQUEST: dict[str, Any] = {
    "tavern": "silly",
    "character": CARD,
    "user": {"name": "Tomas", "description": "A courier.", "position": 4, "depth": 1, "role": 1},
    "history": [
        {
            "role": "assistant",
            "content": "hi",
            "metadata": {"name": "Mira", "extra": {"type": "narrator", "bias": "b"}},
        },
        {"role": "user", "content": "yo {{char}}"},
    ],
    "preset": PRESET,
    "lorebooks": [BOOK, {"scope": "chat", "name": "C", "book": {"entries": {"0": {"constant": True, "content": "c"}}}}],
    "injections": [{"id": "a", "content": "x", "position": "chat", "depth": 1, "role": "user"}],
    "authors_note": {"text": "AN", "depth": 1, "position": 1, "role": 0, "interval": 1},
    "model": "gpt-4o",
    "now": "2026-01-15T12:34:56Z",
    "settings": {
        "generation": {"quiet_prompt": "", "dry_run": False},
        "wi_settings": {"world_info_depth": 2, "world_info_budget": 25, "world_info_recursive": True},
        "power_user": {"user_prompt_bias": "", "reasoning": {"add_to_prompts": True, "max_additions": 1}},
        "character_note": {"text": "c", "use": True, "position": 1},
        "chat_metadata": {"scenario": "s"},
        "character_tags": ["t"],
        "extensions": ["x"],
        "text": {"context": {"story_string": "{{description}}"}, "max_context": 4096, "amount_gen": 100},
    },
}


def request(**fields: Any) -> dict[str, Any]:
    """A request that builds, with other fields."""
    return {**copy.deepcopy(REQUEST), **fields}


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in JSON data."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from paths(item, (*path, key))


WRONG: list[Any] = [None, True, False, 0, -1, 10**9, 10**30, 1.5, float("inf"), float("nan"), "", "x", "\ud800", "\x00"]
WRONG += ["{{char}}", "9" * 5000, [], [1], [None], [[]], {}, {"a": None}, {"\ud800": 1}, [{"identifier": None}]]
ODD = st.sampled_from(WRONG)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(path=st.sampled_from(list(paths(REQUEST))), value=ODD, dialect=st.sampled_from(["openai", "text"]))
def test_wrong_types(path: tuple[Any, ...], value: Any, dialect: str) -> None:
    """Any value in any place of a request gives a plan or an error of the tree that no bug is behind."""
    raw = request(dialect=dialect)
    place: Any = raw
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    try:
        assert isinstance(silly.build(BuildRequest.of(raw)), Plan)
    except InnkeeperError as error:
        bug = error if isinstance(error.__cause__, (AttributeError, KeyError, IndexError)) else None
    else:
        bug = None
    assert bug is None


def said(text: str) -> list[dict[str, Any]]:
    """A history of one message."""
    return [{"role": "user", "content": text}]


def chain(size: int) -> list[dict[str, Any]]:
    """A book whose every entry fires the next, and the last the first."""
    entries = {str(n): {"uid": n, "key": [f"k{n} "], "content": f"k{(n + 1) % size} "} for n in range(size)}
    return [{"name": "W", "scope": "global", "book": {"entries": entries}}]


RECURSIVE = {"wi_settings": {"world_info_recursive": True, "world_info_budget": 100}}
REGEXES = [f"/(a+)+{n}$/" for n in range(30)] + ["/(/", "/" + "(" * 3000 + "/", "/\ud800/u"]


@dataclass(frozen=True)
class Case:
    """A hostile request and, where the plan must say so, a part of a warning."""

    name: str
    fields: dict[str, Any]
    warning: str = ""


CASES = (
    Case("nested macros", {"history": said("{{" * 10_000 + "x" + "}}" * 10_000)}),
    Case("nested blocks", {"history": said("{{if a}}" * 10_000 + "x" + "{{/if}}" * 10_000)}, "MAX_NESTING"),
    Case("braces", {"history": said("{" * 1_000_000)}),
    Case("a doubling variable", {"history": said("{{setvar::a::x}}" + "{{setvar::a::{{getvar::a}}{{getvar::a}}}}" * 60)},
         "MAX_OUTPUT"),
    Case("many macros", {"history": said("{{addvar::a::xxxxxxxxxxxx}}" * 20_000)}, "MAX_"),
    Case("dice", {"history": said("{{roll:999999999d999999999}}")}, "dice"),
    Case("a chain of entries", {"lorebooks": chain(500), "history": said("k0 "), "settings": RECURSIVE}),
    Case("catastrophic keys", {"lorebooks": [{"scope": "global", "book": {"entries": {"0": {"key": REGEXES,
         "content": "x"}}}}], "history": said("a" * 5000 + "!")}, "was not run"),
    Case("a deep injection", {"injections": [{"id": "a", "content": "x", "position": "chat", "depth": 10**9}]}),
    Case("lone surrogates", {"history": said("\ud800 {{char}} \x00"), "user": {"name": "\ud800", "description": "\x00"}}),
    Case("many messages", {"history": [{"role": "user", "content": "m"}] * 20_000}),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_hostile(case: Case) -> None:
    """A hostile request builds, within its window, and what was cut short or left out is reported."""
    fields = {"step_options": {"trimming": {"on_overflow": "warn"}}, **case.fields}
    plan = silly.build(BuildRequest.of(request(**fields)))
    assert plan.trim_report is not None
    assert plan.trim_report.final_tokens <= plan.trim_report.budget_tokens
    assert not case.warning or any(case.warning in note.message for note in plan.warnings)


@pytest.mark.parametrize(
    ("name", "value"),
    [("chat_metadata", 3), ("chat_metadata", {"scenario": 1.5}), ("extensions", 1), ("wi_settings", "x"),
     ("text", {"max_context": "many"}), ("power_user", {"reasoning": True}), ("character_note", {"text": []})],
)  # fmt: skip
def test_wrong_settings(name: str, value: Any) -> None:
    """A setting of the wrong shape is refused, and the error names it."""
    with pytest.raises(InnkeeperError) as caught:
        silly.build(BuildRequest.of(request(settings={name: value})))
    assert isinstance(caught.value.__cause__, ConfigError)
    assert name in caught.value.render()


def other(value: Any) -> Any:
    """A value of the same kind that is not this one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 3
    return f"{value}?" if isinstance(value, str) else True


def seen(raw: dict[str, Any]) -> tuple[Any, ...]:
    """All that a build shows of its settings: prompt, options, stop strings, lore budget, notes, and the provider's body."""
    plan = silly.build(BuildRequest.of(raw))
    notes = [note.message for note in (*plan.notes, *plan.warnings)]
    return notes, [(block.role, block.content) for block in plan.blocks], plan.options, plan.stop


IGNORED = (
    [("preset", name) for name in ("continue_postfix", "wrap_in_quotes", "max_context_unlocked")]
    + [("power_user", name) for name in ("trim_sentences", "encode_tags", "disable_group_trimming")]
    + [("wi_settings", "overflow_alert"), ("wi_settings", "nonsense"), ("power_user", "nonsense")]
    + [("chat_metadata", "nonsense")]
)


@pytest.mark.parametrize(("where", "name"), IGNORED, ids=str)
def test_settings_without_effect_are_told(where: str, name: str) -> None:
    """A setting that is set and does nothing is in the plan's notes under its name."""
    kinds: dict[str, Any] = {"preset": Preset.of({}), "power_user": PowerUser(), "wi_settings": LoreSettings()}
    value = other(getattr(kinds.get(where), name, False))
    raw = request()
    target = raw["preset"] if where == "preset" else raw["settings"][where]
    target[name] = value
    plan = silly.build(BuildRequest.of(raw))
    assert f"{where}.{name}" in {note.data.get("input") for note in plan.notes}


@pytest.mark.parametrize("name", ["text", "nonsense"])
def test_other_settings_are_told(name: str) -> None:
    """So are settings that this tavern, or this dialect, does not read."""
    raw = request(settings={name: {"sysprompt": {}}})
    notes = silly.build(BuildRequest.of(raw)).notes
    assert any(name in str(note.data.get("input")) for note in notes)


DATA: dict[str, Any] = {"name": "Mira", "description": "A clockmaker."}
GROUP = {"name": "G", "members": [{"card": CARD}, {"card": {**CARD, "data": {"name": "Nell"}}}], "speaker": 0}
EXAMPLES = {**CARD, "data": {**DATA, "mes_example": "<START>\n{{user}}: a", "personality": "p", "scenario": "s"}}
AFTER_REPLY = [*REQUEST["history"], {"role": "assistant", "content": "so"}]
PICTURED = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}]
SCENES: tuple[dict[str, Any], ...] = (
    {"character": EXAMPLES},
    {"generation": "continue"},
    {"generation": "impersonate"},
    {"generation": "quiet", "history": AFTER_REPLY},
    {"group": GROUP},
    {"tools": [{"name": "t", "parameters": {}}]},
    {"history": PICTURED},
)
SOURCES = ("custom", "claude", "openrouter", "makersuite")
NAMES = {
    "function_calling": False,
    "names_behavior": "content",
    "custom_prompt_post_processing": "single",
    "reasoning_effort": "high",
}
NOT_SETTINGS = frozenset({"document", "path", "findings", "name", "prompts", "orders", "extensions", "stream"})
"""What a preset is read from and holds apart from settings; and how a reply travels, which a body says in either way."""
FIELDS = sorted(set(Preset.__struct_fields__) - NOT_SETTINGS)


def sent(preset: dict[str, Any], **fields: Any) -> tuple[Any, ...]:
    """All that a build with this preset shows, the provider's body too."""
    plan = silly.build(BuildRequest.of(request(preset={**PRESET, **preset}, **fields)))
    notes = [note.message for note in (*plan.notes, *plan.warnings)]
    return (
        notes,
        [(b.role, b.content, b.name) for b in plan.blocks],
        plan.options,
        plan.trim_report,
        silly.to_provider(plan).body,
    )


@pytest.mark.parametrize("field", FIELDS)
def test_every_preset_field_shows(field: str) -> None:
    """A preset field that is set changes the prompt, the options, the provider's body or the notes, somewhere."""
    names = Preset.NAMES.get(field, (field,))
    value = NAMES.get(field, other(getattr(Preset.of({}), field) if getattr(Preset.of({}), field) is not None else 1))
    value = 3000 if field == "context_window" else value
    off = {names[0]: False} if value is True else {}  # a switch that is off, where none can mean either
    plain: dict[str, Any] = {"prompt_order": LONG_ORDER, **off}
    assert any(
        sent(before, **scene) != sent({**before, names[0]: value}, **scene)
        for source in SOURCES
        for before in [{**plain, "chat_completion_source": source}]
        for scene in SCENES
    ), field


LONG_ORDER = [
    {
        "character_id": 100001,
        "order": [
            {"identifier": name, "enabled": True}
            for name in ("main", "worldInfoBefore", "charPersonality", "scenario", "dialogueExamples", "chatHistory")
        ],
    }
]


def test_order_of_keys() -> None:
    """The order in which a settings object lists its keys changes nothing in the prompt."""
    raw, mixed = request(), request()
    names = list(raw["settings"])
    names.reverse()
    mixed["settings"] = {name: raw["settings"][name] for name in names}
    assert seen(raw)[1:] == seen(mixed)[1:]
