"""What a provider or a model refuses is not sent, and named."""

import pytest

from innkeeper.dialects import DIALECTS
from innkeeper.prompt import Message
from innkeeper.prompt.payload.dialect import Tool

ASKED = (Message("user", "Hi"),)


@pytest.mark.parametrize("model", ["claude-opus-4-7", "claude-sonnet-5"])
def test_models_that_refuse_to_be_sampled(model: str) -> None:
    """Temperature, top_p and top_k are left out for models of Anthropic's that refuse them, and sent to the others."""
    options = {"temperature": 0.5, "top_p": 0.9, "top_k": 5}
    made = DIALECTS["anthropic"].request(ASKED, model=model, options=options)
    assert not made.body.keys() & options.keys()
    assert sum("the model refuses it" in note.message for note in made.notes) == 3
    assert (
        options.items() <= DIALECTS["anthropic"].request(ASKED, model="claude-sonnet-4-5", options=options).body.items()
    )


def test_what_a_provider_has_no_place_for() -> None:
    """A service tier that Anthropic does not have, and a schema at AI21, are notes."""
    tier = DIALECTS["anthropic"].request(ASKED, model="m", options={"service_tier": "flex"})
    assert "service_tier" not in tier.body
    assert any("'flex'" in note.message for note in tier.notes)
    schema = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}
    made = DIALECTS["ai21"].request(ASKED, model="m", options={"response_format": schema})
    assert made.body["response_format"] == {"type": "json_object"}
    assert any("schema" in note.message for note in made.notes)


def test_tools_of_responses_are_as_strict_as_declared() -> None:
    """``strict`` is sent where a tool declares it, as recorded traffic and other libraries have it."""
    made = DIALECTS["responses"].request(ASKED, model="m", options={}, tools=[Tool("a"), Tool("b", strict=True)])
    assert [tool.get("strict") for tool in made.body["tools"]] == [None, True]
