"""From a plan to an answer: clients, the runner, tools, directives, output tags, and fakes for tests.

Each name is imported from its home when it is first asked for. What the clients and runners raise is drawn in
`innkeeper.inference.errors`.
"""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.inference.async_client import AsyncClient as AsyncClient
    from innkeeper.inference.capabilities import Capabilities as Capabilities
    from innkeeper.inference.chat import ChatReply as ChatReply
    from innkeeper.inference.client import Client as Client
    from innkeeper.inference.directives_runner import DirectivesRunner as DirectivesRunner
    from innkeeper.inference.fake import EchoServer as EchoServer
    from innkeeper.inference.fake import FakeClient as FakeClient
    from innkeeper.inference.fake import FakeReply as FakeReply
    from innkeeper.inference.fake import Fault as Fault
    from innkeeper.inference.output_tags import transform_tags as transform_tags
    from innkeeper.inference.prompt_request import PromptRequest as PromptRequest
    from innkeeper.inference.prompt_request import PromptResult as PromptResult
    from innkeeper.inference.response import Response as Response
    from innkeeper.inference.runner import PromptRunner as PromptRunner
    from innkeeper.inference.runner_config import RunnerConfig as RunnerConfig
    from innkeeper.inference.tool_loop import ToolLoopRunner as ToolLoopRunner
    from innkeeper.inference.tools.definition import ToolDefinition as ToolDefinition
    from innkeeper.inference.tools.definition import ToolRegistry as ToolRegistry

_HOMES: Final = {
    "AsyncClient": "async_client",
    "Capabilities": "capabilities",
    "ChatReply": "chat",
    "Client": "client",
    "DirectivesRunner": "directives_runner",
    "EchoServer": "fake",
    "FakeClient": "fake",
    "FakeReply": "fake",
    "Fault": "fake",
    "PromptRequest": "prompt_request",
    "PromptResult": "prompt_request",
    "PromptRunner": "runner",
    "Response": "response",
    "RunnerConfig": "runner_config",
    "ToolDefinition": "tools.definition",
    "ToolLoopRunner": "tool_loop",
    "ToolRegistry": "tools.definition",
    "transform_tags": "output_tags",
}

__all__ = [
    "AsyncClient",
    "Capabilities",
    "ChatReply",
    "Client",
    "DirectivesRunner",
    "EchoServer",
    "FakeClient",
    "FakeReply",
    "Fault",
    "PromptRequest",
    "PromptResult",
    "PromptRunner",
    "Response",
    "RunnerConfig",
    "ToolDefinition",
    "ToolLoopRunner",
    "ToolRegistry",
    "transform_tags",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
