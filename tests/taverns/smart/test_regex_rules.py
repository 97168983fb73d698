"""Regex rules of the smart tavern: which run, on what, and what becomes of the ones that cannot."""

from __future__ import annotations

import copy
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt.allowance import AllowanceError
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.prompt.note import Note
from innkeeper.taverns.smart import ShapeError, SmartOptions, apply_messages, apply_text, postprocess_apply, regex_rules
from innkeeper.text.pyregex import PatternLimitError
from tests.taverns.smart.json_values import VALUES, objects


def rule(find: Any = "foo", replace: Any = "X", **fields: Any) -> dict[str, Any]:
    """A rule that runs, unless ``fields`` say otherwise."""
    return {
        "id": "r",
        "enabled": True,
        "find_regex": find,
        "replace_regex": replace,
        "placement": "before_macro",
        "views": ["user_view"],
        "targets": [],
        **fields,
    }


def message(content: Any, kind: str = "history.user", role: str = "user", **source: Any) -> dict[str, Any]:
    """A message with its source."""
    return {"role": role, "content": content, "source": {"type": kind, **source}}


@dataclass
class Case:
    name: str
    rules: Any
    expected: str
    text: Any = "foo"
    placement: Any = "before_macro"
    view: Any = "user_view"
    variables: dict[str, Any] = field(default_factory=dict)


TEXTS = [
    Case("replaces", [rule()], "X"),
    Case("in a container", {"regex_rules": [rule()]}, "X"),
    Case("in another container", {"items": [rule()]}, "foo"),
    Case("no rules", None, "foo"),
    Case("no object among them", ["foo", rule()], "X"),
    Case("in their order", [rule(replace="bar"), rule("bar", "baz")], "baz"),
    Case("enabled is true itself", [rule(enabled=1)], "foo"),
    Case("another placement", [rule(placement="after_macro")], "foo"),
    Case("placement in any case", [rule(placement="BEFORE_macro")], "X", placement="Before_Macro"),
    Case("unknown placement", [rule(placement="never")], "foo", placement="never"),
    Case("no placement", [rule()], "foo", placement=None),
    Case("unknown view", [rule(views=["all"])], "foo", view="all"),
    Case("view of another type", [rule()], "foo", view=["user_view"]),
    Case("another view", [rule(views=["assistant_view"])], "foo"),
    Case("views that are no list", [rule(views="user_view")], "foo"),
    Case("empty pattern", [rule("")], "foo"),
    Case("pattern that is a number", [rule(5)], "a X", text="a 5"),
    Case("targets and depths do not count", [rule(targets=["x"], min_depth=9)], "X"),
    Case("unknown mode", [rule(mode="sometimes")], "foo"),
    Case("mode in any case", [rule(mode="ALWAYS")], "X"),
    Case("condition holds", [rule(mode="conditional", condition="{{getvar:on}}")], "X", variables={"on": True}),
    Case("condition does not hold", [rule(mode="conditional", condition="{{getvar:on}}")], "foo"),
    Case("condition missing", [rule(mode="conditional")], "foo"),
    Case("condition is true itself", [rule(mode="Conditional", condition=True)], "X"),
    Case(
        "conditions do not see each other's writes",
        [rule(mode="conditional", condition="{{setvar:on:1}}"), rule(mode="conditional", condition="{{getvar:on}}")],
        "foo",
    ),
    Case("groups", [rule("(f)(o+)", "$2-$1")], "oo-f"),
    Case("whole match", [rule("o+", "[$0]")], "f[oo]"),
    Case("two digits of a group", [rule("(f)", "$11")], "foo"),
    Case("escapes", [rule("f", r"\n$")], "\n$oo"),
    Case("replacement missing", [{**rule(), "replace_regex": None}], ""),
    Case("number in place of a text", [rule("5", "6")], "6", text=5),
    Case("nothing in place of a text", [rule("^$", "empty")], "empty", text=None),
    Case("a later rule after one left out", [rule("("), rule()], "X"),
]


@pytest.mark.parametrize("case", TEXTS, ids=lambda case: case.name)
def test_texts(case: Case) -> None:
    """Which rules change a text, and how."""
    answer = apply_text(case.rules, case.placement, case.view, case.text, case.variables)
    assert answer == {"text": case.expected}


MESSAGES = [
    message("foo 0", "preset.relative", "user", position="relative"),
    message("foo 1"),
    message("foo 2", "world_book.in-chat", "system"),
    message("foo 3", "history.assistant", "assistant"),
    message("foo 4", "preset.in-chat", "system"),
]


@dataclass
class Reach:
    name: str
    fields: dict[str, Any]
    places: set[int]


REACHES = [
    Reach("all", {}, {0, 1, 2, 3, 4}),
    Reach("after the last anchor", {"max_depth": 0}, {4}),
    Reach("the last anchor and up to the one before", {"min_depth": 1, "max_depth": 1}, {2, 3}),
    Reach("deeper", {"min_depth": "2"}, {0, 1}),
    Reach("depths that are no numbers", {"min_depth": "a", "max_depth": []}, {0, 1, 2, 3, 4}),
    Reach("no depths", {"min_depth": None, "max_depth": None}, {0, 1, 2, 3, 4}),
    Reach("family", {"targets": ["HISTORY"]}, {1, 3}),
    Reach("type", {"targets": ["history.user", "preset.in-chat"]}, {1, 4}),
    Reach("neither", {"targets": ["in-chat"]}, set()),
    Reach("no list", {"targets": "history"}, {0, 1, 2, 3, 4}),
    Reach("nothing in the list", {"targets": [None]}, set()),
]


@pytest.mark.parametrize("reach", REACHES, ids=lambda reach: reach.name)
def test_reach(reach: Reach) -> None:
    """Which messages a rule reaches; relative presets are no anchors of depth."""
    found = apply_messages([rule(**reach.fields)], "before_macro", "user_view", MESSAGES)["message"]
    assert {place for place, item in enumerate(found) if item["content"].startswith("X")} == reach.places


def test_a_source_that_is_no_object_is_left_alone() -> None:
    """What comes from nowhere we know is reached by no rule; an empty source is like none."""
    sources: list[Any] = ["?", 5, "", None, []]
    given = [{"role": "user", "content": "foo", "source": source} for source in sources]
    found = apply_messages([rule()], "before_macro", "user_view", given)["message"]
    assert [item["content"] for item in found] == ["foo", "foo", "X", "X", "X"]


def test_types_and_targets_of_other_kinds_compare_as_text() -> None:
    """A number is its digits, nothing is ``none``, a type that is missing an empty text."""
    given = [{"role": "user", "content": "foo", "source": source} for source in ({"type": 5}, {"type": None}, {})]
    for target, changed in ((5, [0]), ("None", [1]), ("", [2])):
        found = apply_messages([rule(targets=[target, None])], "before_macro", "user_view", given)["message"]
        assert [place for place, item in enumerate(found) if item["content"] == "X"] == changed


def test_messages_keep_what_no_rule_changes() -> None:
    """Keys, their order, and contents that are no text stay where nothing is replaced; the caller's are not changed."""
    given: list[dict[str, Any]] = [{"source": "?", "content": 42, "extra": [1]}, {"role": None}, message(None)]
    before = copy.deepcopy(given)
    found = apply_messages([rule("x", "y")], "before_macro", "user_view", given)["message"]
    assert found == given == before
    assert [list(item) for item in found] == [list(item) for item in given]


def test_no_messages() -> None:
    """What is no list of messages gives none; what is not a message is refused with its place."""
    assert apply_messages([], "before_macro", "user_view", {"a": 1}) == {"message": []}
    with pytest.raises(ShapeError) as caught:
        apply_messages([], "before_macro", "user_view", [message("a"), "b"])
    assert "messages[1]" in str(caught.value)


@dataclass
class Bad:
    name: str
    rule: dict[str, Any]
    words: str
    text: str = "foo"


BADS = [
    Bad("malformed", rule("(", name="Broken"), "not a regular expression"),
    Bad("unknown group", rule("foo", "$1"), "names the group"),
    Bad("bad escape", rule("foo", r"\q"), "bad escape"),
    Bad("too long", rule("a" * 20_000), "MAX_PATTERN_CHARS"),
    Bad("written out", rule("(a{9999}){9999}"), "MAX_PATTERN_REPEATS"),
    Bad("too much output", rule("(?:)", "y" * 60_000), "MAX_PATTERN_OUTPUT", "x" * 100),
]


@pytest.mark.parametrize("bad", BADS, ids=lambda bad: bad.name)
def test_bad_rules_are_left_out(bad: Bad) -> None:
    """A rule that cannot run changes nothing, and a note says which and why."""
    notes: list[Note] = []
    assert apply_text([bad.rule], "before_macro", "user_view", bad.text, notes=notes) == {"text": bad.text}
    assert len(notes) == 1
    assert bad.words in notes[0].message
    assert "regex_rules[0]" in str(notes[0])


def test_an_endless_search_ends_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that runs out of time fails the whole: no text depends on how quick the machine is."""
    monkeypatch.setattr(regex_rules, "MAX_PATTERN_SECONDS", 0.05)
    messages = [message("aab"), message("a" * 80 + "b")]
    with pytest.raises(AllowanceError):
        apply_messages([rule("(a|aa)+$|b", "X"), rule("b", "c")], "before_macro", "user_view", messages)


def test_many_endless_searches_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules of a call have a time limit together, which is an error and no silence."""
    monkeypatch.setattr(regex_rules, "MAX_RULES_SECONDS", 0.1)
    with pytest.raises(PatternLimitError) as caught:
        apply_text([rule("(a|aa)+$")] * 50, "before_macro", "user_view", "a" * 80 + "b")
    assert caught.value.limit == "MAX_RULES_SECONDS"


RULES = st.lists(
    objects(
        enabled=st.just(True),
        find_regex=VALUES,
        replace_regex=VALUES,
        placement=st.just("before_macro"),
        views=st.one_of(st.just(["user_view"]), VALUES),
        targets=VALUES,
        min_depth=VALUES,
        max_depth=VALUES,
        mode=VALUES,
        condition=VALUES,
    ),
    max_size=3,
)


@given(st.one_of(RULES, VALUES), st.one_of(st.lists(objects(role=VALUES, content=VALUES, source=VALUES)), VALUES))
def test_anything_goes_in(rules: Any, messages: Any) -> None:
    """Whatever comes in, there is an answer or a typed error, and nothing of the caller's is changed."""
    before = copy.deepcopy((rules, messages))
    with suppress(InnkeeperError):
        answer = apply_messages(rules, "before_macro", "user_view", messages)
        assert len(answer["message"]) == (len(messages) if isinstance(messages, list) else 0)
    assert (rules, messages) == before


def postprocess_rule(find: str, replace: str, placement: str, **fields: Any) -> dict[str, Any]:
    """A rule for both views."""
    views = ["user_view", "assistant_view"]
    return {
        "enabled": True, "find_regex": find, "replace_regex": replace, "placement": placement, "views": views, **fields
    }  # fmt: skip


POSTPROCESS_MESSAGES = [
    {"role": "user", "content": "{{setvar:a:1}}hp", "source": {"type": "history.user"}},
    {"role": "assistant", "content": "{{getvar:a}}", "extra": 1},
]


def test_rules_run_on_both_sides_of_the_macros() -> None:
    """A rule before can write a macro; a rule after sees what macros gave."""
    rules = [postprocess_rule("hp", "{{getvar:hp}}", "before_macro"), postprocess_rule("^1$", "one", "after_macro")]
    found = postprocess_apply(POSTPROCESS_MESSAGES, rules, "user_view", {"hp": 7})
    assert [message["content"] for message in found["message"]] == ["7", "one"]
    assert found["message"][1]["extra"] == 1
    assert found["variables"] == {"initial": {"hp": 7}, "final": {"hp": 7, "a": "1"}}


def test_conditions_see_the_variables_that_came_in() -> None:
    """A variable set by a macro does not switch a rule on in the same call."""
    rules = [postprocess_rule("hp", "X", "after_macro", mode="conditional", condition="{{getvar:a}}")]
    found = postprocess_apply([{"role": "user", "content": "{{setvar:a:true}}hp"}], rules, "user_view")
    assert found["message"][0]["content"] == "hp"


def test_the_arguments_stay() -> None:
    """Neither messages nor variables are changed, nor shared with the answer."""
    messages, variables = copy.deepcopy(POSTPROCESS_MESSAGES), {"deep": {"a": [1]}}
    given = [*messages, {"role": "user", "content": "{{setvar:deep.a[0]:2}}"}]
    before = copy.deepcopy(given)
    found = postprocess_apply(given, [], "user_view", variables)
    found["message"][0]["source"]["type"] = "changed"
    assert given == before
    assert variables == {"deep": {"a": [1]}}


def test_values_are_scanned_again_only_by_the_original() -> None:
    """What a variable holds is text; with the original's profile it may hold macros."""
    messages = [{"role": "user", "content": "{{getvar:x}}"}]
    variables = {"x": "{{upper:a}}"}
    shown = [
        postprocess_apply(messages, [], "user_view", variables, options=SmartOptions.of(profile))["message"][0]
        for profile in ("fixed", "smarttavern")
    ]
    assert [message["content"] for message in shown] == ["{{upper:a}}", "A"]


def test_postprocess_no_messages() -> None:
    """Nothing in, nothing out."""
    assert postprocess_apply(None, [], "user_view")["message"] == []


@pytest.mark.parametrize(
    ("message", "runs"),
    [
        ({"role": "user", "source": {"type": "history.user"}}, False),
        ({"role": "system", "source": {"type": "History.system"}}, False),
        ({"role": "assistant"}, False),
        ({"role": "user", "source": {"type": 5}}, False),
        ({"role": "system"}, True),
        ({"role": "user", "source": {"type": "preset.in-chat"}}, True),
        ({"role": "user", "source": {"type": "world_book.in-chat"}}, True),
    ],
)
def test_python_runs_in_assets_only(message: dict[str, Any], runs: bool) -> None:
    """What users and models wrote runs no Python; their other macros work. With the original's profile it does."""
    given = [{**message, "content": "{{upper:a}}{{python:3*14}}"}]
    notes: list[Note] = []
    found = postprocess_apply(given, [], "user_view", notes=notes)["message"][0]["content"]
    assert (found == "A42") is runs
    assert bool(notes) is not runs
    original = postprocess_apply(given, [], "user_view", options=SmartOptions.of("smarttavern"))
    assert original["message"][0]["content"] == "A42"


def test_a_message_whose_macros_fail_stays() -> None:
    """It stays as it was, with a note of its place; the others go on."""
    notes: list[Note] = []
    messages = [{"role": "user", "content": "{{setvar:a[-1]:1}}"}, {"role": "user", "content": "{{upper:a}}"}]
    found = postprocess_apply(messages, [], "user_view", {"a": []}, notes=notes)
    assert [message["content"] for message in found["message"]] == ["{{setvar:a[-1]:1}}", "A"]
    assert len(notes) == 1


def test_what_is_no_message_is_left_out() -> None:
    """It is left out with a note of its place; the others stay."""
    notes: list[Note] = []
    found = postprocess_apply([{"role": "user", "content": "a"}, "b"], [], "user_view", notes=notes)
    assert found["message"] == [{"role": "user", "content": "a"}]
    assert "messages[1]" in str(notes[0])
    assert postprocess_apply({"a": 1}, [], "user_view")["message"] == []
