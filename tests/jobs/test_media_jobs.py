"""Jobs as they are accepted: judged, priced, once for each idempotency key, and asked for again."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from innkeeper.gate.gate import TierPolicy
from innkeeper.gate.tier import Ceilings, Tier
from innkeeper.inference.client.egress import Egress
from innkeeper.inference.errors import AddressRefusedError, BudgetError, HttpError
from innkeeper.jobs.backends.wire import MediaWire
from innkeeper.jobs.deliveries import Deliveries
from innkeeper.jobs.job import JobChangedError, JobMissingError, JobRoute, JobState, JobStateError, Mode
from innkeeper.jobs.limits import MAX_DELIVERIES
from innkeeper.jobs.media import MediaRequest, MediaRequestError
from innkeeper.jobs.media_jobs import Terms
from innkeeper.jobs.runner import Runner
from innkeeper.jobs.signatures import check_hmac
from innkeeper.library.db.tables.columns import later
from innkeeper.library.db.tables.logs import usage_logs
from innkeeper.library.errors import ConflictError, NotFoundError, TierBlockedError
from innkeeper.library.models.stores import ModelStore, NegativeStore, ProviderStore
from innkeeper.prompt.errors import ConfigError, InnkeeperError, UnknownNameError
from innkeeper.prompt.machine import Secret
from tests.jobs.fakes import PICTURE, FakeProvider, House, house

WANTED = MediaRequest(prompt="a red barn at dawn", model="fake/one")


@pytest.fixture
def at(tmp_path: Path) -> Iterator[House]:
    """A house on a SQLite file."""
    with house(str(tmp_path / "a.db"), tmp_path) as made:
        yield made


def test_once(at: House) -> None:
    """A request with the key of an earlier one is that job; another request with it is refused; owners are apart."""
    one = at.jobs.submit(WANTED, Terms(owner="me", idempotency_key="k"))
    assert at.jobs.submit(WANTED, Terms(owner="me", idempotency_key="k")).id == one.id
    assert at.jobs.submit(WANTED, Terms(owner="you", idempotency_key="k")).id != one.id
    assert at.jobs.submit(WANTED, Terms(owner="me")).id != one.id
    with pytest.raises(ConflictError):
        at.jobs.submit(MediaRequest(prompt="another"), Terms(owner="me", idempotency_key="k"))
    assert at.jobs.get(one.id, owner="me").id == one.id
    for who in ({"owner": "you"}, {"owner": "me", "tenant": "other"}):
        for ask in (at.jobs.get, at.jobs.cancel, at.jobs.retry):
            with pytest.raises(JobMissingError):
                ask(one.id, **who)


@given(prompt=st.sampled_from(["a nude 15 year old", "a naked schoolgirl, aged 14"]), place=st.integers(0, 3))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_s1(at: House, prompt: str, place: int) -> None:
    """Age-indicating content in an adult context is refused wherever it stands: no job, no call, and an audit event."""
    wanted: Any = (
        {"prompt": prompt},
        {"prompt": "a barn", "negative_prompt": prompt},
        {"prompt": "a barn", "extra": {"style": prompt}},
        {"prompt": "a barn", "extra": {"more": [{"text": prompt}]}},
    )[place]
    with pytest.raises(TierBlockedError):
        at.jobs.submit(MediaRequest(model="fake/one", **wanted), Terms(tier="nsfw"))
    at.runner.drain(1)
    assert (at.jobs.store.list(), at.provider.charged) == ((), 0)


def test_tier(tmp_path: Path) -> None:
    """The tier that counts is never above policy, account and model; the checker stays on unless the row allows less."""
    policy = TierPolicy(adult_enabled=True)
    with house(str(tmp_path / "a.db"), tmp_path, policy=policy) as at:
        grown = Ceilings(account=Tier.NSFW)
        job = at.jobs.submit(WANTED, Terms(tier="nsfw", ceilings=grown))
        assert (job.tier, job.body["enable_safety_checker"]) == ("nsfw", True)
        assert at.jobs.submit(WANTED, Terms(tier="nsfw")).tier == "sfw"
    with house(str(tmp_path / "b.db"), tmp_path) as at:
        assert at.jobs.submit(WANTED, Terms(tier="nsfw", ceilings=grown)).tier == "sfw"


def test_budgets(at: House) -> None:
    """A job that costs more than it may is refused with the figure, before anything is asked."""
    assert at.jobs.submit(MediaRequest(prompt="a", model="fake/one", count=3)).cost_estimate == pytest.approx(0.12)
    with pytest.raises(BudgetError) as refused:
        at.jobs.submit(WANTED, Terms(max_cost=0.03))
    assert (refused.value.details["estimate"], refused.value.http_status) == (0.04, 402)
    at.jobs.daily_budget = 0.1
    for _ in range(2):
        at.jobs.submit(WANTED, Terms(owner="me"))
    with pytest.raises(BudgetError):
        at.jobs.submit(WANTED, Terms(owner="me"))
    at.jobs.submit(WANTED, Terms(owner="you"))
    at.jobs.daily_budget = None
    known = at.jobs.submit(WANTED, Terms(owner="me", idempotency_key="k"))
    at.jobs.daily_budget = 0.0
    assert at.jobs.submit(WANTED, Terms(owner="me", idempotency_key="k")).id == known.id


@dataclass
class Priced:
    """What a row says of its price, the estimate of one job, and whether $0.06 allow it."""

    id: str
    pricing: dict[str, Any]
    estimate: float | None
    refused: str = ""


PRICED = [
    Priced("a picture", {"per_image": 0.04}, 0.04),
    Priced("a call", {"call": 0.05}, 0.05),
    Priced("a use", {"cost_per_use": 0.05}, 0.05),
    Priced("a dear call", {"call": 0.07}, 0.07, "budget"),
    Priced("no price", {}, None, "no_route"),
    Priced("tokens", {"input": 1.0, "output": 2.0}, None, "no_route"),
    Priced("a second, of a picture", {"per_second": 0.01}, None, "no_route"),
]


@pytest.mark.parametrize("bound", ["max_cost", "daily_budget"])
@pytest.mark.parametrize("row", PRICED, ids=lambda row: row.id)
def test_bounds_of_money_bind_jobs(at: House, row: Priced, bound: str) -> None:
    """The price is the one that chats go by; what nobody knows the price of is refused where money is bounded."""
    ModelStore(at.jobs.library.db).update("fake/one", {"pricing": row.pricing})
    at.jobs.library.refresh()
    free = at.jobs.submit(WANTED, Terms(owner="unbounded"))
    assert free.cost_estimate == (None if row.estimate is None else pytest.approx(row.estimate))
    if bound == "daily_budget":
        at.jobs.daily_budget = 0.06
    terms = Terms(owner="me", max_cost=0.06 if bound == "max_cost" else None)
    if row.refused:
        with pytest.raises(InnkeeperError) as refused:
            at.jobs.submit(WANTED, terms)
        assert refused.value.kind == row.refused
        assert row.refused == "budget" or refused.value.details["skipped"]["price_unknown"] == 1
    else:
        assert JobRoute.of(at.jobs.submit(WANTED, terms)).money == pytest.approx(0.06)


def test_where_results_may_lie_is_the_jobs(tmp_path: Path) -> None:
    """Whoever carries a job out allows what the process did that accepted it, and the host of its provider's own address."""
    url, near = str(tmp_path / "a.db"), Egress(("files.lan", "10.1.0.0/16"))
    with house(url, tmp_path, wire=MediaWire(near)) as service, house(url, tmp_path) as worker:
        ProviderStore(service.jobs.library.db).update("fake", {"base_url": "http://127.0.0.1:8099/v1"})
        worker.jobs.library.refresh()
        job = service.jobs.submit(WANTED)
        for jobs in (service.jobs, worker.jobs):
            egress = jobs.calls.of(job)[1].egress
            for good in ("http://10.1.2.3/a.png", "http://127.0.0.1:8099/a.png", "https://files.example/a.png"):
                egress.check(good)
            for bad in ("http://127.0.0.1/a.png", "http://localhost:8098/a.png", "http://10.2.0.1/a.png"):
                with pytest.raises(AddressRefusedError):
                    egress.check(bad)
            assert egress.is_allowed("files.lan", 80)


def test_who_retries_may_allow_more(tmp_path: Path) -> None:
    """A host that is allowed when a job is asked for again is kept with it."""
    url = str(tmp_path / "a.db")
    with house(url, tmp_path) as at, house(url, tmp_path, wire=MediaWire(Egress(("files.lan",)))) as other:
        at.provider.errors = [HttpError("no", status=401, headers={}, sample="")]
        job = at.drain(at.jobs.submit(WANTED).id)
        assert not JobRoute.of(job).hosts
        assert JobRoute.of(other.jobs.retry(job.id)).hosts == ("files.lan",)


def test_a_repeated_request_is_not_charged_again(at: House) -> None:
    """One with the idempotency key of an earlier one is told as such."""
    terms = Terms(owner="me", idempotency_key="k")
    assert [at.jobs.accept(WANTED, terms)[1] for _ in range(2)] == [True, False]


def test_seeds(at: House) -> None:
    """A seed of 0 is sent; without one a fresh one is sent and kept with the job."""
    assert at.jobs.submit(MediaRequest(prompt="a", model="fake/one", seed=0)).body["seed"] == 0
    job = at.jobs.submit(WANTED)
    assert job.body["seed"] == job.request["seed"]


def test_targets(at: House) -> None:
    """The model that is named, by key or id; else the first by priority; else the tiny one. Others are refused."""
    db = at.jobs.library.db
    ProviderStore(db).add({"id": "chat", "name": "nobody"})
    ModelStore(db).add({"provider_id": "chat", "model_key": "no/one", "modality": "image", "tasks": ["t2i"]})
    row = ModelStore(db).named(["fake/one"])[0]
    at.jobs.library.refresh()
    assert at.jobs.planner.target(MediaRequest(prompt="a")).key == "fake/one"
    assert at.jobs.planner.target(MediaRequest(prompt="a", model=row.id)).key == "fake/one"
    assert at.jobs.planner.target(MediaRequest(prompt="a", mode=Mode.T2V)).key == "tiny-seed-picture"
    assert at.jobs.planner.target(MediaRequest(prompt="a", model="tiny-seed-picture")).key == "tiny-seed-picture"
    with pytest.raises(MediaRequestError):
        at.jobs.planner.target(MediaRequest(prompt="a", model="fake/one", mode=Mode.T2V))
    with pytest.raises(UnknownNameError):
        at.jobs.planner.target(MediaRequest(prompt="a", model="fake/two"))
    with pytest.raises(ConfigError):
        at.jobs.planner.target(MediaRequest(prompt="a", model="no/one"))


def test_pictures(at: House) -> None:
    """A picture to start from is an open address, or one of ours. No other is accepted."""
    kept = f"asset:{at.jobs.assets.put(PICTURE).name}"
    wanted = MediaRequest(prompt="in snow", model="fake/one", mode=Mode.I2I, image=kept)
    for said, error in (
        ("file:///etc/passwd", MediaRequestError),
        ("/etc/passwd", MediaRequestError),
        ("asset:00/none.png", NotFoundError),
        ("http://127.0.0.1/secret.png", AddressRefusedError),
    ):
        with pytest.raises(error):
            at.jobs.submit(msgspec.structs.replace(wanted, image=said))
        with pytest.raises(error):
            at.jobs.submit(msgspec.structs.replace(wanted, references=(said,)))
    sneaked = at.jobs.submit(MediaRequest(prompt="a", model="fake/one", extra={"image_url": "http://127.0.0.1/"}))
    assert ("image_url" not in sneaked.body, [note["parameter"] for note in sneaked.notes]) == (True, ["image_url"])


def test_negatives(at: House) -> None:
    """The negative prompt of the model's family goes before the request's own, shorter for a picture to start from."""
    db = at.jobs.library.db
    ModelStore(db).update("fake/one", {"model_family": "sdxl"})
    for mode, text in (("txt2img", "blurry, deformed, bad anatomy"), ("i2i", "blurry")):
        row = {"model_type": "sdxl", "negative_prompt": text, "generation_mode": mode, "content_mode": "sfw"}
        NegativeStore(db).add(row)
    at.jobs.library.refresh()
    job = at.jobs.submit(msgspec.structs.replace(WANTED, negative_prompt="rain, blurry"))
    assert job.body["negative_prompt"] == "blurry, deformed, bad anatomy, rain"
    assert [note["reason"] for note in job.notes] == ["duplicate"]
    with pytest.raises(MediaRequestError, match="the model reads 75"):
        at.jobs.submit(msgspec.structs.replace(WANTED, prompt="a red barn at dawn, " * 40))


def test_words_go_as_they_are(at: House) -> None:
    """No word of a prompt is changed on its way to a provider, whatever its policy may say to it (S2)."""
    text = "  A *red* barn, “animated”, moving — 16:9 \n {{x}} $1 "
    assert at.jobs.submit(msgspec.structs.replace(WANTED, prompt=text)).body["prompt"] == text


def test_uses_are_logged(at: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """What succeeds is a row of the log of uses, with its cost; what fails is none."""
    monkeypatch.setattr("innkeeper.jobs.steps.POLL_SECONDS", (0.02, 0.05))
    at.provider.errors = [HttpError("no", status=401, headers={}, sample="")]
    at.drain(at.jobs.submit(WANTED).id)
    job = at.drain(at.jobs.submit(WANTED, Terms(owner="me")).id)
    with at.jobs.library.db.reading() as connection:
        row = connection.execute(select(usage_logs)).one()
    assert (row.request_id, row.user_id, row.cost_usd, row.request_type) == (job.id, "me", 0.04, "image")


def test_retry(at: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that has failed is asked for again from the start; one that has not is left alone."""
    monkeypatch.setattr("innkeeper.jobs.steps.POLL_SECONDS", (0.02, 0.05))
    at.provider.errors = [HttpError("no", status=401, headers={}, sample="")]
    job = at.drain(at.jobs.submit(WANTED).id)
    assert job.state is JobState.FAILED
    again = at.jobs.retry(job.id)
    assert (again.state, again.attempt, again.error_kind) == (JobState.QUEUED, 0, None)
    with pytest.raises(JobStateError):
        at.jobs.retry(job.id)
    done = at.drain(job.id)
    assert done.state is JobState.SUCCEEDED
    with pytest.raises(JobStateError):
        at.jobs.cancel(job.id)
    with pytest.raises(JobChangedError):
        at.jobs.store.move(again, JobState.CANCELLED)
    with pytest.raises(JobChangedError):
        at.jobs.store.move(done, JobState.QUEUED)
    assert at.jobs.store.remove_ended(later(at.jobs.store.db.now(), 60)) == 1


def test_threads(at: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A runner with threads carries out what is asked for while it runs, and stops."""
    monkeypatch.setattr("innkeeper.jobs.steps.POLL_SECONDS", (0.02, 0.05))
    with Runner(at.jobs, threads=3, lease=0.3):
        ids = [at.jobs.submit(WANTED).id for _ in range(6)]
        until = time.monotonic() + 120
        while any(not at.jobs.get(one).ended for one in ids) and time.monotonic() < until:
            time.sleep(0.05)
    assert {at.jobs.get(one).state for one in ids} == {JobState.SUCCEEDED}
    assert at.provider.charged == 6


def test_slow_receivers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever takes his time to hear of a job holds up no other: they are carried out meanwhile."""
    monkeypatch.setattr("innkeeper.jobs.runner._SWEEP", 0.02)
    monkeypatch.setattr("innkeeper.jobs.steps.POLL_SECONDS", (0.001, 0.002))
    heard, enough = threading.Event(), threading.Event()

    def answer(_: httpx.Request) -> httpx.Response:
        heard.set()
        enough.wait(60)
        return httpx.Response(204)

    wire = MediaWire(transport=httpx.MockTransport(answer))
    with house(str(tmp_path / "a.db"), tmp_path, wire=wire) as at:
        at.jobs.cancel(at.jobs.submit(WANTED, Terms(callback_url="https://me.example/told")).id)
        with Runner(at.jobs, threads=2):
            assert heard.wait(60)
            job = at.jobs.submit(WANTED)
            until = time.monotonic() + 60
            while not at.jobs.get(job.id).ended and time.monotonic() < until:
                time.sleep(0.01)
            assert at.jobs.get(job.id).state is JobState.SUCCEEDED
            assert not enough.is_set()
            enough.set()


def told(tmp_path: Path, statuses: list[int]) -> tuple[House, list[httpx.Request], Any]:
    """A house whose messages are answered with these statuses, and the messages."""
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(statuses[min(len(asked), len(statuses)) - 1])

    wire = MediaWire(transport=httpx.MockTransport(answer))
    entered = house(str(tmp_path / "a.db"), tmp_path, FakeProvider(), wire=wire)
    return entered.__enter__(), asked, entered


def test_messages(tmp_path: Path) -> None:
    """A job that ends is told of once, signed; a message that is not taken is sent again under the same identifier."""
    at, asked, entered = told(tmp_path, [500, 204])
    at.runner.deliveries = Deliveries(at.jobs, first=0.01)
    job = at.jobs.submit(WANTED, Terms(callback_url="https://me.example/told"))
    at.jobs.cancel(job.id)
    for _ in range(3):
        at.runner.sweep()
        time.sleep(0.03)
    assert len(asked) == 2
    for request in asked:
        headers = dict(request.headers)
        assert check_hmac(headers, request.content, Secret("whsec_c2VjcmV0"), time.time())
        assert b'"type":"job.cancelled"' in request.content
    assert len({request.headers["webhook-id"] for request in asked}) == 1
    assert [row.state for row in at.runner.deliveries.of(job.id)] == ["delivered"]
    entered.__exit__(None, None, None)


def test_dead_letters(tmp_path: Path) -> None:
    """A message that nobody takes is a dead letter in the end; an address of this machine is refused at once."""
    at, asked, entered = told(tmp_path, [500])
    at.runner.deliveries = Deliveries(at.jobs, first=0.0)
    job = at.jobs.submit(WANTED, Terms(callback_url="https://me.example/told"))
    at.jobs.cancel(job.id)
    for _ in range(MAX_DELIVERIES + 2):
        at.runner.sweep()
    assert (len(asked), len(at.runner.deliveries.dead())) == (MAX_DELIVERIES, 1)
    assert at.runner.deliveries.send_again("another") == 0
    assert (at.runner.deliveries.send_again(), len(at.runner.deliveries.dead())) == (1, 0)
    at.runner.sweep()
    assert len(asked) == MAX_DELIVERIES + 1
    at.jobs.wire.egress = Egress()
    for url in ("http://127.0.0.1/x", "file:///etc/passwd"):
        with pytest.raises(AddressRefusedError):
            at.jobs.submit(WANTED, Terms(callback_url=url))
    at.jobs.secret = lambda _: Secret("")
    with pytest.raises(ConfigError):
        at.jobs.submit(WANTED, Terms(callback_url="https://me.example/told"))
    entered.__exit__(None, None, None)
