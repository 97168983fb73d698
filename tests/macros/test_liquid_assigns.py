"""The names a template finds in a build."""

from typing import Any

import pytest

from innkeeper.content.character import Character
from innkeeper.content.persona import Persona
from innkeeper.macros.liquid import render
from innkeeper.macros.liquid_assigns import liquid_assigns, liquid_registers, plain
from innkeeper.prompt import Context, LimitError

SERA = Character(
    name="Seraphina",
    nickname="Sera",
    description="D",
    personality="P",
    scenario="S",
    system_prompt="SP",
    post_history_instructions="PH",
    mes_example="<START>",
)
CONTEXT = Context({"chatIndex": 3, "model": "m", "role": "user", "app": {"theme": ["dark"]}})

EXPECTED = {
    "char": "Sera",
    "user": "Alice",
    "description": "D",
    "personality": "P",
    "scenario": "S",
    "persona": "tall",
    "system_prompt": "SP",
    "post_history_instructions": "PH",
    "mes_examples": "<START>",
    "chat_index": 3,
    "message_index": None,
    "model": "m",
    "role": "user",
}


@pytest.mark.parametrize(("name", "value"), EXPECTED.items(), ids=EXPECTED)
def test_name(name: str, value: Any) -> None:
    """Each name of the reference stands for its value."""
    assigns = liquid_assigns(SERA, Persona(name="Alice", description="tall"), CONTEXT)
    assert assigns[name] == value


def test_context_is_whole() -> None:
    """``context`` is all of the application's data."""
    assigns = liquid_assigns(None, None, CONTEXT)
    assert render("{{ context.app.theme[0] }}{{ context.chat_index }}", assigns).text == "dark3"


def test_nobody_is_nil() -> None:
    """Without character and user their names are nil, which even a strict template may print."""
    template = "".join(f"{{{{ {name} }}}}" for name in EXPECTED if name not in CONTEXT)
    assert render(template, liquid_assigns(None, None, Context()), strict=True).text == ""


def test_history_is_not_exposed() -> None:
    """Templates see no messages."""
    assert "history" not in liquid_assigns(SERA, None, CONTEXT)


def test_blank_examples_are_nil() -> None:
    """``mes_examples`` is nil when the card has only spaces."""
    assert liquid_assigns(Character(name="a", mes_example=" \n"), None, CONTEXT)["mes_examples"] is None


def test_objects_are_not_data() -> None:
    """What is no data in the context is nil for a template: it walks no objects."""
    context = Context({"estimator": object(), "call": print})
    assert (
        render("[{{ context.estimator }}{{ context.call.__self__ }}]", liquid_assigns(None, None, context)).text == "[]"
    )


def test_depth_is_bounded() -> None:
    """Data nested too deep is refused."""
    data: Any = 1
    for _ in range(100):
        data = [data]
    with pytest.raises(LimitError):
        plain(data)


def test_registers() -> None:
    """Filters read the context."""
    assert liquid_registers(CONTEXT) == {"context": CONTEXT}
