"""Jobs through the router: to whom an attempt goes, to whom the next, and to whom none may go."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from innkeeper.gate.gate import TierGate, TierPolicy
from innkeeper.gate.tier import Ceilings, Tier
from innkeeper.inference.errors import BudgetError, HttpError, ProviderConnectionError, ProviderTimeoutError
from innkeeper.inference.routing.router import NoRouteError, RouteAttempts
from innkeeper.jobs.assets import FolderAssets
from innkeeper.jobs.backend import RefusedByProviderError
from innkeeper.jobs.job import Job, JobState, Mode
from innkeeper.jobs.media import MediaRequest
from innkeeper.jobs.media_jobs import MediaJobs, Terms
from innkeeper.jobs.runner import Runner
from innkeeper.jobs.steps import Steps
from innkeeper.library.errors import TierBlockedError
from innkeeper.library.library import Library
from innkeeper.library.models.stores import ModelStore, NegativeStore, ProviderStore, RoutePolicyStore
from innkeeper.library.tiers.rules import OperatorRules
from innkeeper.prompt.machine import Secret
from tests.jobs.fakes import MODEL, FakeProvider

WANTED = MediaRequest(prompt="a red barn at dawn", seed=3)
ADULT = Terms(tier="nsfw", ceilings=Ceilings(account=Tier.NSFW))


@dataclass
class Inn:
    """A library with a free server of its own (``near``) and two paid providers (``mid`` and ``far``), cheapest first."""

    jobs: MediaJobs
    near: FakeProvider
    mid: FakeProvider
    far: FakeProvider

    @property
    def charged(self) -> tuple[int, int, int]:
        return self.near.charged, self.mid.charged, self.far.charged

    def done(self, job: Job) -> Job:
        """Work until the job has ended."""
        Runner(self.jobs, steps=Steps(self.jobs, first=0.001)).drain(20, until=job.id)
        return self.jobs.get(job.id)

    def model(self, key: str, **changes: Any) -> None:
        """Change the row of a model."""
        ModelStore(self.jobs.library.db).update(key, changes)
        self.jobs.library.refresh()


def way(job: Job) -> list[tuple[str, str]]:
    """The attempts of a job: where it went, and what came of it."""
    return [(step["provider"], step["outcome"]) for step in job.to_dict()["route_trace"]["steps"]]


@pytest.fixture
def inn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Inn]:
    """An inn, whose operator allows adults."""
    monkeypatch.setattr("innkeeper.jobs.steps.POLL_SECONDS", (0.001, 0.002))
    policy = TierPolicy(adult_enabled=True)
    with Library.open(str(tmp_path / "a.db"), watch=False, policy=policy) as library:
        near, mid, far = FakeProvider(name="near", repeatable=True), FakeProvider(name="mid"), FakeProvider(name="far")
        for name, price in (("near", None), ("mid", 0.02), ("far", 0.05)):
            ProviderStore(library.db).add({"id": name, "name": name, "tier_ceiling": "nsfw"})
            pricing = {} if price is None else {"pricing": {"per_image": price}}
            row = {k: v for k, v in MODEL.items() if k != "pricing"}
            ModelStore(library.db).add({**row, "provider_id": name, "model_key": f"{name}/one", **pricing})
        library.refresh()
        assets = FolderAssets(tmp_path / "assets")
        jobs = MediaJobs(library, assets=assets, known=[near, mid, far], secret=lambda _: Secret(""))
        yield Inn(jobs, near, mid, far)


def _status(status: int) -> HttpError:
    return HttpError(f"status {status}", status=status, headers={}, sample="")


def test_first_choice(inn: Inn) -> None:
    """*Routing Logic by Modality*: one's own server first, then the cheapest; a model that is named is asked, and no other."""
    job = inn.done(inn.jobs.submit(WANTED))
    assert (job.backend, job.state, inn.charged) == ("near", JobState.SUCCEEDED, (1, 0, 0))
    trace = job.to_dict()["route_trace"]
    assert (trace["policy"], trace["modality"], trace["task"], trace["ended"]) == (
        "default",
        "image",
        "t2i",
        "answered",
    )
    assert trace["degraded"] == []
    named = inn.done(inn.jobs.submit(MediaRequest(prompt="a barn", model="far/one")))
    assert (named.backend, way(named)) == ("far", [("far", "answered")])
    assert inn.jobs.submit(MediaRequest(prompt="a barn", mode=Mode.T2V)).backend == "tiny-seed-picture"


def test_one_look_is_enough(inn: Inn, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request looks at whom it goes to, and not at all others: among a thousand it costs the same."""
    looks, look = [], RouteAttempts.next

    def counted(tries: RouteAttempts, now: float) -> Any:
        looks.append(now)
        return look(tries, now)

    monkeypatch.setattr(RouteAttempts, "next", counted)
    monkeypatch.setattr(inn.jobs.routes.router, "explain", None)
    inn.jobs.submit(WANTED)
    inn.jobs.submit(MediaRequest(prompt="a barn", model="far/one"))
    assert len(looks) == 2


def test_policies(inn: Inn) -> None:
    """Rows of the operator's say in which order: here by priority before the price."""
    RoutePolicyStore(inn.jobs.library.db).add(
        {"name": "pictures", "modality": "image", "criteria": ["priority", "price"]}
    )
    inn.model("far/one", priority=-5)
    job = inn.done(inn.jobs.submit(WANTED))
    assert (job.backend, job.to_dict()["route_trace"]["policy"]) == ("far", "pictures")


@dataclass
class Fails:
    """An error of the first provider, and where the job has been in the end."""

    name: str
    error: Exception
    way: list[tuple[str, str]]
    kind: str | None = None


FREE = [
    Fails("no room", _status(503), [("near", "unavailable"), ("mid", "answered")]),
    Fails("too many", _status(429), [("near", "rate_limited"), ("mid", "answered")]),
    Fails("no such model", _status(404), [("near", "not_found"), ("mid", "answered")]),
    Fails("not there", ProviderConnectionError("refused", opened=False), [("near", "connection"), ("mid", "answered")]),
    Fails("cut", ProviderTimeoutError("late", phase="read"), [("near", "timeout"), ("mid", "answered")]),
    Fails("wrong key", _status(401), [("near", "auth")], "auth"),
    Fails("wrong request", _status(400), [("near", "invalid_request")], "invalid_request"),
    Fails("refused", RefusedByProviderError("no"), [("near", "provider_policy_refusal")], "provider_policy_refusal"),
]


@pytest.mark.parametrize("case", FREE, ids=lambda case: case.name)
def test_fallback(inn: Inn, case: Fails) -> None:
    """What is down or full is left for the next; refusals, wrong keys and wrong requests go nowhere else."""
    inn.near.errors = [case.error]
    job = inn.done(inn.jobs.submit(WANTED))
    assert (way(job), job.error_kind) == (case.way, case.kind)
    assert job.state is (JobState.SUCCEEDED if case.kind is None else JobState.FAILED)
    if case.kind is None:
        assert job.to_dict()["route_trace"]["degraded"] == ["fallback"]
        assert [event.event for event in inn.jobs.events(job)].count("fallback") == 1


def test_unknown_outcome_goes_nowhere(inn: Inn) -> None:
    """A job that a paid provider may have is handed to no other by itself."""
    inn.model("near/one", is_active=False)
    inn.mid.lost_answers = [ProviderTimeoutError("late", phase="read")]
    job = inn.done(inn.jobs.submit(WANTED))
    assert (job.state, job.error_kind, inn.charged) == (JobState.FAILED, "outcome_unknown", (0, 1, 0))
    assert way(job) == [("mid", "outcome_unknown")]


@given(st.lists(st.sampled_from(["503", "429", "404", "lost", "401", "refused", "ok"]), min_size=1, max_size=6))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_never_paid_twice(inn: Inn, answers: list[str]) -> None:
    """S6 and money: whatever providers answer, nobody is asked after one that may have the job, and the tier never rises."""
    made = {
        "lost": ProviderTimeoutError("late", phase="read"),
        "refused": RefusedByProviderError("no"),
    }
    inn.near.charged = inn.mid.charged = inn.far.charged = 0
    inn.jobs.routes.router._health.clear()
    for provider, answer in zip((inn.near, inn.mid, inn.far), [*answers, "ok", "ok"], strict=False):
        error = made.get(answer) or (None if answer == "ok" else _status(int(answer)))
        provider.lost_answers = [error] if answer == "lost" and error else []
        provider.errors = [error] if answer != "lost" and error else []
    job = inn.done(inn.jobs.submit(WANTED, ADULT))
    steps = job.to_dict()["route_trace"]["steps"]
    assert job.ended
    assert inn.mid.charged + inn.far.charged <= 1
    assert all(Tier.of(step["tier"]).rank <= Tier.NSFW.rank for step in steps)
    ranks = [Tier.of(step["tier"]).rank for step in steps]
    assert ranks == sorted(ranks, reverse=True)
    last = [step["outcome"] for step in steps][:-1]
    assert not {"auth", "provider_policy_refusal", "outcome_unknown"} & set(last)


def test_planned_anew(inn: Inn) -> None:
    """The next attempt is planned for its own model: its parameters, its negative prompt, its price, and its tier."""
    schema = {"prompt": {"type": "string"}, "seed": {"type": "integer"}, "cfg": {"type": "number", "max": 4}}
    inn.model("mid/one", capabilities={"input_schema": schema}, tier_ceiling="sfw")
    RoutePolicyStore(inn.jobs.library.db).add({"name": "any", "modality": "image", "lower_tier": True})
    NegativeStore(inn.jobs.library.db).add(
        {"model_type": "sdxl", "negative_prompt": "blurry", "generation_mode": "txt2img", "content_mode": "sfw"}
    )
    inn.model("near/one", model_family="sdxl")
    inn.near.errors = [_status(503)]
    wanted = MediaRequest(prompt="a red barn", seed=0, guidance=7.0)
    first = inn.jobs.submit(wanted, ADULT)
    assert (first.tier, first.body["guidance_scale"], first.body["negative_prompt"]) == ("nsfw", 7.0, "blurry")
    job = inn.done(first)
    assert (job.backend, job.tier, job.cost_usd) == ("mid", "sfw", 0.02)
    assert inn.mid.bodies == [{"prompt": "a red barn", "seed": 0, "cfg": 4}]
    assert [note["parameter"] for note in job.notes] == ["cfg"]
    assert job.to_dict()["route_trace"]["degraded"] == ["fallback", "tier_lowered"]


def test_tier_is_never_raised(inn: Inn) -> None:
    """A job of the adult tier goes to nobody who is not for it, unless a policy lets the tier be lowered; never the other way."""
    for name in ("near", "mid", "far"):
        inn.model(f"{name}/one", tier_ceiling="sfw")
    with pytest.raises(NoRouteError) as refused:
        inn.jobs.submit(WANTED, ADULT)
    assert refused.value.details["skipped"]["tier_ceiling"] == 3
    assert inn.jobs.submit(WANTED).tier == "sfw"
    inn.model("mid/one", tier_ceiling="nsfw")
    job = inn.jobs.submit(WANTED, ADULT)
    assert (job.backend, job.tier) == ("mid", "nsfw")
    assert inn.jobs.submit(WANTED).tier == "sfw"


def test_money(inn: Inn) -> None:
    """Nobody is asked who costs more than a job may: not at first, and not after another has failed."""
    inn.near.errors = [_status(503)] * 9
    inn.mid.errors = [_status(404)]
    job = inn.done(inn.jobs.submit(WANTED, Terms(max_cost=0.03)))
    assert (inn.far.charged, job.state) == (0, JobState.FAILED)
    inn.model("near/one", is_active=False)
    with pytest.raises(BudgetError) as refused:
        inn.jobs.submit(WANTED, Terms(max_cost=0.01))
    assert refused.value.details["estimate"] == 0.02
    assert inn.jobs.submit(WANTED, Terms(max_cost=0.03)).backend == "mid"


def test_long_prompts(inn: Inn) -> None:
    """A prompt that one model does not read whole goes to the next; where none reads it, it is refused."""
    for name in ("near", "mid"):
        inn.model(f"{name}/one", capabilities={**MODEL["capabilities"], "char_limit": 10})  # type: ignore[dict-item]
    assert inn.jobs.submit(WANTED).backend == "far"


def test_closed_before_the_hand_over(inn: Inn) -> None:
    """Who was chosen when the job was accepted and is left alone by now is not asked: another is."""
    inn.near.errors = [_status(429)]
    first, second = inn.jobs.submit(WANTED), inn.jobs.submit(WANTED)
    assert (first.backend, second.backend) == ("near", "near")
    assert way(inn.done(first)) == [("near", "rate_limited"), ("mid", "answered")]
    job = inn.done(second)
    assert (way(job), inn.near.charged) == ([("mid", "answered")], 0)
    assert job.to_dict()["model"] == "mid/one"


def test_judged_again(inn: Inn, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules of the moment of the hand-over count: a tier that is gone by then is lowered, what is blocked goes nowhere."""
    adult = inn.jobs.submit(WANTED, ADULT)
    assert adult.tier == "nsfw"
    inn.jobs.library.database._rules = OperatorRules(gate=TierGate.of(TierPolicy()))
    done = inn.done(adult)
    assert (done.tier, done.state) == ("sfw", JobState.SUCCEEDED)
    before, other = inn.charged, inn.jobs.submit(WANTED)

    def refuse(_: Job) -> None:
        raise TierBlockedError("block", "sfw", ("minor_sexual",), ())

    monkeypatch.setattr(inn.jobs.planner, "judge_again", refuse)
    blocked = inn.done(other)
    assert (blocked.state, blocked.error_kind, blocked.retryable) == (JobState.FAILED, "safety_block", False)
    assert inn.charged == before


WORDS = ("a naked schoolgirl, aged 14", "nude 15 year old")


@given(words=st.sampled_from(WORDS), place=st.sampled_from(["negatives", "defaults", "fallback"]))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_s1_in_rows(inn: Inn, words: str, place: str) -> None:
    """S1: what a row of the operator's puts into an adult job is judged with it, also in the plan of another attempt."""
    schema = {name: {"type": "string"} for name in ("prompt", "negative_prompt", "style")}
    rows = {"capabilities": {"input_schema": schema}, "model_family": None, "input_defaults": {}}
    for name in ("near", "mid", "far"):
        inn.model(f"{name}/one", **rows)
    if place == "negatives":
        fragment = {"model_type": "s1", "generation_mode": "txt2img", "content_mode": "nsfw", "negative_prompt": words}
        NegativeStore(inn.jobs.library.db).add(fragment)
        inn.model("near/one", model_family="s1")
    elif place == "defaults":
        inn.model("near/one", input_defaults={"style": words})
    else:
        inn.model("mid/one", input_defaults={"style": words})
        inn.near.errors = [_status(503)]
        job = inn.done(inn.jobs.submit(WANTED, ADULT))
        assert (job.error_kind, inn.mid.charged, inn.far.charged) == ("safety_block", 0, 0)
        inn.jobs.routes.router._health.clear()
        return
    with pytest.raises(TierBlockedError):
        inn.jobs.submit(WANTED, ADULT)
    assert inn.charged == (0, 0, 0)


@given(
    may_be_off=st.lists(st.booleans(), min_size=3, max_size=3),
    adult=st.booleans(),
    verified=st.booleans(),
    said=st.booleans(),
    failures=st.integers(0, 2),
)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_s4(inn: Inn, may_be_off: list[bool], adult: bool, verified: bool, said: bool, failures: int) -> None:
    """S4: a provider's checker is on in every attempt, unless the tier is the adult one and the row of that model allows less."""
    inn.jobs.routes.router._health.clear()
    providers = (inn.near, inn.mid, inn.far)
    for place, (provider, off) in enumerate(zip(providers, may_be_off, strict=True)):
        capabilities: Any = {**MODEL["capabilities"], "safety_checker_may_be_off": off}  # type: ignore[dict-item]
        ModelStore(inn.jobs.library.db).update(f"{provider.name}/one", {"capabilities": capabilities})
        provider.errors = [_status(503)] if place < failures else []
        provider.bodies.clear()
    inn.jobs.library.refresh()
    ceilings = Ceilings(account=Tier.NSFW if verified else Tier.SFW)
    wanted = MediaRequest(prompt="a red barn", extra={"enable_safety_checker": said})
    job = inn.done(inn.jobs.submit(wanted, Terms(tier="nsfw" if adult else "sfw", ceilings=ceilings)))
    assert (job.state, job.tier) == (JobState.SUCCEEDED, "nsfw" if adult and verified else "sfw")
    (body,) = [body for provider in providers for body in provider.bodies]
    assert body["enable_safety_checker"] is not (adult and verified and may_be_off[failures])


@given(
    tiers=st.lists(st.sampled_from([None, "sfw", "nsfw"]), min_size=3, max_size=3),
    asked=st.sampled_from(["sfw", "nsfw", "adult", None]),
    account=st.sampled_from([None, Tier.SFW, Tier.NSFW]),
    lower=st.booleans(),
    failures=st.integers(0, 3),
)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_s5_s6(
    inn: Inn, tiers: list[str | None], asked: str | None, account: Tier | None, lower: bool, failures: int
) -> None:
    """S5, S6: what names no tier is general; no attempt is above the one before, its model, the account or the request."""
    inn.jobs.routes.router._health.clear()
    db, providers = inn.jobs.library.db, (inn.near, inn.mid, inn.far)
    for place, (provider, tier) in enumerate(zip(providers, tiers, strict=True)):
        ModelStore(db).update(f"{provider.name}/one", {"tier_ceiling": tier})
        provider.errors = [_status(503)] if place < failures else []
    policies = RoutePolicyStore(db)
    if policies.list():
        policies.update("any", {"lower_tier": lower})
    else:
        policies.add({"name": "any", "modality": "image", "lower_tier": lower})
    inn.jobs.library.refresh()
    inn.jobs.routes._read = -1e9
    most = Tier.lowest(Tier.of(asked), account or Tier.SFW)
    allowed = [Tier.NSFW if tier is None else Tier.of(tier) for tier in tiers]  # their provider is for adults
    try:
        job = inn.done(inn.jobs.submit(WANTED, Terms(tier=asked, ceilings=Ceilings(account=account))))
    except NoRouteError:
        assert not lower
        assert all(tier.rank < most.rank for tier in allowed)
        return
    steps = job.to_dict()["route_trace"]["steps"]
    ranks = [Tier.of(step["tier"]).rank for step in steps]
    assert ranks == sorted(ranks, reverse=True)
    assert max(ranks) <= most.rank
    names = [provider.name for provider in providers]
    assert all(rank <= allowed[names.index(step["provider"])].rank for rank, step in zip(ranks, steps, strict=True))
