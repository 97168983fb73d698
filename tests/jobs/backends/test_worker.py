"""Jobs at media workers: by lease, to whoever is free; one that makes something else than it was sent is put into quarantine."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from innkeeper.inference.client.egress import Egress
from innkeeper.jobs.assets import FolderAssets
from innkeeper.jobs.backends.tiny_seed_picture import TinySeedPicture, drawn
from innkeeper.jobs.backends.wire import MediaWire
from innkeeper.jobs.job import Job, JobState, Mode
from innkeeper.jobs.media import MediaRequest
from innkeeper.jobs.media_jobs import MediaJobs
from innkeeper.jobs.runner import Runner
from innkeeper.jobs.steps import Steps
from innkeeper.jobs.worker.media_engine import MediaEngine, ServedModel
from innkeeper.library.library import Library
from innkeeper.library.models.stores import ModelStore, ProviderStore
from innkeeper.library.workers.states import WorkerState
from innkeeper.library.workers.store import WorkerStore
from innkeeper.prompt.machine import Secret
from innkeeper.service.guard.grants import Keys
from innkeeper.service.settings import Settings
from innkeeper.service.workers.app import worker_app

WANTED = MediaRequest(prompt="a red barn", seed=0, width=64, height=64, model="barn")
Alter = Callable[[dict[str, Any]], dict[str, Any]]


class Yard:
    """A library with workers, which answer in this process; ``asked`` names those that were."""

    def __init__(self, library: Library, folder: Path) -> None:
        self.store = WorkerStore(library.db)
        self.asked: list[str] = []
        self.alter: dict[str, Alter] = {}
        wire = MediaWire(Egress(), transport=httpx.MockTransport(self._answer))
        self.jobs = MediaJobs(library, assets=FolderAssets(folder / "assets"), wire=wire, secret=lambda _: Secret(""))

    def enrol(self, host: str, *, kind: str = "image", state: WorkerState = WorkerState.READY) -> str:
        """A worker that holds a lease; its id."""
        engine = MediaEngine(kind, {"barn": ServedModel(TinySeedPicture(), "barn", _tasks(kind))})
        engine.state = state
        made = self.store.enrol(self.store.invite(hosts=[host]), f"http://{host}:7861", engine.report(), kind=kind)
        self.jobs.routes._read = -1e9
        return made.id

    def done(self, job: Job) -> Job:
        Runner(self.jobs, steps=Steps(self.jobs, first=0.001)).drain(20, until=job.id)
        return self.jobs.get(job.id)

    def state(self, worker: str) -> str:
        return self.store.get(worker).state.value

    def _answer(self, request: httpx.Request) -> httpx.Response:
        """As the worker of that host answers, behind its own guard."""
        host = request.url.host
        self.asked.append(host)
        row = next(row for row in self.store.list() if host in row.url)

        async def ask() -> httpx.Response:
            engine = MediaEngine(row.kind, {"barn": ServedModel(TinySeedPicture(), "barn", _tasks(row.kind))})
            app = worker_app(engine, Settings(keys=Keys(self.store.call_key(row.id))))
            client = httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://127.0.0.1")
            async with app.router.lifespan_context(app), client:
                headers = {"authorization": request.headers["authorization"]}
                return await client.post("/generate", content=request.content, headers=headers)

        reply = asyncio.run(ask())
        if host in self.alter:
            return httpx.Response(200, json=self.alter[host](reply.json()))
        return httpx.Response(reply.status_code, content=reply.content)


def _tasks(kind: str) -> tuple[str, ...]:
    return ("t2i", "i2i") if kind == "image" else ("t2v", "i2v")


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Yard]:
    """A yard without workers."""
    with Library.open(str(tmp_path / "a.db"), watch=False) as library:
        yield Yard(library, tmp_path)


def test_by_lease(yard: Yard) -> None:
    """A job goes to the worker that holds a lease, with its key; pictures to start from go with it; the file is the worker's."""
    yard.enrol("10.0.0.1")
    yard.enrol("10.0.0.2", state=WorkerState.DRAINING)
    job = yard.done(yard.jobs.submit(WANTED))
    assert (job.state, job.backend, job.error_message) == (JobState.SUCCEEDED, "worker", None)
    step = job.to_dict()["route_trace"]["steps"][0]
    assert (step["worker"], step["outcome"]) == (yard.store.list()[0].id, "answered")
    assert yard.jobs.assets.get(job.results[0].name) == drawn("a red barn\0", 0, (64, 64))
    started = MediaRequest(
        prompt="in snow", seed=1, width=64, height=64, mode=Mode.I2I, image=f"asset:{job.results[0].name}"
    )
    other = yard.done(yard.jobs.submit(started))
    assert (other.state, set(yard.asked)) == (JobState.SUCCEEDED, {"10.0.0.1"})
    assert other.results[0].sha256 != job.results[0].sha256


def test_kinds(yard: Yard) -> None:
    """One for videos is never given a picture, nor the other way; where there is none, the tiny picture stands in."""
    yard.enrol("10.0.0.1", kind="video")
    assert yard.jobs.submit(MediaRequest(prompt="a barn")).backend == "tiny-seed-picture"
    moving = yard.done(yard.jobs.submit(MediaRequest(prompt="waves", mode=Mode.T2V, width=64, height=64)))
    assert (moving.backend, moving.state) == ("worker", JobState.SUCCEEDED)


@pytest.mark.parametrize("what", ["hash", "nothing", "damaged"])
def test_tampered(yard: Yard, what: str) -> None:
    """A worker whose hash is another's is in quarantine for all; its picture is thrown away, and another worker is asked."""
    bad = yard.enrol("10.0.0.1")
    yard.alter["10.0.0.1"] = {
        "hash": lambda said: {**said, "input_sha256": "0" * 64},
        "nothing": lambda said: {k: v for k, v in said.items() if k != "input_sha256"},
        "damaged": lambda said: {**said, "results": [{**said["results"][0], "sha256": "0" * 64}]},
    }[what]
    first = yard.jobs.submit(WANTED)
    good = yard.enrol("10.0.0.2")
    job = yard.done(first)
    assert (job.state, yard.state(good)) == (JobState.SUCCEEDED, "ready")
    outcomes = [step["outcome"] for step in job.to_dict()["route_trace"]["steps"]]
    expected = {
        "hash": ("tampered", "quarantined"),
        "nothing": ("tampered", "quarantined"),
        "damaged": ("bad_result", "ready"),
    }
    assert (outcomes[0], yard.state(bad)) == expected[what]


def test_lease_over(yard: Yard) -> None:
    """A worker that has gone is not asked: another is, and where there is none the job waits for one."""
    first = yard.enrol("10.0.0.1")
    job = yard.jobs.submit(WANTED)
    yard.store.remove(first)
    yard.jobs.routes._read = -1e9
    Runner(yard.jobs, steps=Steps(yard.jobs, first=0.001)).drain(0.2)
    assert (yard.jobs.get(job.id).ended, yard.asked) == (False, [])
    yard.enrol("10.0.0.2")
    assert (yard.done(job).state, yard.asked) == (JobState.SUCCEEDED, ["10.0.0.2"])


def test_addresses(yard: Yard) -> None:
    """A worker's address is its own word: where its invitation does not let it be, nothing is sent."""
    worker = yard.enrol("10.0.0.1")
    from sqlalchemy import update

    from innkeeper.library.db.tables.templates import workers

    with yard.store.db.transaction() as connection:
        connection.execute(update(workers).where(workers.c.id == worker).values(url="http://127.0.0.1:22"))
    yard.jobs.routes._read = -1e9
    job = yard.jobs.submit(WANTED)
    Runner(yard.jobs, steps=Steps(yard.jobs, first=0.001)).drain(0.2)
    assert (yard.asked, yard.jobs.get(job.id).state is JobState.SUCCEEDED) == ([], False)


def test_catalogue_counts(yard: Yard) -> None:
    """What the catalogue says of a worker's model counts: its parameters, and its workflow, which goes with the request."""
    schema = {"prompt": {"type": "string"}, "width": {"type": "integer", "min": 128, "max": 512}, "workflow": {}}
    row = {
        "model_key": "barn",
        "modality": "image",
        "tasks": ["t2i"],
        "capabilities": {"input_schema": schema, "workflow": {"1": {}}},
    }
    ProviderStore(yard.jobs.library.db).add({"id": "none", "name": "nobody"})
    ModelStore(yard.jobs.library.db).add({**row, "provider_id": "none"})
    yard.jobs.library.refresh()
    yard.enrol("10.0.0.1")
    job = yard.jobs.submit(WANTED)
    assert (job.backend, job.body["width"], json.loads(json.dumps(job.body["workflow"]))) == ("worker", 128, {"1": {}})
