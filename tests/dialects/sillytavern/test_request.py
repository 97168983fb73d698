"""ProviderRequest: options of any origin, read as what they mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from innkeeper.dialects.sillytavern.request import ServerConfig
from innkeeper.prompt.errors import ConfigError
from tests.dialects.sillytavern.requests import provider_request


@dataclass(frozen=True)
class Case:
    """An option with its value, the property that reads it, and what it means."""

    option: str
    value: Any
    name: str
    means: Any


CASES = (
    Case("stop", "x", "stop", ["x"]),
    Case("stop", ["x", "y"], "stop", ["x", "y"]),
    Case("stop", None, "stop", []),
    Case("reasoning_effort", "", "effort", None),
    Case("reasoning_effort", "high", "effort", "high"),
    Case("show_thoughts", None, "shows_thoughts", True),
    Case("show_thoughts", False, "shows_thoughts", False),
    Case("max_tokens", 12.0, "max_tokens", 12),
    Case("stream", 1, "stream", True),
    Case("use_sysprompt", None, "use_sysprompt", False),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.option}={case.value!r}")
def test_options(case: Case) -> None:
    """Each property reads its option, and has SillyTavern's default where that says nothing."""
    assert getattr(provider_request(**{case.option: case.value}), case.name) == case.means


def test_the_servers_configuration() -> None:
    """It has SillyTavern's names; what bodies do not depend on may stand in it, what has another type may not."""
    config = ServerConfig.of({"port": 8000, "claude": {"cachingAtDepth": 2, "extendedTTL": True}}, "test")
    assert (config.claude.caching_at_depth, config.claude.mark) == (2, {"type": "ephemeral", "ttl": "1h"})
    assert ServerConfig.of(config, "test") is config
    with pytest.raises(ConfigError):
        ServerConfig.of({"claude": {"cachingAtDepth": "two"}}, "test")
