"""Matches as JavaScript's replace sees them, under limits."""

from __future__ import annotations

import threading
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.text import jsreplace
from innkeeper.text.javascript import interpreter
from innkeeper.text.jsreplace import MAX_PATTERN, MAX_TEXT, JsMatch, ReplaceRunner, joined, valid


class Find(NamedTuple):
    """A pattern."""

    pattern: str
    flags: str = ""


def runner() -> tuple[ReplaceRunner, list[tuple[str, str]]]:
    """A runner and what it reports."""
    reports: list[tuple[str, str]] = []
    return ReplaceRunner(lambda what, why: reports.append((what, why))), reports


@pytest.mark.parametrize(
    ("pattern", "flags", "text", "texts", "matches"),
    [
        ("b", "", "abab", ["a", "ab"], [JsMatch(["b"], 1)]),
        ("b", "g", "abab", ["a", "a", ""], [JsMatch(["b"], 1), JsMatch(["b"], 3)]),
        ("(x)?(b)", "", "ab", ["a", ""], [JsMatch(["b", None, "b"], 1)]),
        ("(?<n>b)", "", "ab", ["a", ""], [JsMatch(["b", "b"], 1, {"n": "b"})]),
        ("b", "", "\U0001f600b", ["\U0001f600", ""], [JsMatch(["b"], 2)]),
        ("", "g", "a", ["", "a", ""], [JsMatch([""], 0), JsMatch([""], 1)]),
    ],
)
def test_splits(pattern: str, flags: str, text: str, texts: list[str], matches: list[JsMatch]) -> None:
    """The texts around the matches, and each match with its groups and its place in UTF-16 units."""
    assert runner()[0].split(Find(pattern, flags), text) == (texts, matches)


@pytest.mark.parametrize(("pattern", "flags"), [("z", ""), ("(", ""), ("a", "x")])
def test_nothing_found(pattern: str, flags: str) -> None:
    """No match, and nothing to report, where there is none or the pattern is not one."""
    run, reports = runner()
    assert run.split(Find(pattern, flags), "aaa") is None
    assert not reports


@pytest.mark.parametrize(
    ("pattern", "text", "why"),
    [
        ("(a+)+$", "a" * 40 + "!", "took more"),
        ("a" * (MAX_PATTERN + 1), "a", "it is longer"),
        ("a", "a" * (MAX_TEXT + 1), "longer"),
        ("", "a" * 200, "matches"),
    ],
    ids=["steps", "pattern", "text", "matches"],
)
def test_limits(monkeypatch: pytest.MonkeyPatch, pattern: str, text: str, why: str) -> None:
    """What trips a limit is reported once and not run again by this runner; others go on."""
    monkeypatch.setattr(jsreplace, "MAX_MATCHES", 100)
    run, reports = runner()
    for _ in range(2):
        assert run.split(Find(pattern, "g"), text) is None
    assert len(reports) == 1
    assert why in reports[0][1]
    assert run.trips == 2
    assert run.split(Find("b"), "b") is not None


PATTERNS = ("a", "--", "[“”]", "\\\\", "a+?", "(a)|b", "^a", "b$", "\\.{2}", "\\s+", "[^a]b", "(?=a)a", "é")


@given(
    st.sampled_from(PATTERNS),
    st.sampled_from(["", "g", "gi", "gm"]),
    st.text("ab-“”\\. \n\U0001f600é", max_size=20),
    st.sampled_from(["", "—", "\\1", "\\", "$1", "{0}", "\\g<0>", "\ud83d"]),
)
def test_one_text_for_each_match(pattern: str, flags: str, text: str, made: str) -> None:
    """It is what is joined from the texts around the matches; what a replacement means to Python does not matter."""
    run, _ = runner()
    split = run.split(Find(pattern, flags), text)
    parts = [text] if split is None else split[0]
    assert run.replaced(Find(pattern, flags), text, made, 1_000) in {None, joined([made.join(parts)])}


@pytest.mark.parametrize(
    ("pattern", "long", "short"),
    [
        ("--", True, True),
        ("[*+]x|(a|b)", True, True),
        ("<\\/?(?:b|i)>", True, True),
        ("\\*([^*]+)\\*", False, True),
        ("\\*([^*]+?)\\*", False, True),
        ("a*b*", False, True),
        ("<(\\w+)>[^<]*<\\/[^>]+>", False, True),
        ("[^a]*b[^c]*d[^e]*f[^g]*h", False, False),
        ("a*b*c*", False, False),
        ("(a|b)*", False, False),
        ("(?:a?){9}", False, False),
        ("(a+)+$", False, False),
        ("(a|a)" * 40, False, False),
        ("a?" * 40, False, False),
    ],
)
def test_expressions_that_cannot_take_many_steps(pattern: str, long: bool, short: bool) -> None:
    """Only what cannot take many steps on a text runs where they are not counted."""
    longest = jsreplace._longest(pattern)
    assert (longest >= MAX_TEXT, longest >= 100) == (long, short)


def test_one_text_for_each_match_within_limits() -> None:
    """No more than the most is made, nothing of what was given up, and nothing where the texts are JavaScript's to read."""
    run, _ = runner()
    assert run.replaced(Find("a", "g"), "aab", "xy", 100) == "xyxyb"
    assert run.replaced(Find("a", "g"), "aab", "xy", 8) is None
    assert run.replaced(Find("a", "g"), "\U0001f600a", "xy", 100) is None
    assert run.replaced(Find("(a+)+$", "g"), "a" * 40 + "!", "", 100) is None


def test_steps_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the steps of a runner are used up, nothing more is run, which is said."""
    monkeypatch.setattr(jsreplace, "MAX_SCRIPTS_STEPS", 0)
    run, reports = runner()
    assert run.split(Find("a"), "a") is None
    assert "used up" in reports[0][1]


def test_threads() -> None:
    """Each thread has an interpreter of its own."""
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(valid(Find("a"))))
    thread.start()
    thread.join()
    assert [valid(Find("a")), *found] == [True, True]


def test_what_cannot_be_compiled_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """An expression too large for the interpreter is reported, is not valid, and the next one runs."""
    monkeypatch.setattr(interpreter, "MAX_INTERPRETER_BYTES", 2 * 1024 * 1024)
    monkeypatch.setattr(interpreter, "_THREAD", threading.local())
    large = Find(r"\p{L}" * 2_000, "iu")
    run, reports = runner()
    assert run.split(large, "a") is None
    assert run.split(Find("a", "gu"), "a") == (["", ""], [JsMatch(["a"], 0)])
    assert [why for _, why in reports] == ["it cannot be compiled within the memory for one"]
    assert not valid(large)


def test_nested_repetitions_are_not_written_out() -> None:
    """What Python's engine would write out a million times is left to JavaScript."""
    pattern = "(?:" * 20 + "a" + "+)" * 20
    assert runner()[0].split(Find(pattern, "g"), "xay") == (["x", "y"], [JsMatch(["a"], 1)])


@pytest.mark.parametrize(
    ("parts", "text"),
    [(["a", "b"], "ab"), (["\ud83d", "\ude00"], "\U0001f600"), (["\ud83d", "x", "é"], "\ufffdxé")],
)
def test_halves_are_joined(parts: list[str], text: str) -> None:
    """Halves of a character that come together are that character; one that stays alone is replaced."""
    assert joined(parts) == text


def test_a_runner_knows_what_is_accepted() -> None:
    """A pattern that JavaScript refuses is refused each time."""
    run = runner()[0]
    assert [run.accepts(Find(pattern)) for pattern in ("(", "a", "(")] == [False, True, False]
