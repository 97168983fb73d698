"""Timelines: what a chat's turns had in their prompts, entry by entry, and what they cost."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import pytest

from innkeeper.prompt import BuildRequest
from innkeeper.prompt.errors import UnknownNameError, UsageError
from innkeeper.taverns import Session
from innkeeper.taverns.timeline import Timeline, timeline

BOOK = {
    "entries": {
        "0": {"uid": 0, "comment": "Reef", "key": ["reef"], "content": "The reef is near.", "sticky": 4, "cooldown": 3},
        "1": {
            "uid": 1,
            "comment": "Dice",
            "key": ["reef"],
            "content": "Never.",
            "probability": 0,
            "useProbability": True,
        },
        "2": {"uid": 2, "comment": "Inn", "constant": True, "content": "An inn."},
        "3": {"uid": 3, "comment": "Mill", "key": ["mill"], "content": "A mill."},
    }
}
SAID = ["hello", "the reef", "and", "so", "on", "goodbye"]


def request(**fields: Any) -> BuildRequest:
    """A chat whose second message has a key; its entry stays for a turn and then cools down."""
    history = [
        {"role": role, "content": text}
        for word in SAID
        for role, text in (("user", word), ("assistant", "Well. " * 60))
    ]
    asked = {"tavern": "silly", "history": history, "lorebooks": [BOOK], "now": "2026-01-15T12:00:00+00:00", **fields}
    return BuildRequest.of({"character": {"name": "Wenna"}, "context_window": 600, "reserved_tokens": 100, **asked})


def reasons(made: Timeline, title: str) -> list[str | None]:
    """What an entry was at each turn."""
    row = next(row for row in made.rows if row.title == title)
    return [row.turns[turn].reason if turn in row.turns else None for turn in range(len(made.turns))]


def test_entries_have_a_reason_at_each_turn() -> None:
    """By a key, a timer, a roll; entries that were never near are no rows."""
    made = timeline(request())
    assert reasons(made, "Reef") == [None, "key", "sticky", "cooldown", "cooldown", None]
    assert reasons(made, "Dice")[1] == "probability"
    assert reasons(made, "Inn") == ["constant"] * 6
    assert {row.title for row in made.rows} == {"Inn", "Reef", "Dice"}
    assert "rolled" in next(row for row in made.rows if row.title == "Dice").turns[1].text


def test_it_is_what_a_session_has() -> None:
    """The figures are those of the plans of a session that says the same, turn by turn."""
    asked = request()
    session, made = Session(asked), timeline(asked)
    for turn in made.turns:
        plan = session.set(history=asked.history[: turn.message + 1]).plan()
        session.carry(plan)
        fired = {(verdict.uid, str(verdict)) for verdict in plan.lore.verdicts if verdict.fired}
        assert {(entry.uid, entry.text) for entry in turn.entries if entry.fired} == fired
        assert turn.tokens == plan.trim_report.final_tokens == sum(turn.groups.values())
        assert turn.left_out == sum(record.token_count for record in plan.trim_report.evictions)
        assert turn.read <= turn.shared < turn.tokens
    assert made.turns[-1].left_out > 0


def test_it_is_shown() -> None:
    """As tables, data and a picture that is well-formed."""
    made = timeline(request())
    entries, tokens = made.tables()
    marks = {str(row[0]): row[3] for row in entries.rows}
    assert (marks["Reef"], marks["Inn"]) == ("·██▒▒·", "██████")
    assert {"history", "lore", "left out", "all"} <= {str(row[0]) for row in tokens.rows}
    assert len(made.to_dict()["turns"]) == 6
    root = ET.fromstring(made.to_svg())  # noqa: S314 - our own
    assert len(root.findall("{http://www.w3.org/2000/svg}polygon")) == len(made.groups)


@pytest.mark.parametrize("tavern", ["smart", "risu", "vibe"])
def test_every_tavern_has_one(tavern: str) -> None:
    """Also those that know no lore."""
    made = timeline(request(tavern=tavern))
    assert [turn.message for turn in made.turns] == [0, 2, 4, 6, 8, 10]


@pytest.mark.parametrize(
    ("fields", "provider", "error"),
    [({"history": []}, "openai", UsageError), ({}, "nobody", UnknownNameError)],
)
def test_errors(fields: dict[str, Any], provider: str, error: type[Exception]) -> None:
    """A chat without turns, a provider without rules."""
    with pytest.raises(error):
        timeline(request(**fields), provider)
