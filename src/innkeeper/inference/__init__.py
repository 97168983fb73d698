"""From a plan to an answer: clients, the runner, tools, directives, output tags, and fakes for tests.

Each name is imported from its home when it is first asked for. What the clients and runners raise is drawn in
`innkeeper.inference.errors`.
"""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.inference.adapters.adapter import ModelRequest as ModelRequest
    from innkeeper.inference.adapters.registry import ADAPTERS as ADAPTERS
    from innkeeper.inference.capabilities import Capabilities as Capabilities
    from innkeeper.inference.client.blocking import Client as Client
    from innkeeper.inference.client.chat import ChatReply as ChatReply
    from innkeeper.inference.client.clients import AsyncClient as AsyncClient
    from innkeeper.inference.client.clients import Retries as Retries
    from innkeeper.inference.client.endpoint import Response as Response
    from innkeeper.inference.client.model_clients import AsyncModelClient as AsyncModelClient
    from innkeeper.inference.client.model_clients import AsyncRouteClient as AsyncRouteClient
    from innkeeper.inference.client.model_clients import ModelClient as ModelClient
    from innkeeper.inference.client.model_clients import RouteClient as RouteClient
    from innkeeper.inference.client.model_handle import ModelHandle as ModelHandle
    from innkeeper.inference.client.portal import cancelled_by as cancelled_by
    from innkeeper.inference.errors import RequestCancelledError as RequestCancelledError
    from innkeeper.inference.errors import StreamCutError as StreamCutError
    from innkeeper.inference.fake.provider import AsyncFakeClient as AsyncFakeClient
    from innkeeper.inference.fake.provider import EchoServer as EchoServer
    from innkeeper.inference.fake.provider import FakeClient as FakeClient
    from innkeeper.inference.fake.script import FakeReply as FakeReply
    from innkeeper.inference.fake.script import Fault as Fault
    from innkeeper.inference.output_tags import OutputTagsConfig as OutputTagsConfig
    from innkeeper.inference.output_tags import transform_tags as transform_tags
    from innkeeper.inference.response.fold import response_of as response_of
    from innkeeper.inference.routing.deployment import Deployment as Deployment
    from innkeeper.inference.routing.failures import Failure as Failure
    from innkeeper.inference.routing.price import Price as Price
    from innkeeper.inference.routing.route import Route as Route
    from innkeeper.inference.routing.router import Router as Router
    from innkeeper.inference.routing.router import RouteRequest as RouteRequest
    from innkeeper.inference.run.config import RunnerConfig as RunnerConfig
    from innkeeper.inference.run.directives import AsyncDirectivesRunner as AsyncDirectivesRunner
    from innkeeper.inference.run.directives import DirectivesResult as DirectivesResult
    from innkeeper.inference.run.directives import DirectivesRunner as DirectivesRunner
    from innkeeper.inference.run.directives import StructuredOutput as StructuredOutput
    from innkeeper.inference.run.request import PromptRequest as PromptRequest
    from innkeeper.inference.run.request import PromptResult as PromptResult
    from innkeeper.inference.run.runner import AsyncPromptRunner as AsyncPromptRunner
    from innkeeper.inference.run.runner import PromptRunner as PromptRunner
    from innkeeper.inference.run.tool_loop import AsyncToolLoopRunner as AsyncToolLoopRunner
    from innkeeper.inference.run.tool_loop import ToolLoopRunner as ToolLoopRunner
    from innkeeper.inference.run.tool_run import ToolLoopResult as ToolLoopResult
    from innkeeper.inference.tools.definition import ToolDefinition as ToolDefinition
    from innkeeper.inference.tools.definition import ToolRegistry as ToolRegistry
    from innkeeper.inference.tools.functions import FunctionTool as FunctionTool
    from innkeeper.inference.tools.functions import function_tool as function_tool
    from innkeeper.inference.tools.functions import tool as tool
    from innkeeper.inference.tools.mcp_tools import open_mcp_tools as open_mcp_tools
    from innkeeper.inference.tools.mcp_tools import open_mcp_tools_async as open_mcp_tools_async
    from innkeeper.inference.tools.toolbox import Toolbox as Toolbox

_HOMES: Final = {
    "adapters.adapter": ("ModelRequest",),
    "adapters.registry": ("ADAPTERS",),
    "capabilities": ("Capabilities",),
    "client.chat": ("ChatReply",),
    "client.blocking": ("Client",),
    "client.clients": ("AsyncClient", "Retries"),
    "client.endpoint": ("Response",),
    "client.model_clients": ("AsyncModelClient", "AsyncRouteClient", "ModelClient", "RouteClient"),
    "client.model_handle": ("ModelHandle",),
    "client.portal": ("cancelled_by",),
    "errors": ("RequestCancelledError", "StreamCutError"),
    "fake.provider": ("AsyncFakeClient", "EchoServer", "FakeClient"),
    "fake.script": ("FakeReply", "Fault"),
    "output_tags": ("OutputTagsConfig", "transform_tags"),
    "response.fold": ("response_of",),
    "routing.deployment": ("Deployment",),
    "routing.price": ("Price",),
    "routing.failures": ("Failure",),
    "routing.route": ("Route",),
    "routing.router": ("RouteRequest", "Router"),
    "run.config": ("RunnerConfig",),
    "run.directives": ("AsyncDirectivesRunner", "DirectivesResult", "DirectivesRunner", "StructuredOutput"),
    "run.request": ("PromptRequest", "PromptResult"),
    "run.runner": ("AsyncPromptRunner", "PromptRunner"),
    "run.tool_loop": ("AsyncToolLoopRunner", "ToolLoopRunner"),
    "run.tool_run": ("ToolLoopResult",),
    "tools.definition": ("ToolDefinition", "ToolRegistry"),
    "tools.functions": ("FunctionTool", "function_tool", "tool"),
    "tools.mcp_tools": ("open_mcp_tools", "open_mcp_tools_async"),
    "tools.toolbox": ("Toolbox",),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
