"""The template tavern: a rendered text with its ranges, the newest turns, and what the user says now."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import FormatError, InnkeeperError, MaxTokensExceededError, Message, NoteKind, Plan
from innkeeper.prompt.data import FrozenDict
from innkeeper.taverns import TAVERNS, replay
from innkeeper.taverns.template import TAVERN

NOW = "2026-01-15T12:00:00Z"


def built(**inputs: Any) -> Plan:
    """A plan at a set time."""
    return TAVERN.build(**{"now": NOW, **inputs})


def turns(count: int) -> list[Message]:
    """A history."""
    return [Message("user" if n % 2 == 0 else "assistant", f"turn {n}") for n in range(count)]


def test_it_is_registered() -> None:
    """Requests name it, so that bundles can be built again."""
    assert TAVERNS["template"] is TAVERN


def test_the_order_is_system_history_message() -> None:
    """Empty texts make no block; each block says where it is from."""
    plan = built(system="Be kind.", history=turns(2), message="now")
    assert [block.content for block in plan.blocks] == ["Be kind.", "turn 0", "turn 1", "now"]
    assert [str(block.ranges()[0].origin) for block in plan.blocks] == [
        "request.system",
        "history[0]",
        "history[1]",
        "message",
    ]
    assert [block.content for block in built(history=turns(1)).blocks] == ["turn 0"]


@given(st.text(max_size=20), st.lists(st.integers(0, 30), max_size=6))
def test_every_character_has_an_origin(text: str, ends: list[int]) -> None:
    """Whatever ranges are given, the pieces are the text."""
    plan = built(system=text, settings={"ranges": [[end, "t@1", "x"] for end in ends]}, message="now")
    for block in plan.blocks:
        assert "".join(piece.text for piece in block.ranges()) == block.content


def test_ranges_name_template_and_variable() -> None:
    """What they do not cover is of the request."""
    plan = built(system="abcdef", settings={"ranges": [[2, "t@1", None], [4, "p@2", "x"]]})
    found = [(piece.text, str(piece.origin)) for piece in plan.blocks[0].pieces]
    assert found == [
        ("ab", "template(t@1).system_prompt"),
        ("cd", "template(p@2).system_prompt {{x}}"),
        ("ef", "request.system"),
    ]


@pytest.mark.parametrize("ranges", ["x", [[1]], [[-1, "t", None]], [["1", "t", None]]])
def test_ranges_of_another_shape_are_refused(ranges: Any) -> None:
    """They say where."""
    with pytest.raises(InnkeeperError, match="ranges") as caught:
        built(system="x", settings={"ranges": ranges})
    assert isinstance(caught.value, FormatError) or isinstance(caught.value.__cause__, FormatError)


def test_the_current_message_is_sent_once() -> None:
    """Its stored copy is known by its id; the same words said before stay."""
    stored = Message("user", "yes", metadata=FrozenDict(client_msg_id="7"))
    plan = built(history=[Message("user", "yes"), stored], message="yes", settings={"client_msg_id": "7"})
    assert [block.id for block in plan.blocks] == ["history-0", "user_message"]
    assert [note.data["input"] for note in plan.notes if note.kind is NoteKind.IGNORED] == ["history[1]"]


def test_the_newest_turns_fit() -> None:
    """Oldest turns go; the system text, system messages and the user's message stay; used and reserved are in the window."""
    history = [*turns(40), Message("system", "a scene")]
    plan = built(system="Be kind.", history=history, message="now", context_window=120, reserved_tokens=20)
    report = plan.trim_report
    assert report.final_tokens + 20 <= 120
    sent = [block.content for block in plan.enabled_blocks]
    assert (sent[0], sent[-2:]) == ("Be kind.", ["a scene", "now"])
    kept = sent[1:-2]
    assert kept == [message.content for message in turns(40)][-len(kept) :]
    with pytest.raises(MaxTokensExceededError):
        built(system="word " * 200, message="now", context_window=120)


PARTS = (
    {"kind": "memory", "text": "They met at sea."},
    {"kind": "voice", "text": "Aye, aye. " * 10},
    {"kind": "scene", "text": "A quay in the rain. " * 10},
)


def test_parts_stand_behind_the_system_prompt() -> None:
    """Parts are system blocks of their own, between the template's text and the history; each says where it is from."""
    plan = built(system="Be kind.", history=turns(1), message="now", settings={"parts": PARTS})
    assert [block.slot for block in plan.blocks] == ["system", "memory", "voice", "scene", "history", "user_message"]
    assert {block.role for block in plan.blocks[:4]} == {"system"}
    assert str(plan.blocks[1].ranges()[0].origin) == "request.settings[parts[0]]"
    with pytest.raises(InnkeeperError, match=r"settings.*kind"):
        built(message="now", settings={"parts": [{"kind": "secret", "text": "x"}]})


@pytest.mark.parametrize(
    ("window", "left"),
    [
        (400, ["system", "memory", "voice", "scene", *["history"] * 12, "user_message"]),
        (200, ["system", "memory", "voice", "scene", "history", "history", "user_message"]),
        (110, ["system", "memory", "voice", "history", "user_message"]),
        (60, ["system", "memory", "history", "user_message"]),
    ],
)
def test_the_order_in_which_a_prompt_gets_shorter(window: int, left: list[str]) -> None:
    """First turns that are not pinned, the oldest first, then the scene, then the voice; memory and the last word never."""
    pinned = Message("user", "pinned", metadata=FrozenDict(pinned=True))
    plan = built(
        system="Be kind.",
        history=[pinned, *turns(11)],
        message="now",
        settings={"parts": PARTS},
        context_window=window,
    )
    kept = [block.slot for block in plan.enabled_blocks]
    assert [slot for slot in kept if slot != "history"] == [slot for slot in left if slot != "history"]
    assert "pinned" in [block.content for block in plan.enabled_blocks]
    assert plan.trim_report.final_tokens <= window


def test_what_has_no_effect_is_named() -> None:
    """Assets, lore and unknown settings are ignored, never silently."""
    plan = built(message="now", character="Mara", lorebooks=[{}], seed=3, settings={"colour": 1})
    named = {note.data["input"] for note in plan.notes if note.kind is NoteKind.IGNORED}
    assert named == {"character", "lorebooks", "seed", "settings.colour"}


def test_it_is_built_again() -> None:
    """A plan's bundle gives the same plan."""
    plan = built(
        system="ab", settings={"ranges": [[1, "t@1", None]]}, history=turns(3), message="now", dialect="anthropic"
    )
    again = replay(plan.replay())
    assert again.blocks == plan.blocks
    assert again.fingerprint() == plan.fingerprint()
