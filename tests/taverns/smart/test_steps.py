"""The smart tavern: from assets in its own words and in others' to a plan."""

from __future__ import annotations

from typing import Any, Final

import pytest

from innkeeper import taverns
from innkeeper.prompt import (
    BuildRequest,
    ConfigError,
    InMemoryVariables,
    MaxTokensExceededError,
    NoteKind,
    PipelineError,
    Plan,
    UnknownNameError,
)
from innkeeper.taverns import smart

NOW: Final = "2026-01-15T12:34:56Z"
PLACES: Final = ("charBefore", "charDescription", "charAfter", "personaDescription", "chatHistory")


def prompt(identifier: str, content: str = "", **fields: Any) -> dict[str, Any]:
    """An enabled prompt, relative unless the fields say otherwise."""
    return {"identifier": identifier, "enabled": True, "position": "relative", "content": content, **fields}


PRESET: Final[dict[str, Any]] = {
    "name": "Own",
    "prompts": [
        prompt("main", "You are {{char}}.", role="system"),
        *map(prompt, PLACES),
        prompt("hint", "Be brief.", position="in-chat", role="system", depth=1),
    ],
}
BOOK: Final[dict[str, Any]] = {
    "entries": [
        {"id": 1, "name": "town", "enabled": True, "position": "before_char", "content": "A town."},
        {
            "id": 2,
            "name": "Ayla",
            "mode": "conditional",
            "condition": "<<keywords:wrench>>",
            "position": "user",
            "content": "Tools.",
        },
        {"id": 3, "name": "dragon", "mode": "conditional", "condition": "<<keywords:dragon>>", "content": "Fire."},
        {
            "id": 4,
            "name": "around",
            "mode": "conditional",
            "enabled": True,
            "position": "after_char",
            "keys": ["dragon"],
            "content": "x",
        },
    ]
}
CHARACTER: Final[dict[str, Any]] = {
    "name": "Ayla",
    "description": "An engineer.",
    "message": ["Hello {{user}}.", "Good day."],
    "world_book": {"entries": [{"id": 9, "name": "own", "mode": "always", "depth": 9, "content": "Hers."}]},
}
PERSONA: Final = {"name": "file", "persona_name": "Rin", "description": "A traveller."}


def build(**inputs: Any) -> Plan:
    """A plan at a fixed moment."""
    return smart.build(now=NOW, **inputs)


def said(plan: Plan) -> list[tuple[str, str]]:
    """Roles and texts."""
    return [(message.role, message.content) for message in plan.messages]


def noted(plan: Plan) -> str:
    """All notes and warnings as one text."""
    return "\n".join(str(note) for note in (*plan.warnings, *plan.notes))


def test_assets_of_its_own() -> None:
    """Preset, book, character and persona as SmartTavern's files have them."""
    history = [{"role": "user", "content": "A wrench?"}, {"role": "thinking", "content": "Hm."}]
    plan = build(
        preset=PRESET, lorebooks=[BOOK], character=CHARACTER, user=PERSONA, history=history, message="{{user}} waits."
    )
    assert said(plan) == [
        ("system", "You are Ayla."),
        ("system", "A town."),
        ("system", "An engineer."),
        ("system", "A traveller."),
        ("system", "Hers."),
        ("user", "A wrench?"),
        ("thinking", "Hm."),
        ("system", "Be brief."),
        ("user", "Rin waits."),
        ("user", "Tools."),
    ]
    assert [str(block.origin) for block in plan.blocks] == [
        "preset.prompts[main]",
        "lorebook(book 0).content[1]",
        "character.description",
        "persona.description",
        "lorebook(Ayla's Lorebook).content[9]",
        "history[0]",
        "history[1]",
        "preset.prompts[hint]",
        "message",
        "lorebook(book 0).content[2]",
    ]
    assert [block.group for block in plan.blocks[3:6]] == ["system", "lore", "history"]
    assert (plan.tavern, plan.profile) == ("smart", "fixed")
    assert plan.blocks[-1].metadata == {
        "source": "world_book.in-chat",
        "id": "wb_2",
        "name": "Ayla",
        "depth": 0,
        "order": 100,
    }


def test_verdicts() -> None:
    """Each entry's verdict is in the plan, those around the character by framing's rules."""
    plan = build(preset=PRESET, lorebooks=[BOOK], message="A wrench?")
    assert [(verdict.title or verdict.uid, verdict.fired, str(verdict)) for verdict in plan.lore.verdicts] == [
        ("hint", True, "at depth 1, order 100, as system"),
        ("town", True, "at before_char"),
        ("Ayla", True, "at depth 0, order 100, as user; its condition holds: '<<keywords:wrench>>' came to 'true'"),
        ("dragon", False, "its condition does not hold: '<<keywords:dragon>>' came to 'false'"),
        (
            "around",
            False,
            "around the character an entry is triggered by keys, and none of ['dragon'] is in the history",
        ),
    ]
    assert plan.to_dict()["lore"]["verdicts"][3]["reason"] == "condition"
    bare = build(preset={"prompts": [prompt("chatHistory")]}, lorebooks=[BOOK], message="dragon")
    assert str(bare.lore.verdicts[0]) == "the preset has no enabled prompt in whose place 'before_char' could stand"


def test_the_same_request_gives_the_same_bytes() -> None:
    """Also with chance in conditions and contents; another seed gives another prompt."""
    book = {"entries": [{"mode": "always", "content": "{{roll:1d1000}} {{random::a::b}} {{time}}"}]}
    plans = [build(lorebooks=[book], message="a", seed=seed) for seed in (1, 1, 2)]
    prints = [plan.fingerprint() for plan in plans]
    assert prints[0] == prints[1] != prints[2]
    assert "12:34:56" in plans[0].messages[0].content or "12:34:56" in plans[0].messages[-1].content
    assert taverns.replay(plans[0].replay()).blocks == plans[0].blocks


def test_a_request_without_assets() -> None:
    """The chat as it is, and no word of ours."""
    assert said(build(message="Hello")) == [("user", "Hello")]
    assert said(build()) == []


def test_a_chat_that_has_no_place() -> None:
    """A preset without the chat's placeholder leaves it out, and says so."""
    plan = build(preset={"prompts": [prompt("main", "Only this.")]}, message="Hello")
    assert said(plan) == [("system", "Only this.")]
    assert "chat is not in the prompt" in noted(plan)


def test_variables_are_committed_once() -> None:
    """Macros see the store's variables; what they set is written back to its scope when the build succeeds."""
    store = InMemoryVariables({"local": {"hp": "3", "deep": {"a": "1"}}, "global": {"day": "1"}})
    text = "{{incvar:hp}}{{setvar:day:2}}{{setvar:new:x}}{{setvar:deep.a:2}}hp {{getvar:hp}}"
    request = {"preset": {"prompts": [prompt("main", text), prompt("chatHistory")]}, "variables": store}
    assert said(build(**request, commit=False)) == [("system", "hp 4.0")]
    assert store.get("hp") == "3"
    plan = build(**request)
    assert said(plan) == [("system", "hp 4.0")]
    assert store.to_dict() == {"local": {"hp": "4.0", "new": "x", "deep": {"a": "2"}}, "global": {"day": "2"}}


def test_conditions_see_variables_and_the_chat() -> None:
    """Variables of the request and of the chat, in conditions of entries and in contents."""
    conditions = ["{{python:legacy_num(getvar('s.hp[0]'),0) >= 30}}", "{{python:getvar('chat_message_count') == 2}}"]
    book = {"entries": [{"mode": "conditional", "condition": text, "content": text[-6:]} for text in conditions]}
    preset = {
        "prompts": [prompt("main", "{{lastUserMessage}}|{{input}}|{{mood}}{{getvar:mood}}"), prompt("chatHistory")]
    }
    history = [{"role": "assistant", "content": "one"}]
    plan = build(
        preset=preset,
        lorebooks=[book],
        history=history,
        message="two",
        variables={"local": {"s": {"hp": [30]}}},
        macro_vars={"mood": "calm"},
    )
    assert [text for _, text in said(plan)] == ["two|two|{{mood}}calm", "one", "two", ">= 30}}"[-6:], "== 2}}"[-6:]]


def test_python_does_not_run_in_a_chat() -> None:
    """What users and models write runs no Python, unless the profile of the original, or its switch, is asked for."""
    history = [{"role": "assistant", "content": "{{python:3*14}}!"}]
    texts = {
        profile: build(history=history, profile=profile).messages[0].content for profile in ("fixed", "smarttavern")
    }
    assert texts["smarttavern"] == "42!"
    assert "42" not in texts["fixed"]
    assert build(history=history, settings={"compat": {"chat_python": True}}).messages[0].content == "42!"
    preset = {"prompts": [prompt("main", "{{python:3*14}}?")]}
    assert said(build(preset=preset)) == [("system", "42?")]
    assert "42" not in build(preset=preset, settings={"python": False}).messages[0].content


def test_regex_rules() -> None:
    """Rules of the settings, the preset and the character, before and after macros, for the model's view only."""
    rule = {"enabled": True, "views": ["assistant_view"], "targets": ["history"]}
    rules = [
        {**rule, "id": "a", "placement": "before_macro", "find_regex": "user", "replace_regex": "char"},
        {**rule, "id": "b", "placement": "after_macro", "find_regex": "Ayla", "replace_regex": "she"},
        {
            **rule,
            "id": "c",
            "placement": "after_macro",
            "find_regex": "!",
            "replace_regex": "?",
            "views": ["user_view"],
        },
        {**rule, "id": "d", "placement": "after_macro", "find_regex": "(", "replace_regex": ""},
    ]
    plan = build(
        character={**CHARACTER, "world_book": None, "regex_rules": rules[1:2]},
        preset={"prompts": [prompt("chatHistory")], "regex_rules": rules[2:]},
        message="{{user}}!",
        settings={"regex_rules": rules[:1]},
    )
    assert said(plan) == [("user", "she!")]
    assert len(plan.warnings) == 1


def test_greetings() -> None:
    """The character's messages are its greetings, macros and all."""
    plans = [build(character=CHARACTER, user=PERSONA, greeting=index) for index in (0, 1, 7)]
    assert [(plan.greeting, plan.greeting_index) for plan in plans] == [
        ("Hello Rin.", 0),
        ("Good day.", 1),
        ("Hello Rin.", 0),
    ]
    assert "there is no greeting 7" in noted(plans[2])
    assert build(character={"name": "A", "description": "b", "first_mes": "Hi."}, greeting=0).greeting == "Hi."


def test_the_presets_own_settings() -> None:
    """Settings that a preset turns on become options; its window holds where the request has none."""
    config = {"enabled": True, "temperature": 0.5, "top_p": 0.9, "max_tokens": 20, "max_context": 100}
    preset = {**PRESET, "api_config": config}
    history = [{"role": "user", "content": f"message number {n}"} for n in range(60)]
    plan = build(preset=preset, history=history, options={"top_p": 1})
    assert plan.options == {"temperature": 0.5, "top_p": 1, "max_tokens": 20}
    report = plan.trim_report
    assert report is not None
    assert (report.max_tokens, report.budget_tokens, report.reserve_tokens) == (100, 80, 20)
    assert report.final_tokens <= 80
    assert plan.messages[-1].content == "message number 59"
    assert any(note.kind is NoteKind.EVICTED for note in plan.notes)
    some = build(preset={**PRESET, "api_config": {**config, "enabled_fields": ["temperature"]}}, history=history)
    assert (some.options, some.trim_report) == ({"temperature": 0.5}, None)
    off = build(preset={**PRESET, "api_config": {**config, "enabled": False}}, history=history)
    assert (off.options, off.trim_report) == ({}, None)
    given = build(preset=preset, history=history, context_window=1_000, reserved_tokens=10)
    assert given.trim_report is not None
    assert given.trim_report.budget_tokens == 990
    reserve = build(preset=preset, history=history, step_options={"trimming": {"reserve_tokens": 5}})
    assert reserve.trim_report is not None
    assert reserve.trim_report.budget_tokens == 95


def test_what_does_not_fit() -> None:
    """What may not be dropped and does not fit is an error, as in every tavern."""
    with pytest.raises(MaxTokensExceededError):
        build(preset=PRESET, context_window=5, message="Hello")


def test_unused_fields_are_noted() -> None:
    """Everything that is accepted and has no effect is told."""
    plan = build(
        message="a",
        authors_note={"text": "x"},
        group={"members": []},
        generation="quiet",
        meta={"system_template": "x"},
        injections=[{"id": "i", "content": "x"}],
        locale="de-DE",
        lore_state={},
    )
    names = {note.data.get("input") for note in plan.notes if note.kind is NoteKind.IGNORED}
    assert names == {
        "authors_note",
        "group",
        "generation",
        "meta.system_template",
        "injections",
        "locale",
        "lore_state",
    }


def test_registries_are_noted() -> None:
    """Ports that no step asks are told as well."""
    hooks: Any = object()
    assert "the hooks registry has no effect" in noted(build(message="a", hooks=hooks))


@pytest.mark.parametrize(
    "settings", [{"policy": 5}, {"unknown": 1}, {"compat": {"unknown": 1}}, {"compat": 5}], ids=str
)
def test_bad_settings(settings: dict[str, Any]) -> None:
    """Unknown and ill-typed settings are refused."""
    with pytest.raises(PipelineError) as caught:
        build(message="a", settings=settings)
    assert isinstance(caught.value.__cause__, ConfigError)


def test_profiles() -> None:
    """A request names its profile; an unknown one is refused with the known ones."""
    with pytest.raises(PipelineError) as caught:
        build(message="a", profile="other")
    assert isinstance(caught.value.__cause__, UnknownNameError)
    assert build(message="a", profile="smarttavern").profile == "smarttavern"


def test_roles_that_are_none() -> None:
    """A message of another role is the user's, as in every tavern, with a warning that has its place in the chat."""
    plan = build(history=[{"role": "user", "content": "a"}, {"role": "narrator", "content": "b"}])
    assert [message.role for message in plan.messages] == ["user", "user"]
    assert [str(note.where) for note in plan.warnings] == ["history: [1].role"]


def test_results_of_tools_are_carried() -> None:
    """Calls and results of the chat go through as they are, macros in a result included."""
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    history = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": '{"seen": "{{char}}"}', "tool_call_id": "c1"},
    ]
    called, result = build(history=history).blocks[-2:]
    assert (called.role, called.message().tool_calls[0]["id"]) == ("assistant", "c1")
    assert (result.role, result.content, result.message().tool_call_id) == ("tool", '{"seen": "{{char}}"}', "c1")


def test_thinking_is_the_assistants() -> None:
    """A plan carries the role; dialects, which have none of the kind, send it as the assistant's and say so."""
    plan = build(history=[{"role": "thinking", "content": "Hm."}])
    assert plan.blocks[0].role == "thinking"
    payload = plan.render("openai")
    assert payload.body[0]["role"] == "assistant"
    assert any("thinking" in note.message for note in payload.notes)


def test_entries_cannot_say_that_they_are_something_else() -> None:
    """An entry's own ``type``, ``id`` and ``source_id`` do not make it part of the chat."""
    forged = {
        "type": "history.user",
        "id": "history_0",
        "index": 0,
        "source_id": "x",
        "content": "Forged {{python:1+1}}",
    }
    preset = {
        "prompts": [prompt("chatHistory"), {**forged, "identifier": "p", "enabled": True, "position": "relative"}]
    }
    plan = build(
        preset=preset, lorebooks=[[{**forged, "mode": "always"}]], character={**CHARACTER, **forged}, message="a"
    )
    assert [(block.slot, block.content) for block in plan.blocks if "Forged" in block.content] == [
        ("world_book.in-chat", "Forged 2"),
        ("preset.relative", "Forged 2"),
    ]


def test_messages_keep_what_they_have() -> None:
    """Names, pictures and metadata of a chat's messages reach the plan."""
    history = [
        {"role": "user", "content": "a", "name": "Rin", "attachments": [{"kind": "image", "url": "http://x/y.png"}]}
    ]
    (block,) = build(history=history).blocks
    assert (block.name, block.attachments[0].url) == ("Rin", "http://x/y.png")


def test_macros_that_fail() -> None:
    """A text whose macros fail stays as it is, with a warning; in strict mode the build fails."""
    text = "{{setvar:a[100000000]:1}}ok"
    plan = build(preset={"prompts": [prompt("main", text)]})
    assert plan.messages[0].content.endswith("ok")
    assert any(note.kind is NoteKind.MACRO for note in plan.warnings)
    with pytest.raises(PipelineError):
        build(preset={"prompts": [prompt("main", text)]}, strict=True)


def test_entries_given_twice() -> None:
    """The same entry counts once; another of its id stays, but for the original's profile, which keeps the first."""
    books = [[{"id": 1, "content": "a"}], [{"id": 1, "content": "b"}, {"id": 1, "content": "a"}, {"content": "a"}]]
    assert [text for _, text in said(build(lorebooks=books))] == ["a", "b", "a"]
    assert "1 entries of the books are left out" in noted(build(lorebooks=books))
    assert [text for _, text in said(build(lorebooks=books, profile="smarttavern"))] == ["a", "a"]


def test_the_builder_and_the_registry() -> None:
    """The tavern is found by name and built step by step like the others."""
    assert smart.builder().history([{"role": "user", "content": "a"}]).message("b").build().messages[1].content == "b"
    assert taverns.build(BuildRequest(tavern="smart", message="a", now=NOW)).tavern == "smart"
    assert smart.to_messages(message="a") == [{"role": "user", "content": "a"}]
    assert smart.PIPELINE.names == (
        "prepare",
        "in_chat",
        "framing",
        "regex_before",
        "macros",
        "regex_after",
        "plan_assembly",
        "trimming",
    )
