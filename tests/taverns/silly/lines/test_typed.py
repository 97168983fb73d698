"""The chat as a generation finds it: new input, replies taken away, hidden lines."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.prompt import FrozenDict, Message
from tests.taverns.silly.builds import build, contents, turns


@pytest.mark.parametrize(
    ("fields", "sent"),
    [
        ({"message": "c"}, ["a", "b", "c"]),
        ({"generation": "regenerate"}, ["a"]),
        ({"generation": "regenerate", "settings": {"generation": {"dry_run": True}}}, ["a", "b"]),
        ({"generation": "swipe"}, ["a"]),
        ({"preset": {"send_if_empty": "go on"}}, ["a", "b", "go on"]),
    ],
    ids=["new input", "regenerate", "regenerate in a dry run", "swipe", "send if empty"],
)
def test_what_is_sent(fields: dict[str, Any], sent: list[str]) -> None:
    """The chat's own lines at the end of the prompt."""
    assert contents(build(history=turns("a", "b"), **fields))[-len(sent) :] == sent


@pytest.mark.parametrize(("is_dry", "said"), [(False, ["a", "b", "c", "go on"]), (True, ["a", "b", "c"])])
def test_a_dry_run_says_nothing(is_dry: bool, said: list[str]) -> None:
    """Where the user says nothing, a dry run puts nothing into the chat; only a reply is followed by a filler."""
    fields: dict[str, Any] = {"preset": {"send_if_empty": "go on"}, "settings": {"generation": {"dry_run": is_dry}}}
    assert contents(build(history=turns("a", "b", "c"), **fields))[-len(said) :] == said


def test_a_swipe_is_still_seen_by_macros() -> None:
    """It is only left out of the prompt; a reply to regenerate is gone."""
    prompts = [{"identifier": "main", "content": "{{lastMessage}}", "system_prompt": True}]
    for generation, last in (("swipe", "b"), ("regenerate", "a")):
        plan = build(history=turns("a", "b"), generation=generation, preset={"prompts": prompts})
        assert contents(plan)[0] == last


def test_hidden_lines() -> None:
    """They are in no prompt and do not count for depths."""
    hidden = Message("user", "secret", metadata=FrozenDict(hidden=True))
    given = {"id": "x", "content": "X", "position": "chat", "depth": 1}
    texts = contents(build(history=[*turns("a"), hidden, Message("assistant", "b")], injections=[given]))
    assert texts[-3:] == ["a", "X", "b"]
