"""The turns of a workspace's chat: as the page shows each, kept while nothing changes that it is made of."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.budget import accounting
from innkeeper.prompt import Plan
from innkeeper.prompt.errors import UnknownNameError
from innkeeper.service.inspector.inspection import timeline
from innkeeper.service.inspector.inspection.planning import planned
from innkeeper.service.inspector.inspection.steps import step_views
from innkeeper.service.inspector.inspection.timeline import MAX_TURNS_AT_ONCE, ChatTimeline
from innkeeper.service.inspector.inspection.trims import trims_of
from innkeeper.service.inspector.views.timeline import TimelineRequest
from innkeeper.service.inspector.views.workspace import Edit, SettingsChange, Variation
from innkeeper.service.inspector.workspace.workspace import OpenWorkspace
from tests.service.inspector.workspace.test_turn_states import SAID, opened

ALL = TimelineRequest(count=MAX_TURNS_AT_ONCE)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Which turns are built, by where the chat is cut."""
    turns: list[Any] = []

    def counted(workspace: OpenWorkspace, variation: Variation) -> Plan:
        assert isinstance(variation.settings, SettingsChange)
        turns.append(variation.settings.turn)
        return planned(workspace, variation)

    monkeypatch.setattr(timeline, "planned", counted)
    return turns


def test_each_turn_is_what_the_page_shows_there() -> None:
    """Its tokens, and its entries with their reasons: by a key, then by a timer."""
    workspace = opened(description="plain")
    view = ChatTimeline().view(workspace, ALL)
    assert (view.first, view.total, len(view.turns)) == (0, len(SAID), len(SAID))
    assert [[entry.reason for entry in turn.entries] for turn in view.turns] == [["key"], ["sticky"], [], [], []]
    for turn, text in zip(view.turns, SAID, strict=True):
        plan = planned(workspace, Variation(settings=SettingsChange(turn=turn.message, message=text)))
        assert turn.tokens == accounting(plan).total
        assert sum(asset.tokens for asset in turn.assets) <= turn.tokens
        assert turn.shared < turn.tokens


def test_some_turns_are_those_of_all() -> None:
    """The last of them, or those before one; more than at once are not given."""
    workspace, whole = opened(), ChatTimeline().view(opened(), ALL).turns
    for before, count, expected in (
        (None, 2, whole[3:]),
        (3, 2, whole[1:3]),
        (1, 9, whole[:1]),
        (0, 2, ()),
        (99, 1, whole[4:]),
    ):
        assert ChatTimeline().view(workspace, TimelineRequest(before, count)).turns == expected


def test_a_turn_is_kept_while_nothing_changes_that_it_is_made_of(built: list[Any]) -> None:
    """The message that is typed changes none, a message of the chat those after it, a card all."""
    workspace, turns = opened(description="plain"), ChatTimeline()
    first = turns.view(workspace, ALL)
    assert built == [0, 2, 4, 6, 8]
    built.clear()
    workspace.change(SettingsChange(message="something else", turn=3))
    assert turns.view(workspace, ALL) == first
    assert built == []
    workspace.files["chat.jsonl"].apply(Edit(file="", path=("messages", 6, "mes")), "the reef")
    assert turns.view(workspace, ALL).turns[:3] == first.turns[:3]
    assert built == [6, 8]
    built.clear()
    workspace.files["card.json"].apply(Edit(file="", path=("data", "description")), "other")
    turns.view(workspace, ALL)
    assert built == [0, 2, 4, 6, 8]


def test_what_is_kept_is_what_is_built_anew() -> None:
    """After edits of every kind, in any order."""
    workspace, turns = opened(description="plain"), ChatTimeline()
    edits: list[tuple[str, tuple[str | int, ...], Any]] = [
        ("chat.jsonl", ("messages", 2, "mes"), "the reef"),
        ("book.json", ("entries", "0", "sticky"), 6),
        ("card.json", ("data", "description"), "{{setvar::x::1}}"),
        ("chat.jsonl", ("messages", 8, "mes"), "bye"),
        ("chat.jsonl", ("messages", 0, "is_system"), True),
    ]
    for file, path, value in edits:
        workspace.files[file].apply(Edit(file="", path=path), value)
        assert turns.view(workspace, ALL) == ChatTimeline().view(workspace, ALL)


def test_an_unknown_cache_is_an_error() -> None:
    """It is named."""
    with pytest.raises(UnknownNameError, match="nobody"):
        ChatTimeline().view(opened(), TimelineRequest(provider="nobody"))


@pytest.mark.parametrize("tavern", ["silly", "smart"])
def test_what_was_left_out_stands_where_it_would_have_stood(tavern: str) -> None:
    """The oldest messages, before the first of the chat that is left; their texts and roles are told."""
    workspace = opened(description="plain", tavern=tavern, context_window=45, reserve=5)
    plan = planned(workspace)
    trims, sent = trims_of(plan), plan.sent_blocks()
    assert trims
    chat = next(
        index for index, block in enumerate(sent) if block.content in {*SAID, *(f"Answer to {text}." for text in SAID)}
    )
    assert {trim.before for trim in trims if trim.budget_group == "history"} == {chat}
    assert {trim.role for trim in trims} <= {"system", "user", "assistant"}
    assert trims[0].text


def test_steps_say_what_they_wrote() -> None:
    """In their order, with the texts of which they replaced the macros."""
    workspace = opened(description="I am {{char}}.")
    before = planned(workspace).fingerprint()
    steps = {step.name: step for step in step_views(workspace)}
    assert [*steps][:2] == ["hooks", "lore"]
    assert "I am {{char}}." in [text.text for text in steps["hooks"].texts]
    assert steps["lore"].counts["world_info_activated"] >= 0
    assert planned(workspace).fingerprint() == before
