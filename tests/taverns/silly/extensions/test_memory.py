"""The chat's summary: which one counts, where it goes, and when a new one is due."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from innkeeper.content.chat import ChatLog
from innkeeper.prompt import NoteKind
from innkeeper.taverns.silly.extensions.memory import (
    MemorySettings,
    SummaryBuilder,
    due,
    summary_injection,
    summary_request,
)
from innkeeper.taverns.silly.lines.line import Line
from tests.taverns.silly.builds import build, contents


def lines(*items: str | tuple[str, str], hidden: int = -1) -> list[Line]:
    """Lines of these texts; a pair is a text and the summary that is kept with it."""
    pairs = [item if isinstance(item, tuple) else (item, "") for item in items]
    return [
        Line(index=n, name="Sam" if n % 2 else "Mira", text=text, memory=memory, hidden=n == hidden)
        for n, (text, memory) in enumerate(pairs)
    ]


@dataclass(frozen=True)
class Case:
    name: str
    chat: list[Line]
    expected: str | None
    settings: dict[str, Any] = field(default_factory=dict)


CASES = [
    Case("none", lines("a", "b"), None),
    Case("the newest", lines(("a", "old"), ("b", "new"), "c"), "[Summary: new]"),
    Case("not with the last message", lines(("a", "old"), ("b", "new")), "[Summary: old]"),
    Case("with a hidden message", lines(("a", "old"), "b", hidden=0), "[Summary: old]"),
    Case("a template", lines(("a", " old "), "b"), "So far: old", {"template": "So far: {{Summary}}"}),
    Case("an empty template", lines(("a", "old"), "b"), "Summary: old", {"template": ""}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_which_summary(case: Case) -> None:
    """The newest that is kept with any message but the last, in the template."""
    found = summary_injection(MemorySettings(**case.settings), case.chat)
    assert (found and found.content) == case.expected


LONG = lines(*(f"word {n}" for n in range(12)))
KEPT = lines(*(("x", "sum") if n == 3 else f"word {n}" for n in range(12)))


@pytest.mark.parametrize(
    ("chat", "settings", "expected"),
    [
        (LONG, {}, (12, 0)),
        (LONG, {"source": "extras"}, None),
        (LONG, {"memoryFrozen": True}, None),
        (LONG, {"promptInterval": 0}, None),
        (LONG[:9], {}, None),
        (KEPT, {}, None),
        (KEPT, {"promptInterval": 8}, (8, 0)),
        (KEPT, {"promptForceWords": 16}, (8, 16)),
        (KEPT, {"promptForceWords": 17}, None),
    ],
)
def test_when_one_is_due(chat: list[Line], settings: dict[str, Any], expected: tuple[int, int] | None) -> None:
    """After so many messages, or so many words, since the last one; never from the default source."""
    assert due(MemorySettings(**{"source": "main", **settings}), chat) == expected


def always(_text: str) -> bool:
    """Every text fits."""
    return True


def test_the_chat_is_asked() -> None:
    """SummaryBuilder 0 is a quiet generation, whose answer is kept with the last message but one."""
    settings = MemorySettings(prompt="In {{words}} words.", promptWords=50, SkipWIAN=True, overrideResponseLength=99)
    found = summary_request(settings, LONG, str, always)
    assert found is not None
    assert found.to_dict() == {
        "store_at": 10,
        "quiet_prompt": "In 50 words.",
        "skip_wian": True,
        "messages": (),
        "max_tokens": 99,
    }


@pytest.mark.parametrize(
    ("fields", "fits", "taken", "store_at"),
    [
        ({}, always, ["sum", *(f"word {n}" for n in range(4, 11) if n != 6)], 10),
        ({"maxMessagesPerRequest": 2}, always, ["sum", "word 4", "word 5"], 5),
        ({}, lambda text: len(text) < 40, ["sum", "word 4", "word 5"], 5),
    ],
)
def test_a_prompt_of_its_own(fields: dict[str, Any], fits: Any, taken: list[str], store_at: int) -> None:
    """Builders 1 and 2 take the last summary and the messages since: no hidden one, never the last, as many as fit."""
    chat = lines(*(("x", "sum") if n == 3 else f"word {n}" for n in range(12)), hidden=6)
    found = summary_request(MemorySettings(prompt="Do.", prompt_builder=SummaryBuilder.RAW, **fields), chat, str, fits)
    assert found is not None
    (system, user), names = found.messages, ("Mira", "Sam")
    assert system == ("system", "Do.")
    numbers = [int(text.split()[1]) for text in taken[1:]]
    assert user == ("user", "\n\n".join(["sum", *(f"{names[n % 2]}:\nword {n}" for n in numbers)]))
    assert found.store_at == store_at


def test_nothing_to_sum_up() -> None:
    """A chat of one message, or none that fits, has no summary to ask for."""
    assert summary_request(MemorySettings(), LONG[:1], str, always) is None
    assert summary_request(MemorySettings(prompt_builder=1), LONG, str, lambda _: False) is None


STORED = [
    {"name": "Sam", "is_user": True, "mes": "One.", "extra": {"memory": "They met."}},
    {"name": "Mira", "is_user": False, "mes": "Two."},
]


def history() -> Any:
    """A chat with a summary."""
    return ChatLog.of(STORED).to_messages(hidden=True)


def test_in_builds() -> None:
    """The summary stands after the main prompt, or at a depth; without settings a note says that it is not sent."""
    sent = build(history=history(), message="Hi.", settings={"memory": {"position": 1, "depth": 1, "role": 1}})
    assert contents(sent)[-2] == "[Summary: They met.]"
    assert sent.messages[-2].role == "user"
    plain = build(history=history(), message="Hi.")
    assert "They met." not in str(contents(plain))
    assert "history.extra.memory" in [note.data.get("input") for note in plain.notes]


def test_switched_off() -> None:
    """An extension that is switched off puts nothing in."""
    settings = {"memory": {}, "disabled_extensions": ["memory"]}
    assert "They met." not in str(contents(build(history=history(), message="Hi.", settings=settings)))


def test_it_is_scanned() -> None:
    """A summary that may be scanned fires lore."""
    entry = {"uid": 1, "key": ["they met"], "content": "At the ford."}
    books = [{"name": "B", "book": {"entries": {"1": entry}}}]
    plans = [
        build(history=history(), message="Hi.", lorebooks=books, settings={"memory": {"scan": scan}})
        for scan in (True, False)
    ]
    assert [len(plan.lore.activated) for plan in plans] == [1, 0]


def test_due_is_said() -> None:
    """A build says that a summary is due, with what would be asked."""
    settings = {"memory": {"source": "main", "promptInterval": 2, "prompt": "Sum up for {{user}}."}}
    plan = build(history=history()[1:], message="Hi.", settings=settings)
    (note,) = (note for note in plan.notes if note.kind is NoteKind.DUE)
    assert note.data["messages"] == 2
    assert note.data["request"]["quiet_prompt"] == "Sum up for Sam."
