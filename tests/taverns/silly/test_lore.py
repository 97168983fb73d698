"""Carry: what one generation leaves for the next, in whatever form it comes back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.taverns.silly.lore import Carry, read_carry
from tests.lore.books import entry
from tests.taverns.silly.builds import book, build, card, contents, order, turns

VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=5), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
)


def test_sticky_entries_stay() -> None:
    """Their effect is carried through JSON to the next build, which the key no longer fires."""
    lore = [book(entry(1, "bell", sticky=5))]
    options: dict[str, Any] = {"lorebooks": lore, "settings": {"wi_settings": {"depth": 1}}}
    first = build(history=turns("the bell"), **options)
    carry = json.loads(json.dumps(first.carry))
    later = turns("the bell", "yes", "and now?")
    assert "E1" in contents(build(history=later, lore_state=carry, **options))
    assert "E1" not in contents(build(history=later, **options))


def test_a_dry_run_leaves_effects_alone() -> None:
    """It neither uses nor starts them, and hands on what there was."""
    lore = [book(entry(1, "bell", sticky=5))]
    dry: dict[str, Any] = {"lorebooks": lore, "settings": {"generation": {"dry_run": True}}}
    assert not build(history=turns("the bell"), **dry).carry["timed"]["sticky"]
    before = build(history=turns("the bell"), lorebooks=lore).carry
    assert build(history=turns("the bell", "yes", "and now?"), lore_state=before, **dry).carry == before


def test_what_is_sent_is_scanned() -> None:
    """Reasoning that is added, and tool calls where they are sent; the card's depth prompt where the note may be."""
    thinking = {"role": "assistant", "content": "hm", "metadata": {"extra": {"reasoning": "a bell"}}}
    card_of_bells = card(extensions={"depth_prompt": {"prompt": "a bell", "depth": 4}})
    lore = [book(entry(1, "bell"))]
    reasoning = {"power_user": {"reasoning": {"add_to_prompts": True}}}
    assert "E1" in contents(build(history=[thinking], message="hi", lorebooks=lore, settings=reasoning))
    assert "E1" not in contents(build(history=[thinking], message="hi", lorebooks=lore))
    for scan in (True, False):
        note = {"text": "", "allow_wi_scan": scan}
        plan = build(character=card_of_bells, message="hi", lorebooks=lore, authors_note=note)
        assert ("E1" in contents(plan)) is scan


def test_the_own_book_of_a_character_comes_first() -> None:
    """Whatever the order of the books: its extra books stand behind it."""
    extra, own = (entry(uid, constant=True) for uid in (1, 2))
    books = [book(extra, scope="character_extra", name="X"), book(own, scope="character", name="Y")]
    activated = build(lorebooks=books, message="hi").lore.activated
    assert [item.uid for item in activated] == [2, 1]


@pytest.mark.parametrize(
    ("text", "key", "fires"),
    [
        ("the lamp\n", "/lamp$/", True),
        ("the lamp\n\n", "/\\n\\n/", False),
        ("\ufeffthe lamp", "/\\ufeff/", False),
        ("the lamp\x85", "/\\x85/", True),
        ("\n\nthe lamp", "/^\\x01the/", True),
    ],
)
def test_lines_are_trimmed_before_they_are_scanned(text: str, key: str, fires: bool) -> None:
    """White space at the ends of a line, by JavaScript's rules, is not what keys see; the prompt has it."""
    settings = {"wi_settings": {"include_names": False}}
    assert ("E1" in contents(build(message=text, lorebooks=[book(entry(1, key))], settings=settings))) is fires


@given(VALUES)
def test_any_state_can_be_read(raw: Any) -> None:
    """What is malformed is nothing."""
    assert isinstance(read_carry(raw), Carry)
    assert all(isinstance(text, str) for text in read_carry(raw).scans.values())


def test_bare_effects() -> None:
    """A state of timed effects alone is read as such."""
    assert read_carry({"sticky": {}}) == Carry({"sticky": {}})


def test_the_last_type_is_carried() -> None:
    """A dry run sees the type of the generation before it and leaves it; others see and leave their own."""
    preset = {"prompts": [{"identifier": "main", "content": "[{{lastGenerationType}}]"}], "prompt_order": order("main")}
    first = build(preset=preset, message="hi", generation="normal")
    fields: dict[str, Any] = {"preset": preset, "history": turns("a", "b"), "generation": "swipe"}
    dry = build(**fields, lore_state=first.carry, settings={"generation": {"dry_run": True}})
    assert contents(dry)[0] == "[normal]"
    assert dry.carry["generation"] == "normal"
    assert contents(build(**fields, lore_state=dry.carry))[0] == "[swipe]"


@pytest.mark.parametrize(
    ("fields", "fired", "text"),
    [
        ({"position": 7, "outletName": "cellar"}, False, "fired, but nothing places outlet 'cellar'"),
        ({"position": 7, "outletName": "attic"}, True, "fired by 'bell'"),
        ({"position": 7}, False, "fired, but its outlet has no name"),
        ({"content": " {{trim}}\n"}, False, "fired, but it has no text"),
        ({"position": 2}, False, "fired, but the author's note that it stands at is not in this turn"),
        ({"position": 0}, True, "fired by 'bell'"),
    ],
)
def test_what_fired_and_is_nowhere(fields: dict[str, Any], fired: bool, text: str) -> None:
    """The verdict is about the prompt: an entry whose text nothing places is not in it, and the reason says so."""
    prompts = [{"identifier": "main", "content": "Up: {{outlet::attic}}"}]
    preset = {"prompts": prompts, "prompt_order": order("main", "worldInfoBefore", "chatHistory")}
    note = {"text": "Note.", "interval": 0}
    plan = build(message="the bell", preset=preset, authors_note=note, lorebooks=[book(entry(1, "bell", **fields))])
    (decision,) = plan.lore.verdicts
    assert (decision.fired, str(decision).startswith(text)) == (fired, True), str(decision)


def test_outlets_that_a_dry_run_leaves() -> None:
    """Macros of the next generation find them until its own scan; those of a generation that was sent are gone."""
    lore = [book(entry(1, "bell", position=7, outletName="o"), entry(2, "lamp", content="[{{outlet::o}}]"))]
    for dry_run in (True, False):
        settings = {"generation": {"dry_run": dry_run}}
        carry = json.loads(json.dumps(build(message="the bell", lorebooks=lore, settings=settings).carry))
        assert ("[E1]" in contents(build(message="the lamp", lorebooks=lore, lore_state=carry))) is dry_run
