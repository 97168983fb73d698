"""The copy-and-paste example of 1-vibetavern-pipeline, line for line in Python, against a server on this machine."""

import os

import pytest

from innkeeper import Client, PromptRunner, RunnerConfig
from innkeeper.inference.fake.provider import EchoServer


def test_example(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example runs as it is written, and what it sets is in the request that the server gets."""
    with EchoServer("你好。", api_key="sk-test-0123456789") as server:
        monkeypatch.setenv("OPENROUTER_BASE_URL", f"{server.base_url}/api")
        monkeypatch.setenv("OPENROUTER_API_KEY", "sk-test-0123456789")

        client = Client(
            base_url=os.environ.get("OPENROUTER_BASE_URL", "https://openrouter.ai/api"),
            api_prefix=os.environ.get("OPENROUTER_API_PREFIX", "/v1"),
            api_key=os.environ["OPENROUTER_API_KEY"],
        )

        context = {
            "language_policy": {"enabled": True, "target_lang": "zh-CN", "special_tags": ["lang"]},
            "module_configs": {
                "language_policy": {"style_hint": "casual"},
            },
        }

        runner_config = RunnerConfig.build(
            provider="openrouter",
            model="openai/gpt-4o-mini",
            context=context,
            llm_options_defaults={"temperature": 0.2},
        )

        prompt_runner = PromptRunner(client=client)

        prompt_request = prompt_runner.build_request(
            runner_config=runner_config,
            history=[],
            system=None,
            strict=True,
            dialect="openai",
        )

        result = prompt_runner.perform(prompt_request)
        assistant_message = result.assistant_message
        client.close()

    assert assistant_message == {"role": "assistant", "content": "你好。"}
    (received,) = server.requests
    assert received.path == "/api/v1/chat/completions"
    assert (received.body["model"], received.body["temperature"]) == ("openai/gpt-4o-mini", 0.2)
    (policy,) = received.body["messages"]
    assert policy["role"] == "system"
    assert all(word in policy["content"] for word in ("zh-CN", "casual", "<lang code="))
    assert prompt_request.plan.fingerprint(dialect="openai")
