"""Portal: one thread with an event loop, in which blocking callers have asynchronous code run.

The thread belongs to the process and is started by the first call; a forked child starts one of its own. The caller waits in its
own thread, where Ctrl-C reaches it and where its `cancelled_by` is asked; the work is cancelled, and has ended, before either is
raised. What the work raises is raised to the caller as it is.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
from contextlib import aclosing, contextmanager, suppress
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from innkeeper.inference.errors import CANCEL_INTERVAL, REST_SECONDS, RequestCancelledError

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

CANCEL: Final[ContextVar[Any]] = ContextVar("innkeeper_cancel", default=None)
"""What the blocking caller is cancelled by."""


@contextmanager
def cancelled_by(cancel: Any) -> Iterator[None]:
    """Calls of a client in this block raise `RequestCancelledError` soon after ``cancel`` says so.

    ``cancel`` is an event (anything with ``is_set``) or a function without arguments; ``None`` changes nothing.
    """
    token = CANCEL.set(cancel if cancel is not None else CANCEL.get())
    try:
        yield
    finally:
        CANCEL.reset(token)


def check_cancelled(cancel: Any) -> None:
    """Raise `RequestCancelledError` when ``cancel``, an event or a function, says so."""
    asked = getattr(cancel, "is_set", cancel)
    if asked is not None and asked():
        msg = "the request was cancelled"
        raise RequestCancelledError(msg)


_LOOK_SECONDS: Final = 0.5
"""How long is waited between two looks for Ctrl-C, which some systems do not let interrupt a lock."""

_END: Final = object()


class _RunningWork(Generic[T]):
    """A coroutine that runs in a loop of another thread, and what came of it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> None:
        self.done = threading.Event()
        self._loop = loop
        self._task: asyncio.Task[T] | None = None
        loop.call_soon_threadsafe(self._start, work)

    def _start(self, work: Coroutine[Any, Any, T]) -> None:
        self._task = self._loop.create_task(work)
        self._task.add_done_callback(lambda _: self.done.set())

    def cancel(self) -> None:
        """Cancel the coroutine, and wait until it has tidied up, but not for ever."""
        self._loop.call_soon_threadsafe(lambda: self._task.cancel() if self._task else None)
        self.done.wait(REST_SECONDS)

    def result(self) -> T:
        """Return what it gave, once it is done. Raises what it raised."""
        if self._task is None:
            raise RuntimeError("the work has not begun")
        return self._task.result()


class Portal:
    """A thread that runs an event loop as long as the process lives."""

    def __init__(self) -> None:
        import asyncio  # here, so that importing a blocking client does not load it

        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="innkeeper-portal", daemon=True)
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run ``work`` and return its result. Raises `RequestCancelledError` when the caller's `cancelled_by` says so."""
        cancel = CANCEL.get()
        try:
            check_cancelled(cancel)
        except BaseException:
            work.close()
            raise
        running = _RunningWork(self._loop, work)
        try:
            while not running.done.wait(_LOOK_SECONDS if cancel is None else CANCEL_INTERVAL):
                check_cancelled(cancel)
        except BaseException:  # Ctrl-C, too
            running.cancel()
            raise
        return running.result()

    def finish(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run ``work``, which tidies up, whatever the caller's `cancelled_by` says; at the end of the process, not at all."""
        if sys.is_finalizing() or _current.portal is not self:
            work.close()
            return
        running = _RunningWork(self._loop, work)
        if threading.current_thread() is not self._thread:  # the garbage collector runs in any thread
            running.done.wait(REST_SECONDS)

    def iterate(self, items: AsyncGenerator[T]) -> Generator[T]:
        """Give what ``items`` gives, one after the other. Leaving it early closes ``items`` before it returns."""
        try:
            while (item := self.call(_next(items))) is not _END:
                yield item
        finally:
            self.finish(_close(items))

    async def relay(self, items: AsyncGenerator[T]) -> AsyncGenerator[T]:
        """Give what ``items`` gives in this portal's loop to the loop of the caller, which no thread waits for.

        Leaving it early cancels ``items``.
        """
        import asyncio

        loop, arrived = asyncio.get_running_loop(), asyncio.Queue[tuple[Any, BaseException | None]]()

        def pass_on(item: Any, error: BaseException | None = None) -> None:
            with suppress(RuntimeError):  # the caller's loop is closed: nobody reads any more
                loop.call_soon_threadsafe(arrived.put_nowait, (item, error))

        async def pump() -> None:
            try:
                async with aclosing(items):
                    async for item in items:
                        pass_on(item)
            except BaseException as error:
                pass_on(_END, error)
                raise
            pass_on(_END)

        work = asyncio.run_coroutine_threadsafe(pump(), self._loop)
        try:
            while True:
                item, error = await arrived.get()
                if error is not None:
                    raise error
                if item is _END:
                    return
                yield item
        finally:
            work.cancel()


async def _next(items: AsyncGenerator[T]) -> Any:
    return await anext(items, _END)


async def _close(items: AsyncGenerator[Any]) -> None:
    await items.aclose()


class _Current:
    """The portal of this process."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Be a process that has none."""
        self.portal: Portal | None = None
        self.lock = threading.Lock()


_current = _Current()


def portal() -> Portal:
    """Return the portal of this process; the first caller starts it."""
    with _current.lock:
        if _current.portal is None:
            _current.portal = Portal()
        return _current.portal


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_current.forget)


async def in_thread(work: Callable[[], T]) -> T:
    """Return the result of ``work``, done in a thread of its own, which nobody waits for when this is cancelled."""
    import asyncio

    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def end(result: Any, error: BaseException | None) -> None:
        if done.done():
            return
        if isinstance(error, StopIteration):  # which a future cannot hold
            error = RuntimeError("the function raised StopIteration")
        done.set_result(result) if error is None else done.set_exception(error)

    def ended(result: Any, error: BaseException | None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(end, result, error)

    start_thread(work, ended)
    return await done


def start_thread(work: Callable[[], Any], ended: Callable[[Any, BaseException | None], Any]) -> None:
    """Do ``work`` in a thread of its own, in this context; ``ended`` gets its result, or its error, there."""

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - it is raised again where it is waited for
            ended(None, error)
        else:
            ended(result, None)

    threading.Thread(target=copy_context().run, args=(run,), daemon=True).start()
