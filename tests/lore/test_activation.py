"""Scanning: what fires, in which order, and the reason for everything else."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.lore import LoreSettings, Reason, ScanSources
from innkeeper.macros.engine.ranges import MacroRange
from innkeeper.prompt.allowance import allowed
from innkeeper.prompt.block import Origin
from tests.lore.books import entry, fired, run, verdict

DEEP = LoreSettings(depth=10)


@dataclass(frozen=True)
class Case:
    """Entries and messages (newest first), and what must fire."""

    name: str
    entries: tuple[dict[str, Any], ...]
    messages: tuple[str, ...]
    fired: tuple[int, ...]
    settings: LoreSettings = DEEP
    extra: dict[str, Any] = field(default_factory=dict)


CASES = (
    Case("plain key in any case", (entry(1, "Ferry"),), ("the ferry leaves",), (1,)),
    Case("case counts when asked", (entry(1, "Ferry", caseSensitive=True),), ("the ferry",), ()),
    Case("substring", (entry(1, "err"),), ("the ferry",), (1,)),
    Case("whole word", (entry(1, "err", matchWholeWords=True),), ("the ferry, err",), (1,)),
    Case("whole word only", (entry(1, "err", matchWholeWords=True),), ("the ferry",), ()),
    Case("two words are a substring", (entry(1, "he fer", matchWholeWords=True),), ("the ferry",), (1,)),
    Case("key with a sign", (entry(1, "#dock", matchWholeWords=True),), ("at #dock now",), (1,)),
    Case("regex with flags", (entry(1, "/FERR?Y/i"),), ("the fery",), (1,)),
    Case("regex looks behind", (entry(1, r"/(?<=old )ferry/"),), ("the old ferry",), (1,)),
    Case("regex digits are ASCII", (entry(1, r"/\d/"),), ("room \u0663",), ()),
    Case("invalid regex is text", (entry(1, "/(/"),), ("a /(/ b",), (1,)),
    Case("bare slash is text", (entry(1, "/a/b/"),), ("x /a/b/ y",), (1,)),
    Case("depth", (entry(1, "ferry"),), ("a", "b", "ferry"), (), LoreSettings(depth=2)),
    Case("own depth", (entry(1, "ferry", scanDepth=3),), ("a", "b", "ferry"), (1,), LoreSettings(depth=1)),
    Case("and any", (entry(1, "a1", keysecondary=["b1", "c1"], selective=True),), ("a1 c1",), (1,)),
    Case("not any", (entry(1, "a1", keysecondary=["b1"], selective=True, selectiveLogic=2),), ("a1 b1",), ()),
    Case("not all", (entry(1, "a1", keysecondary=["b1", "c1"], selective=True, selectiveLogic=1),), ("a1 b1",), (1,)),
    Case("and all", (entry(1, "a1", keysecondary=["b1", "c1"], selective=True, selectiveLogic=3),), ("a1 b1",), ()),
    Case("unselective", (entry(1, "a1", keysecondary=["b1"], selective=False),), ("a1",), (1,)),
    Case("constant without keys", (entry(1, constant=True),), ("x",), (1,)),
    Case("disabled", (entry(1, "x", disable=True),), ("x",), ()),
    Case("order first", (entry(1, "x", order=5), entry(2, "x", order=9)), ("x",), (2, 1)),
    Case(
        "recursion",
        (entry(1, "x", content="y1"), entry(2, "y1")),
        ("x",),
        (1, 2),
        LoreSettings(depth=9, recursive=True),
    ),
    Case(
        "prevented recursion",
        (entry(1, "x", content="y1", preventRecursion=True), entry(2, "y1")),
        ("x",),
        (1,),
        LoreSettings(depth=9, recursive=True),
    ),
    Case(
        "minimum activations look further back",
        (entry(1, "far"),),
        ("a", "b", "far"),
        (1,),
        LoreSettings(depth=1, min_activations=1),
    ),
    Case("generation trigger", (entry(1, "x", triggers=["swipe"]),), ("x",), (), DEEP, {"generation": "normal"}),
    Case("forced", (entry(1, "never"),), ("x",), (1,), DEEP, {"forced": frozenset({"B.1"})}),
    Case("activate decorator", (entry(1, "never", content="@@activate\ntext"),), ("x",), (1,)),
    Case("suppress decorator", (entry(1, "x", content="@@dont_activate\ntext"),), ("x",), ()),
    Case("delay", (entry(1, "x", delay=3),), ("x", "y"), ()),
    Case("probability zero", (entry(1, "x", probability=0),), ("x",), ()),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_fires(case: Case) -> None:
    """Each rule of an entry decides as SillyTavern's does."""
    result = run(case.entries, *case.messages, settings=case.settings, **case.extra)
    assert tuple(fired(result)) == case.fired


@dataclass(frozen=True)
class Stopped:
    """An entry that does not fire, and the reason its verdict must give."""

    name: str
    entry: dict[str, Any]
    reason: Reason
    extra: dict[str, Any] = field(default_factory=dict)


STOPPED = (
    Stopped("disabled", entry(1, "x", disable=True), Reason.DISABLED),
    Stopped("no keys", entry(1), Reason.NO_KEYS),
    Stopped("no match", entry(1, "zzz"), Reason.NO_MATCH),
    Stopped("secondary", entry(1, "x", keysecondary=["zzz"], selective=True), Reason.SECONDARY),
    Stopped("depth zero", entry(1, "x", scanDepth=0), Reason.NO_DEPTH),
    Stopped("trigger", entry(1, "x", triggers=["quiet"]), Reason.TRIGGER),
    Stopped("character", entry(1, "x", characterFilter={"names": ["mira"]}), Reason.CHARACTER),
    Stopped("delay", entry(1, "x", delay=9), Reason.DELAY),
    Stopped("waits for recursion", entry(1, "x", delayUntilRecursion=True), Reason.ONLY_RECURSION),
    Stopped("suppressed", entry(1, "x", content="@@dont_activate\nt"), Reason.SUPPRESSED),
    Stopped("probability", entry(1, "x", probability=0), Reason.PROBABILITY),
    Stopped("budget", entry(1, "x", content="a long text"), Reason.BUDGET, {"budget": 3}),
    Stopped("vectorised", entry(1, vectorized=True), Reason.VECTORIZED),
)


@pytest.mark.parametrize("case", STOPPED, ids=lambda case: case.name)
def test_first_rule_that_stopped(case: Stopped) -> None:
    """Every entry that does not fire has the first rule that stopped it, as a sentence without gaps."""
    result = run([case.entry], "x", **case.extra)
    found = verdict(result, 1)
    assert (found.reason, found.fired) == (case.reason, False)
    assert "?" not in str(found)


def test_verdict_of_a_key_names_key_place_and_span() -> None:
    """A verdict says which key fired, in which message, where in it, and in which pass."""
    found = verdict(run([entry(1, "ferry")], "nothing", "the Ferry leaves"), 1)
    assert (found.reason, found.facts["key"], found.facts["span"]) == (Reason.KEY, "ferry", [4, 9])
    assert str(found) == "fired by 'ferry' in message 2 from the end (pass 1)"


def test_sources_are_searched_only_on_demand() -> None:
    """Card fields count only for entries that ask for them."""
    sources = ScanSources(texts={"scenario": "a ferry at night"})
    entries = [entry(1, "ferry", matchScenario=True), entry(2, "ferry")]
    assert fired(run(entries, "x", sources=sources)) == [1]


def test_budget_stops_but_ignoring_entries_pass() -> None:
    """After the budget is reached only entries that ignore it come in, and the result says that it overflowed."""
    entries = [
        entry(1, "x", content="aaaaaaaa"),
        entry(2, "x", content="b"),
        entry(3, "x", content="c", ignoreBudget=True),
    ]
    result = run(entries, "x", budget=5)
    assert (fired(result), result.overflowed) == ([3], True)


def test_group_keeps_one() -> None:
    """Of a group one stays: the one that overrides; the others say to whom they lost."""
    entries = [entry(1, "x", group="g"), entry(2, "x", group="g", groupOverride=True)]
    result = run(entries, "x")
    assert fired(result) == [2]
    assert verdict(result, 1).reason is Reason.GROUP_LOST
    assert "B.2" in str(verdict(result, 1))


def test_catastrophic_regex_is_reported_and_the_scan_goes_on() -> None:
    """A regular expression that runs away does not match, is reported once, and stops nothing else."""
    reports: list[tuple[str, str]] = []
    entries = [entry(1, "/(a+)+$/"), entry(2, "other")]
    result = run(entries, "a" * 60 + "! other", report=lambda what, why: reports.append((what, why)))
    assert fired(result) == [2]
    assert [what for what, _ in reports] == ["/(a+)+$/"]


def test_timed_effects_are_state_in_and_out() -> None:
    """Sticky holds for its length, then the cooldown keeps the entry out; both live only in the state handed on."""
    entries = [entry(1, "x", sticky=2, cooldown=3)]
    first = run(entries, "x", length=10)
    held = run(entries, "y", length=11, state=first.state)
    cooled = run(entries, "x", length=12, state=held.state)
    assert [fired(item) for item in (first, held, cooled)] == [[1], [1], []]
    assert verdict(cooled, 1).reason is Reason.COOLDOWN


def test_state_of_a_repeated_turn_is_dropped() -> None:
    """An effect that began at this very length (a swipe) is forgotten."""
    entries = [entry(1, "x", sticky=5)]
    first = run(entries, "x", length=10)
    assert fired(run(entries, "y", length=10, state=first.state)) == []


@pytest.mark.parametrize("state", [None, 7, [], {"sticky": 3}, {"sticky": {"B.1": {"start": "x"}}}], ids=repr)
def test_malformed_state_is_left_out(state: Any) -> None:
    """Whatever comes in as state, the scan runs."""
    assert fired(run([entry(1, "x")], "x", state=state)) == [1]


WORDS = st.sampled_from(["ferry", "bridge", "mill", "owl", "fox", "Łódź", "桥", "", " ", "a.b"])
ENTRIES = st.lists(
    st.builds(
        lambda keys, **fields: (keys, fields),
        st.lists(WORDS, max_size=3),
        order=st.integers(0, 200),
        constant=st.booleans(),
        preventRecursion=st.booleans(),
        probability=st.sampled_from([0, 50, 100]),
        group=st.sampled_from(["", "g", "g,h"]),
        content=st.lists(WORDS, max_size=3).map(" ".join),
    ),
    max_size=8,
)


@given(ENTRIES, st.lists(st.lists(WORDS, max_size=4).map(" ".join), max_size=5), st.booleans(), st.integers(0, 60))
def test_every_entry_has_one_verdict(drawn: Any, messages: list[str], recursive: bool, budget: int) -> None:
    """Fired entries and fired verdicts are the same, each entry has exactly one verdict, and the same input gives it again."""
    entries = [entry(uid, *keys, **fields) for uid, (keys, fields) in enumerate(drawn)]
    chosen = LoreSettings(depth=5, recursive=recursive)
    result = run(entries, *messages, settings=chosen, budget=budget)
    again = run(entries, *messages, settings=chosen, budget=budget)
    assert sorted(fired(result)) == sorted(item.uid for item in result.verdicts if item.fired)
    assert len(result.verdicts) == len(entries)
    assert result.to_dict() == again.to_dict()


@given(st.lists(WORDS.filter(str.strip), min_size=1, max_size=4), st.lists(st.text(max_size=30), max_size=6))
def test_automaton_agrees_with_plain_search(keys: list[str], messages: list[str]) -> None:
    """An entry fires exactly when one of its keys is in one of the messages, in lower case."""
    result = run([entry(1, *keys)], *messages)
    expected = any(key.strip().lower() in message.lower() for key in keys for message in messages)
    assert bool(fired(result)) is expected


@given(st.lists(st.sampled_from(["a harbour", " {{who}} ", "{{what}}"]), min_size=1, max_size=6).map("".join))
def test_what_fired_says_where_its_text_came_from(content: str) -> None:
    """The pieces of an entry's text are the text; each names the book and the entry, and the macro where one made it."""
    values = {"{{who}}": "Ann", "{{what}}": "a bell"}

    def expand(text: str, _origin: Origin) -> tuple[str, list[MacroRange]]:
        ranges: list[MacroRange] = []
        result = ""
        for part in re.split(r"(\{\{\w+\}\})", text):
            value = values.get(part, part)
            if part in values:
                ranges.append(MacroRange(len(result), len(result) + len(value), part.strip("{}")))
            result += value
        return result, ranges

    (item,) = run([entry(1, constant=True, content=content)], "hello", expand=expand).activated
    assert "".join(piece.text for piece in item.pieces) == item.content == expand(content, item.origin)[0]
    assert {(piece.origin.asset, piece.origin.name, piece.origin.entry) for piece in item.pieces} == {
        ("lorebook", "B", "1")
    }
    made = [piece.text for piece in item.pieces if piece.origin.macro]
    assert made == [values[part] for part in re.findall(r"\{\{\w+\}\}", content)]


def chain(length: int) -> list[dict[str, Any]]:
    """Entries each of which names the next one's key, over any budget."""
    return [entry(i, f"k{i}x", content=f"{'word ' * 200}k{i + 1}x", ignoreBudget=True) for i in range(length)]


@pytest.mark.parametrize("count", [10, 400])
def test_recursion_reads_each_text_once(count: int) -> None:
    """A chain of entries costs what fires: a text is counted once or not at all, however long the chain."""
    counted: list[int] = []

    def tokens(text: str) -> int:
        counted.append(len(text))
        return len(text)

    result = run(chain(count), "k0x", settings=LoreSettings(depth=5, recursive=True), count=tokens, count_part=tokens)
    assert len(result.activated) == count
    assert sum(counted) <= sum(len(item.content) + 1 for item in result.activated)


def test_entries_that_wait_are_looked_at_when_their_level_is_reached() -> None:
    """Levels of recursion cost what fires in them, and entries whose level was not reached say so."""
    entries = [entry(i, "key", delayUntilRecursion=i + 1) for i in range(600)]
    with allowed() as allowance:
        result = run(
            entries, "key", settings=LoreSettings(depth=5, recursive=True, max_recursion_steps=300), budget=9999
        )
    assert {item.uid for item in result.activated} == set(range(151))
    assert verdict(result, 599).reason is Reason.RECURSION_LEVEL
    assert allowance.spent["lore"] < 100 * len(entries)
