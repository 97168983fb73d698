"""Running cases: how one comes out, and every place where two answers differ."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt.errors import FormatError, UnavailableError
from scripts.parity import Case, CaseVerdict, differences, run_case
from scripts.parity.run import Runner

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["a", "b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=8,
)


def case(tavern: str = "risu", expected: Any = None) -> Case:
    """A case of a tavern."""
    return Case("c", tavern, "area", {"input": 1, "expected": expected}, "here")


def runner(answer: Callable[[Case], Any]) -> dict[str, Runner]:
    """A runner for it."""
    return {"risu": Runner(answer, lambda asked, found: (asked.expected, found))}


def fails(error: Exception) -> Callable[[Case], Any]:
    """An answer that raises."""

    def answer(_case: Case) -> Any:
        raise error

    return answer


@given(JSON, JSON)
def test_differences_are_all_there_is(left: Any, right: Any) -> None:
    """Values have none exactly where they are the same JSON, whatever the order of keys; a truth value is not a number."""
    same = json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)
    assert (not list(differences(left, right))) is same
    assert not list(differences(left, left))


@pytest.mark.parametrize(
    ("left", "right", "paths"),
    [
        ({"a": [1, 2]}, {"a": [1, 3]}, ["a[1]"]),
        ({"a": [1]}, {"a": [1, 2]}, ["a.length"]),
        ({"a": 1}, {"b": 1}, ["a", "b"]),
        (1, True, [""]),
        ([0], [False], ["[0]"]),
        ((1, [2]), [1, (2,)], []),
    ],
)
def test_places(left: Any, right: Any, paths: list[str]) -> None:
    """Each difference has its path."""
    assert [difference.path for difference in differences(left, right)] == paths


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (lambda _case: "x", CaseVerdict.AGREED),
        (lambda _case: "y", CaseVerdict.DIFFERENT),
        (fails(FormatError("no")), CaseVerdict.DIFFERENT),
        (fails(UnavailableError("no vocabulary")), CaseVerdict.UNAVAILABLE),
        (fails(ZeroDivisionError("bug")), CaseVerdict.CRASHED),
    ],
    ids=["same", "other", "typed error", "not here", "bug"],
)
def test_outcomes(answer: Callable[[Case], Any], verdict: CaseVerdict) -> None:
    """A typed error is an answer; a bug is told as one; what is not here is never counted as agreed."""
    outcome = run_case(case(expected="x"), runner(answer))
    assert outcome.verdict is verdict


def test_what_is_not_here_may_be_the_cause() -> None:
    """Also where another error came of it."""
    error = FormatError("cannot count")
    error.__cause__ = UnavailableError("no vocabulary")
    assert run_case(case(), runner(fails(error))).verdict is CaseVerdict.UNAVAILABLE
    assert run_case(case("nowhere"), {}).error == "no runner for the nowhere tavern"


def test_texts_are_shown_as_lines() -> None:
    """A difference in a long text shows its lines, others one over the other, shortened."""
    (lines,) = differences({"t": "a\nb\nc"}, {"t": "a\nx\nc"})
    assert "-b" in lines.render()
    assert "+x" in lines.render()
    (values,) = differences("a" * 1_000, "b")
    assert len(values.render()) < 500


def test_what_is_not_counted_is_kept() -> None:
    """Parts that need not agree stay beside the outcome, as does the text of an error."""
    outcome = run_case(case(expected={}), runner(lambda _case: {"toasts": ["hi"], "error": {"message": "why"}}))
    assert (outcome.uncounted, outcome.error) == ({"toasts": ["hi"]}, "why")
