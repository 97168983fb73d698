"""Names: in the content, in the name field, or nowhere, as the preset says."""

from __future__ import annotations

import pytest

from tests.taverns.silly.builds import build, contents, turns

MEMBERS = [{"card": {"name": name, "description": name}} for name in ("Mira", "Bram")]


@pytest.mark.parametrize(
    ("behavior", "sent"),
    [(-1, ["hi", "yes"]), (0, ["hi", "yes"]), (1, ["hi", "yes"]), (2, ["Sam: hi", "Mira: yes"])],
    ids=["none", "default", "completion", "content"],
)
def test_alone(behavior: int, sent: list[str]) -> None:
    """With one character only *content* shows names."""
    assert contents(build(history=turns("hi", "yes"), preset={"names_behavior": behavior}))[-2:] == sent


def test_in_a_group() -> None:
    """The default shows the members' names and not the user's."""
    history = [{"role": "user", "content": "hi"}, {"role": "assistant", "name": "Bram", "content": "yes"}]
    plan = build(history=history, group={"members": MEMBERS, "speaker": 0}, preset={"group_nudge_prompt": ""})
    assert contents(plan)[-2:] == ["hi", "Bram: yes"]


@pytest.mark.parametrize(
    ("name", "field"),
    [("Mira", "Mira"), ("J\u00f6rg O'Neil", "J_rg_O_Neil"), ("\u6e21", "_"), ("x" * 80, "x" * 64)],
    ids=["plain", "signs", "only signs", "long"],
)
def test_name_fields(name: str, field: str) -> None:
    """Other characters become underscores, at most 64 of them."""
    history = [{"role": "assistant", "name": name, "content": "yes"}]
    plan = build(history=history, preset={"names_behavior": 1})
    assert plan.enabled_blocks[-1].name == field
