"""Regex scripts at work in a build: what they change, when, for whom, and what stops them."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.prompt import NoteKind
from innkeeper.prompt.errors import PipelineError, StrictModeError
from innkeeper.prompt.plan import Plan
from innkeeper.taverns.silly.scripts import run as scripts
from tests.taverns.silly.builds import book, build, card, contents, request, turns


def script(find: str, replace: str, *placement: int, **fields: Any) -> dict[str, Any]:
    """A script for prompts with these placements, or for what is said."""
    named = {"scriptName": "s", "findRegex": find, "replaceString": replace, "trimStrings": []}
    return {**named, "placement": placement or (1, 2), "promptOnly": True, **fields}


def said(plan: Plan) -> list[str]:
    """The chat's lines as they are sent."""
    return [block.content for block in plan.sent_blocks() if block.source == "history"]


def settings(*listed: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Settings with these global scripts."""
    return {"settings": {"regex": listed, **more}}


def test_lines_are_rewritten() -> None:
    """A script for prompts changes every line within its reach, which stays a line of the history."""
    plan = build(history=turns("a cat", "no dog"), message="cats", **settings(script("/cat|dog/g", "[$0]")))
    assert said(plan) == ["a [cat]", "no [dog]", "[cat]s"]
    block = next(block for block in plan.blocks if block.content == "a [cat]")
    assert str(block.origin) == "history[0]"
    assert plan.request is not None
    assert plan.request.history[0].content == "a cat"


def test_who_has_rewritten_a_line() -> None:
    """A message names the scripts that changed it, in their order, those for what is stored first; others name none."""
    listed = (
        script("cat", "tiger", scriptName="first"),
        script("zebra", "x", scriptName="idle"),
        script("tiger", "lion", scriptName="second"),
        script("cats", "cat", scriptName="stored", promptOnly=False),
    )
    for _ in range(2):  # the second time from what is kept
        plan = build(history=turns("a cat", "no dog"), message="cats", **settings(*listed))
        named = [block.metadata.get("scripts") for block in plan.sent_blocks() if block.source == "history"]
        assert named == [("first", "second"), None, ("stored", "first", "second")]


@pytest.mark.parametrize(
    ("fields", "lines"),
    [
        ({}, ["A b", "a b", "A b"]),
        ({"promptOnly": True}, ["A b", "A b", "A b"]),
        ({"promptOnly": True, "maxDepth": 0}, ["a b", "a b", "A b"]),
        ({"promptOnly": True, "minDepth": 1}, ["A b", "A b", "a b"]),
        ({"promptOnly": True, "placement": [2]}, ["a b", "A b", "a b"]),
        ({"markdownOnly": True}, ["a b", "a b", "a b"]),
        ({"promptOnly": True, "disabled": True}, ["a b", "a b", "a b"]),
    ],
    ids=["stored", "prompt", "newest", "older", "output", "display", "off"],
)
def test_which_lines(fields: dict[str, Any], lines: list[str]) -> None:
    """A script without flags changes what is typed alone; depths and placements choose among the others."""
    plan = build(
        history=turns("a b", "a b"), message="a b", **settings(script("a", "A", **{"promptOnly": False, **fields}))
    )
    assert said(plan) == (lines if fields else ["a b", "a b", "A b"])


def test_order_of_sources() -> None:
    """Global scripts run first, then the preset's, then the card's, each on what the one before left."""
    steps = [script("0", "01"), script("01", "012"), script("012", "0123")]
    plan = build(
        message="0",
        character=card(extensions={"regex_scripts": [steps[2]]}),
        preset={"name": "P", "extensions": {"regex_scripts": [steps[1]]}},
        **settings(steps[0], character_allowed_regex=["Mira.png"], preset_allowed_regex={"openai": ["P"]}),
    )
    assert said(plan) == ["0123"]
    assert not [note for note in plan.notes if "regex" in note.message]


@pytest.mark.parametrize("allowed", [None, [], ["Nell.png"], False])
def test_a_strangers_scripts_are_off(allowed: Any) -> None:
    """A card's scripts do not run unless they are allowed, and a note says how."""
    own = [script("a", "b"), script("c", "d", disabled=True)]
    plan = build(
        message="a",
        character=card(extensions={"regex_scripts": own}),
        settings={"character_allowed_regex": allowed} if allowed is not None else {},
    )
    assert said(plan) == ["a"]
    [note] = [note for note in plan.notes if "regex" in note.message]
    assert note.kind is NoteKind.IGNORED
    assert note.data["scripts"] == ("s",)
    assert "character_allowed_regex" in (note.hint or "")


def test_a_preset_without_a_name() -> None:
    """It goes by the name that the original gives the one it starts with; ``true`` allows any."""
    preset = {"extensions": {"regex_scripts": [script("a", "b")]}}
    for allowed in ({"openai": ["Default"]}, True):
        assert said(build(message="a", preset=preset, settings={"preset_allowed_regex": allowed})) == ["b"]
    [note] = [note for note in build(message="a", preset=preset).notes if "regex" in note.message]
    assert "the preset's" in note.message


def test_switched_off() -> None:
    """Where the extension is off nothing runs, which is noted."""
    plan = build(message="a", **settings(script("a", "b"), disabled_extensions=["regex"]))
    assert said(plan) == ["a"]
    assert "disabled_extensions" in plan.notes[-1].message


def test_macros() -> None:
    """Lines are matched before their macros, replacements have theirs replaced, oldest line first."""
    listed = script("{{user}}", "x"), script("/q/g", "{{incvar::n}}")
    plan = build(history=turns("{{user}} q", "q"), message="q", **settings(*listed), variables={"local": {"n": 0}})
    assert said(plan) == ["Sam 1", "2", "3"]
    assert plan.variables["local"]["n"] == 3


@pytest.mark.parametrize(("macros", "line"), [(0, "S.m Sxm"), (1, "! Sxm"), (2, "! Sxm")])
def test_macros_in_patterns(macros: int, line: str) -> None:
    """They are part of the pattern, or give it, or give a text for it."""
    plan = build(message="S.m Sxm", user={"name": "S.m"}, **settings(script("{{user}}", "!", substituteRegex=macros)))
    assert said(plan) == [line]


def test_lore() -> None:
    """The scan sees rewritten lines; an entry's text is rewritten after its macros; an emptied one has fired all the same."""
    entries = [
        {"uid": 0, "key": ["dog"], "content": "of {{user}}"},
        {"uid": 1, "key": [], "constant": True, "content": "gone"},
        {"uid": 2, "key": [], "constant": True, "content": "at depth", "position": 4, "depth": 3},
    ]
    listed = script("cat", "dog"), script("Sam", "Tom", 5), script("gone", "", 5), script("depth", "", 5, minDepth=4)
    plan = build(message="cat", lorebooks=[book(*entries)], **settings(*listed))
    assert {item.uid for item in plan.lore.activated} == {0, 1, 2}
    assert "of Tom" in contents(plan)
    assert "at depth" in contents(plan)
    assert not [text for text in contents(plan) if "gone" in text]


def test_reasoning() -> None:
    """What was thought is rewritten by scripts for reasoning, as far as it is added."""
    history = [{"role": "assistant", "content": "x", "extra": {"reasoning": "secret plan"}}]
    rule = {"add_to_prompts": True, "prefix": "<", "suffix": ">", "separator": " "}
    plan = build(history=history, message="y", **settings(script("secret ", "", 6), power_user={"reasoning": rule}))
    assert said(plan) == ["<plan> x", "y"]


@pytest.mark.parametrize(("most", "times"), [(None, 1), (0, 1), (1, 1), (2, 2), (5, 3)])
def test_how_much_reasoning_is_rewritten(most: int | None, times: int) -> None:
    """From the newest message on until enough is added; the newest one's even where none is."""
    history = [{"role": "assistant", "content": "x", "extra": {"reasoning": "cat"}} for _ in range(2)]
    history.append({"role": "assistant", "content": "x", "extra": {}})
    rule = {"add_to_prompts": most is not None, "max_additions": most or 0}
    power = {"reasoning": rule}
    plan = build(
        history=[*history, {"role": "assistant", "content": "x", "extra": {"reasoning": "a cat"}}],
        **settings(script("cat", "{{incvar::n}}", 6), power_user=power),
    )
    assert plan.variables["local"]["n"] == times


def test_a_line_that_is_emptied_is_left_out() -> None:
    """Nothing is sent for it."""
    assert said(build(history=turns("cat", "dog"), message="x", **settings(script("cat", "")))) == ["dog", "x"]


@pytest.mark.parametrize(("profile", "line"), [("sillytavern-1.19", "<2|x cat|>"), ("fixed", "<||>")])
def test_groups_run_on(profile: str, line: str) -> None:
    """Past the last group the original counts on: where the match stands, then the whole text."""
    plan = build(message="x cat", profile=profile, **settings(script("/x (cat)/", "<$2|$3|$4>")))
    assert said(plan) == ["<|x cat|>" if profile != "fixed" else "<||>"]
    plan = build(message="x cat", profile=profile, **settings(script("cat", "<$1|$2|$3>")))
    assert said(plan) == [f"x {line}"]


def test_trims() -> None:
    """They are cut out of what is put in, never out of the replacement itself; their macros are replaced."""
    plan = build(message='"cat Sam"', **settings(script('".*"', "a$0a", trimStrings=["{{user}}", '"', " ", "a"])))
    assert said(plan) == ["acta"]


@pytest.mark.parametrize(
    ("limit", "find", "why"),
    [
        ("MAX_GROWTH", "/./g", "characters"),
        ("MAX_SCRIPTS", "(a+)+$", "took more"),
    ],
    ids=["growth", "steps of matching"],
)
def test_limits(monkeypatch: pytest.MonkeyPatch, limit: str, find: str, why: str) -> None:
    """A script that is too costly leaves texts as they were, which one warning says; with ``strict`` it is an error."""
    monkeypatch.setattr(scripts, limit, 1 if limit == "MAX_SCRIPTS" else -1)
    lines = [f"{'a' * 60}!{number}" for number in range(3)]
    plan = build(history=turns(*lines), message="b", **settings(script(find, "$0$0")))
    assert said(plan)[:3] == lines
    [note] = [note for note in plan.warnings if note.kind is NoteKind.LIMIT]
    assert why in note.message
    with pytest.raises(PipelineError) as caught:
        build(history=turns(*lines), message="b", strict=True, **settings(script(find, "$0$0")))
    assert isinstance(caught.value.__cause__, StrictModeError)


def test_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the most that run, scripts are left out with a warning."""
    monkeypatch.setattr(scripts, "MAX_SCRIPTS", 1)
    plan = build(message="a c", **settings(script("a", "b"), script("c", "many")))
    assert said(plan) == ["b c"]
    assert plan.warnings[0].kind is NoteKind.LIMIT


def test_results_are_kept() -> None:
    """A line's result is used again in the next build where no macro had a say in it, and not where one had."""
    counted = settings(script("/a/g", "{{incvar::n}}"), script("b", "{{user}}"))
    for _ in range(2):
        assert said(build(history=turns("a", "b"), message="b", **counted)) == ["1", "Sam", "Sam"]
    named = {**counted, "user": {"name": "Ann"}}
    assert said(build(history=turns("a", "b"), message="b", **named)) == ["1", "Ann", "Ann"]


@pytest.mark.parametrize("generation", ["normal", "continue"])
def test_a_chat_that_grows(monkeypatch: pytest.MonkeyPatch, generation: str) -> None:
    """What is kept of a chat's beginning changes nothing: depths are those of each build, edits and other chats are seen."""
    monkeypatch.setattr(scripts, "_GROWN", 2)
    listed = (script("a", "near", maxDepth=3), script("b", "far", minDepth=6), script("c", "{{incvar::n}}", minDepth=2))
    texts = [f"a b {number}" for number in range(20)]
    chats = [texts[:length] for length in range(1, 21)]
    chats += [texts[:15], [*texts[:2], "edited b", *texts[3:]], texts, [*texts[:12], "b c", *texts[12:]], texts[5:]]
    kept = [said(build(history=turns(*chat), generation=generation, **settings(*listed))) for chat in chats]
    for chat, lines in zip(chats, kept, strict=True):
        scripts._CHATS.clear()
        assert lines == said(build(history=turns(*chat), generation=generation, **settings(*listed)))


def test_findings_are_warnings() -> None:
    """What is wrong in a script that may run is said."""
    plan = build(message="a", **settings({"findRegex": "a"}))
    assert "placement" in plan.warnings[0].message
    assert said(plan) == ["a"]


def test_a_half_of_a_character() -> None:
    """Where a script leaves half of a character, it is replaced: no text can hold it."""
    assert said(build(message="\U0001f600", **settings(script("/./g", "$0-")))) == ["\ufffd-\ufffd-"]


def test_display_has_effects() -> None:
    """What is typed is shown before it is sent: macros of scripts for display have their effects on it."""
    plan = build(message="a", **settings(script("a", "{{incvar::n}}", markdownOnly=True, promptOnly=False)))
    assert said(plan) == ["a"]
    assert plan.variables["local"]["n"] == 1


def test_requests_stay_data() -> None:
    """A request with scripts replays."""
    asked = request(message="a", **settings(script("a", "b")))
    assert asked.to_dict()["settings"]["regex"][0]["findRegex"] == "a"
