"""The prompts of a preset: their turn, their markers, what the card says in their place."""

from __future__ import annotations

from typing import Any

import pytest

from tests.taverns.silly.builds import build, card, contents, order


@pytest.mark.parametrize(("triggers", "place"), [([], 1), (["normal"], 1), (["continue"], 2)])
def test_a_marker_for_other_generations(triggers: list[str], place: int) -> None:
    """It loses its turn: what it stands for comes last, as if the order did not name it (measured on SillyTavern 1.19)."""
    prompts = [
        {"identifier": "main", "content": "MAIN"},
        {"identifier": "charDescription", "marker": True, "injection_trigger": triggers},
        {"identifier": "nsfw", "content": "TAIL"},
    ]
    preset = {"prompts": prompts, "prompt_order": order("main", "charDescription", "nsfw")}
    assert contents(build(preset=preset, message="hi")).index("A clockmaker.") == place


@pytest.mark.parametrize(
    ("persona", "shown"),
    [({"description": "P", "position": 0}, "P"), ({"description": "P", "position": 9}, "own"), ({}, "own")],
    ids=["in the prompt", "elsewhere", "none"],
)
def test_a_text_in_the_personas_marker(persona: dict[str, Any], shown: str) -> None:
    """A marker for the persona that holds a text of its own sends it where the persona is not."""
    prompts = [{"identifier": "personaDescription", "marker": True, "content": "own"}]
    preset = {"prompts": prompts, "prompt_order": order("personaDescription")}
    assert contents(build(preset=preset, user={"name": "Sam", **persona}, message="hi"))[0] == shown


def test_a_main_prompt_for_other_generations() -> None:
    """It loses its own text alone: the card's may take its place, with nothing for the original."""
    prompts = [{"identifier": "main", "content": "MAIN", "injection_trigger": ["continue"]}]
    preset = {"prompts": prompts, "prompt_order": order("main")}
    sent = contents(build(character=card(system_prompt="Card. {{original}}"), preset=preset, message="hi"))
    assert sent[0] == "Card. "
    assert "MAIN" not in " ".join(contents(build(preset=preset, message="hi")))


def test_an_original_is_no_fault_where_it_is_resolved() -> None:
    """The card's prompts stand for the preset's; only what is left unresolved is said, and in which text."""
    prompts = [{"identifier": "main", "content": "MAIN"}, {"identifier": "jailbreak", "content": "TAIL"}]
    preset = {"prompts": prompts, "prompt_order": order("main", "chatHistory", "jailbreak")}
    own = card(system_prompt="Card. {{original}}", post_history_instructions="{{original}} End.")
    plan = build(character=own, preset=preset, message="hi")
    assert contents(plan)[0] == "Card. MAIN"
    assert contents(plan)[-1] == "TAIL End."
    assert plan.warnings == ()
    wrong = build(character=card(description="{{original}}"), preset=preset, message="hi")
    (warning,) = wrong.warnings
    assert str(warning).startswith("Mira:1:1: description")


@pytest.mark.parametrize(
    ("position", "sent", "count"), [(0, ["own 1"], "2"), (1, ["own 1\nown 2"], "2")], ids=["in its turn", "in the chat"]
)
def test_a_prompt_that_the_order_names_twice(position: int, sent: list[str], count: str) -> None:
    """It is expanded each time; in its turn it is sent once, in the chat each time (measured on SillyTavern 1.19)."""
    item = {"identifier": "own", "content": "own {{incvar::n}}", "system_prompt": False, "injection_position": position}
    preset = {"prompts": [item], "prompt_order": order("own", "own", "chatHistory")}
    plan = build(preset=preset, message="hi")
    assert [text for text in contents(plan) if "own" in text] == sent
    assert str(plan.variables["local"]["n"]) == count
