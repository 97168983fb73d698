"""``innkeeper ask`` and ``chat`` with every kind of provider: ``--model PROVIDER:MODEL``."""

from __future__ import annotations

import functools
import json
from typing import Any

import httpx
import pytest

from innkeeper.inference.client import model_clients
from innkeeper.inference.client.model_clients import client_options
from tests.cli.running import Run
from tests.inference.adapters.answers import Said
from tests.inference.client.test_route_client import Provider
from tests.shared import ROOT

CARD = str(ROOT / "examples" / "wenna.png")
KEY = "sk-lantern-0123456789"


def reached(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every client of this test reach the provider in place of the network."""
    transport = httpx.MockTransport(provider._answer)
    monkeypatch.setattr(
        model_clients, "client_options", lambda given: {**client_options(given), "transport": transport}
    )
    monkeypatch.setenv("INNKEEPER_API_KEY", KEY)
    monkeypatch.setenv("INNKEEPER_LOGGING", "on")


CASES = [
    ("anthropic:claude-sonnet-4-5", "https://api.anthropic.com/v1/messages", ("max_tokens",)),
    (
        "gemini:gemini-2.5-pro",
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
        ("generationConfig", "maxOutputTokens"),
    ),
    ("openai-responses:gpt-5", "https://api.openai.com/v1/responses", ("max_output_tokens",)),
    ("openai:gpt-5", "https://api.openai.com/v1/chat/completions", ("max_completion_tokens",)),
    ("ollama:llama3", "http://localhost:11434/api/chat", ("options", "num_predict")),
    ("openrouter:z-ai/glm-4.6", "https://openrouter.ai/api/v1/chat/completions", ("max_tokens",)),
]


@pytest.mark.parametrize(("model", "url", "limit"), CASES, ids=[case[0] for case in CASES])
def test_ask(model: str, url: str, limit: tuple[str, ...], run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The prompt goes to the provider in its own protocol, with the reserve as its limit; the reply is printed and kept."""
    said = Said(text=("The reef ", "is safe."))
    provider = Provider(model.partition(":")[0], said, said)
    reached(provider, monkeypatch)
    ran = run("ask", CARD, "Is the reef safe?", "--model", model, "--reserve", "200")
    assert (ran.code, ran.out) == (0, "The reef is safe.\n"), ran.err
    assert str(provider.requests[0].url) == url
    assert functools.reduce(lambda body, name: body[name], limit, provider.bodies[0]) == 200
    assert "Is the reef safe?" in json.dumps(provider.bodies[0])
    line = run("log", "show", "--json").data["lines"][0]
    assert (line["reply"], line["ended"]) == ("The reef is safe.", "stop")
    assert line["usage"]["prompt_tokens"] == 7
    assert run("ask", "-c", "And tonight?").code == 0
    assert "The reef is safe." in json.dumps(provider.bodies[1])


@pytest.mark.parametrize(("model", "url", "limit"), CASES, ids=[case[0] for case in CASES])
def test_dry_run(model: str, url: str, limit: tuple[str, ...], run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a dry run shows is what goes out, and where."""
    provider = Provider(model.partition(":")[0], Said())
    reached(provider, monkeypatch)
    words: tuple[Any, ...] = ("ask", CARD, "Hello", "--model", model, "--seed", "3")
    shown = run(*words, "--dry-run").data
    run(*words)
    assert shown["url"] == url
    assert shown["body"] == provider.bodies[0]


def test_tools(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """A tool that the user names is called by a model of another protocol, too."""
    (tmp_path / "tools.py").write_text('def tide(harbour: str) -> str:\n    """When."""\n    return "at nine"\n')
    calls = (("c1", "tide", {"harbour": "Skerrow"}),)
    provider = Provider("anthropic", Said(text=(), calls=calls), Said(text=("At nine.",)))
    reached(provider, monkeypatch)
    ran = run("ask", CARD, "When?", "--model", "anthropic:claude", "--tool", f"{tmp_path / 'tools.py'}:tide")
    assert ran.out.strip() == "At nine."
    assert provider.bodies[0]["tools"][0]["name"] == "tide"
    assert "at nine" in json.dumps(provider.bodies[1])


def test_chat(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The chat shell, too."""
    provider = Provider("gemini", Said(text=("Tea first.",)))
    reached(provider, monkeypatch)
    ran = run("chat", CARD, "--model", "gemini:gemini-2.5-pro", input="Hello\n")
    assert ran.code == 0
    assert "Tea first." in ran.out
