"""The user's input before it is stored."""

from typing import Any

import pytest

from innkeeper.macros.engine.errors import UndefinedVariableError
from innkeeper.prompt import Clock, Context, InMemoryVariables
from innkeeper.taverns.vibe import preprocess_user_input

ON = {"toggles": {"expand_user_input_macros": True}}


@pytest.mark.parametrize(
    ("context", "enabled", "text"),
    [
        (None, None, "{{ char }}"),
        (ON, None, "Sera"),
        (ON, False, "{{ char }}"),
        (None, True, "Sera"),
        (Context(ON), None, "Sera"),
        ({"toggles": {"expand_user_input_macros": "true"}}, None, "{{ char }}"),
        ({"toggles": {"expand_user_input_macros": 1}}, None, "{{ char }}"),
        ({"toggles": {"expandUserInputMacros": True}}, None, "{{ char }}"),
        ({"toggles": True}, None, "{{ char }}"),
    ],
)
def test_toggle(context: Any, enabled: bool | None, text: str) -> None:
    """It is on where it is said so, or where the context's toggle is exactly true under exactly its name."""
    assert preprocess_user_input("{{ char }}", context=context, enabled=enabled, assigns={"char": "Sera"}).text == text


def test_writes_variables_once() -> None:
    """Write tags change the chat's variables: what is stored is their result."""
    store = InMemoryVariables()
    stored = preprocess_user_input("{% incvar n %}turn {{ var.n }}", variables=store, enabled=True).text
    assert (stored, store.get("n")) == ("turn 1", 1)


def test_errors_and_context() -> None:
    """Strictly an error is raised, otherwise the input stays as it is; filters read the context and the clock."""
    with pytest.raises(UndefinedVariableError):
        preprocess_user_input("{{ x }}", enabled=True, strict=True)
    assert preprocess_user_input("{{ x", enabled=True).text == "{{ x"
    clock = Clock.at("2026-01-15T00:00:00Z")
    context = {"rng_word": "seed"}
    text = "{{ 'a,b,c' | pick }} {{ nil | isodate }}"
    assert preprocess_user_input(text, enabled=True, context=context, clock=clock).text == "b 2026-1-15"
