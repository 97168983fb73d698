"""Injections: beside the main prompt, at depths, from the request and from a registry, in SillyTavern's order."""

from __future__ import annotations

from typing import Any, Final

import pytest

from innkeeper.prompt import InMemoryInjections, NoteKind, Ports, StrictModeError
from innkeeper.taverns import silly
from innkeeper.taverns.silly.text.story import STORY_KEY
from tests.lore.books import entry
from tests.taverns.silly.builds import book, build, contents, order, turns

HISTORY = turns("m1", "m2", "m3")


def at(depth: int, key: str, content: str, role: str = "system") -> dict[str, Any]:
    """An injection into the chat."""
    return {"id": key, "content": content, "position": "chat", "depth": depth, "role": role}


def test_roles_of_one_depth() -> None:
    """Assistant, user, system; texts of one role are joined by their ids."""
    given = [at(1, "b", "S2"), at(1, "a", "S1"), at(1, "c", "U", "user"), at(1, "d", "A", "assistant")]
    assert contents(build(history=HISTORY, injections=given))[-6:] == ["m1", "m2", "A", "U", "S1\nS2", "m3"]


def test_orders_of_one_depth() -> None:
    """The lower order first; injections join order 100."""
    prompts = [
        {"identifier": name, "content": name, "injection_position": 1, "injection_depth": 1, "injection_order": number}
        for name, number in (("late", 200), ("early", 50), ("middle", 100))
    ]
    listed = order("main", "charDescription", "chatHistory", "late", "early", "middle")
    preset = {"prompts": prompts, "prompt_order": listed}
    texts = contents(build(history=HISTORY, preset=preset, injections=[at(1, "x", "X")]))
    assert texts[-4:] == ["early", "middle\nX", "late", "m3"]


def test_a_jailbreak_at_a_depth() -> None:
    """It stands there, as in SillyTavern, where TavernKit moves it to the end."""
    prompts = [{"identifier": "jailbreak", "content": "JB", "injection_position": 1, "injection_depth": 2}]
    preset = {"prompts": prompts, "prompt_order": order("main", "chatHistory", "jailbreak")}
    texts = contents(build(history=HISTORY, preset=preset))
    assert texts[texts.index("m1") :][:4] == ["m1", "JB", "m2", "m3"]


@pytest.mark.parametrize("prefill", [False, True])
def test_a_postfix_is_not_in_the_prompt(prefill: bool) -> None:
    """What joins a reply to the text it continues is the caller's: another than the usual is noted, and changes nothing."""
    plans = [
        build(history=HISTORY, generation="continue", preset={"continue_postfix": postfix, "continue_prefill": prefill})
        for postfix in (" ", "\n")
    ]
    assert contents(plans[0]) == contents(plans[1])
    assert [any("continue_postfix" in note.message for note in plan.notes) for plan in plans] == [False, True]


def test_beyond_the_chat() -> None:
    """A depth past the chat's beginning stands at its top; one past 10,000 is dropped."""
    texts = contents(build(history=HISTORY, injections=[at(50, "x", "TOP"), at(10_001, "y", "GONE")]))
    assert texts[-4:] == ["TOP", "m1", "m2", "m3"]
    assert "GONE" not in texts


def test_beside_the_main_prompt() -> None:
    """Before and after it, blank ones too; empty ones and those that are only scanned are not sent."""
    prompts = [{"identifier": "main", "content": "MAIN", "system_prompt": True}]
    given = [
        {"id": "a", "content": "AFTER", "position": "after"},
        {"id": "b", "content": "BEFORE", "position": "before"},
        {"id": "c", "content": " ", "position": "before"},
        {"id": "d", "content": "SCANNED", "position": "none", "scan": True},
        {"id": "e", "content": "{{noop}}", "position": "before"},
    ]
    texts = contents(build(preset={"prompts": prompts}, injections=given, message="hi"))
    assert texts[:4] == [" ", "BEFORE", "MAIN", "AFTER"]
    assert "SCANNED" not in texts


def test_scanned_injections_fire_lore() -> None:
    """Only those that ask for it."""
    lore = [book(entry(1, "bell"))]
    for scan in (True, False):
        given = [{"id": "d", "content": "a bell", "position": "none", "scan": scan}]
        assert ("E1" in contents(build(injections=given, lorebooks=lore, message="hi"))) is scan


def test_keys_that_belong_to_lore() -> None:
    """SillyTavern removes such injections when it scans: they are scanned, not sent, and a note says so."""
    given = [{"id": "customWIOutlet_x", "content": "a bell", "position": "after", "scan": True}]
    plan = build(injections=given, lorebooks=[book(entry(1, "bell"))], message="hi")
    assert "E1" in contents(plan)
    assert "a bell" not in contents(plan)
    assert [note.kind for note in plan.notes if "customWIOutlet_x" in note.message] == [NoteKind.QUIRK]


def test_a_registry() -> None:
    """Its active injections take part like the request's; looking at them removes none."""
    registry = InMemoryInjections()
    registry.register(id="a", content="{{char}} waits.", position="chat", depth=0, ephemeral=True)
    registry.register(id="b", content="never", position="chat", filter=lambda _state: False)
    ports = Ports(injections=registry)
    for _ in range(2):
        texts = contents(build(ports, message="hi"))
        assert texts[-1] == "Mira waits."
        assert "never" not in texts
    assert registry.ephemeral_ids() == ("a",)


def test_a_registry_of_the_document() -> None:
    """A registry with the document's four methods, which has `each` and no `active`, is a registry too."""

    class Documented:
        def each(self) -> list[dict[str, Any]]:
            return [{"id": "a", "content": "A bell.", "position": "chat", "depth": 0, "scan": True}]

    plan = silly.build(message="hi", injection_registry=Documented(), lorebooks=[book(entry(1, "bell"))])  # type: ignore[arg-type]
    assert contents(plan)[-1] == "A bell."
    assert "E1" in contents(plan)


def test_a_saved_injection_that_cannot_be_read() -> None:
    """It is left out with a warning, which is an error where the build is strict."""
    ports = Ports(injections=InMemoryInjections.from_st_json({"a": {"value": "A.", "position": 1}, "b": {"value": 3}}))
    plan = build(ports, message="hi")
    assert "A." in contents(plan)
    (warning,) = plan.warnings
    assert warning.where is not None
    assert warning.where.path == "b"
    with pytest.raises(StrictModeError, match="a saved injection"):
        build(ports, message="hi", strict=True)


@pytest.mark.parametrize("depth", [-1, 10_001])
def test_depths_that_no_chat_has(depth: int) -> None:
    """In a text prompt as in a chat, what is left out for its depth is noted; so is a story string."""
    story = {"context": {"story_string": "S.", "story_string_position": 1, "story_string_depth": depth}}
    plan = build(dialect="text", message="hi", settings={"text": story})
    assert not any("S." in block.content for block in plan.enabled_blocks)
    assert [note.data["input"] for note in plan.notes if f"depth {depth}" in note.message] == [STORY_KEY]


def test_the_persona_at_a_depth() -> None:
    """There, and not with the card; the next generation's scan sees it."""
    user = {"name": "Sam", "description": "A bell founder.", "position": 4, "depth": 0}
    plan = build(user=user, message="hi")
    assert contents(plan)[-1] == "A bell founder."
    assert contents(plan).count("A bell founder.") == 1
    lore = [book(entry(1, "founder"))]
    assert "E1" not in contents(build(user=user, message="hi", lorebooks=lore))
    assert "E1" in contents(build(user=user, message="hi", lorebooks=lore, lore_state=plan.carry))


def test_the_note() -> None:
    """At its depth and role, in the turns it is due."""
    note = {"text": "NOTE", "depth": 1, "role": 1, "interval": 2}
    assert "NOTE" in contents(build(history=turns("a", "b", "c"), authors_note=note))
    assert "NOTE" not in contents(build(history=turns("a"), authors_note=note))


DEEP: Final = {"depth_prompt": {"prompt": "TEXT", "depth": 1, "role": "tool"}}
CARD: Final = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Mira", "extensions": DEEP}}
LORE: Final = {"uid": 0, "key": [], "constant": True, "content": "TEXT", "position": 4, "depth": 1, "role": "tool"}
UNKNOWN: Final[dict[str, dict[str, Any]]] = {
    "lore": {"lorebooks": [{"entries": {"0": LORE}}]},
    "persona": {"user": {"name": "T", "description": "TEXT", "position": 4, "depth": 1, "role": "tool"}},
    "card": {"character": CARD},
}


@pytest.mark.parametrize("where", UNKNOWN)
def test_a_role_that_nobody_has(where: str) -> None:
    """A text in the chat whose role is not one is sent as the system's, and a warning says so."""
    plan = build(message="hi", **UNKNOWN[where])
    assert ("system", "TEXT") in [(message.role, message.content) for message in plan.messages]
    assert any("tool" in note.message for note in plan.warnings)
