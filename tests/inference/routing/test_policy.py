"""Route policies: rows as they are read, and which of them counts."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.inference.routing.policy import DEFAULT_POLICY, RoutePolicy, policy_for
from innkeeper.library.catalogue.deployments import read_policies
from innkeeper.library.rows import RoutePolicyRow
from innkeeper.prompt.errors import ConfigError


def test_rows() -> None:
    """A row's columns are the policy's; what is null is left to the defaults; inactive rows do not count."""
    rows = [
        RoutePolicyRow(name="a", modality=None, criteria=("price",), attempts=2, is_active=True, created_at="x"),
        RoutePolicyRow(name="b", is_active=False),
    ]
    assert read_policies(rows) == (RoutePolicy(name="a", criteria=("price",), attempts=2),)


@pytest.mark.parametrize(
    "change",
    [{"criteria": ("fastest",)}, {"criteria": ("price", "price")}, {"attempts": 0}, {"attempts": 99}, {"seconds": 0}],
)
def test_no_policy(change: dict[str, Any]) -> None:
    """A row that is no policy says so, and which it is."""
    with pytest.raises(ConfigError, match="'bad'"):
        read_policies([RoutePolicyRow(name="bad", **change)])


def test_the_nearest_counts() -> None:
    """The policy of the task, else of the modality, else for all, else the default."""
    task = RoutePolicy(name="t", task="roleplay")
    modality = RoutePolicy(name="m", modality="chat")
    every = RoutePolicy(name="e")
    assert policy_for([every, modality, task], "chat", "roleplay") is task
    assert policy_for([every, modality, task], "chat", "reasoning") is modality
    assert policy_for([every, modality, task], "image", "t2i") is every
    assert policy_for([modality], "image", "t2i") is DEFAULT_POLICY
