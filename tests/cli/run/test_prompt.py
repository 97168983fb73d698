"""``innkeeper admin prompt run``: the document's flags, here and over gRPC, with the same bytes and the same exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli.run import prompt as command
from innkeeper.library.library import Library
from innkeeper.library.prompts.llm_factory import LLMFactory
from innkeeper.library.prompts.prompt_service import PromptService
from innkeeper.library.prompts.tool_config import Secrets, ToolConfig, Tools
from tests.cli.running import Run
from tests.library.prompts.providers import Provider
from tests.service.connect.servers import ANSWER, running

TOOL = {"provider": "openai", "model": "gpt", "temperature": 0.5}
RUN = ("admin", "prompt", "run")


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Provider:
    """What answers the tool ``t``."""
    made = Provider()

    def service_of(_library: Library) -> PromptService:
        tools = Tools(ToolConfig.of("t", TOOL))
        return PromptService(tools, Secrets(), LLMFactory(transport=made.transport))

    monkeypatch.setattr(command, "service_of", service_of)
    monkeypatch.setenv("INNKEEPER_DATABASE_URL", str(tmp_path / "library.db"))
    return made


def test_here(run: Run, provider: Provider) -> None:
    """Texts and calls on stdout, tokens on stderr; both ways of writing a number."""
    for words in (("--temperature", "0"), ("--temperature=0",)):
        ran = run(*RUN, "--tool-name", "t", "--input", "hi", *words)
        assert (ran.code, ran.out) == (0, "Hello\n")
        assert ran.err == "tokens: 3 in, 2 out, 5 together\n"
        assert provider.body["temperature"] == 0


def test_json(run: Run, provider: Provider, tmp_path: Path) -> None:
    """The document's object, with the call of a tool from a file in either shape; the input of a file as it is."""
    text, tools = tmp_path / "input.txt", tmp_path / "tools.json"
    text.write_text(" as it is \n")
    for shape in ({"type": "function", "name": "sum"}, {"type": "function", "function": {"name": "sum"}}):
        tools.write_text(json.dumps([shape]))
        ran = run(*RUN, "--tool-name", "t", "--input-file", str(text), "--tools", str(tools), "--json")
        answer = json.loads(ran.out)
        assert [block["type"] for block in answer["output"]] == ["output_text", "tool_call"]
        assert list(answer) == ["id", "object", "model", "created", "output", "usage"]
        assert provider.body["messages"][-1]["content"] == " as it is \n"


def test_a_call_for_people(run: Run, provider: Provider, tmp_path: Path) -> None:
    """One line a block."""
    tools = tmp_path / "tools.json"
    tools.write_text('[{"name": "sum"}]')
    ran = run(*RUN, "--tool-name", "t", "--input", "hi", "--tools", str(tools))
    assert ran.out == 'Hello\n[tool_call] {"name": "sum", "arguments": {"a": 1}}\n'
    assert provider.sent


FAILURES: dict[str, tuple[tuple[str, ...], int, str]] = {
    "no_input": (("--tool-name", "t"), 2, "one of --input or --input-file"),
    "two_inputs": (("--tool-name", "t", "--input", "a", "--input-file", "b"), 2, "one of --input or --input-file"),
    "no_tool": (("--input", "a"), 2, "--tool-name"),
    "blank_tool": (("--tool-name", " ", "--input", "a"), 2, "--tool-name is required"),
    "unknown_tool": (("--tool-name", "x", "--input", "a"), 2, "tool 'x' not found"),
    "no_file": (("--tool-name", "t", "--input-file", "none.txt"), 69, "none.txt"),
    "no_number": (("--tool-name", "t", "--input", "a", "--temperature", "warm"), 2, "--temperature"),
    "nobody_there": (("--tool-name", "t", "--input", "a", "--remote", "--addr", "127.0.0.1:1"), 69, "innkeeper serve"),
}


@pytest.mark.usefixtures("provider")
@pytest.mark.parametrize(("words", "code", "said"), FAILURES.values(), ids=FAILURES)
def test_failures(run: Run, words: tuple[str, ...], code: int, said: str) -> None:
    """In plain words, with an exit code by the one rule."""
    ran = run(*RUN, *words)
    assert ran.code == code
    assert said in ran.err


@pytest.mark.usefixtures("provider")
def test_tools_that_are_none(run: Run, tmp_path: Path) -> None:
    """A file that is no list of tools is refused."""
    tools = tmp_path / "tools.json"
    for text in ("{}", "[5]", "[", '[{"type": "function"}]'):
        tools.write_text(text)
        assert run(*RUN, "--tool-name", "t", "--input", "hi", "--tools", str(tools)).code == 65


def test_remote(run: Run) -> None:
    """The same answer over gRPC, and the same error for a tool that there is not."""
    with running() as servers:
        words = (*RUN, "--remote", "--addr", servers.grpc, "--tool-name")
        ran = run(*words, "t", "--input", "hi", "--temperature", "0.7", "--json")
        assert json.loads(ran.out) == ANSWER
        assert servers.runs.asked[-1] == {"tool_name": "t", "input": "hi", "temperature": 0.7}
        ran = run(*words, "none", "--input", "hi")
        assert (ran.code, ran.err.splitlines()[0]) == (2, "innkeeper: tool 'none' not found")
        facts: Any = json.loads(run(*words, "none", "--input", "hi", "--json").err)
        assert facts["error"]["details"] == {"code": "tool_not_found"}
