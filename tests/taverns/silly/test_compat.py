"""Quirks: each switch does what it says, both ways; a plan names its profile."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.prompt import InnkeeperError, NoteKind, Plan
from innkeeper.taverns.silly.settings import DEFAULT_PROFILE, PROFILES, Quirks, compat_of
from tests.lore.books import entry
from tests.taverns.silly.builds import book, build, contents, order, turns


def both(**fields: Any) -> tuple[Plan, Plan]:
    """The same request under the default profile and the fixed one."""
    return build(**fields), build(profile="fixed", **fields)


def fired(plan: Plan) -> list[int]:
    """The ids of the entries in the prompt."""
    return [item.uid for item in plan.lore.activated]


def test_double_removal() -> None:
    """A loser of two groups takes an entry along that is in none; fixed, it goes alone."""
    members = (
        entry(1, "bell", group="a,b", order=30),
        entry(2, "bell", group="a", groupOverride=True, order=40),
        entry(3, "bell", group="b", groupOverride=True, order=50),
        entry(4, "bell", order=1),
    )
    theirs, ours = both(message="the bell", lorebooks=[book(*members)])
    assert 4 not in fired(theirs)
    assert fired(ours) == [3, 2, 4]
    quirk = next(item for item in theirs.lore.verdicts if item.uid == 4)
    assert "quirk" in str(quirk)


def test_reversed_ties() -> None:
    """Entries of one order stand in reverse; fixed, as they were activated."""
    entries = (entry(1, "bell", content="first"), entry(2, "bell", content="second"))
    theirs, ours = both(message="the bell", lorebooks=[book(*entries)])
    assert "second\nfirst" in contents(theirs)
    assert "first\nsecond" in contents(ours)


@pytest.mark.parametrize(
    ("key", "text", "theirs", "ours"),
    [
        ("b\u00e4r", "ein B\u00e4r\u00e4 kommt", True, False),
        ("b\u00e4r", "ein B\u00e4r kommt", True, True),
        ("\u6e21", "\u4e09\u6e21\u5834", True, True),
        ("\u0432\u043e\u043b", "\u0432\u043e\u043b\u043a", True, False),
        ("fox", "foxes", False, False),
    ],
    ids=["umlaut behind", "whole word", "han", "cyrillic", "ascii"],
)
def test_ascii_words(key: str, text: str, *, theirs: bool, ours: bool) -> None:
    """A letter beyond ASCII ends a word; fixed, it does so only in scripts without spaces."""
    found = both(message=text, lorebooks=[book(entry(1, key, matchWholeWords=True))])
    assert [bool(fired(plan)) for plan in found] == [theirs, ours]


def test_note_lore_vanishes() -> None:
    """Lore at a note that is not due is lost; fixed, it is sent without the note's text."""
    fields: dict[str, Any] = {
        "history": turns("the bell", "yes"),
        "authors_note": {"text": "NOTE", "interval": 5, "depth": 1},
        "lorebooks": [book(entry(1, "bell", content="LORE", position=2))],
    }
    theirs, ours = both(**fields)
    assert fired(theirs) == [1]
    assert not [text for text in contents(theirs) if "LORE" in text]
    assert "LORE" in contents(ours)
    assert not [text for text in contents(ours) if "NOTE" in text]


def test_injections_need_main() -> None:
    """Without a main prompt in the order injections beside it vanish; fixed, they come first."""
    fields: dict[str, Any] = {
        "preset": {"prompt_order": order("charDescription", "chatHistory"), "prompts": []},
        "injections": [{"id": "x", "content": "BESIDE", "position": "after"}],
        "message": "hi",
    }
    theirs, ours = both(**fields)
    assert "BESIDE" not in contents(theirs)
    assert contents(ours)[0] == "BESIDE"


@pytest.mark.parametrize(
    ("said", "sent"),
    [({}, False), ({"system_prompt": True}, False), ({"system_prompt": 0}, False), ({"system_prompt": False}, True),
     ({"injection_position": 1}, True)],
    ids=str,
)  # fmt: skip
def test_own_prompts_say_so(said: dict[str, Any], sent: bool) -> None:
    """A prompt of the preset's own in its turn is sent when it says that it is one, else noted; fixed, it is always sent."""
    prompt = {"identifier": "own", "content": "OWN", **said}
    theirs, ours = both(message="hi", preset={"prompts": [prompt], "prompt_order": order("own", "chatHistory")})
    assert "OWN" in contents(ours)
    assert ("OWN" in contents(theirs)) is sent
    noted = [note for note in theirs.notes if note.kind is NoteKind.QUIRK and "'own'" in note.message]
    assert bool(noted) is not sent


def test_prompts_in_other_words_need_not_say_so() -> None:
    """Only SillyTavern's own spelling of a prompt is read as strictly as SillyTavern reads it."""
    preset = {"prompts": [{"id": "own", "content": "OWN"}], "prompt_order": order("own", "chatHistory")}
    assert "OWN" in contents(build(message="hi", preset=preset))


def test_a_plan_names_its_profile() -> None:
    """Also when the request names none."""
    theirs, ours = both(message="hi")
    assert (theirs.profile, ours.profile) == (DEFAULT_PROFILE, "fixed")


def test_an_unknown_profile() -> None:
    """It is an error that lists what there is."""
    with pytest.raises(InnkeeperError, match="profile"):
        build(message="hi", profile="sillytavern-9")


def test_profiles() -> None:
    """The default keeps every quirk, the fixed one none; every switch says what it does."""
    fields = Quirks.__struct_fields__
    assert all(getattr(compat_of(None), name) for name in fields)
    assert not any(getattr(PROFILES["fixed"], name) for name in fields)
