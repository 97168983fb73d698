"""The engine of workers for pictures and videos: what goes to its backend is what came; faults have one outcome each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from innkeeper.inference.routing.models import ModelNotFoundError
from innkeeper.jobs.backend import BackendCall, JobFailure, Progress, RefusedByProviderError, Submitted
from innkeeper.jobs.backends.tiny_seed_picture import TinySeedPicture, drawn
from innkeeper.jobs.job import Output
from innkeeper.jobs.worker import media_engine
from innkeeper.jobs.worker.media_engine import MediaEngine, ServedModel
from innkeeper.jobs.worker.media_protocol import MediaWork, read_work, work_sha256
from innkeeper.jobs.worker.slots import WorkerDrainingError
from innkeeper.library.workers.states import WorkerState
from innkeeper.prompt.errors import FormatError, InnkeeperError, ProviderError, UsageError
from innkeeper.service.guard.grants import Keys
from innkeeper.service.settings import Settings
from innkeeper.service.workers.app import worker_app

PICTURE = drawn("a test", 1, (64, 64))
SMALL = {"prompt": "a red barn", "seed": 0, "width": 64, "height": 64}
WORK = MediaWork(mode="t2i", input=SMALL)


@dataclass
class Queue:
    """A backend with a queue of its own, which answers as a test says."""

    answers: list[Progress] = field(default_factory=lambda: [Progress("running"), Progress("done", outputs=(_url(),))])
    file: bytes = PICTURE
    calls: list[BackendCall] = field(default_factory=list)
    cancelled: int = 0
    name: str = "queue"
    repeatable: bool = True
    waits: bool = False

    def submit(self, call: BackendCall) -> Submitted:
        self.calls.append(call)
        return Submitted(reference={"id": "1"})

    def status(self, call: BackendCall, reference: Mapping[str, Any]) -> Progress:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def cancel(self, call: BackendCall, reference: Mapping[str, Any]) -> None:
        self.cancelled += 1

    def fetch(self, call: BackendCall, output: Output) -> bytes:
        return self.file

    def webhook(self, *_: Any) -> Any:
        raise AssertionError


def _url() -> Output:
    return Output(url="http://127.0.0.1/1.png")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(media_engine, "_LOOK", 0.001)


Use = Callable[[MediaEngine], Coroutine[Any, Any, Any]]


def used(use: Use, backend: Any = None, **options: Any) -> Any:
    """What a function gives that uses an engine."""

    async def run() -> Any:
        place = ServedModel(backend or TinySeedPicture(), "real", ("t2i", "i2i"), "http://127.0.0.1:1")
        engine = MediaEngine("image", {"barn": place}, **options)
        await engine.start()
        try:
            return await use(engine)
        finally:
            await engine.close()

    return asyncio.run(run())


def test_makes() -> None:
    """The results with their hashes, the hash of what went to the model, and the first model where none is named."""
    answer = used(lambda engine: engine.execute(WORK))
    assert [made.data for made in answer.results] == [drawn("a red barn\0", 0, (64, 64))]
    assert (answer.model, answer.results[0].media_type) == ("barn", "image/png")
    assert answer.input_sha256 == work_sha256("t2i", SMALL, b"")


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=8),
        st.recursive(
            st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(max_size=12),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
            max_leaves=6,
        ),
        max_size=5,
    )
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_nothing_is_added(values: dict[str, Any]) -> None:
    """Whatever the input is, the backend gets that input, and the hash is the one that the caller makes of what it sent."""
    import msgspec

    backend = Queue()
    work = read_work(msgspec.json.encode(MediaWork(mode="t2i", input=values, picture=PICTURE)))
    answer = used(lambda engine: engine.execute(work), backend)
    assert (backend.calls[0].body, backend.calls[0].picture, backend.calls[0].model) == (values, PICTURE, "real")
    assert answer.input_sha256 == work_sha256("t2i", values, PICTURE)


@dataclass
class Bad:
    """What a backend says, and the error that comes of it."""

    name: str
    answer: Progress
    error: type[InnkeeperError]
    file: bytes = PICTURE


BAD = [
    Bad("failed", Progress("failed", failure=JobFailure("provider_failed", "out of memory")), ProviderError),
    Bad("refused", Progress("failed", failure=JobFailure("provider_policy_refusal", "no")), RefusedByProviderError),
    Bad("lost", Progress("lost"), ProviderError),
    Bad("nothing", Progress("done"), ProviderError),
    Bad("partial", Progress("done", outputs=(_url(),)), FormatError, PICTURE[:-20]),
    Bad("no picture", Progress("done", outputs=(_url(),)), FormatError, b"<html>"),
]


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.name)
def test_faults(case: Bad) -> None:
    """A backend that fails, refuses, loses a job or gives something damaged is an error, and the slot is free again."""

    async def use(engine: MediaEngine) -> None:
        with pytest.raises(case.error):
            await engine.execute(WORK)
        assert (engine.idle, engine.stats["failures"]) == (True, 1)

    used(use, Queue([case.answer], case.file))


def test_refused() -> None:
    """A model that is not there, a task that it does not do, and a worker that drains are said before anything is made."""

    async def use(engine: MediaEngine) -> None:
        for work, error in (
            (MediaWork(mode="t2i", input={}, model="other"), ModelNotFoundError),
            (MediaWork(mode="t2v", input={}), UsageError),
        ):
            with pytest.raises(error):
                await engine.execute(work)
        engine.drain()
        with pytest.raises(WorkerDrainingError):
            await engine.execute(WORK)
        assert (engine.state, engine.report().state) == (WorkerState.DRAINING, WorkerState.DRAINING)

    used(use)
    for body in (b"{}", b'{"mode": "t2i", "input": {}, "preset": "nice"}', b'{"mode": "t9i", "input": {}}', b"\xff"):
        with pytest.raises(UsageError):
            read_work(body)


def test_gone() -> None:
    """Where nobody waits any more the backend is told to stop, and the slot is free once it has."""
    backend = Queue([Progress("running")])

    async def use(engine: MediaEngine) -> None:
        task = asyncio.ensure_future(engine.execute(WORK))
        while not backend.calls:  # noqa: ASYNC110 - a thread calls
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while not engine.idle:  # noqa: ASYNC110 - a thread ends
            await asyncio.sleep(0.001)

    used(use, backend)
    assert backend.cancelled == 1


def test_service() -> None:
    """Over HTTP: what it can do, that it is well, its key, and pictures; a chat is none of its."""

    async def run() -> None:
        engine = MediaEngine("image", {"barn": ServedModel(TinySeedPicture(), "barn", ("t2i",))}, slots=2)
        app = worker_app(engine, Settings(keys=Keys("a-key")))
        headers = {"authorization": "Bearer a-key"}
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://127.0.0.1", headers=headers)
        async with app.router.lifespan_context(app), client:
            info = (await client.get("/worker/info")).json()
            assert (info["capabilities"]["image"], info["capabilities"]["prompt_modification"]) == (True, False)
            assert (info["message_format"]["required"], info["slots"]) == (["mode"], 2)
            assert (await client.get("/health")).json()["status"] == "healthy"
            body = {"mode": "t2i", "input": SMALL}
            assert (
                await client.post("/generate", json=body, headers={"authorization": "Bearer no"})
            ).status_code == 401
            made = (await client.post("/generate", json=body)).json()
            assert (made["success"], made["input_sha256"]) == (True, work_sha256("t2i", SMALL, b""))
            assert (await client.post("/generate", json={**body, "negative": "x"})).status_code == 400
            assert (await client.post("/chat", json={"messages": []})).status_code == 404

    asyncio.run(run())
