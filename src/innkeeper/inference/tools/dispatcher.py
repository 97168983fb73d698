"""ToolDispatcher: from a call to a result's envelope. Whatever a tool does, an envelope comes back.

`AsyncToolDispatcher` is the same for event loops: it awaits tools that are asynchronous.
"""

from __future__ import annotations

import inspect
import queue
import threading
from collections.abc import Callable, Mapping
from contextvars import copy_context
from typing import Any

from innkeeper.inference.errors import AnswerError
from innkeeper.inference.tools.definition import ToolRegistry
from innkeeper.inference.tools.results import failure, normalised
from innkeeper.prompt import UsageError

__all__ = ["AsyncToolDispatcher", "ToolDispatcher"]


class _Dispatcher:
    """What the two dispatchers share: which function a call means, and what a failure of it says."""

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

    def _call(self, name: str, args: Mapping[str, Any], tool_call_id: str) -> _Call:
        """The call of a tool. Raises `AnswerError` when the arguments do not fit, before anything runs."""
        if not self._registry.offers(name):
            raise _NotAllowedError
        if isinstance(self._executor, Mapping):
            if name not in self._executor:
                msg = f"the executor has no function {name!r}"
                raise LookupError(msg)
            return _Call(self._executor[name], dict(args))
        function = self._executor if callable(self._executor) else self._executor.call
        known = {"tool_call_id": tool_call_id} if _takes(function, "tool_call_id") else {}
        return _Call(function, {"name": name, "args": dict(args), **known}, is_ours=True)

    def _failure(self, name: str, error: Exception) -> dict[str, Any]:
        if isinstance(error, _NotAllowedError):
            return failure(name, "TOOL_NOT_ALLOWED", f"there is no tool {name!r} to use here")
        if isinstance(error, _TooSlowError):
            return failure(name, "TOOL_TIMEOUT", f"the tool gave no result within {self._timeout:g} s")
        if isinstance(error, (AnswerError, UsageError, ValueError)):
            return failure(name, "ARGUMENT_ERROR", str(error))
        return failure(name, "INTERNAL_ERROR", f"the tool failed ({type(error).__name__})")


class ToolDispatcher(_Dispatcher):
    """Runs calls of the tools that ``registry`` offers.

    ``executor`` is a callable (or has a method ``call``) taking ``name``, ``args`` and, if it wants it, ``tool_call_id``;
    or a mapping from names to functions that take the arguments by name. ``aliases`` map names models like to use to ours;
    ``a.b`` stands for ``a_b`` when only that exists. With ``timeout`` (seconds) a tool runs in a thread that is left
    behind when it takes longer.

    Failures: ``TOOL_NOT_ALLOWED``, ``ARGUMENT_ERROR`` (a `ValueError`, a `UsageError` or arguments that do not fit the
    function), ``TOOL_TIMEOUT``, ``INTERNAL_ERROR`` (anything else; its text stays here, since it may hold secrets).
    """

    def __init__(self, registry: ToolRegistry, executor: Any, **settings: Any) -> None:
        super().__init__(registry, executor, **settings)
        functions = executor.values() if isinstance(executor, Mapping) else [executor, getattr(executor, "call", None)]
        if any(_is_async(function) for function in functions):
            msg = "asynchronous tools are not awaited here"
            raise UsageError(msg, hint="use AsyncToolLoopRunner")

    def run(self, name: str, args: Mapping[str, Any], tool_call_id: str) -> dict[str, Any]:
        """The envelope of one call. Never raises for what a tool does, except to end the process."""
        name = self.resolve(name)
        try:
            call = self._call(name, args, tool_call_id)
            result = call() if self._timeout is None else _within(self._timeout, call)
            if _dropped(result):
                return failure(name, "INTERNAL_ERROR", "the tool is asynchronous, and nothing awaits it here")
            return normalised(result, name)
        except Exception as error:  # noqa: BLE001 - a tool may raise anything, and the loop must go on
            return self._failure(name, error)


class AsyncToolDispatcher(_Dispatcher):
    """`ToolDispatcher` for event loops. Asynchronous tools run in the loop, others in a thread each.

    A tool that takes longer than ``timeout`` is cancelled; the thread of one that is not asynchronous is left behind.
    """

    async def run(self, name: str, args: Mapping[str, Any], tool_call_id: str) -> dict[str, Any]:
        """The envelope of one call. Never raises for what a tool does; a cancelled task is cancelled."""
        import asyncio

        name = self.resolve(name)
        try:
            call = self._call(name, args, tool_call_id)
            async with asyncio.timeout(self._timeout) as limit:
                result = call() if _is_async(call.function) else await _in_thread(call)
                result = await result if inspect.isawaitable(result) else result
            return normalised(result, name)
        except Exception as error:  # noqa: BLE001 - as above
            return self._failure(
                name, _TooSlowError() if isinstance(error, TimeoutError) and limit.expired() else error
            )


class _NotAllowedError(Exception):
    """A tool that is not there, or not for the model."""


class _TooSlowError(Exception):
    """A tool took longer than it may."""


class _Call:
    """A function with its arguments; those of the model must fit it."""

    def __init__(self, function: Any, arguments: dict[str, Any], *, is_ours: bool = False) -> None:
        self.function = function
        self.arguments = arguments
        if not is_ours:
            _check_fit(function, arguments)

    def __call__(self) -> Any:
        return self.function(**self.arguments)


def _is_async(function: Any) -> bool:
    own = getattr(type(function), "__call__", None)  # noqa: B004 - an object may be called by a coroutine function
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(own)


def _dropped(result: Any) -> bool:
    """Whether ``result`` was to be awaited; it is closed, so that nobody warns of it."""
    if inspect.iscoroutine(result):
        result.close()
    return inspect.isawaitable(result)


def _within(seconds: float, work: Callable[[], Any]) -> Any:
    done: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
    _start(work, lambda result, error: done.put((result, error)))
    try:
        result, error = done.get(timeout=seconds)
    except queue.Empty:
        raise _TooSlowError from None
    if error is not None:
        raise error
    return result


async def _in_thread(work: Callable[[], Any]) -> Any:
    """What ``work`` gives in a thread, which nobody waits for when this is cancelled."""
    import asyncio

    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def end(result: Any, error: BaseException | None) -> None:
        if done.done():
            return
        if isinstance(error, StopIteration):  # which a future cannot hold
            error = RuntimeError("the tool raised StopIteration")
        done.set_result(result) if error is None else done.set_exception(error)

    def ended(result: Any, error: BaseException | None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(end, result, error)

    _start(work, ended)
    return await done


def _start(work: Callable[[], Any], ended: Callable[[Any, BaseException | None], Any]) -> None:
    """Do ``work`` in a thread of its own, in this context; ``ended`` gets its result, or its error."""

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - it is raised again where it is waited for
            ended(None, error)
        else:
            ended(result, None)

    threading.Thread(target=copy_context().run, args=(run,), daemon=True).start()


def _takes(function: Any, name: str) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(p.name == name or p.kind is p.VAR_KEYWORD for p in parameters)


def _check_fit(function: Any, arguments: Mapping[str, Any]) -> None:
    try:
        inspect.signature(function).bind(**arguments)
    except TypeError as error:
        msg = f"the arguments do not fit: {error}"
        raise AnswerError(msg, code="ARGUMENT_ERROR") from error
    except ValueError:
        pass  # a built-in without a signature finds out itself
