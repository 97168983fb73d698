"""Further clients, as people set them up, against a running service: `make clients` installs and runs them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from innkeeper.inference.fake import EchoServer, FakeReply
from tests.service.programs import Service

pytestmark = pytest.mark.clients

MODULES = Path(os.environ.get("INNKEEPER_TEST_NODE_MODULES", "node_modules"))
SCRIPT = Path(__file__).parent / "ai_sdk.mjs"
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


def reply(request: dict[str, Any]) -> Any:
    """What the provider answers, by the last word of the conversation."""
    message = request["messages"][-1]
    text = message["content"] if isinstance(message["content"], str) else message["content"][0]["text"]
    if text.endswith("weather"):
        return FakeReply(content=None, tool_calls=(("weather", {"city": "Oslo"}),), usage=USAGE)
    if text.endswith("json"):
        return FakeReply(content='{"name":"Ada","age":36}', usage=USAGE)
    return FakeReply(content=f"You said: {text}", usage=USAGE)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """``innkeeper serve`` with one route."""
    with (
        EchoServer(*[reply] * 100) as provider,
        Service.command("--route", f"inn={provider.base_url}:big", "--no-grpc") as running,
    ):
        yield running


def needs(name: str) -> None:
    """Skip where a package is not there."""
    if find_spec(name) is None:
        pytest.skip(f"{name} is not installed")


def chat_model(service: Service, **options: Any) -> Any:
    """LangChain's, as its documentation has it for other addresses."""
    needs("langchain_openai")
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model="inn", base_url=f"{service.url}/v1", api_key="none", max_retries=0, **options)


@pytest.mark.parametrize("options", [{}, {"use_responses_api": True}], ids=["chat", "responses"])
def test_langchain(service: Service, options: dict[str, Any]) -> None:
    """LangChain: whole, streamed with usage, a tool, a structured answer; over chat completions and over Responses."""
    model = chat_model(service, stream_usage=True, **options)
    whole = model.invoke("Hello there")
    assert whole.text == "You said: Hello there"
    assert whole.usage_metadata["total_tokens"] == 5
    pieces = list(model.stream("Hello there"))
    assert "".join(piece.text for piece in pieces) == "You said: Hello there"
    tool = {"name": "weather", "description": "See", "parameters": {"type": "object", "properties": {}}}
    called = model.bind_tools([{"type": "function", "function": tool}]).invoke("the weather")
    assert [(call["name"], call["args"]) for call in called.tool_calls] == [("weather", {"city": "Oslo"})]
    schema = {
        "title": "person",
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    }
    found = model.with_structured_output(schema, method="json_schema").invoke("as json")
    assert found == {"name": "Ada", "age": 36}


@pytest.mark.parametrize("words", [["--no-stream"], []], ids=["whole", "streamed"])
def test_llm(service: Service, tmp_path: Path, words: list[str]) -> None:
    """``llm`` with a model of an address of one's own, whole and streamed, without a key."""
    needs("llm")
    models = [{"model_id": "inn", "model_name": "inn", "api_base": f"{service.url}/v1", "supports_tools": True}]
    (tmp_path / "extra-openai-models.yaml").write_text(json.dumps(models))  # JSON is YAML
    done = subprocess.run(
        [sys.executable, "-m", "llm", "-m", "inn", *words, "Hello there"],
        env={**os.environ, "LLM_USER_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout.strip(), done.returncode) == ("You said: Hello there", 0), done.stderr


@pytest.mark.parametrize("kind", ["compatible", "responses"])
def test_vercel_ai_sdk(service: Service, kind: str) -> None:
    """The Vercel AI SDK: text whole and streamed, usage, a tool, an object; by its compatible provider and by Responses."""
    node = shutil.which("node")
    if node is None or not (MODULES / "ai").is_dir():
        pytest.skip("node and its packages are not installed")
    script = MODULES.parent / SCRIPT.name
    shutil.copy(SCRIPT, script)  # modules are looked for from where a script lies
    done = subprocess.run(
        [node, str(script), f"{service.url}/v1", kind], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "text": "You said: Hello there",
        "usage": 5,
        "reason": "stop",
        "streamed": "You said: Hello there",
        "calls": [{"name": "weather", "input": {"city": "Oslo"}}],
        "object": {"name": "Ada", "age": 36},
    }
