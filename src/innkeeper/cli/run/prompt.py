"""``innkeeper admin prompt run``: one tool, one input, one canonical response; here, or in a running service with ``--remote``.

The flags are the document's (5-prompt-sequence-flow, *CLI Flow*).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from innkeeper.cli.app.commands import examples, print_json
from innkeeper.cli.keep.library import database_options, opened, read_bytes, read_text

if TYPE_CHECKING:
    from innkeeper.library.library import Library
    from innkeeper.library.prompts.prompt_service import PromptService
    from innkeeper.prompt.errors import InnkeeperError


ADDRESS: Final = "127.0.0.1:8051"
"""The default gRPC address of `innkeeper serve`."""

_SECONDS: Final = 120.0
_RUN: Final = "/prompt.v1.PromptService/Run"


@click.group(epilog=examples('innkeeper admin prompt run --tool-name local --input "Say hello."'))
def prompt() -> None:
    """Run tools that are models."""


@prompt.command(
    epilog=examples(
        'innkeeper admin prompt run --tool-name local --input "Say hello."',
        "innkeeper admin prompt run --tool-name gemma --input-file letter.txt --temperature 0.7 --json",
        'innkeeper admin prompt run --remote --tool-name local --input "Say hello."',
    )
)
@click.option("--tool-name", required=True, help="The tool's name; `local` is the model on this machine.")
@click.option("--input", "text", help="The input for the model.")
@click.option(
    "--input-file", type=click.Path(path_type=Path), help="A file with the input, unchanged (-: standard input)."
)
@click.option(
    "--tools", "tools_file", type=click.Path(path_type=Path), help="Functions that the model may call, as JSON."
)
@click.option("--model", default="", help="Another model of the tool's provider.")
@click.option("--temperature", type=float, help="Temperature; 0 is a value (default: the tool's).")
@click.option("--max-output-tokens", type=int, help="Maximum tokens of the answer (default: the tool's).")
@click.option("--remote", is_flag=True, help="Ask a running service, over gRPC.")
@click.option("--addr", default=ADDRESS, show_default=True, help="Address of that service.")
@click.option(
    "--timeout", type=click.FloatRange(0, min_open=True), default=_SECONDS, show_default=True, help="Seconds."
)
@database_options
def run(url: str | None, *, as_json: bool, remote: bool, addr: str, timeout: float, **options: Any) -> None:
    """Run a tool: look up its provider, model and key, send the input, print the response.

    With --json the response is the requirement document's object; otherwise texts and calls, and token counts on stderr.
    """
    request = _request(**options)
    if remote:
        answer = ask_service(addr, request, timeout)
    else:
        with opened(url) as library:
            answer = _run_here(library, request)
    print_json(answer, indent=2) if as_json else click.echo(_readable(answer))
    if not as_json:
        click.echo(_figures(answer.get("usage")), err=True)


def _request(
    *, tool_name: str, text: str | None, input_file: Path | None, tools_file: Path | None, **options: Any
) -> dict[str, Any]:
    """Return the request from the options."""
    if not tool_name.strip():
        raise click.UsageError("--tool-name is required")
    if (text is None) == (input_file is None):
        raise click.UsageError("one of --input or --input-file is required, and only one")
    fields = {name: value for name, value in options.items() if value not in (None, "")}
    tools = {} if tools_file is None else {"tools": _tools(tools_file)}
    return {"tool_name": tool_name, "input": text if input_file is None else read_text(input_file), **tools, **fields}


def _tools(path: Path) -> Any:
    from innkeeper.prompt.data import parse_json
    from innkeeper.prompt.errors import FormatError, Where

    value = parse_json(read_bytes(path), asset=str(path))
    if not isinstance(value, list):
        raise FormatError("a list of function definitions is needed", where=Where(asset=str(path)))
    return value


def _run_here(library: Library, request: Mapping[str, Any]) -> dict[str, Any]:
    from innkeeper.inference.response.views import legacy

    with service_of(library) as service:
        ran = service.run(request)
    for note in (*(note.message for note in ran.notes), *legacy.left_out(ran.response)):
        click.echo(f"innkeeper: {note}", err=True)
    return legacy.whole(ran.response)


def service_of(library: Library) -> PromptService:
    """Return the prompt service over a library's tools and vault, with the tool ``local``."""
    from innkeeper.library.prompts.prompt_service import PromptService
    from innkeeper.library.prompts.tool_config import LOCAL_TOOL, Secrets, Tools

    return PromptService(Tools(LOCAL_TOOL, db=library.db), Secrets(library.vault))


def ask_service(addr: str, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """Return the answer of the service at ``host:port``, with the key from the environment.

    Raises:
        ToolNotFoundError: it has no such tool.
        UsageError, FormatError, ProviderError: what it says, by its status.
        UnavailableError: nobody answers there in time, or the library for gRPC is missing.
    """
    from innkeeper.lazy import require
    from innkeeper.service.guard.grants import KEY_VARIABLE

    require("grpc")
    import grpc

    key = os.environ.get(KEY_VARIABLE, "").strip()
    metadata = [("authorization", f"Bearer {key}")] if key else []
    with grpc.insecure_channel(addr) as channel:
        call: Any = channel.unary_unary(_RUN)
        try:
            reply = call(json.dumps(request).encode(), timeout=seconds, metadata=metadata)
        except grpc.RpcError as error:
            raise _grpc_error(error, addr, str(request.get("tool_name"))) from None
    answer: dict[str, Any] = json.loads(reply)
    return answer


def _grpc_error(error: Any, addr: str, tool: str) -> InnkeeperError:
    from innkeeper.library.prompts.tool_config import ToolNotFoundError
    from innkeeper.prompt.errors import FormatError, ProviderError, UnavailableError, UsageError
    from innkeeper.service.guard.grants import KEY_VARIABLE

    status, words = error.code().name, str(error.details() or "")
    if status == "NOT_FOUND":
        return ToolNotFoundError(tool)
    if status == "INVALID_ARGUMENT":
        return FormatError(words)
    if status in {"UNAUTHENTICATED", "PERMISSION_DENIED"}:
        return UsageError(words, hint=f"set {KEY_VARIABLE} to the service's key")
    if status == "DEADLINE_EXCEEDED":
        return UnavailableError(f"the service at {addr} did not answer in time", hint="--timeout SECONDS")
    if status == "UNAVAILABLE" and "onnect" in words:
        return UnavailableError(f"no service answers at {addr}", hint="start one: innkeeper serve")
    return ProviderError(f"the service at {addr} answered {status.lower()}: {words}")


def _readable(answer: Mapping[str, Any]) -> str:
    blocks = (
        block.get("text", "")
        if block["type"] == "output_text"
        else "[tool_call] " + json.dumps(block.get("tool_call"), ensure_ascii=False)
        for block in answer.get("output", ())
    )
    return "\n".join(blocks)


def _figures(usage: Mapping[str, Any] | None) -> str:
    if not usage:
        return "tokens: the provider does not tell"
    parts = {"in": "input_tokens", "out": "output_tokens", "together": "total_tokens"}
    known = [f"{usage[name]} {word}" for word, name in parts.items() if usage.get(name) is not None]
    return f"tokens: {', '.join(known)}"
