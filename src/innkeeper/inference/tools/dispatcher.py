"""ToolDispatcher: from a call to a result's envelope. Whatever a tool does, an envelope comes back."""

from __future__ import annotations

import inspect
import queue
import threading
from collections.abc import Callable, Mapping
from typing import Any

from innkeeper.inference.errors import ToolArgumentsError
from innkeeper.inference.tools.definition import ToolRegistry
from innkeeper.inference.tools.results import failure, normalised
from innkeeper.prompt import UsageError

__all__ = ["ToolDispatcher"]


class ToolDispatcher:
    """Runs calls of the tools that ``registry`` offers.

    ``executor`` is a callable (or has a method ``call``) taking ``name``, ``args`` and, if it wants it, ``tool_call_id``;
    or a mapping from names to functions that take the arguments by name. ``aliases`` map names models like to use to ours;
    ``a.b`` stands for ``a_b`` when only that exists. With ``timeout`` (seconds) a tool runs in a thread that is left
    behind when it takes longer.

    Failures: ``TOOL_NOT_ALLOWED``, ``ARGUMENT_ERROR`` (a `ValueError`, a `UsageError` or arguments that do not fit the
    function), ``TOOL_TIMEOUT``, ``INTERNAL_ERROR`` (anything else; its text stays here, since it may hold secrets).
    """

    def __init__(
        self,
        registry: ToolRegistry,
        executor: Any,
        *,
        aliases: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> None:
        self._registry = registry
        self._executor = executor
        self._aliases = dict(aliases or {})
        self._timeout = timeout
        if not (isinstance(executor, Mapping) or callable(executor) or callable(getattr(executor, "call", None))):
            msg = f"a tool executor must be callable, have a method call, or map names to functions: {executor!r:.80}"
            raise UsageError(msg)

    def resolve(self, name: str) -> str:
        """The name of ours that a model's name stands for."""
        name = name.strip()
        name = self._aliases.get(name, name)
        plain = name.replace(".", "_")
        return plain if name not in self._registry and plain in self._registry else name

    def run(self, name: str, args: Mapping[str, Any], tool_call_id: str) -> dict[str, Any]:
        """The envelope of one call. Never raises for what a tool does, except to end the process."""
        name = self.resolve(name)
        if not self._registry.offers(name):
            return failure(name, "TOOL_NOT_ALLOWED", f"there is no tool {name!r} to use here")
        try:
            return normalised(self._limited(lambda: self._execute(name, args, tool_call_id)), name)
        except _TooSlowError:
            return failure(name, "TOOL_TIMEOUT", f"the tool gave no result within {self._timeout:g} s")
        except (ToolArgumentsError, UsageError, ValueError) as error:
            return failure(name, "ARGUMENT_ERROR", str(error))
        except Exception as error:  # noqa: BLE001 - a tool may raise anything, and the loop must go on
            return failure(name, "INTERNAL_ERROR", f"the tool failed ({type(error).__name__})")

    def _execute(self, name: str, args: Mapping[str, Any], tool_call_id: str) -> Any:
        if isinstance(self._executor, Mapping):
            function = self._executor.get(name)
            if function is None:
                msg = f"the executor has no function {name!r}"
                raise LookupError(msg)
            return _bound(function, args)()
        call = self._executor if callable(self._executor) else self._executor.call
        known = {"tool_call_id": tool_call_id} if _takes(call, "tool_call_id") else {}
        return call(name=name, args=dict(args), **known)

    def _limited(self, work: Callable[[], Any]) -> Any:
        return work() if self._timeout is None else _within(self._timeout, work)


class _TooSlowError(Exception):
    """A tool took longer than it may."""


def _within(seconds: float, work: Callable[[], Any]) -> Any:
    done: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            done.put((work(), None))
        except BaseException as error:  # noqa: BLE001 - it is raised again where it is waited for
            done.put((None, error))

    threading.Thread(target=run, daemon=True).start()
    try:
        result, error = done.get(timeout=seconds)
    except queue.Empty:
        raise _TooSlowError from None
    if error is not None:
        raise error
    return result


def _takes(function: Any, name: str) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(p.name == name or p.kind is p.VAR_KEYWORD for p in parameters)


def _bound(function: Any, args: Mapping[str, Any]) -> Callable[[], Any]:
    """The call with its arguments. Raises `ToolArgumentsError` when they do not fit, before anything runs."""
    try:
        inspect.signature(function).bind(**args)
    except TypeError as error:
        msg = f"the arguments do not fit: {error}"
        raise ToolArgumentsError(msg, code="ARGUMENT_ERROR") from error
    except ValueError:
        pass  # a built-in without a signature finds out itself
    return lambda: function(**args)
