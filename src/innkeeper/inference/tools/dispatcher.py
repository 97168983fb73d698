"""ToolDispatcher: from a call to a result's envelope. Whatever a tool does, an envelope comes back.

`AsyncToolDispatcher` is the same for event loops: it awaits tools that are asynchronous. The envelope, as the model gets it, is
``{ok, tool_name, data, warnings, errors}``, written as text. What a tool gave is transformed, measured and then serialised; it
is measured first, so that serialising cannot run away.
"""

from __future__ import annotations

import inspect
import json
import queue
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from innkeeper.inference.client.portal import in_thread, start_thread
from innkeeper.inference.errors import (
    DEFAULT_MAX_TOOL_BYTES,
    MAX_OUTPUT_DEPTH,
    MAX_OUTPUT_ITEMS,
    MAX_OUTPUT_NODES,
    AnswerError,
)
from innkeeper.inference.run.callers import completed, settle
from innkeeper.inference.tools.definition import ToolRegistry
from innkeeper.prompt import UsageError
from innkeeper.prompt.text import scalar_text


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

    async def _envelope(self, name: str, args: Mapping[str, Any], tool_call_id: str) -> dict[str, Any]:
        name = self.resolve(name)
        try:
            return normalised(await self._result(self._call(name, args, tool_call_id)), name)
        except Exception as error:  # noqa: BLE001 - a tool may raise anything, and the loop must go on
            return self._failure(name, error)

    async def _result(self, call: _Call) -> Any:
        raise NotImplementedError

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
        if isinstance(error, _NotAwaitedError):
            return failure(name, "INTERNAL_ERROR", "the tool is asynchronous, and nothing awaits it here")
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
        return completed(self._envelope(name, args, tool_call_id))

    async def _result(self, call: _Call) -> Any:
        result = call() if self._timeout is None else _within(self._timeout, call)
        if _dropped(result):
            raise _NotAwaitedError
        return result


class AsyncToolDispatcher(_Dispatcher):
    """`ToolDispatcher` for event loops. Asynchronous tools run in the loop, others in a thread each.

    A tool that takes longer than ``timeout`` is cancelled; the thread of one that is not asynchronous is left behind.
    """

    async def run(self, name: str, args: Mapping[str, Any], tool_call_id: str) -> dict[str, Any]:
        """The envelope of one call. Never raises for what a tool does; a cancelled task is cancelled."""
        return await self._envelope(name, args, tool_call_id)

    async def _result(self, call: _Call) -> Any:
        import asyncio

        try:
            async with asyncio.timeout(self._timeout) as limit:
                return await settle(call() if _is_async(call.function) else await in_thread(call))
        except TimeoutError as error:
            raise (_TooSlowError() if limit.expired() else error) from error


class _NotAllowedError(Exception):
    """A tool that is not there, or not for the model."""


class _NotAwaitedError(Exception):
    """A tool gave what is to be awaited, and nobody does."""


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
    start_thread(work, lambda result, error: done.put((result, error)))
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


def _check_fit(function: Any, arguments: Mapping[str, Any]) -> None:
    try:
        inspect.signature(function).bind(**arguments)
    except TypeError as error:
        msg = f"the arguments do not fit: {error}"
        raise AnswerError(msg, code="ARGUMENT_ERROR") from error
    except ValueError:
        pass  # a built-in without a signature finds out itself


def failure(tool_name: str, code: str, message: str, **data: Any) -> dict[str, Any]:
    """The envelope of a call that failed."""
    errors = [{"code": code, "message": message}]
    return {"ok": False, "tool_name": tool_name, "data": data, "warnings": [], "errors": errors}


def normalised(result: Any, tool_name: str) -> dict[str, Any]:
    """The envelope of what a tool returned: an envelope (a mapping with ``ok``), a mapping, or any other value."""
    if not isinstance(result, Mapping):
        data = {} if result is None else {"value": result}
    elif "ok" not in result:
        data = dict(result)
    else:
        return _completed(result, tool_name)
    return {"ok": True, "tool_name": tool_name, "data": data, "warnings": [], "errors": []}


def _completed(result: Mapping[str, Any], tool_name: str) -> dict[str, Any]:
    data = result.get("data")
    return {
        "ok": result["ok"] is True,
        "tool_name": str(result.get("tool_name") or tool_name),
        "data": dict(data) if isinstance(data, Mapping) else {} if data is None else {"value": data},
        "warnings": _items(result.get("warnings")),
        "errors": [_error(item) for item in _items(result.get("errors"))],
    }


def _items(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, Iterable) and not isinstance(value, (str, Mapping)) else [value]


def _error(item: Any) -> dict[str, Any]:
    if isinstance(item, Mapping):
        return {**item, "code": str(item.get("code") or "TOOL_ERROR"), "message": str(item.get("message") or "")}
    return {"code": "TOOL_ERROR", "message": str(item)}


def error_codes(envelope: Mapping[str, Any]) -> list[str]:
    """The codes of its errors."""
    return [str(error.get("code")) for error in envelope.get("errors") or () if isinstance(error, Mapping)]


def written(
    envelope: Mapping[str, Any], max_bytes: int, transform: Callable[[dict[str, Any]], dict[str, Any]]
) -> tuple[dict[str, Any], str]:
    """``(envelope, text)`` after ``transform``. What is too large or cannot be JSON becomes the envelope that says so.

    Codes: ``TOOL_OUTPUT_TOO_LARGE`` (with the limit that broke, or bytes) and ``TOOL_OUTPUT_SERIALIZATION_ERROR``.
    """
    tool, whole = str(envelope.get("tool_name")), transform(dict(envelope))
    limits = OutputLimits(bytes=max_bytes)
    reason = excess(whole, limits)
    if reason is not None:
        return _failed(tool, transform, "TOOL_OUTPUT_TOO_LARGE", reason=reason, limit=limits.of(reason))
    try:
        text = _json(whole)
    except (TypeError, ValueError, RecursionError):
        return _failed(tool, transform, "TOOL_OUTPUT_SERIALIZATION_ERROR")
    size = len(text.encode())
    if size > max_bytes:
        return _failed(tool, transform, "TOOL_OUTPUT_TOO_LARGE", bytes=size, limit=max_bytes)
    return whole, text


def _failed(
    tool: str, transform: Callable[[dict[str, Any]], dict[str, Any]], code: str, **data: Any
) -> tuple[dict[str, Any], str]:
    about = "too large" if code == "TOOL_OUTPUT_TOO_LARGE" else "not JSON data"
    envelope = transform(failure(tool, code, f"the tool's output is {about}", **data))
    return envelope, _json(envelope)


def _json(value: Any) -> str:
    return scalar_text(json.dumps(value, ensure_ascii=False, allow_nan=False))


class OutputLimits(msgspec.Struct, frozen=True):
    """What a tool's output may have: ``depth`` in levels, ``nodes`` in values, ``items`` a container, ``bytes`` as JSON."""

    depth: int = MAX_OUTPUT_DEPTH
    nodes: int = MAX_OUTPUT_NODES
    items: int = MAX_OUTPUT_ITEMS
    bytes: int = DEFAULT_MAX_TOOL_BYTES

    def of(self, reason: str) -> int:
        """The limit that is broken where `excess` gives ``reason``."""
        kinds = {"MAX_DEPTH": self.depth, "MAX_NODES": self.nodes}
        return kinds.get(reason, self.items if reason in _ITEMS else self.bytes)


_ITEMS: Final = ("MAX_HASH_KEYS", "MAX_ARRAY_ITEMS")


def excess(value: Any, limits: OutputLimits) -> str | None:
    """The first limit that ``value`` breaks, or ``None``.

    One of ``INVALID_LIMIT``, ``MAX_DEPTH``, ``MAX_NODES``, ``MAX_HASH_KEYS``, ``MAX_ARRAY_ITEMS``, ``STRING_TOO_LARGE``,
    ``MAX_BYTES``. Bytes are estimated from below. A container counts each time it is reached, as it would be written each
    time; one that holds itself is too deep.
    """
    if min(limits.depth, limits.nodes, limits.items, limits.bytes) <= 0:
        return "INVALID_LIMIT"
    return _Walk(limits).run(value)


class _Walk:
    def __init__(self, limits: OutputLimits) -> None:
        self.limits = limits
        self.nodes = self.bytes = 0
        self.todo: list[tuple[Any, int]] = []

    def run(self, value: Any) -> str | None:
        self.todo.append((value, 1))
        while self.todo:
            broken = self.visit(*self.todo.pop())
            if broken is not None:
                return broken
        return None

    def visit(self, value: Any, depth: int) -> str | None:
        self.nodes += 1
        if self.nodes > self.limits.nodes:
            return "MAX_NODES"
        inside = isinstance(value, (Mapping, list, tuple, set, frozenset))
        broken = self.enter(value, depth) if inside else self.weigh(value)
        return broken or ("MAX_BYTES" if self.bytes > self.limits.bytes else None)

    def enter(self, value: Any, depth: int) -> str | None:
        if depth > self.limits.depth:
            return "MAX_DEPTH"
        if len(value) > self.limits.items:
            return "MAX_HASH_KEYS" if isinstance(value, Mapping) else "MAX_ARRAY_ITEMS"
        self.bytes += 2 + max(len(value) - 1, 0)
        inside = value
        if isinstance(value, Mapping):
            inside = value.values()
            self.bytes += sum(len(key) + 3 for key in value if isinstance(key, str))
        self.todo.extend((item, depth + 1) for item in inside)
        return None

    def weigh(self, value: Any) -> str | None:
        size = len(value) if isinstance(value, (str, bytes)) else 1
        self.bytes += size
        return "STRING_TOO_LARGE" if size > self.limits.bytes else None
