"""Note: one typed fact."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import FrozenDict, Note, NoteKind, TraceCollector, UsageError, Where
from innkeeper.prompt.note import EVENTS, TraceStep


def test_a_note_reads_as_its_sentence_with_its_place() -> None:
    """The place comes first, when it is known."""
    assert str(Note(NoteKind.WARNING, "odd")) == "odd"
    assert str(Note(NoteKind.WARNING, "odd", where=Where("book", "entries[3]"))) == "book: entries[3]: odd"


def test_a_notes_facts_are_json_without_the_absent_ones() -> None:
    """For reports: kind, sentence, step, place, hint and numbers."""
    note = Note(NoteKind.EVICTED, "gone", "trimming", data=FrozenDict(tokens=5, what=object))
    assert json.loads(json.dumps(note.to_dict())) == {
        "kind": "evicted",
        "message": "gone",
        "step": "trimming",
        "data": {"tokens": 5, "what": "<class 'object'>"},
    }


@pytest.mark.parametrize("kind", NoteKind)
def test_each_kind_is_a_word(kind: NoteKind) -> None:
    """Kinds go into JSON as lower-case words."""
    assert kind == kind.lower()
    assert kind.isalpha()


class Ticks:
    """A timer that is told what time it is, in seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


TREES: st.SearchStrategy[list[Any]] = st.recursive(
    st.just([]), lambda inner: st.lists(st.tuples(st.integers(0, 9), inner), max_size=3), max_leaves=6
)


def _walk(collector: TraceCollector, ticks: Ticks, tree: Any, name: str) -> None:
    collector("step_start", name=name)
    for index, (spent, inner) in enumerate(tree):
        ticks.now += spent
        _walk(collector, ticks, inner, f"{name}.{index}")
    ticks.now += 1
    collector("step_finish", name=name)


@given(TREES)
def test_own_time_is_part_of_total_and_all_own_times_are_the_whole(tree: Any) -> None:
    """No step's own time exceeds its total; own times of all steps add up to the time that passed."""
    ticks = Ticks()
    collector = TraceCollector(ticks)
    _walk(collector, ticks, tree, "root")
    trace = collector.to_trace()
    assert all(0 <= step.own_ms <= step.total_ms for step in trace.steps)
    assert trace.duration_ms == pytest.approx(ticks.now * 1000)
    assert trace.steps[0].total_ms == pytest.approx(ticks.now * 1000)
    assert all(step.own_ms >= 1000 for step in trace.steps)


def test_a_step_that_runs_twice_is_one_entry() -> None:
    """A step's work and its closing are summed under its name, in the order of their first start."""
    ticks = Ticks()
    collector = TraceCollector(ticks)
    for name, spent in (("hooks", 1), ("lore", 2), ("hooks", 4)):
        collector("step_start", name=name)
        ticks.now += spent
        collector("step_finish", name=name)
    trace = collector.to_trace("abc")
    assert [(step.name, step.total_ms) for step in trace.steps] == [("hooks", 5000), ("lore", 2000)]
    assert trace.fingerprint == "abc"


def test_stats_and_warnings_go_to_the_named_step_or_the_innermost() -> None:
    """Events carry their step; without one they belong to what is open; outside any step, to the build."""
    collector = TraceCollector()
    collector("warning", message="early")
    collector("step_start", name="a")
    collector("step_start", name="b")
    collector("stat", key="k", value=1)
    collector("stat", key="k", value=2, step="a")
    collector("warning", message="odd", step="a")
    collector("step_finish", name="b", stats={"more": 3})
    collector("step_finish", name="a")
    trace = collector.to_trace()
    assert {step.name: (step.stats, step.warnings) for step in trace.steps} == {
        "build": ({}, ("early",)),
        "a": ({"k": 2}, ("odd",)),
        "b": ({"k": 1, "more": 3}, ()),
    }
    assert trace.total_warnings == 2
    assert trace.success


def test_a_failing_step_is_marked() -> None:
    """The error's class is kept, and the trace is no success."""
    collector = TraceCollector()
    collector("step_start", name="a")
    collector("step_error", name="a", error=ZeroDivisionError())
    trace = collector.to_trace()
    assert not trace.success
    assert trace.step("a") == TraceStep("a", trace.steps[0].own_ms, trace.steps[0].total_ms, error="ZeroDivisionError")
    assert trace.step("b") is None


@pytest.mark.parametrize(
    ("event", "payload"),
    [("nothing", {}), ("step_start", {"name": "a", "more": 1}), ("stat", {"key": "k", "value": 1, "name": "a"})],
)
def test_unknown_events_and_payload_keys_are_refused(event: str, payload: dict[str, Any]) -> None:
    """A misspelled event is a usage error that lists the events."""
    with pytest.raises(UsageError, match="unknown event or payload") as caught:
        TraceCollector()(event, **payload)
    assert all(name in (caught.value.hint or "") for name in EVENTS)


@pytest.mark.parametrize("finish", ["step_finish", "step_error"])
def test_finishing_out_of_order_is_refused(finish: str) -> None:
    """Only the innermost open step can finish."""
    collector = TraceCollector()
    collector("step_start", name="a")
    collector("step_start", name="b")
    payload = {"error": ValueError()} if finish == "step_error" else {}
    with pytest.raises(UsageError, match="instrumentation mismatch: 'a' finishes, 'b' is open"):
        collector(finish, name="a", **payload)
    with pytest.raises(UsageError, match="None is open"):
        TraceCollector()(finish, name="a", **payload)
