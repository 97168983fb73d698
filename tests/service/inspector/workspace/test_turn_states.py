"""What earlier turns leave for a turn at which a chat is cut."""

from __future__ import annotations

import json
from typing import Any

import pytest

from innkeeper.prompt import Plan
from innkeeper.prompt.allowance import BuildLimits, allowed
from innkeeper.service.inspector.inspection.planning import planned
from innkeeper.service.inspector.views.workspace import Edit, SettingsChange, Variation
from innkeeper.service.inspector.workspace import turn_states
from innkeeper.service.inspector.workspace.working import WorkingFile
from innkeeper.service.inspector.workspace.workspace import OpenWorkspace
from innkeeper.taverns import build

CARD: dict[str, Any] = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {"name": "C", "first_mes": "h"},
}
BOOK = {
    "entries": {"0": {"uid": 0, "key": ["reef"], "content": "Sticky text.", "sticky": 4, "order": 1, "position": 0}}
}
SAID = ["the reef", "and now", "well", "good", "bye"]


def opened(book: dict[str, Any] = BOOK, description: str = "d {{getvar::x}}", **settings: Any) -> OpenWorkspace:
    """A chat of which the first message fires an entry that stays for some messages."""
    card = {**CARD, "data": {**CARD["data"], "description": description}}
    lines: list[dict[str, Any]] = [{"user_name": "U", "character_name": "C", "chat_metadata": {}}]
    for text in SAID:
        lines += [
            {"name": "U", "is_user": True, "mes": text},
            {"name": "C", "is_user": False, "mes": f"Answer to {text}."},
        ]
    chat = "\n".join(map(json.dumps, lines)).encode()
    data = {"card.json": json.dumps(card).encode(), "book.json": json.dumps(book).encode(), "chat.jsonl": chat}
    files = [WorkingFile(name, name, each) for name, each in data.items()]
    return OpenWorkspace("t", files, SettingsChange(message="hm", **settings), every=True)


def session(turns: int, description: str) -> Plan:
    """The plan of a session that has had so many messages, turn by turn with what each leaves."""
    workspace = opened(description=description)
    whole = workspace.request()
    request = whole.with_(lore_state=None, variables={})
    for index in range(0, turns, 2):
        plan = build(request.with_(history=whole.history[:index], message=whole.history[index].content))
        request = request.with_(lore_state=plan.carry, variables=plan.variables)
    return build(request.with_(history=whole.history[:turns], message="hm"))


@pytest.mark.parametrize("description", ["plain", "{{setvar::x::{{getvar::x}}i}}{{getvar::x}}"])
@pytest.mark.parametrize("turn", [0, 1, 2, 3, 4, 6, 8, 9, 10])
def test_it_is_what_a_session_would_have(turn: int, description: str) -> None:
    """Timed effects go on from turn to turn, and end; so do variables, for which turns are built whole."""
    workspace = opened(description=description)
    for other in (9, 2, turn):  # whatever was looked at before
        workspace.change(SettingsChange(turn=other))
        plan = planned(workspace)
    assert plan.fingerprint() == session(turn, description).fingerprint()


def test_the_live_end_is_the_last_turn() -> None:
    """Without a cut a prompt has the state that it has with the cut at its end."""
    live = opened({"entries": {"0": {**BOOK["entries"]["0"], "sticky": 20}}})
    assert any("Sticky text." in message.content for message in planned(live).messages)
    cut = planned(live, Variation(settings=SettingsChange(turn=10)))
    assert planned(live).fingerprint() == cut.fingerprint()


def test_a_message_that_is_answered_now_has_left_nothing_yet() -> None:
    """A chat that ends with the user's message is built as that message's turn."""
    workspace = opened(turn=3)
    workspace.change(SettingsChange(message=None))
    whole = workspace.request()
    first = build(whole.with_(history=(), message=whole.history[0].content, lore_state=None, variables={}))
    assert whole.lore_state == first.carry


def test_what_the_chat_says_itself_counts() -> None:
    """A chat of SillyTavern's keeps its timed effects."""
    workspace = opened()
    state: dict[str, Any] = {"sticky": {}, "cooldown": {}}
    edit = Edit(file="", path=("header", "chat_metadata"))
    workspace.files["chat.jsonl"].apply(edit, {"timedWorldInfo": state})
    assert workspace.request().lore_state is None


def test_an_edit_of_an_earlier_message_counts() -> None:
    """Also where later turns were built before."""
    workspace = opened(turn=3)
    texts = [message.content for message in planned(workspace).messages]
    assert any("Sticky text." in text for text in texts)
    workspace.files["chat.jsonl"].apply(Edit(file="", path=("messages", 0, "mes")), "the sea")
    workspace.files["chat.jsonl"].apply(Edit(file="", path=("messages", 1, "mes")), "Answer.")
    assert not any("Sticky text." in message.content for message in planned(workspace).messages)


def test_nothing_is_built_where_nothing_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without timed effects and variables a cut costs nothing."""
    built: list[Any] = []
    monkeypatch.setattr(turn_states, "TAVERNS", built)
    workspace = opened({"entries": {}}, turn=6)
    workspace.files["card.json"].apply(Edit(file="", path=("data", "description")), "plain")
    assert workspace.request().lore_state is None
    assert built == []


def test_each_turn_may_take_what_a_build_may() -> None:
    """Many turns of a wide book are no work of one build."""
    with allowed(BuildLimits(steps=1)):
        state = opened().request().lore_state
    assert state == opened().request().lore_state


def test_the_next_turn_builds_itself_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more turns than are built again it is one in so many that begins, so that those between have the same before them."""
    monkeypatch.setattr(turn_states, "MAX_CARRIED", 2)
    monkeypatch.setattr(turn_states, "_STRIDE", 2)
    built: list[int] = []
    after = turn_states.TurnStates._after

    def counted(states: Any, asked: Any, index: int, state: Any, **fields: Any) -> Any:
        built.append(index)
        return after(states, asked, index, state, **fields)

    monkeypatch.setattr(turn_states.TurnStates, "_after", counted)
    workspace = opened(turn=7)
    workspace.request()
    workspace.change(SettingsChange(turn=9))
    workspace.request()
    assert built == [4, 6, 8]


def test_of_many_turns_the_last_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """And it is told that there are more."""
    monkeypatch.setattr(turn_states, "MAX_CARRIED", 2)
    monkeypatch.setattr(turn_states, "_STRIDE", 1)
    workspace = opened(turn=9)
    workspace.request()
    assert workspace.turn_states.note is not None
    workspace.change(SettingsChange(turn=2))
    workspace.request()
    assert workspace.turn_states.note is None
