"""A plan becomes the same request at every door: the answer's limit is the reserve, under the name that the model takes."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from innkeeper.conversation import TurnInput, profile_turn
from innkeeper.inference.client.model_handle import ModelHandle
from innkeeper.inference.requests.request import request_for
from innkeeper.inference.routing.route import Route
from innkeeper.prompt import BuildRequest, FrozenDict, Ports
from innkeeper.service.inspector.inspection import planning
from innkeeper.taverns import build
from innkeeper.taverns.profiles import OpenProfile
from innkeeper.taverns.profiles.profile import Profile

CARD = {"name": "Wenna", "description": "Keeps the inn."}
LIMITS = {"max_tokens", "max_completion_tokens"}


def route(model: str, dialect: str = "openai-compatible") -> Route:
    """A route to an address of one's own."""
    return Route(name="r", model=model, dialect=dialect, base_url="http://127.0.0.1:1")


def request(model: str, **fields: Any) -> BuildRequest:
    """A request that reserves 200 tokens for the answer."""
    base = {"tavern": "vibe", "character": CARD, "message": "Hi", "model": model, "reserved_tokens": 200}
    return BuildRequest.of({**base, **fields})


def at_the_doors(model: str, monkeypatch: pytest.MonkeyPatch, **fields: Any) -> dict[str, dict[str, Any]]:
    """The bodies that the terminal, a route, a profile and the inspector send for one request."""
    wanted = request(model, **fields)
    plan = build(wanted)
    profile = OpenProfile(profile=Profile(name="W", reserve=wanted.reserved_tokens), request=wanted, digest="")
    turn = TurnInput.of([{"role": "user", "content": "Hi"}], model=model, dialect="openai-compatible")
    monkeypatch.setattr(planning, "inspected", lambda *_: {})
    workspace = cast(
        "Any", SimpleNamespace(request=lambda _: wanted, profile=None, greeting=None, ports=Ports(), installed=None)
    )
    asked = planning.RouteTurn(message="Hi", adapter="openai-chat", turn=route(model).turn_fields())
    page = json.loads(planning.sending(workspace, asked).content)
    return {
        "terminal": ModelHandle(cast("Any", None), model).request(plan, stream=False).body,
        "route": request_for(plan, route(model)).body,
        "profile": dict(profile_turn(profile, turn).body.body),
        "inspector": {name: value for name, value in page.items() if name not in {"stream", "stream_options"}},
    }


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("o3-mini", "max_completion_tokens"),
        ("gpt-5", "max_completion_tokens"),
        ("openai/o1", "max_completion_tokens"),
        ("gpt-4o", "max_tokens"),
        ("gpt-oss-20b", "max_tokens"),
        ("qwen", "max_tokens"),
    ],
)
def test_limit_has_the_name_that_the_model_takes(model: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every door says the reserve once, under the same name; OpenAI's reasoning models refuse ``max_tokens``."""
    for door, body in at_the_doors(model, monkeypatch).items():
        assert {key: body[key] for key in LIMITS & body.keys()} == {name: 200}, door


def test_the_same_body(monkeypatch: pytest.MonkeyPatch) -> None:
    """Terminal, route and inspector send the same bytes for the same request."""
    bodies = at_the_doors("qwen", monkeypatch, options={"temperature": 0.5, "stop": ["\nHi:"]})
    assert bodies["terminal"] == bodies["route"] == bodies["inspector"]
    assert bodies["route"]["stop"] == ["\nHi:"]


def test_options_set_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit among the options counts before the reserve, by whatever name."""
    bodies = at_the_doors("qwen", monkeypatch, options={"max_output_tokens": 50})
    assert {door: body["max_tokens"] for door, body in bodies.items() if door != "profile"} == {
        "terminal": 50,
        "route": 50,
        "inspector": 50,
    }


def test_dialects_write_it() -> None:
    """The route's dialect writes the limit where its protocol has it."""
    plan = build(request("m"))
    claude = Route(name="c", model="claude", adapter="anthropic-messages", dialect="anthropic")
    gemini = Route(name="g", model="gemini", adapter="gemini-generateContent", dialect="gemini")
    assert request_for(plan, claude).body["max_tokens"] == 200
    assert request_for(plan, gemini).body["generationConfig"]["maxOutputTokens"] == 200
    assert request_for(plan, route("gpt-4o", "openai")).body["max_completion_tokens"] == 200


def test_options_of_the_route_and_the_caller() -> None:
    """The caller's options count before the plan's, those before the route's."""
    plan = build(request("m", options={"temperature": 0.5}))
    one = msgspec.structs.replace(route("m"), options=FrozenDict({"temperature": 0.1, "top_p": 0.9}))
    body = request_for(plan, one, stream=True, max_tokens=9).body
    assert (body["temperature"], body["top_p"], body["max_tokens"], body["stream"]) == (0.5, 0.9, 9, True)
