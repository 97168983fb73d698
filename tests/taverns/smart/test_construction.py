"""Construct: the document's example, bad input, determinism, nothing shared, verdicts."""

from __future__ import annotations

import copy
import json
import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt.errors import InnkeeperError, LimitError
from innkeeper.taverns.smart import Compat, ConditionRule, ShapeError, SmartOptions, construct, construct_explained

HISTORY = [{"role": "system", "content": "系统开场"}, {"role": "user", "content": "你好艾拉"}]


def prompt(**fields: Any) -> dict[str, Any]:
    """An in-chat prompt."""
    return {"position": "in-chat", "enabled": True, "role": "system", "content": "P", **fields}


def entry(**fields: Any) -> dict[str, Any]:
    """A book's entry that is always in."""
    return {"id": 1, "mode": "always", "position": "system", "enabled": True, "content": "W", **fields}


def contents(made: dict[str, Any]) -> list[str]:
    """The texts of the messages."""
    return [message["content"] for message in made["messages"]]


def test_the_documents_example() -> None:
    """The request of the document gives its response."""
    presets = [prompt(depth=0, order=98, identifier="示例", content="系统注入示例")]
    condition = {"condition": "<<keywords:艾拉,工程师>>", "mode": "conditional"}
    book = entry(id=2, name="艾拉的背景", content="艾拉是机械工程师", position="user", depth=0, order=101, **condition)
    made = construct(HISTORY, presets, [[book]])["messages"]
    assert [(m["role"], m["content"], m["source"]["type"], m["source"]["id"]) for m in made] == [
        ("system", "系统开场", "history.system", "history_0"),
        ("user", "你好艾拉", "history.user", "history_1"),
        ("system", "系统注入示例", "preset.in-chat", "preset_示例"),
        ("user", "艾拉是机械工程师", "world_book.in-chat", "wb_2"),
    ]
    assert made[3]["source"]["wb_id"] == 2
    assert made[3]["source"]["role"] == "user"


def test_the_worked_example() -> None:
    """Order, then role, then place; each depth a group (smarttavern.md 2.8)."""
    history = [{"role": role, "content": text} for role, text in (("user", "1"), ("assistant", "2"), ("user", "3"))]
    presets = [
        prompt(content="p1", order=10, role="user", depth=1),
        prompt(content="p2", order=1, depth=1),
        prompt(content="p3", order=10, role="assistant", depth=0),
    ]
    books = [
        entry(content="w1", order=10, position="assistant", depth=1),
        entry(content="w2", order=5, position="user", depth=0),
        entry(content="w3", order=10, depth=1),
    ]
    assert contents(construct(history, presets, books)) == ["1", "2", "p2", "w1", "p1", "w3", "3", "w2", "p3"]


@pytest.mark.parametrize(
    ("history", "path"),
    [
        ({"messages": []}, "history"),
        (3, "history"),
        ("text", "history"),
        ([None], "history[0]"),
        ([{"role": "user", "content": "a"}, 5], "history[1]"),
        ([["role", "user"]], "history[0]"),
    ],
    ids=["a wrapper", "a number", "text", "null", "a number in it", "an array in it"],
)
def test_histories_of_the_wrong_shape(history: Any, path: str) -> None:
    """What is no array of objects is refused with its place."""
    with pytest.raises(ShapeError) as caught:
        construct(history, [], [])
    assert caught.value.where is not None
    assert caught.value.where.path == path


@pytest.mark.parametrize(
    ("role", "said"), [("tool", "tool"), (" user ", " user "), ("", ""), (None, "none"), (1, "1"), ([], "[]")]
)
def test_bad_roles(role: Any, said: str) -> None:
    """The original's words, as an error of ours that is a `ValueError` and carries the path."""
    history = [{"role": "user", "content": ""}, {"role": role, "content": "a"}]
    with pytest.raises(ShapeError, match="invalid message role") as caught:
        construct(history, None, None)
    assert isinstance(caught.value, ValueError)
    assert caught.value.message == f"invalid message role at history[1]: {said}"
    assert caught.value.where is not None
    assert caught.value.where.path == "history[1].role"


@pytest.mark.parametrize(
    ("presets", "variables"), [(5, None), ([], [1]), ([], "text")], ids=["prompts", "an array", "text"]
)
def test_arguments_of_the_wrong_type(presets: Any, variables: Any) -> None:
    """Prompts that are no array, and variables that are no object, are refused."""
    with pytest.raises(InnkeeperError):
        construct([], presets, [entry(mode="conditional", condition="true")], variables)


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"depth": 10**30}, ConditionRule.INCLUDED),
        ({"depth": -(10**30)}, ConditionRule.INCLUDED),
        ({"depth": "9" * 5_000}, ConditionRule.BAD_DEPTH),
        ({"depth": math.nan}, ConditionRule.BAD_DEPTH),
        ({"depth": math.inf}, ConditionRule.BAD_DEPTH),
        ({"depth": "x"}, ConditionRule.BAD_DEPTH),
        ({"depth": [1]}, ConditionRule.BAD_DEPTH),
        ({"depth": []}, ConditionRule.INCLUDED),
        ({"order": 10**30}, ConditionRule.INCLUDED),
        ({"order": -math.inf}, ConditionRule.BAD_ORDER),
        ({"order": {"a": 1}}, ConditionRule.BAD_ORDER),
        ({"order": "1.5"}, ConditionRule.BAD_ORDER),
        ({"content": ""}, ConditionRule.BLANK),
        ({"content": ["a"]}, ConditionRule.BLANK),
        ({"enabled": False}, ConditionRule.DISABLED),
        ({"enabled": None}, ConditionRule.INCLUDED),
        ({"position": "before_char"}, ConditionRule.POSITION),
        ({"mode": "conditional", "condition": "no"}, ConditionRule.CONDITION),
        ({"mode": "conditional"}, ConditionRule.CONDITION),
        ({"mode": "conditional", "condition": " TRUE\n"}, ConditionRule.INCLUDED),
        ({"mode": "conditional", "condition": True}, ConditionRule.INCLUDED),
    ],
    ids=str,
)
def test_every_entry_has_a_verdict(fields: dict[str, Any], rule: ConditionRule) -> None:
    """Whatever an entry says, it is in, or out by a named rule; nothing crashes."""
    made = construct_explained([{"role": "user", "content": "a"}], None, [entry(**fields)])
    (verdict,) = made.verdicts
    assert verdict.reason is rule
    assert len(made.messages) == 1 + verdict.fired
    assert json.loads(json.dumps(verdict.to_dict(), default=str))["text"] == str(verdict)
    if verdict.fired:
        assert made.messages[verdict.facts["place"]]["content"] == "W"


def test_verdicts_tell_why() -> None:
    """The condition's text and what it came to, the refused value, and items that are no objects."""
    books = [
        entry(id="a", name="A", mode="conditional", condition="{{getvar:hp}}"),
        entry(mode="conditional", condition="{{keywords:one}}"),
    ]
    presets = ["text", prompt(identifier="x", position="relative"), prompt(order="z")]
    history = [{"role": "user", "content": "one"}]
    verdicts = construct_explained(history, presets, books, {"hp": 7}).verdicts
    assert [(v.facts["asset"], v.facts["index"], v.reason) for v in verdicts] == [
        ("presets_in_chat", 0, ConditionRule.NOT_AN_OBJECT),
        ("presets_in_chat", 1, ConditionRule.POSITION),
        ("presets_in_chat", 2, ConditionRule.BAD_ORDER),
        ("world_books", 0, ConditionRule.CONDITION),
        ("world_books", 1, ConditionRule.INCLUDED),
    ]
    assert [str(verdict) for verdict in verdicts] == [
        "it is not an object",
        "its position 'relative' is not in the chat",
        "its order 'z' is not a whole number",
        "its condition does not hold: '{{getvar:hp}}' came to '7'",
        "at depth 0, order 100, as system; its condition holds: '{{keywords:one}}' came to 'true'",
    ]
    assert [(verdict.uid, verdict.book, verdict.fired) for verdict in verdicts[2:]] == [
        ("presets_in_chat[2]", "preset", False),
        ("a", "", False),
        ("1", "", True),
    ]
    assert verdicts[3].facts["value"] == "7"


def test_verdicts_of_values_that_cannot_be_written() -> None:
    """Numbers beyond what Python writes and reports hold are told by what they are, long values by their beginning."""
    books = [entry(content=10**5_000), entry(content=["x" * 200]), entry(depth=10**5_000, order=-(10**5_000))]
    verdicts = construct_explained([], [], books).verdicts
    assert [verdict.facts.get("found") for verdict in verdicts] == ["<int>", "['" + "x" * 78 + "…", None]
    assert (verdicts[2].facts["depth"], verdicts[2].facts["order"]) == (2**53, -(2**53))


def test_ids_of_messages() -> None:
    """A message's own id is told in its source; other keys are not."""
    history = [{"role": "user", "content": "a", "name": "b"}, {"role": "user", "content": "a", "source_id": 0}]
    history += [{"role": "user", "id": "n"}, {"role": "user", "id": None}]
    sources = [message["source"] for message in construct(history, [], [])["messages"]]
    assert [source.get("source_id") for source in sources] == [None, 0, "n", None]
    assert list(sources[0]) == ["type", "id", "index"]


def test_inputs_are_neither_changed_nor_shared() -> None:
    """Changing the result changes no argument, and conditions write to no caller's variables, not even nested ones."""
    variables = {"a": {"b": "x"}}
    books = {"entries": [entry(keys=["k"], meta={"x": [1]}, mode="conditional", condition="{{setvar:a.b:HACK}}true")]}
    arguments: tuple[Any, ...] = (
        [{"role": "user", "content": "a", "id": {"n": [1]}}],
        [prompt(x=[1])],
        books,
        variables,
    )
    before = copy.deepcopy(arguments)
    for message in construct(*arguments)["messages"]:
        for value in message["source"].values():
            if isinstance(value, list):
                value.append("changed")
            if isinstance(value, dict):
                value.clear()
    assert arguments == before


def test_one_answer_in_three_hundred_runs() -> None:
    """Conditions that write nested variables see nothing of each other, in any number of threads."""
    books = [
        entry(
            id=n,
            content=str(n),
            mode="conditional",
            condition=f"{{{{setvar:a.b:{n}}}}}{{{{python:getvar('a.b') == {own}}}}}",
        )
        for n, own in enumerate(["'0'", "'2'", "'2'", "'x'"])
    ]
    variables = {"a": {"b": "x"}}

    def run(_: int) -> str:
        return json.dumps(construct([], [], books, variables))

    with ThreadPoolExecutor(8) as pool:
        answers = set(pool.map(run, range(300)))
    assert len(answers) == 1
    assert [message["content"] for message in json.loads(answers.pop())["messages"]] == ["0", "2"]
    assert variables == {"a": {"b": "x"}}


def test_large_content() -> None:
    """Ten megabytes of text pass, and conditions read them."""
    history = [{"role": "user", "content": "ab " * 3_500_000 + "needle"}]
    made = construct(
        history, [prompt(content="c" * 10_000_000)], [entry(mode="conditional", condition="<<keywords:needle>>")]
    )
    assert [len(text) for text in contents(made)] == [10_500_006, 10_000_000, 1]


@pytest.mark.parametrize("content", [10**5_000, "deep"], ids=["digits", "nesting"])
def test_contents_that_no_text_can_hold(content: Any) -> None:
    """A number of too many digits and data without end are refused with their place."""
    if content == "deep":
        content = []
        for _ in range(100_000):
            content = [content]
    with pytest.raises(LimitError) as caught:
        construct([{"role": "user", "content": content}], [], [])
    assert caught.value.where is not None
    assert caught.value.where.path == "history[0].content"


def test_data_that_contains_itself() -> None:
    """An entry and a book without an end are refused."""
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(LimitError, match="MAX_DEPTH"):
        construct([], [], [entry(x=endless)])
    with pytest.raises(LimitError, match="MAX_BOOK_DEPTH"):
        construct([], [], endless)


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6), st.just("in-chat"), st.just([1])
)
ITEMS = st.dictionaries(
    st.sampled_from(
        [
            "id",
            "identifier",
            "name",
            "position",
            "enabled",
            "role",
            "depth",
            "order",
            "content",
            "mode",
            "condition",
            "type",
        ]
    ),
    VALUES,
    max_size=8,
)
ANY = st.recursive(st.one_of(VALUES, ITEMS), lambda inner: st.lists(inner, max_size=4), max_leaves=8)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "thinking", "System"]), "content": VALUES}
)


@given(
    st.lists(MESSAGES, max_size=4),
    st.lists(st.one_of(ITEMS, VALUES), max_size=5),
    ANY,
    st.sampled_from(["fixed", "smarttavern"]),
)
def test_any_entries(history: Any, presets: Any, books: Any, profile: str) -> None:
    """Whatever entries are, explaining changes nothing, each has its verdict, and the history stays in its order."""
    options = SmartOptions.of(profile)
    plain = construct(history, presets, books, options=options)["messages"]
    made = construct_explained(history, presets, books, options=options)
    assert repr(made.messages) == repr(plain)
    assert sum(verdict.fired for verdict in made.verdicts) == len(plain) - len(history)
    own = [message["source"]["index"] for message in plain if str(message["source"]["id"]).startswith("history_")]
    assert [index for index in own if isinstance(index, int)] == list(range(len(history)))


@given(ANY, ANY, ANY, ANY)
def test_any_arguments(history: Any, presets: Any, books: Any, variables: Any) -> None:
    """Whatever is given, there is an answer or an error of the tree."""
    try:
        made = construct(history, presets, books, variables)
    except InnkeeperError:
        return
    assert {tuple(message) for message in made["messages"]} <= {("role", "content", "source")}


ENTRIES = st.lists(
    st.fixed_dictionaries(
        {
            "depth": st.integers(-3, 7),
            "order": st.integers(-1, 2),
            "position": st.sampled_from(["user", "assistant", "system"]),
        }
    ),
    max_size=10,
)
RANK = {"assistant": 0, "user": 1, "system": 2}


def texts(history: int, entries: list[dict[str, Any]], compat: Compat) -> list[str]:
    """What construct makes of entries, which are called by their numbers."""
    chat = [{"role": "user", "content": f"h{n}"} for n in range(history)]
    books = [{**entry, "content": str(n)} for n, entry in enumerate(entries)]
    made = construct(chat, [], books, options=SmartOptions(compat=compat))
    return [message["content"] for message in made["messages"]]


def plainly(history: int, entries: list[dict[str, Any]], *, scrambled: bool) -> list[str]:
    """The document's words as a program: sort, group by depth, insert each group from its last to its first."""
    numbered = sorted(enumerate(entries), key=lambda each: (each[1]["order"], RANK[each[1]["position"]], each[0]))
    made = [f"h{n}" for n in range(history)]
    for depth in sorted({entry["depth"] for entry in entries}, reverse=True):
        group = [str(n) for n, entry in numbered if entry["depth"] == depth]
        at = max(0, len(made) - depth)
        if depth < 0 and not scrambled:
            made += group
        else:
            for text in reversed(group):
                made.insert(at, text)
    return made


@pytest.mark.parametrize("kind", ["sorted", "scrambled"])
def test_as_the_document_says(kind: Any) -> None:
    """For any entries, in both readings of negative depths."""

    @given(st.integers(0, 4), ENTRIES)
    def check(history: int, entries: list[dict[str, Any]]) -> None:
        found = texts(history, entries, Compat(negative_depth=kind))
        assert found == plainly(history, entries, scrambled=kind == "scrambled")

    check()


def test_depths_beyond_the_history() -> None:
    """Groups that clamp to the front stand before and within one another, as in the original."""
    entries = [{"depth": depth, "order": 100, "position": "system"} for depth in (5, 3, 2, 1, 0)]
    assert texts(1, entries, Compat()) == ["1", "2", "0", "3", "h0", "4"]
