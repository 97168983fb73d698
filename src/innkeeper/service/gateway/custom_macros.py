"""Custom macros: names that callers bind to operations of ours. They belong to one application and are bounded.

The original lets anybody bind a macro to any operation, one that deletes files among them. Here only pure ones can be bound.
A macro ``{{name:text}}`` calls its operation with what the operation knows of: ``name``, ``params``, ``variables``,
``policy``, and the text itself as its one required argument (``text``, ``code``). The macro stands for the reply's ``text`` or
``result``. Inside it no custom macros are known, so that they cannot call one another without end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import msgspec

from innkeeper.prompt.errors import UnknownNameError, UsageError
from innkeeper.service.errors import Problem, RequestError
from innkeeper.service.gateway.operation import Operation
from innkeeper.service.gateway.state import AppState, Call
from innkeeper.service.limits import MAX_MACRO_NAME

__all__ = ["bound", "clear", "list_macros", "register"]

_RESULTS: Final = ("text", "result")


def register(call: Call, macros: list[dict[str, str]]) -> dict[str, Any]:
    """The operation ``macro/register``. Raises `UnknownNameError`, `UsageError`, `LimitError`."""
    handlers = {_name(macro["name"], index): _handler(call, macro["handler_api"]) for index, macro in enumerate(macros)}
    call.state.macros.add(handlers)
    return {"success": True, "count": len(macros)}


def list_macros(call: Call) -> dict[str, Any]:
    """The operation ``macro/list``."""
    return {"success": True, "items": call.state.macros.all()}


def clear(call: Call) -> dict[str, Any]:
    """The operation ``macro/clear``."""
    call.state.macros.clear()
    return {"success": True}


def bound(call: Call) -> dict[str, Callable[[str, str, Any], Any]]:
    """The registered macros as functions for one call: name, text after the colon and environment in; the text out."""
    return {name: _bound(call, _find(call, handler)) for name, handler in call.state.macros.all().items()}


def _bound(call: Call, operation: Operation) -> Callable[[str, str, Any], Any]:
    alone = replace(call, state=AppState(call.state.settings, call.state.operations), explain=False, notes=[])

    def expand(name: str, params: str, environment: Any) -> Any:
        policy = msgspec.to_builtins(environment.policy)
        arguments = {"name": name, "params": params, "variables": environment.table, "policy": policy}
        arguments = dict.fromkeys(operation.required, params) | arguments
        reply = operation(alone, {key: value for key, value in arguments.items() if key in operation.types})
        return next((reply[part] for part in _RESULTS if isinstance(reply, dict) and part in reply), None)

    return expand


def _name(name: str, index: int) -> str:
    if not name.strip() or len(name) > MAX_MACRO_NAME:
        hint = f"1 to {MAX_MACRO_NAME} characters"
        raise RequestError([Problem(f"macros[{index}].name", "this cannot be the name of a macro", hint)])
    return name.strip().lower()


def _handler(call: Call, handler: str) -> str:
    operation = _find(call, handler)
    if operation.effect not in {"pure", "state"} or operation.path.endswith(("/register", "/clear")):
        raise UsageError(f"{operation.path} cannot be a macro", hint="only operations that change nothing can")
    return handler


def _find(call: Call, handler: str) -> Operation:
    operations = call.state.operations
    namespace, colon, path = handler.partition(":")
    name = f"{namespace}/{path}" if colon else f"modules/{handler}"
    if name not in operations:
        known = [f"{operation.namespace}:{operation.path}" for operation in operations.values()]
        raise UnknownNameError("operation", handler, known)
    return operations[name]
