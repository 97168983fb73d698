"""S5 and S6 for tasks: whatever deployments, ceilings and failures there are, no attempt is above the tier that was granted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from innkeeper.gate.tier import Ceilings, Tier
from innkeeper.inference.adapters.adapter import ModelRequest
from innkeeper.inference.errors import ProviderConnectionError
from innkeeper.inference.response.events import Finished, ModelEvent, Started, TextDelta
from innkeeper.inference.routing.deployment import Deployment
from innkeeper.inference.routing.models import ModelAnswer
from innkeeper.inference.routing.policy import RoutePolicy
from innkeeper.inference.routing.price import Price
from innkeeper.inference.routing.route import Route
from innkeeper.inference.routing.routed import RoutedModels
from innkeeper.inference.routing.router import Router
from innkeeper.library.library import Library
from innkeeper.library.prepare.request import PrepareRequest
from innkeeper.operations.tasks.execution import TextTask, TextTasks
from innkeeper.prompt.errors import InnkeeperError
from tests.library.opening import enable_adults, published
from tests.operations.tasks.house import library_at

ADULT = "Instructions for adults."
GENERAL = "Instructions for everyone."
TIERS = st.sampled_from(Tier)


class Asked:
    """Answers in place of providers; some fail. What was sent is kept, by deployment."""

    def __init__(self, failing: set[str]) -> None:
        self.failing = failing
        self.sent: list[tuple[str, str]] = []

    async def ask(self, route: Route, sent: ModelRequest, *, pricing: object = None) -> ModelAnswer:
        """Begin to answer, or fail."""
        self.sent.append((route.name, sent.content.decode()))
        if route.name in self.failing:
            raise ProviderConnectionError("nobody there")
        return ModelAnswer(self._events())

    async def _events(self) -> AsyncGenerator[ModelEvent]:
        yield Started()
        yield TextDelta(text="An answer.")
        yield Finished(reason="stop")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A library whose policy has the adult tier, and a template of each."""
    with library_at(tmp_path_factory.mktemp("tiers") / "library.db") as library:
        plain: dict[str, Any] = {"use_case": "chat", "job_type": "chat", "target_model": None, "enhancer_model": None}
        published(library, name="chat.sfw", text=GENERAL, content_mode=Tier.SFW, variables=(), **plain)
        published(library, name="chat.nsfw", text=ADULT, content_mode=Tier.NSFW, variables=(), **plain)
        enable_adults(library)
        yield library


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    asked=st.one_of(TIERS.map(str), st.none(), st.text(max_size=5)),
    account=TIERS,
    deployed=st.lists(st.tuples(TIERS, st.booleans()), min_size=1, max_size=4),
    lower=st.booleans(),
)
def test_no_attempt_is_above_what_was_granted(
    library: Library, asked: str | None, account: Tier, deployed: list[tuple[Tier, bool]], lower: bool
) -> None:
    """A request of the general tier, an account without a word, and a deployment of the general tier get no adult text."""
    named = [(f"there/{number}", tier, fails) for number, (tier, fails) in enumerate(deployed)]
    known = [
        Deployment(name=name, route=Route(name=name, model=f"m{name[-1]}"), tier=tier, price=Price())
        for name, tier, _ in named
    ]
    provider: Any = Asked({name for name, _, fails in named if fails})
    router = Router(known, [RoutePolicy(attempts=4, lower_tier=lower)])
    prompt = PrepareRequest(
        use_case="chat", job_type="chat", text="Hello", content_mode=asked, ceilings=Ceilings(account=account)
    )
    granted = Tier.lowest(Tier.of(asked), account)
    tasks = TextTasks(library, RoutedModels(router, provider))
    answer: Any = None
    with suppress(InnkeeperError):
        answer = asyncio.run(tasks.run(TextTask(prompt=prompt)))
    tiers, allowed = {name: tier for name, tier, _ in named}, granted
    for name, body in provider.sent:  # nor is one above the attempt before it
        allowed = Tier.lowest(allowed, tiers[name])
        assert (ADULT in body) == (allowed is Tier.NSFW)
        assert (GENERAL in body) == (allowed is Tier.SFW)
    if answer is not None:
        assert answer.tier.rank <= granted.rank
        assert answer.prepared.tier.requested is Tier.of(asked)
        assert ("tier_lowered" in answer.reasons) == (answer.tier.rank < granted.rank)
