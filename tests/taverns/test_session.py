"""Sessions: after any edits, in any order, the plan is that of a build from nothing."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from innkeeper import Session
from innkeeper.prompt import (
    BuildRequest,
    FormatError,
    InnkeeperError,
    LimitError,
    Message,
    Plan,
    UnsupportedError,
    UsageError,
)
from innkeeper.prompt.bounded_cache import trim_stores
from innkeeper.prompt.errors import UnknownNameError
from innkeeper.taverns import TAVERNS, session
from innkeeper.taverns import build as build_plan

NOW: Final = "2026-01-15T12:00:00+00:00"
BOOK: Final[dict[str, Any]] = {
    "entries": {
        str(number): {"uid": number, "key": [key], "content": content, "position": 4, "depth": depth, "order": number}
        for number, (key, content, depth) in enumerate(
            [
                ("reef", "The reef is {{random::near::far}}.", 1),
                ("gull", "Gulls at {{time}}.", 4),
                ("/rain|fog/i", "Fog and {{getvar::n}} boats near the reef.", 2),
            ]
        )
    }
}
CARD: Final = {
    "name": "Wenna",
    "description": "{{char}} keeps the inn, and saw {{lastMessage}}.",
    "first_mes": "Welcome.",
}
TEXTS: Final = st.sampled_from(["The reef?", "A gull.", "Rain, {{user}}.", "{{incvar::n}}", "Fog again", ""])
ROLES: Final = st.sampled_from(["user", "assistant", "system"])


def request(tavern: str, **fields: Any) -> BuildRequest:
    """A chat with a card, a book and variables."""
    facts = {"character": CARD, "lorebooks": [BOOK], "variables": {"local": {"n": 1}}, "user": {"name": "Ansel"}}
    more = {"model": "gpt-4o", "context_window": 500, "reserved_tokens": 50, "seed": 3, "now": NOW}
    return BuildRequest.of({"tavern": tavern, **facts, **more, **fields})


def outcome(make: Any) -> Any:
    """All of a plan that anybody can see, or the error in its place."""
    try:
        plan: Plan = make()
    except InnkeeperError as error:
        return error.to_dict()
    lore = None if plan.lore is None else str(plan.lore.to_dict())
    seen = (
        plan.to_dict(),
        plan.fingerprint(),
        plan.to_messages(),
        lore,
        plan.trim_report,
        plan.variables,
        plan.request,
    )
    return (*seen, plan.to_request("anthropic").body)


class Edits(RuleBasedStateMachine):
    """Edits of a session, and the same request built from nothing after each."""

    tavern = "silly"

    @initialize()
    def open(self) -> None:
        self.session = Session(request(self.tavern))

    @rule(role=ROLES, text=TEXTS)
    def append(self, role: str, text: str) -> None:
        self.session.append({"role": role, "content": text})

    @rule(at=st.integers(0, 40), text=TEXTS)
    def edit(self, at: int, text: str) -> None:
        if self.session.history:
            self.session.edit(at % len(self.session.history), text)

    @rule(at=st.integers(0, 40))
    def delete(self, at: int) -> None:
        if self.session.history:
            self.session.delete(at % len(self.session.history))

    @rule(at=st.integers(0, 40), text=TEXTS)
    def swipe(self, at: int, text: str) -> None:
        if self.session.history:
            self.session.swipe(text, at % len(self.session.history))

    @rule(length=st.integers(0, 40))
    def branch(self, length: int) -> None:
        self.session.branch(f"b{len(self.session.branches)}", min(length, len(self.session.history)))

    @rule(number=st.integers(0, 40))
    def switch(self, number: int) -> None:
        self.session.switch(self.session.branches[number % len(self.session.branches)])

    @rule(seed=st.integers(0, 3), window=st.sampled_from([160, 500, None]))
    def set(self, seed: int, window: int | None) -> None:
        self.session.set(seed=seed, context_window=window)

    @rule()
    def carry(self) -> None:
        if self.session._last is not None:
            self.session.carry(self.session.last.plan)

    @rule()
    def store(self) -> None:
        self.session = Session.from_bytes(self.session.to_bytes(owner="me"), owner="me")

    @rule()
    def forget(self) -> None:
        """What was kept from builds before is what is made of nothing."""
        known = outcome(self.session.plan)
        trim_stores(0)
        assert outcome(lambda: build_plan(self.session.request)) == known

    @invariant()
    def agrees(self) -> None:
        new = BuildRequest.from_json(json.dumps(self.session.request.to_dict()))
        assert outcome(self.session.plan) == outcome(lambda: build_plan(new))


@pytest.mark.parametrize("tavern", sorted(TAVERNS))
@pytest.mark.parametrize(
    ("examples", "steps"), [(4, 12), pytest.param(200, 50, marks=pytest.mark.endurance)], ids=["some", "10,000 edits"]
)
def test_a_plan_is_that_of_a_build_from_nothing(tavern: str, examples: int, steps: int) -> None:
    """Plan, verdicts, notes, report and body, after any edits, over branches, and after a session was stored."""
    machine = type("Edits", (Edits,), {"tavern": tavern})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=examples, stateful_step_count=steps, deadline=None)
    )


def test_nothing_is_built_twice() -> None:
    """Without a change the plan is the one before; after one, the parts that are new are named, with the reason."""
    one = Session(request("silly", history=[Message("user", "Hello")]))
    first = one.plan()
    assert {part.why for part in one.last.rebuilt} == {"nothing was built before"}
    assert one.plan() is first
    assert not one.last.rebuilt
    assert one.append("The reef, and a gull.").plan() is not first
    whys = [(rebuilt.part, rebuilt.why) for rebuilt in one.last.rebuilt]
    assert any("{{random}}" in why for _, why in whys)
    assert any(part.startswith("history") and why == "changed: history" for part, why in whys)
    assert one.plan(seed=9).request != one.plan().request  # for one build alone


def test_branches_are_apart() -> None:
    """A branch has its own messages, whatever happens in the others."""
    one = Session(request("vibe")).append("a", "b", "c").branch("other", 1).append("d")
    assert [message.content for message in one.history] == ["a", "d"]
    one.switch("main").delete(0, 2)
    assert [message.content for message in one.history] == ["c"]
    assert [message.content for message in one.switch("other").history] == ["a", "d"]
    assert one.branches == ("main", "other")


def test_alternatives() -> None:
    """A new alternative is shown; an edited text is that of the alternative shown."""
    one = Session(request("vibe")).append({"role": "assistant", "content": "a"}).swipe("b").edit(-1, "c")
    assert (one.history[-1].swipes, one.history[-1].content) == (("a", "c"), "c")
    assert one.swipe(0).history[-1].content == "a"


@pytest.mark.parametrize(
    ("edit", "error"),
    [
        (lambda one: one.edit(3, "x"), UsageError),
        (lambda one: one.delete(-2), UsageError),
        (lambda one: one.delete(0, -1), UsageError),
        (lambda one: one.swipe(5), UsageError),
        (lambda one: one.branch("main"), UsageError),
        (lambda one: one.branch("far", 9), UsageError),
        (lambda one: one.switch("none"), UnknownNameError),
        (lambda one: one.append({"role": 5}), FormatError),
        (lambda one: one.set(no_such=1), UsageError),
        (lambda one: one.last, UsageError),
        (lambda one: [one.branch(f"{number}") for number in range(10_000)], LimitError),
    ],
)
def test_edits_that_cannot_be(edit: Any, error: type[InnkeeperError]) -> None:
    """Each is a typed error, and changes nothing of the chat."""
    one = Session(request("vibe")).append("a")
    with pytest.raises(error):
        edit(one)
    assert [message.content for message in one.history] == ["a"]


def test_stored_sessions_that_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is cut, changed, of another version or another owner is a typed error, never another prompt."""
    data = Session(request("silly")).append("a").to_bytes(owner="me")
    for bad in (b"", data[:-1], data[:40], data.replace(b'"a"', b'"b"'), b"x" * 100):
        with pytest.raises(FormatError, match="not a whole stored session"):
            Session.from_bytes(bad, owner="me")
    with pytest.raises(UsageError, match="another owner"):
        Session.from_bytes(data, owner="you")
    monkeypatch.setattr(session, "VERSION", "99")
    with pytest.raises(UnsupportedError, match="version"):
        Session.from_bytes(data, owner="me")
    monkeypatch.setattr(session, "MAX_SESSION_BYTES", 10)
    with pytest.raises(LimitError):
        Session.from_bytes(data, owner="me")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"version": 5}, FormatError),
        ({"histories": []}, FormatError),
        ({"histories": {"main": 3}}, FormatError),
        ({"request": None}, FormatError),
        ({"branch": "gone"}, FormatError),
        ({"histories": {str(number): [] for number in range(2_000)} | {"main": []}}, LimitError),
    ],
)
def test_stored_sessions_of_other_makers(change: dict[str, Any], error: type[InnkeeperError]) -> None:
    """Bytes with a right digest and wrong contents are typed errors."""
    form, _, content = Session(request("vibe")).to_bytes().split(b"\n", 2)
    forged = json.dumps({**json.loads(content), **change}).encode()
    with pytest.raises(error):
        Session.from_bytes(b"\n".join((form, session._digest(forged).encode(), forged)))


def test_threads() -> None:
    """Every plan is that of a whole state, and no edit is lost."""
    one = Session(request("vibe"))
    with ThreadPoolExecutor(8) as pool:
        plans = list(pool.map(lambda number: one.append(f"m{number}").plan(), range(40)))
    assert sorted(message.content for message in one.history) == sorted(f"m{number}" for number in range(40))
    assert all(plan.fingerprint() == build_plan(plan.request).fingerprint() for plan in plans if plan.request)
