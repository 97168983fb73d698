"""Defects of the system this tavern follows up on (`tavernkit.md` 21): one named test each that we do not have it."""

from __future__ import annotations

import copy
from typing import Any

from innkeeper.prompt import BuildRequest, FrozenDict, Message, Ports, TraceCollector
from innkeeper.taverns import silly
from tests.lore.books import entry
from tests.taverns.silly.builds import NOW, book, build, card, contents, request, turns


def embedded(*entries: dict[str, Any]) -> dict[str, Any]:
    """A card with these entries in its own book."""
    return card(character_book={"entries": list(entries), "extensions": {}})


def spec_entry(**fields: Any) -> dict[str, Any]:
    """A V2 book entry."""
    return {"keys": ["bell"], "content": "LORE", "enabled": True, "insertion_order": 1, "extensions": {}, **fields}


def test_b1_numeric_ids() -> None:
    """An entry with the number the specification asks for is used."""
    plan = build(character=embedded(spec_entry(id=7)), message="the bell")
    assert "LORE" in contents(plan)
    assert plan.lore.activated[0].uid == 7


def test_b2_entries_without_keys_and_world_files() -> None:
    """A constant without keys, and a world file whose entries are an object, are used."""
    constant = spec_entry(id=1, keys=[], constant=True)
    assert "LORE" in contents(build(character=embedded(constant), message="hi"))
    assert "E1" in contents(build(lorebooks=[book(entry(1, "bell"))], message="the bell"))


def test_b3_positions_of_the_specification() -> None:
    """``before_char``, ``after_char`` and none all reach the prompt, in their places."""
    entries = [
        spec_entry(id=place, content=f"AT {place}", position=place)
        if place
        else spec_entry(id="none", content="AT none")
        for place in ("before_char", "after_char", "")
    ]
    texts = contents(build(character=embedded(*entries), message="the bell"))
    joined = "\n".join(texts)
    assert all(f"AT {place}" in joined for place in ("before_char", "after_char", "none"))
    before, after = (next(i for i, t in enumerate(texts) if f"AT {p}_char" in t) for p in ("before", "after"))
    assert before < after


def test_b4_imported_constants_without_keys() -> None:
    """A world-info constant without keys is not dropped."""
    assert "E1" in contents(build(lorebooks=[book(entry(1, constant=True))], message="hi"))


def test_b5_the_depth_prompt_is_sent() -> None:
    """Not only scanned."""
    depth = {"depth_prompt": {"prompt": "Speaks slowly.", "depth": 0, "role": "system"}}
    assert contents(build(character=card(extensions=depth), message="hi"))[-1] == "Speaks slowly."


def test_b6_conditions_trims_and_dice_do_not_abort() -> None:
    """A false condition without an else, a scoped trim, an empty roll: the build goes on."""
    text = "a{{if 0}}x{{/if}}b{{trim}} c {{/trim}}{{roll:}}{{roll:none}}{{time}}"
    (said,) = [text for text in contents(build(message=text)) if text.startswith("ab")]
    assert "x" not in said


def test_b7_original_is_the_prompt_that_is_replaced() -> None:
    """Not the user's message; a prompt that forbids it is not replaced."""
    prompts = [{"identifier": "main", "content": "Be brief.", "role": "system", "system_prompt": True}]
    own = card(system_prompt="{{original}} And kind.")
    assert "Be brief. And kind." in contents(build(character=own, preset={"prompts": prompts}, message="hi"))
    prompts[0]["forbid_overrides"] = True
    assert "Be brief." in contents(build(character=own, preset={"prompts": prompts}, message="hi"))


def test_b8_chat_macros_see_the_chat() -> None:
    """They are not always empty."""
    prompts = [{"identifier": "main", "content": "Last: {{lastMessage}} ({{lastMessageId}})", "system_prompt": True}]
    plan = build(history=turns("one", "two"), preset={"prompts": prompts}, generation="quiet")
    assert "Last: two (1)" in contents(plan)


def test_b9_macros_in_any_case_and_their_warnings() -> None:
    """Dynamic macros match in any case; what a macro has to say is in the plan's warnings."""
    plan = build(macro_vars={"weatherToday": "rain"}, message="It is {{WEATHERTODAY}} {{nobody}}")
    assert "It is rain {{nobody}}" in contents(plan)
    assert "nobody" in " ".join(map(str, plan.warnings))


def test_b10_in_chat_prompts_are_sent_once() -> None:
    """A prompt at a depth that has content stands there only."""
    prompts = [{"identifier": "main", "content": "MAIN", "injection_position": 1, "injection_depth": 0}]
    texts = contents(build(preset={"prompts": prompts}, message="hi"))
    assert texts.count("MAIN") == 1
    assert texts[-1] == "MAIN"


def test_b11_sampling_settings_leave_the_preset() -> None:
    """They are in the request, and the request's own options win."""
    preset = {"temperature": 0.7, "top_p": 0.9}
    plan = build(preset=preset, options={"top_p": 0.5, "extra": 1}, message="hi")
    assert {"temperature": 0.7, "top_p": 0.5, "extra": 1}.items() <= dict(plan.options).items()


def test_b12_squashing_is_the_presets_choice() -> None:
    """Neighbouring system prompts join when it says so; separators stay apart."""
    fields: dict[str, Any] = {
        "character": card(description="One.", personality="Two."),
        "message": "hi",
    }
    apart = contents(build(**fields, preset={"squash_system_messages": False}))
    squashed = contents(build(**fields, preset={"squash_system_messages": True, "new_chat_prompt": "[start]"}))
    assert {"One.", "Two."} <= set(apart)
    assert "One.\nTwo." in squashed
    assert "[start]" in squashed


def test_b13_groups_join_all_four_fields() -> None:
    """Personality and scenario too, not the speaker's own alone."""
    members = [
        {"card": {"name": name, "description": f"D{name}", "personality": f"P{name}", "scenario": f"S{name}"}}
        for name in ("A", "B")
    ]
    joined = "\n".join(contents(build(group={"members": members, "speaker": 0, "generation_mode": 1}, message="hi")))
    assert all(f"{field}{name}" in joined for field in "DPS" for name in "AB")


def test_b14_the_trace_has_the_steps() -> None:
    """Each step with its time, in order."""
    plan = build(Ports(instrumenter=TraceCollector()), message="hi")
    assert plan.trace is not None
    assert [step.name for step in plan.trace.steps] == [*silly.PIPELINE.names, "fit"]


def test_b16_tool_calls_stay_with_their_results() -> None:
    """A call and its results are sent or left out together, and examples whole with their heading."""
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    said = [
        Message("user", "first " * 40),
        Message("assistant", "", metadata=FrozenDict(tool_calls=[call])),
        Message("tool", "a result " * 30, metadata=FrozenDict(tool_call_id="c1")),
        Message("user", "last"),
    ]
    long = ("long " * 60).strip()
    examples = card(mes_example=f"<START>\n{{{{user}}}}: a\n{{{{char}}}}: b\n<START>\n{{{{user}}}}: {long}")
    seen = set()
    for window in range(80, 480, 8):
        preset: dict[str, Any] = {"openai_max_context": window, "openai_max_tokens": 10, "function_calling": True}
        preset["new_example_chat_prompt"] = "EX"
        warned = {"trimming": {"on_overflow": "warn"}}
        plan = build(history=said, preset=preset, character=examples, step_options=warned)
        sent = plan.to_messages("openai")
        calls, results = (sum(key in message for message in sent) for key in ("tool_calls", "tool_call_id"))
        assert calls == results
        texts = [message["content"].strip() for message in sent]
        assert texts.count("EX") == sum(text in ("a", long) for text in texts)
        seen.add(calls)
    assert seen == {0, 1}


def test_b17_replacements_are_taken_literally() -> None:
    """A backslash in lore or in the format around it stays one."""
    lore = book(entry(1, "bell", content=r"C:\1\g<0>\n $1"))
    assert r"(C:\1\g<0>\n $1)" in contents(build(lorebooks=[lore], preset={"wi_format": "({0})"}, message="the bell"))


def test_b20_names_of_months_stay_whole() -> None:
    """Letters in the name of a month are not read as parts of the format."""
    text = "{{datetimeformat MMMM D}}"
    assert "April 9" in contents(build(message=text, now="2026-04-09T00:00:00Z"))
    assert "August 9" in contents(build(message=text, now="2026-08-09T00:00:00Z"))


def test_b28_dice_are_bounded() -> None:
    """Dice without end are not thrown, and the build goes on."""
    said = contents(build(message="{{roll::999999999999d6}} so be it"))
    assert any(text.endswith("so be it") for text in said)


def test_b23_the_callers_options_are_not_changed() -> None:
    """Nor anything else that was given."""
    given = {
        "tavern": "silly",
        "character": card(description="x"),
        "options": {"top_p": 0.5, "logit_bias": {"1": 2}},
        "preset": {"temperature": 0.7, "prompts": [{"identifier": "main", "content": "x"}]},
        "history": turns("a", "b"),
        "variables": {"local": {"n": 1}},
        "message": "{{incvar::n}}",
        "now": NOW,
    }
    before = copy.deepcopy(given)
    built = BuildRequest.of(given)
    silly.build(built)
    silly.builder().options(given["options"]).message("hi").build()
    assert given == before


def test_b27_lore_at_one_depth_stands_by_order() -> None:
    """Not by id."""
    entries = (
        entry(1, "bell", content="late", order=90, position=4, depth=0, role=0),
        entry(2, "bell", content="early", order=10, position=4, depth=0, role=0),
    )
    assert contents(build(lorebooks=[book(*entries)], message="the bell"))[-1] == "early\nlate"


def test_requests_are_reusable() -> None:
    """Building twice gives the same bytes: nothing of the first build stays behind."""
    given = request(history=turns("a", "b", "c"), message="{{random::x::y::z}} {{setvar::k::v}}{{getvar::k}}")
    assert silly.build(given).fingerprint() == silly.build(given).fingerprint()
