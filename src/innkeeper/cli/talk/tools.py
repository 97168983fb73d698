"""Tools of a chat: functions that the user of a command line lets the model call, and an answer that calls them.

A tool is a function in a Python file (``--tool``) or comes from an MCP server that a command starts (``--mcp``). Both run with
the user's rights, and only those that the user names: no card, chat or answer can name one. Each call is printed to standard
error. Results go to the model as messages of the role tool, for this one answer; the chat keeps the answer.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from innkeeper.inference.client.model_handle import ModelHandle, PlanAnswer
from innkeeper.prompt.errors import InnkeeperError, UnavailableError, UsageError, Where
from innkeeper.prompt.text import printable, shorten

if TYPE_CHECKING:
    from innkeeper.inference.tools.functions import FunctionTool
    from innkeeper.inference.tools.toolbox import Toolbox
    from innkeeper.prompt import Message, Plan


_SHOWN: Final = 200
"""Characters of a call that are shown."""


@contextmanager
def opened_tools(options: Mapping[str, Any]) -> Iterator[Toolbox | None]:
    """Open the tools that the options name, or yield None; leaving the block ends the servers.

    Raises what `open_mcp_tools` and `load_function` raise, and `UsageError` for two tools of one name.
    """
    servers, functions = options["servers"], options["functions"]
    if not (servers or functions):
        yield None
        return
    from innkeeper.inference.tools.mcp_tools import open_mcp_tools
    from innkeeper.inference.tools.toolbox import Toolbox

    box = Toolbox()
    with ExitStack() as stack:
        for name in functions:
            _tell(f"loads {name}")
            box = box.with_(Toolbox.of(_waited(load_function(name))))
        for command in servers:
            _tell(f"runs {command}")
            opened = stack.enter_context(open_mcp_tools(command))
            for note in opened.notes:
                _tell(note.message)
            box = box.with_(opened)
        _tell(f"the model may call {', '.join(box.registry)}")
        yield Toolbox(box.registry, {name: _reported(name, function) for name, function in box.functions.items()})


def load_function(name: str) -> FunctionTool:
    """Run the file of ``FILE.py:FUNCTION`` and return the function as a tool.

    Raises `UsageError` for another kind of name and for anything but a function, `UnavailableError` for a file that fails.
    """
    from importlib.util import module_from_spec, spec_from_file_location

    from innkeeper.inference.tools.functions import function_tool

    file, _, attribute = name.rpartition(":")
    path, where = Path(file), Where(asset=file)
    if not file.endswith(".py") or not attribute:
        raise UsageError(f"not a function in a file: {name!r}", hint="write it like tools.py:look_up")
    spec = spec_from_file_location(f"innkeeper_tool_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UnavailableError("there is no such file", where=where)
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except InnkeeperError:
        raise
    except Exception as error:
        raise UnavailableError(f"it cannot be run: {type(error).__name__}: {error}", where=where) from error
    function = getattr(module, attribute, None)
    if not callable(function):
        known = [key for key, value in vars(module).items() if inspect.isfunction(value) and not key.startswith("_")]
        raise UsageError(
            f"there is no function {attribute!r}", where=where, hint=f"there are {', '.join(known) or 'none'}"
        )
    return function_tool(function)


def _waited(tool: FunctionTool) -> FunctionTool:
    """Return a tool whose function is blocking, also if it was asynchronous."""
    import asyncio

    from innkeeper.inference.tools.functions import FunctionTool

    if not inspect.iscoroutinefunction(tool.call):
        return tool
    return FunctionTool(tool.definition, lambda **arguments: asyncio.run(tool.call(**arguments)))


def _reported(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with its calls printed."""

    def call(**arguments: Any) -> Any:
        words = json.dumps(arguments, ensure_ascii=False, default=str)
        _tell(f"{name} {shorten(words, _SHOWN)}")
        return function(**arguments)

    return call


def _tell(words: str) -> None:
    click.echo(f"innkeeper: {printable(words)}", err=True)


def answer_with_tools(
    plan: Plan,
    history: Sequence[Message],
    handle: ModelHandle,
    tools: Toolbox,
    on_delta: Callable[[str], Any],
    on_calls: Callable[[], Any],
) -> PlanAnswer:
    """Return the model's answer to a chat after any calls of tools; each prompt is built by the plan's tavern.

    ``plan`` is the one without calls, ``history`` the chat up to the answer. ``on_delta`` gets each piece of text, also before
    calls of tools; ``on_calls`` is called at the end of such a text. A provider that refuses tools is asked once more without.
    Raises what `ToolLoopRunner.run` raises.
    """
    from innkeeper.inference.run.config import RunnerConfig
    from innkeeper.inference.run.runner import PromptRunner
    from innkeeper.inference.run.tool_loop import ToolLoopRunner

    request = plan.request
    if request is None:
        raise UsageError("this plan has no request to build another from")
    sizes = {"context_window_tokens": request.context_window, "reserved_response_tokens": request.reserved_tokens}
    config = RunnerConfig.build(
        "custom",
        handle.model,
        {"tool_calling": {"tool_use_mode": "relaxed", "fallback_retry_count": 1}},
        tavern=plan.tavern,
        capabilities_overrides={name: value for name, value in sizes.items() if value},
    )
    loop = ToolLoopRunner.build(
        PromptRunner(handle.client),
        config,
        tools,
        llm_options=_options(plan, handle),
        request=request.with_(history=(), message="", generation="normal", tools=()),
        ports=handle.ports,
    )

    def follow(event: Mapping[str, Any]) -> None:
        if event["type"] == "text_delta":
            on_delta(event["delta"])
        elif event["type"] == "llm_request_end" and event["has_tool_calls"] and event["content_bytes"]:
            on_calls()
        _follow(event)

    result = loop.run(None, history, on_event=follow, stream=True)
    summary = result.trace[-1].response_summary
    return PlanAnswer(result.assistant_text, summary.get("finish_reason"), summary.get("usage"))


def _options(plan: Plan, handle: ModelHandle) -> dict[str, Any]:
    """Return the plan's options as chat completions have them; `RouteClient` translates them for other protocols."""
    from innkeeper.dialects.plan_payload import plan_payload

    body = plan_payload(plan.with_(dialect=None), "openai-compatible").body
    return {name: value for name, value in body.items() if name not in {"model", "messages", "tools"}}


def _follow(event: Mapping[str, Any]) -> None:
    """Print failures of tools and requests."""
    if event["type"] == "tool_call_end" and not event["ok"]:
        _tell(f"{event['name']} has failed: {', '.join(event['error_codes'])}")
    elif event["type"] == "llm_request_retry":
        _tell("the provider refuses a request with tools; it is asked without")
