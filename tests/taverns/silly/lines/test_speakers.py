"""Who speaks next in a group: each strategy's rule, and that chance comes from the seed alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content.character import Character
from innkeeper.prompt import BuildRequest
from innkeeper.prompt.determinism import Mulberry32
from innkeeper.taverns import silly
from innkeeper.taverns.silly.lines.group import Group
from innkeeper.taverns.silly.lines.line import Line
from innkeeper.taverns.silly.lines.speakers import SpeakerStrategy, choose_speakers
from innkeeper.taverns.silly.settings import GroupSettings

NAMES = ("Ada Low", "Bram", "Cleo")


def group(strategy: int = SpeakerStrategy.NATURAL, talk: tuple[float, ...] = (0, 0, 0), **fields: Any) -> Group:
    """Three members with these talkativenesses."""
    members = tuple(
        Character(name=name, extensions={"talkativeness": readiness})
        for name, readiness in zip(NAMES, talk, strict=True)
    )
    return Group(settings=GroupSettings(activation_strategy=strategy, **fields), members=members, files=NAMES)


def chat(*said: str) -> tuple[Line, ...]:
    """Lines as ``Name: text``; ``Sam`` is the user, ``*`` the narrator."""
    pairs = [line.split(": ") for line in said]
    return tuple(
        Line(index=place, name=name, text=text, is_user=name == "Sam", narrator=name == "*")
        for place, (name, text) in enumerate(pairs)
    )


@dataclass(frozen=True)
class Case:
    """A group, its chat, and who must be chosen whatever the seed."""

    name: str
    group: Group
    lines: tuple[Line, ...]
    chosen: tuple[int, ...]
    text: str = ""
    generation: str = "normal"


QUIET = group()
CASES = (
    Case("list: all in order", group(SpeakerStrategy.LIST), (), (0, 1, 2)),
    Case("list without the muted", group(SpeakerStrategy.LIST, disabled=(1,)), (), (0, 2)),
    Case("all muted", group(SpeakerStrategy.LIST, disabled=(0, 1, 2)), (), ()),
    Case("manual: nobody after the user", group(SpeakerStrategy.MANUAL), (), (), "hello"),
    Case("natural: mentions in their order", QUIET, (), (2, 0), "Cleo, and you, Ada?"),
    Case("natural: any word of a name", QUIET, (), (0,), "low tide"),
    Case("natural: whole words only", group(talk=(0, 1, 0)), (), (1,), "adaptable"),
    Case("natural: muted are not mentioned", group(disabled=(2,), talk=(0, 1, 0)), (), (1,), "Cleo?"),
    Case("natural: not twice in a row", QUIET, chat("Sam: hi", "Bram: Bram and Cleo"), (2,)),
    Case("natural: twice when allowed", group(allow_self_responses=True), chat("Bram: Bram here"), (1,)),
    Case("natural: twice when the user asks", QUIET, chat("Bram: hi"), (1,), "Bram?"),
    Case("natural: the talkative", group(talk=(0, 1, 0)), (), (1,), "hello"),
    Case("pooled: the silent one", group(SpeakerStrategy.POOLED), chat("Sam: x", "Ada Low: y", "Cleo: z"), (1,)),
    Case("swipe: the last speaker", QUIET, chat("Cleo: a", "Sam: b"), (2,), generation="swipe"),
    Case("continue: past the narrator", QUIET, chat("Bram: a", "*: b"), (1,), generation="continue"),
    Case("quiet without a speaker: the first", QUIET, chat("Sam: b"), (0,), generation="quiet"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rules(case: Case) -> None:
    """The rule decides, not chance."""
    for seed in range(12):
        found = choose_speakers(case.group, case.lines, Mulberry32(seed), generation=case.generation, text=case.text)
        assert found == case.chosen


def test_pooled_after_all_have_spoken() -> None:
    """Anyone but the one who spoke last."""
    lines = chat("Sam: x", "Bram: a", "Ada Low: b", "Cleo: c")
    found = {choose_speakers(group(SpeakerStrategy.POOLED), lines, Mulberry32(seed))[0] for seed in range(40)}
    assert found == {0, 1}


@given(
    st.sampled_from(list(SpeakerStrategy)),
    st.integers(0, 2**32),
    st.sets(st.integers(0, 2)),
    st.sampled_from(["normal", "swipe", "continue", "quiet", "impersonate", "regenerate"]),
    st.text(max_size=20),
)
def test_choices_are_sound(strategy: SpeakerStrategy, seed: int, muted: set[int], generation: str, text: str) -> None:
    """The same seed chooses the same; nobody is chosen twice, no muted one ever."""
    members = group(strategy, talk=(0.5, 0.5, 0.5), disabled=tuple(muted))
    lines = chat("Sam: hi", "Bram: yes")
    first = choose_speakers(members, lines, Mulberry32(seed), generation=generation, text=text)
    assert first == choose_speakers(members, lines, Mulberry32(seed), generation=generation, text=text)
    assert len(set(first)) == len(first)
    assert not set(first) & muted


def test_a_build_without_a_speaker() -> None:
    """It takes the first who is chosen, and says so; a speaker who is given is taken without a word."""
    members = [{"card": {"name": name, "description": f"{name} is here."}} for name in NAMES]
    request = BuildRequest.of(
        {
            "tavern": "silly",
            "group": {"members": members},
            "message": "Cleo?",
            "now": "2026-01-15T12:34:56Z",
        }
    )
    plan = silly.build(request)
    assert "Cleo is here." in [block.content for block in plan.blocks]
    (note,) = [note for note in plan.notes if "speaker" in note.message]
    assert note.data["speakers"][0] == 2
    given = silly.build(request.with_(group={"members": members, "speaker": 1}))
    assert "Bram is here." in [block.content for block in given.blocks]
    assert not [note for note in given.notes if "speaker" in note.message]


def test_members_of_one_name_are_told_apart_by_their_cards() -> None:
    """The file of the card that spoke a line says whose it is, as SillyTavern has it."""
    lines = [Line(index=0, name="Ada", text="hm", original_avatar="ada2.png")]
    members = (Character(name="Ada"), Character(name="Ada"))
    pair = Group(settings=GroupSettings(activation_strategy=3), members=members, files=("ada1", "ada2"))
    for seed in range(5):
        assert choose_speakers(pair, lines, Mulberry32(seed)) == (0,)
