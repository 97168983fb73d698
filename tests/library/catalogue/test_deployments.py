"""Deployments: what the rows of models, providers and workers make of them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from innkeeper.gate.tier import Tier
from innkeeper.inference.routing.deployment import EMBEDDED, Deployment, with_embedded
from innkeeper.inference.routing.price import Price
from innkeeper.inference.routing.route import Route
from innkeeper.library.catalogue.catalogue import Catalogue
from innkeeper.library.catalogue.deployments import deployments_of
from innkeeper.library.catalogue.rows import CatalogueModel, CatalogueProvider, catalogue_rows
from innkeeper.library.workers.states import WorkerRow, WorkerState
from innkeeper.prompt.data import freeze

PROVIDERS: list[dict[str, Any]] = [
    {"id": "p1", "name": "openrouter", "tier_ceiling": "nsfw", "rate_limits": {"concurrent_requests": 4}},
    {"id": "p2", "name": "fal", "base_url": "https://fal.run", "is_active": False, "secret_name": "FAL"},
    {"id": "p3", "name": "local"},
]
MODELS: list[dict[str, Any]] = [
    {
        "model_key": "maker/one",
        "provider_id": "p1",
        "modality": "chat",
        "tasks": ["roleplay"],
        "priority": 3,
        "context_window": 8000,
        "pricing": {"input": 1.5, "output": 2, "currency": "USD"},
        "capabilities": {"supports_tools": True, "vision": False, "char_limit": 10},
        "input_defaults": {"temperature": 0.8, "prompt": "", "messages": [], "seed": None},
    },
    {"model_key": "fal-ai/x", "provider_id": "p2", "modality": "image", "pricing": {"per_image": 0.03}},
    {"model_key": "local", "provider_id": "p3", "modality": "chat", "tier_ceiling": "nsfw"},
    {"model_key": "lost", "provider_id": "none", "modality": "chat"},
]
CATALOGUE = Catalogue.build(
    models=catalogue_rows(MODELS, CatalogueModel), providers=catalogue_rows(PROVIDERS, CatalogueProvider)
)


def test_models() -> None:
    """A model's row and its provider's: tier, price, abilities, where it is; a default that is a prompt is none."""
    one, image, local = deployments_of(CATALOGUE)
    assert (one.name, one.route.adapter, one.route.dialect) == ("openrouter/maker/one", "openai-chat", "openrouter")
    assert (one.tier, one.priority, one.slots, one.context_window) == (Tier.NSFW, 3, 4, 8000)
    assert (one.tasks, one.abilities, one.price) == (frozenset({"roleplay"}), frozenset({"tools"}), Price(1.5, 2.0))
    assert one.route.options == {"temperature": 0.8}
    assert (image.active, image.route.secret, image.route.base_url) == (False, "FAL", "https://fal.run")
    assert image.price == Price(image=0.03)
    assert (local.route.is_local, local.route.secret, local.slots, local.tier) == (True, None, 1, Tier.NSFW)


def test_workers() -> None:
    """A worker's models are deployments of their own; a lease is theirs, and the catalogue's word on a model counts."""
    models = [{"key": "qwen"}, {"key": "maker/one"}]
    worker = WorkerRow(
        id="w1",
        url="http://10.0.0.5:7861",
        state=WorkerState.READY,
        lease_seconds=30.0,
        priority=-1,
        capabilities=freeze({"chat": True, "enhancement": True, "models": models}),
    )
    qwen, one = deployments_of(Catalogue.build(models=catalogue_rows(MODELS[:1], CatalogueModel)), [worker], now=100.0)
    assert (qwen.name, qwen.route.adapter, qwen.route.secret) == ("worker:w1/qwen", "worker", "worker:w1")
    assert (qwen.tasks, qwen.tier, qwen.lease_until, qwen.slots) == (
        frozenset({"roleplay", "enhancement"}),
        Tier.SFW,
        130.0,
        1,
    )
    assert (one.tasks, one.context_window, one.price) == (frozenset({"roleplay"}), 8000, Price(1.5, 2.0))
    one_model = freeze({"models": [{"key": "q"}]})
    draining = msgspec.structs.replace(worker, state=WorkerState.DRAINING, capabilities=one_model)
    (drained,) = deployments_of(Catalogue.build(), [draining])
    assert not drained.active


def test_the_embedded_model_is_the_last_resort() -> None:
    """It is there where nothing is for chats, for the general tier, at no cost; whatever is for chats takes its place."""
    assert with_embedded([]) == [EMBEDDED]
    picture = Deployment(name="x/painter", route=Route(name="x", model="painter"), modality="image")
    assert with_embedded([picture]) == [picture, EMBEDDED]
    chat = Deployment(name="x/chat", route=Route(name="x", model="chat"))
    assert with_embedded([picture, chat]) == [picture, chat]
    idle = msgspec.structs.replace(chat, active=False)
    assert with_embedded([idle]) == [idle, EMBEDDED]
    assert (EMBEDDED.tier, EMBEDDED.price, EMBEDDED.route.is_local) == (Tier.SFW, Price(), True)


@pytest.mark.parametrize("row", [None, {}, {"input": "1"}, {"input": -1}, {"output": True}, {"call": float("inf")}])
def test_no_price(row: Any) -> None:
    """What is no price is none: it is not taken for nothing."""
    assert Price.read(row) is None
