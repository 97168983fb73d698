"""Further clients, as people set them up, against a running service: `make clients` installs and runs them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest

from innkeeper.inference.fake import EchoServer, FakeReply
from tests.service.programs import Service

pytestmark = pytest.mark.clients

MODULES = Path(os.environ.get("INNKEEPER_TEST_NODE_MODULES", "node_modules"))
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SCRIPT = Path(__file__).parent / "ai_sdk.mjs"
SILLYTAVERN = Path(os.environ.get("INNKEEPER_TEST_SILLYTAVERN", "sillytavern"))
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


def reply(request: dict[str, Any]) -> Any:
    """What the provider answers, by the last word of the conversation."""
    message = request["messages"][-1]
    content = message["content"]
    text = content if isinstance(content, str) else next(part["text"] for part in content if part["type"] == "text")
    if isinstance(content, list) and any(part["type"] == "image_url" for part in content):
        text = f"{text}, after {len(request['messages']) - 1} messages"
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
    """LangChain: whole, streamed with usage, two turns with a picture, a tool and its result, an object; by each API."""
    model = chat_model(service, stream_usage=True, **options)
    whole = model.invoke("Hello there")
    assert whole.text == "You said: Hello there"
    assert whole.usage_metadata["total_tokens"] == 5
    pieces = list(model.stream("Hello there"))
    assert "".join(piece.text for piece in pieces) == "You said: Hello there"
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    second: Any = ("user", [{"type": "text", "text": "What is it"}, picture])
    assert model.invoke([("user", "Hello there"), whole, second]).text == "You said: What is it, after 2 messages"
    tool = {"name": "weather", "description": "See", "parameters": {"type": "object", "properties": {}}}
    bound = model.bind_tools([{"type": "function", "function": tool}])
    called = bound.invoke("the weather")
    assert [(call["name"], call["args"]) for call in called.tool_calls] == [("weather", {"city": "Oslo"})]
    outcome: Any = {"role": "tool", "content": "fog", "tool_call_id": called.tool_calls[0]["id"]}
    assert bound.invoke([("user", "the weather"), called, outcome]).text == "You said: fog"
    schema = {
        "title": "person",
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    }
    found = model.with_structured_output(schema, method="json_schema").invoke("as json")
    assert found == {"name": "Ada", "age": 36}


@pytest.mark.parametrize("words", [["--no-stream"], []], ids=["whole", "streamed"])
def test_llm(service: Service, tmp_path: Path, words: list[str]) -> None:
    """``llm`` with a model of an address of one's own: two turns, the second with a picture, and a tool with its result."""
    needs("llm")
    able = {"supports_tools": True, "vision": True}
    models = [{"model_id": "inn", "model_name": "inn", "api_base": f"{service.url}/v1", **able}]
    (tmp_path / "pixel.png").write_bytes(b64decode(PIXEL))
    (tmp_path / "extra-openai-models.yaml").write_text(json.dumps(models))  # JSON is YAML
    asked = {
        ("Hello there",): "You said: Hello there",
        ("-c", "What is it", "-a", str(tmp_path / "pixel.png")): "You said: What is it, after 2 messages",
        (
            "the weather",
            "--functions",
            "def weather(city: str) -> str: return 'fog in ' + city",
        ): "You said: fog in Oslo",
    }
    for more, answer in asked.items():
        done = subprocess.run(
            [sys.executable, "-m", "llm", "-m", "inn", *words, *more],
            env={**os.environ, "LLM_USER_PATH": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.stdout.strip(), done.returncode) == (answer, 0), done.stderr


@pytest.mark.parametrize("kind", ["compatible", "responses", "anthropic"])
def test_vercel_ai_sdk(service: Service, kind: str) -> None:
    """The Vercel AI SDK: whole, streamed, usage, a tool and its result, an object, two turns with a picture; by each provider."""
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
        "answered": "You said: fog in Oslo",
        "streamedAfterCall": "You said: fog in Oslo",
        "object": {"name": "Ada", "age": 36},
        "second": "You said: What is it, after 2 messages",
    }


def test_anthropic(service: Service) -> None:
    """Anthropic's own client: two turns with a picture between texts, a tool, and a stream whose start has figures."""
    needs("anthropic")
    from anthropic import Anthropic

    client = Anthropic(base_url=service.url, api_key="none", max_retries=0)
    source: Any = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    blocks: Any = [
        {"type": "text", "text": "One"},
        {"type": "image", "source": source},
        {"type": "text", "text": "Two"},
    ]
    messages: Any = [{"role": "user", "content": "Hello"}]
    first = client.messages.create(model="inn", max_tokens=9, messages=messages)
    messages += [{"role": "assistant", "content": first.content}, {"role": "user", "content": blocks}]
    second: Any = client.messages.create(model="inn", max_tokens=9, messages=messages)
    assert second.content[0].text == "You said: One, after 2 messages"
    tools: Any = [{"name": "weather", "input_schema": {"type": "object"}}]
    asked: Any = [{"role": "user", "content": "the weather"}]
    called: Any = client.messages.create(model="inn", max_tokens=9, messages=asked, tools=tools)
    assert (called.content[0].name, called.content[0].input) == ("weather", {"city": "Oslo"})
    with client.messages.stream(model="inn", max_tokens=9, messages=messages[:1]) as stream:
        started: Any = next(iter(stream))
        assert type(started.message.usage.input_tokens) is int
        assert stream.get_final_text() == "You said: Hello"


def test_langchain_anthropic(service: Service) -> None:
    """LangChain over Anthropic's messages: two turns with a picture, a tool and its result, and a stream."""
    needs("langchain_anthropic")
    from langchain_anthropic import ChatAnthropic

    settings: dict[str, Any] = {"model": "inn", "base_url": service.url, "api_key": "none", "max_retries": 0}
    model = ChatAnthropic(**settings)
    first = model.invoke("Hello")
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    second: Any = ("user", [{"type": "text", "text": "What is it"}, picture])
    assert model.invoke([("user", "Hello"), first, second]).text == "You said: What is it, after 2 messages"
    assert "".join(piece.text for piece in model.stream("Hello")) == "You said: Hello"
    tool = {"name": "weather", "description": "See", "input_schema": {"type": "object", "properties": {}}}
    bound = model.bind_tools([tool])
    called = bound.invoke("the weather")
    assert [(call["name"], call["args"]) for call in called.tool_calls] == [("weather", {"city": "Oslo"})]
    outcome: Any = {"role": "tool", "content": "fog", "tool_call_id": called.tool_calls[0]["id"]}
    assert bound.invoke([("user", "the weather"), called, outcome]).text == "You said: fog"


@pytest.fixture(scope="module")
def sillytavern(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real SillyTavern, from its own folder, with data of the test's own."""
    node = shutil.which("node")
    if node is None or not (SILLYTAVERN / "server.js").is_file():
        pytest.skip("no SillyTavern: INNKEEPER_TEST_SILLYTAVERN names the folder of an install")
    data = tmp_path_factory.mktemp("sillytavern")
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
    config = {"disableCsrfProtection": True, "whitelistMode": False, "browserLaunch": {"enabled": False}}
    (data / "config.yaml").write_text(json.dumps(config))  # JSON is YAML
    words = ["--configPath", data / "config.yaml", "--dataRoot", data / "data", "--port", port, "--listen", "false"]
    with (data / "log").open("w") as log:
        process = subprocess.Popen([node, "server.js", *map(str, words)], cwd=SILLYTAVERN, stdout=log, stderr=log)
    try:
        address = f"http://127.0.0.1:{port}"
        for _ in range(300):
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{address}/version", timeout=5).is_success:
                    break
            time.sleep(0.2)
        yield address
    finally:
        process.terminate()
        process.wait(60)


def test_sillytavern(service: Service, sillytavern: str) -> None:
    """SillyTavern with its custom source: the list of models, an answer, and a stream."""
    custom = {"chat_completion_source": "custom", "custom_url": f"{service.url}/v1"}
    backend = f"{sillytavern}/api/backends/chat-completions"
    listed = httpx.post(f"{backend}/status", json=custom, timeout=60).json()
    assert "inn" in [model["id"] for model in listed["data"]]
    asked = {**custom, "model": "inn", "messages": [{"role": "user", "content": "Hello there"}], "max_tokens": 9}
    whole = httpx.post(f"{backend}/generate", json=asked, timeout=60).json()
    assert whole["choices"][0]["message"]["content"] == "You said: Hello there"
    streamed = httpx.post(f"{backend}/generate", json={**asked, "stream": True}, timeout=60).text
    chunks = [json.loads(line[6:]) for line in streamed.splitlines() if line.startswith("data: {")]
    said = [choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"]]
    assert "".join(said) == "You said: Hello there"
    assert "data: [DONE]" in streamed
