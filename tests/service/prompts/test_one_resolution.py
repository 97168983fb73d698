"""One resolution: what is shown, counted and sent of a profile is one prompt, at every door."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from innkeeper.inference.routing.models import RouteModels
from innkeeper.inference.routing.route import Routes
from innkeeper.service import Settings, create_app
from innkeeper.service.prompts import profile_models
from tests.taverns.profiles.folders import WENNA, profile_folder

SENT: Final = ("claude", "flash", "mystery", "named", "narrow", "own", "reserved")
NOW: Final = datetime(2026, 1, 15, 12, tzinfo=UTC)
ROUTES: Final = (
    "own=http://127.0.0.1:9:gpt-4o",
    "claude=anthropic:claude-sonnet-4-5",
    "flash=gemini:gemini-2.5-flash",
    "mystery=http://127.0.0.1:9:nobody-knows",
)
HEAD: Final = "".join(
    line for line in WENNA.splitlines(keepends=True) if not line.startswith(("model", "now", "preset"))
)
PROFILES: Final = {
    "own": 'route = "own"',
    "narrow": 'route = "own"\ncontext_window = 1024',
    "reserved": 'route = "claude"\nreserve = 77\nseed = 7\npreset = "skerrow.preset.json"',
    "claude": 'route = "claude"',
    "flash": 'route = "flash"\n[options]\ntemperature = 0.5',
    "mystery": 'route = "mystery"\nseed = "messages"',
    "local": "",
    "named": 'provider = "openrouter"\nmodel = "a/b"',
}


class House:
    """A service with a profile for each way to name a model, over a provider that remembers what it was sent."""

    def __init__(self, folder: Path) -> None:
        self.sent: list[dict[str, Any]] = []
        self.folder = folder
        for name, lines in PROFILES.items():
            profile_folder(folder / name, HEAD + lines)
        self.models = RouteModels(Routes.read(ROUTES), lambda _: None, transport=httpx.MockTransport(self._provide))

    def _provide(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(json.loads(request.content))
        if "anthropic" in request.url.host:
            reply: dict[str, Any] = {"type": "message", "role": "assistant", "stop_reason": "end_turn"}
            return httpx.Response(200, json={**reply, "content": [{"type": "text", "text": "So."}]})
        if "google" in request.url.host:
            part = {"content": {"parts": [{"text": "So."}], "role": "model"}, "finishReason": "STOP"}
            return httpx.Response(200, json={"candidates": [part]})
        message = {"role": "assistant", "content": "So."}
        return httpx.Response(200, json={"choices": [{"message": message, "finish_reason": "stop"}]})


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    """One provider for all."""
    return House(tmp_path_factory.mktemp("profiles"))


@pytest.fixture(scope="module")
def client(house: House) -> Iterator[TestClient]:
    """The service, whose clock stands still."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(profile_models, "utc_now", lambda: NOW)
        app = create_app(Settings(profiles=(house.folder,), workers=1), models=house.models)
        with TestClient(app, base_url="http://127.0.0.1:8050") as service:
            yield service


def _said(client: TestClient, path: str, body: Any) -> Any:
    reply = client.post(path, json=body)
    assert reply.status_code == 200, reply.text
    return reply


WORDS: Final = st.text("abc {}.é", min_size=1, max_size=40).filter(lambda text: text.strip())
CHATS: Final = st.lists(WORDS, min_size=1, max_size=40).map(
    lambda texts: [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]
)
OPTIONS: Final = st.fixed_dictionaries(
    {},
    optional={"temperature": st.sampled_from([0, 0.5, 1]), "max_tokens": st.integers(1, 400), "stop": st.just(["x"])},
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(SENT), CHATS, OPTIONS, st.integers(0, 2**31))
def test_a_preview_is_what_is_sent(
    house: House, client: TestClient, profile: str, chat: list[Any], options: dict[str, Any], seed: int
) -> None:
    """One body, one fingerprint, one sum: of the preview, of what the provider gets, of the plan behind the answer."""
    asked = {"profile": profile, "messages": chat, "options": options, "seed": seed, "now": NOW.isoformat()}
    preview = _said(client, "/v1/prompts/build", asked).json()
    answer = _said(client, "/v1/chat/completions", {"model": profile, "messages": chat, "seed": seed, **options})
    assert {**house.sent[-1], "model": preview["model"]} == {**preview["body"], "model": preview["model"]}
    plan = client.get(answer.headers["x-innkeeper-plan"]).json()
    assert plan["fingerprint"] == preview["fingerprint"]
    assert plan["tokens"] == preview["tokens"]
    assert plan["notes"] == preview["notes"]
    counted = _said(client, "/v1/prompts/count", asked).json()
    assert counted["tokens"] == preview["tokens"]


@pytest.mark.parametrize("profile", SENT)
def test_every_surface_sends_one_prompt(house: House, client: TestClient, profile: str) -> None:
    """Chat completions, Responses and Messages send the same bytes for the same words, whole and streamed."""
    chat = [{"role": "user", "content": "Is the reef safe?"}]
    options = {"temperature": 0.5, "max_tokens": 50}
    bodies = [
        _said(client, "/v1/prompts/build", {"profile": profile, "messages": chat, "options": options}).json()["body"]
    ]
    _said(client, "/v1/chat/completions", {"model": profile, "messages": chat, **options})
    bodies.append(house.sent[-1])
    _said(client, "/v1/messages", {"model": profile, "messages": chat, **options})
    bodies.append(house.sent[-1])
    named = {"model": profile, "input": chat, "temperature": 0.5, "max_output_tokens": 50}
    _said(client, "/v1/responses", named)
    bodies.append(house.sent[-1])
    assert all({**body, "model": ""} == {**bodies[0], "model": ""} for body in bodies)


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_tokens_of_a_profile_are_those_of_its_prompt(client: TestClient, profile: str) -> None:
    """``count_tokens`` counts the card and the lore, not the client's words alone."""
    chat = [{"role": "user", "content": "Is the reef safe?"}]
    counted = _said(client, "/v1/messages/count_tokens", {"model": profile, "messages": chat, "max_tokens": 9}).json()
    built = _said(
        client, "/v1/prompts/build", {"profile": profile, "messages": chat, "options": {"max_tokens": 9}}
    ).json()
    assert counted["input_tokens"] == built["tokens"]["used"] > 100


@pytest.mark.parametrize(
    ("profile", "window", "model"),
    [
        ("own", 128_000, "gpt-4o"),
        ("narrow", 1_024, "gpt-4o"),
        ("claude", 200_000, "claude-sonnet-4-5"),
        ("flash", 1_048_576, "gemini-2.5-flash"),
        ("local", 4_096, "smollm2"),
    ],
)
def test_a_profile_has_the_window_of_its_model(client: TestClient, profile: str, window: int, model: str) -> None:
    """The window that the profile says, else the route's, else that of a known model; lists say the same."""
    built = _said(
        client, "/v1/prompts/build", {"profile": profile, "messages": [{"role": "user", "content": "Hi"}]}
    ).json()
    assert (built["tokens"]["window"], built["model"]) == (window, model)
    assert client.get(f"/v1/models/{profile}").json()["context_window"] == window


def test_a_preset_has_a_window_of_its_own(client: TestClient) -> None:
    """A window that a preset says counts before that of the model."""
    chat = [{"role": "user", "content": "Hi"}]
    assert (
        _said(client, "/v1/prompts/build", {"profile": "reserved", "messages": chat}).json()["tokens"]["window"]
        == 2_048
    )


def test_a_preview_goes_on_with_the_conversation(house: House, client: TestClient) -> None:
    """A preview begins with the state of the caller's conversation, as the next turn will, and keeps nothing."""
    first = [{"role": "user", "content": "{{setvar::mood::calm}}Hello."}]
    _said(client, "/v1/chat/completions", {"model": "own", "messages": first})
    chat = [*first, {"role": "assistant", "content": "So."}, {"role": "user", "content": "{{getvar::mood}}!"}]
    previews = [_said(client, "/v1/prompts/build", {"profile": "own", "messages": chat}).json() for _ in range(2)]
    _said(client, "/v1/chat/completions", {"model": "own", "messages": chat})
    assert [preview["body"]["messages"] for preview in previews] == [house.sent[-1]["messages"]] * 2
    assert "calm!" in json.dumps(previews[0]["body"])
    anew = _said(client, "/v1/prompts/build", {"profile": "own", "messages": chat, "state": {}}).json()
    assert "calm!" not in json.dumps(anew["body"])
