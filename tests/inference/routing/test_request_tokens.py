"""The tokens of a request are those of the body that its route is sent: tools, schema, pictures and thoughts among them."""

from __future__ import annotations

from typing import Any, Final

import pytest

from innkeeper.inference.requests.messages import read_messages
from innkeeper.inference.routing.models import request_tokens
from innkeeper.inference.routing.route import Route
from tests.properties.test_bodies_fit import picture

ROUTES: Final = {
    "anthropic": Route.of("anthropic", "anthropic:claude-sonnet-4-5"),
    "openai": Route.of("openai", "openai:gpt-4o"),
    "none": None,
}
WORDS: Final = [{"role": "user", "content": "Is the reef safe?"}]
SCHEMA: Final = {"type": "object", "properties": {"harbour": {"type": "string", "description": "lantern " * 40}}}
SEEN: Final = {"type": "base64", "media_type": "image/png", "data": picture(1024, 1024)["image_url"]["url"][22:]}
MORE: Final[dict[str, dict[str, Any]]] = {
    "tools": {"tools": [{"name": "tide", "description": "When it turns.", "input_schema": SCHEMA}]},
    "schema": {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
    "picture": {
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "Is the reef safe?"}, {"type": "image", "source": SEEN}],
            }
        ]
    },
    "system": {"system": "You are Wenna. " * 10},
}


@pytest.mark.parametrize("more", MORE)
@pytest.mark.parametrize("route", ROUTES)
def test_all_that_a_body_holds_counts(route: str, more: str) -> None:
    """Whatever the route's protocol is."""
    asked: dict[str, Any] = {"model": "x", "max_tokens": 20, "messages": WORDS}
    few = request_tokens(read_messages(asked), ROUTES[route])
    many = request_tokens(read_messages({**asked, **MORE[more]}), ROUTES[route])
    assert 0 < few < 20
    assert many - few > 35


def test_a_picture_costs_what_the_routes_model_takes() -> None:
    """765 tokens at OpenAI, an area by 750 at Anthropic."""
    asked: dict[str, Any] = {"model": "x", "max_tokens": 20, "messages": WORDS}
    for name, tokens in (("openai", 765), ("anthropic", 1399)):
        few = request_tokens(read_messages(asked), ROUTES[name])
        assert request_tokens(read_messages({**asked, **MORE["picture"]}), ROUTES[name]) - few == tokens
