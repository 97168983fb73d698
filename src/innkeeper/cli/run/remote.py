"""The prompt service of another process over gRPC with JSON; its status becomes one of our errors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from innkeeper.lazy import require
from innkeeper.library.prompts.tool_config import ToolNotFoundError
from innkeeper.prompt.errors import FormatError, InnkeeperError, ProviderError, UnavailableError, UsageError
from innkeeper.service.guard.grants import KEY_VARIABLE

_RUN: Final = "/prompt.v1.PromptService/Run"


def ask(addr: str, request: Mapping[str, Any], seconds: float, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the answer of the service at ``host:port``, with the key from the environment.

    Raises:
        ToolNotFoundError: it has no such tool.
        UsageError, FormatError, ProviderError: what it says, by its status.
        UnavailableError: nobody answers there in time, or the library for gRPC is missing.
    """
    require("grpc")
    import grpc

    key = environ.get(KEY_VARIABLE, "").strip()
    metadata = [("authorization", f"Bearer {key}")] if key else []
    with grpc.insecure_channel(addr) as channel:
        call: Any = channel.unary_unary(_RUN)
        try:
            reply = call(json.dumps(request).encode(), timeout=seconds, metadata=metadata)
        except grpc.RpcError as error:
            raise _error(error, addr, str(request.get("tool_name"))) from None
    answer: dict[str, Any] = json.loads(reply)
    return answer


def _error(error: Any, addr: str, tool: str) -> InnkeeperError:
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
