"""A provider of pictures that does what a test tells it, and counts what it is asked and paid for."""

import hashlib
import hmac
import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from innkeeper.jobs.assets import FolderAssets
from innkeeper.jobs.backend import BackendCall, Progress, Submitted, Webhook, WebhookRefusedError
from innkeeper.jobs.backends.tiny_seed_picture import drawn
from innkeeper.jobs.backends.wire import MediaWire
from innkeeper.jobs.job import Output
from innkeeper.jobs.media_jobs import MediaJobs
from innkeeper.jobs.runner import Runner
from innkeeper.jobs.signatures import check_time
from innkeeper.jobs.steps import Steps
from innkeeper.library.db.engine import Database
from innkeeper.library.library import Library
from innkeeper.library.models.stores import ModelStore, ProviderStore
from innkeeper.library.outside import MACHINE, Outside
from innkeeper.prompt.machine import Secret

PICTURE = drawn("a test", 1, (64, 64))
MODEL = {
    "model_key": "fake/one",
    "modality": "image",
    "tasks": ["t2i", "i2i"],
    "pricing": {"per_image": 0.04},
    "capabilities": {
        "safety_checker_param": "enable_safety_checker",
        "input_schema": {
            "prompt": {"type": "string", "required": True},
            "negative_prompt": {"type": "string"},
            "seed": {"type": "integer", "min": 0, "max": 2**31 - 1},
            "num_images": {"type": "integer", "min": 1, "max": 4},
            "num_inference_steps": {"type": "integer", "min": 1, "max": 50},
            "guidance_scale": {"type": "number", "min": 1, "max": 20},
            "image_url": {"type": "string"},
            "image_size": {"type": "string", "options": ["square_hd", "landscape_16_9", "portrait_16_9"]},
            "enable_safety_checker": {"type": "boolean", "default": True},
        },
    },
}
TOKEN = b"a token of tests"


@dataclass
class FakeProvider:
    """A paid provider. ``polls`` is how often it says that it is not done yet, ``before`` what happens inside a hand-over."""

    polls: int = 0
    never: bool = False
    repeatable: bool = False
    waits: bool = False
    errors: list[Exception] = field(default_factory=list)
    lost_answers: list[Exception] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=lambda: [Output(url="https://files.example/1.png")])
    files: list[bytes] = field(default_factory=lambda: [PICTURE])
    before: Callable[[BackendCall, str], object] | None = None
    fetching: Callable[[BackendCall], object] = lambda _: None
    stands: list[Progress] = field(default_factory=list)
    name: str = "fake"
    charged: int = 0
    polled: int = 0
    fetched: int = 0
    cancelled: list[str] = field(default_factory=list)
    bodies: list[Mapping[str, Any]] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def submit(self, call: BackendCall) -> Submitted:
        if self.errors:
            raise self.errors.pop(0)
        self.charged += 1
        self.bodies.append(call.body)
        reference = f"ref-{next(self.numbers)}"
        if self.before is not None:
            self.before(call, reference)
        if self.lost_answers:
            raise self.lost_answers.pop(0)
        return Submitted(reference={"id": reference})

    def status(self, call: BackendCall, reference: Mapping[str, Any]) -> Progress:
        self.polled += 1
        if self.stands:
            return self.stands.pop(0)
        if self.never or self.polled <= self.polls:
            return Progress("running", share=min(0.9, self.polled / 10))
        return Progress("done", outputs=tuple(self.outputs))

    def cancel(self, call: BackendCall, reference: Mapping[str, Any]) -> None:
        self.cancelled.append(reference["id"])

    def fetch(self, call: BackendCall, output: Output) -> bytes:
        self.fetched += 1
        self.fetching(call)
        return self.files[min(self.fetched, len(self.files)) - 1]

    def webhook(self, headers: Mapping[str, str], body: bytes, now: float) -> Webhook:
        if not hmac.compare_digest(sign(headers.get("at", ""), body), headers.get("signature", "")):
            raise WebhookRefusedError("the webhook's signature does not hold")
        check_time(headers["at"], now)
        return Webhook(headers["id"], {"id": body.decode()})


def sign(at: str, body: bytes) -> str:
    """The fake's signature."""
    return hmac.new(TOKEN, at.encode() + body, hashlib.sha256).hexdigest()


def hook(reference: str, at: float, delivery: str = "d-1") -> tuple[dict[str, str], bytes]:
    """A webhook of the fake's."""
    moment = str(int(at))
    return {"id": delivery, "at": moment, "signature": sign(moment, reference.encode())}, reference.encode()


@dataclass
class House:
    """A library with the fake's model, its jobs, and a runner that works when a test says so."""

    jobs: MediaJobs
    runner: Runner
    provider: FakeProvider
    folder: Path

    def drain(self, job_id: str, seconds: float = 10.0) -> Any:
        """Work until a job has ended; the job."""
        self.runner.drain(seconds, until=job_id)
        return self.jobs.get(job_id)

    def told(self, job_id: str) -> list[str]:
        """What happened to a job."""
        return [event.event for event in self.jobs.store.events(job_id)]


@contextmanager
def house(
    url: str,
    folder: Path,
    provider: FakeProvider | None = None,
    *,
    outside: Outside = MACHINE,
    lease: float = 30.0,
    wire: MediaWire | None = None,
    **options: Any,
) -> Iterator[House]:
    """A house on a database; its model is added where it is not there."""
    fake = provider or FakeProvider()
    with Database.open(url) as db:
        if not ModelStore(db).named(["fake/one"]):
            ProviderStore(db).add({"id": "fake", "name": "fake"})
            ModelStore(db).add({"provider_id": "fake", **MODEL})
    with Library.open(url, watch=False, outside=outside, **options) as library:
        secret = {"INNKEEPER_WEBHOOK_SECRET": "whsec_c2VjcmV0"}
        jobs = MediaJobs(
            library,
            assets=FolderAssets(folder / "assets"),
            wire=wire,
            known=[fake],
            secret=lambda name: Secret(secret.get(name, "")),
        )
        yield House(jobs, Runner(jobs, threads=4, steps=Steps(jobs, first=0.01), lease=lease), fake, folder)
