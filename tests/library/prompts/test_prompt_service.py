"""The prompt service: what the request says counts before what the tool says, and the answer is whole, from any provider."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from innkeeper.inference.client.egress import Egress
from innkeeper.inference.errors import AddressRefusedError, HttpError
from innkeeper.inference.response.views import legacy
from innkeeper.library.errors import NotFoundError
from innkeeper.library.prompts.llm_factory import LLMFactory
from innkeeper.library.prompts.prompt_service import AsyncPromptService, PromptRun, PromptService, event_of
from innkeeper.library.prompts.tool_config import Secrets, ToolConfig, ToolNotFoundError, Tools
from innkeeper.prompt.errors import ConfigError, FormatError, InnkeeperError, UnknownNameError
from tests.library.prompts.providers import Provider

SUM = {"type": "function", "name": "sum", "parameters": {"type": "object"}}
TOOL = {"provider": "openai", "model": "gpt", "api_key_secret": "k", "temperature": 0.5, "max_output_tokens": 9}


def ports(provider: Provider, **tools: dict[str, Any]) -> tuple[Tools, Secrets, LLMFactory]:
    """What a service is made of; the tool ``t`` is `TOOL`."""
    configs = [ToolConfig.of(name, settings) for name, settings in {"t": TOOL, **tools}.items()]
    vault = Secrets({"k": "sesame"})
    return Tools(*configs), vault, LLMFactory(transport=provider.transport)


@dataclass(frozen=True)
class Case:
    request: dict[str, Any] = field(default_factory=dict)
    sent: dict[str, Any] = field(default_factory=dict)
    absent: tuple[str, ...] = ()


CASES = {
    "the_tool's_own": Case({}, {"model": "gpt", "temperature": 0.5, "max_completion_tokens": 9}, ("top_p",)),
    "the_request_first": Case({"model": "big", "temperature": 0.9, "max_output_tokens": 5}, {"model": "big"}),
    "zeros_count": Case({"temperature": 0, "top_p": 0}, {"temperature": 0, "top_p": 0}),
    "instructions": Case(
        {"instructions": "Be brief."},
        {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]},
    ),
    "tools": Case({"tools": [SUM]}, {}),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_sent(case: Case) -> None:
    """The body has what was said, and nothing that nobody said."""
    provider = Provider()
    with_tools = PromptService(*ports(provider))
    with_tools.run({"tool_name": "t", "input": "hi", **case.request})
    assert case.sent.items() <= provider.body.items()
    assert not set(case.absent) & provider.body.keys()
    assert provider.sent[-1].headers["authorization"] == "Bearer sesame"


@pytest.mark.parametrize("usage", [True, False])
@pytest.mark.parametrize("name", ["openai", "ollama", "gemini", "openrouter"])
def test_providers(name: str, usage: bool) -> None:
    """The same response from each; figures that nobody told are null."""
    provider = Provider(usage=usage)
    service = PromptService(*ports(provider, other={**TOOL, "provider": name}))
    ran = service.run({"tool_name": "other", "input": "hi"})
    drawn = legacy.whole(ran.response)
    assert drawn["output"] == [{"type": "output_text", "text": "Hello"}]
    assert drawn["usage"] == ({"input_tokens": 3, "output_tokens": 2, "total_tokens": 5} if usage else None)
    assert (drawn["object"], drawn["model"]) == ("response", "gpt")
    assert len(drawn["id"]) == 26


def test_calls() -> None:
    """A tool call is a block of its own, with its id and its arguments as an object."""
    ran = PromptService(*ports(Provider())).run({"tool_name": "t", "input": "hi", "tools": [SUM]})
    assert legacy.whole(ran.response)["output"][1] == {
        "type": "tool_call",
        "tool_call": {"name": "sum", "arguments": {"a": 1}},
        "call_id": "c1",
    }
    assert ran.response.echo["tools"][0]["name"] == "sum"


def test_streams() -> None:
    """The same answer, in pieces, and whole at the end; blocking and not."""
    request = {"tool_name": "t", "input": "hi", "tools": [SUM]}
    events = list(PromptService(*ports(Provider())).stream(request))

    async def gathered() -> list[Any]:
        async with AsyncPromptService(*ports(Provider())) as service:
            return [event async for event in service.stream(request)]

    for one in (events, asyncio.run(gathered())):
        shown = [event for event in map(event_of, one) if event is not None]
        assert "".join(event.get("text", "") for event in shown) == "Hello"
        assert [event["type"] for event in shown][-2:] == ["tool_call.delta", "completed"]
        assert isinstance(one[-1], PromptRun)
        assert legacy.whole(one[-1].response)["output"][0]["text"] == "Hello"


def test_twins() -> None:
    """Both services send the same bytes."""
    request = {"tool_name": "t", "input": ["a", {"role": "system", "content": "b"}], "tools": [SUM]}
    first, second = Provider(), Provider()
    ran = PromptService(*ports(first)).run(request)
    twin = asyncio.run(AsyncPromptService(*ports(second)).run(request))
    assert first.sent[-1].content == second.sent[-1].content
    assert ran.sha256 == twin.sha256


@pytest.mark.parametrize(
    ("request_fields", "error"),
    [
        ({"tool_name": "none"}, ToolNotFoundError),
        ({"tool_name": ""}, FormatError),
        ({"tool_name": "no_model"}, ConfigError),
        ({"tool_name": "no_provider"}, ConfigError),
        ({"tool_name": "unknown_provider"}, UnknownNameError),
        ({"tool_name": "no_secret"}, NotFoundError),
        ({"tool_name": "bad_address"}, ConfigError),
    ],
    ids=lambda value: value.get("tool_name", "") if isinstance(value, dict) else value.__name__,
)
def test_errors(request_fields: dict[str, Any], error: type[InnkeeperError]) -> None:
    """Each is typed, and quotes no secret."""
    provider = Provider()
    service = PromptService(
        *ports(
            provider,
            no_model={"provider": "openai"},
            no_provider={"model": "m"},
            unknown_provider={"provider": "acme", "model": "m"},
            no_secret={**TOOL, "api_key_secret": "other"},
            bad_address={**TOOL, "base_url": "ftp://x"},
        )
    )
    with pytest.raises(error) as failed:
        service.run({"input": "hi", **request_fields})
    assert "sesame" not in failed.value.render()
    assert not provider.sent


def test_a_provider_that_refuses() -> None:
    """Its status comes through."""
    with pytest.raises(HttpError) as failed:
        PromptService(*ports(Provider(status=401))).run({"tool_name": "t", "input": "hi"})
    assert failed.value.status == 401


def test_addresses_of_tools() -> None:
    """What a tool's row names as its address is looked at where somebody guards addresses, and nothing is sent."""
    provider = Provider()
    tools, vault, _ = ports(provider, own={**TOOL, "base_url": "http://10.0.0.1"})
    service = PromptService(tools, vault, LLMFactory(transport=provider.transport, egress=Egress()))
    service.run({"tool_name": "t", "input": "hi"})
    sent = len(provider.sent)
    with pytest.raises(AddressRefusedError):
        service.run({"tool_name": "own", "input": "hi"})
    assert len(provider.sent) == sent
    allowed = PromptService(tools, vault, LLMFactory(transport=provider.transport, egress=Egress(("10.0.0.0/8",))))
    allowed.run({"tool_name": "own", "input": "hi"})
