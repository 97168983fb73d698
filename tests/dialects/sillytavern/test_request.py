"""ProviderRequest: options of any origin, read as what they mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.dialects.sillytavern.requests import provider_request, said


@dataclass(frozen=True)
class Case:
    """An option with its value, the property that reads it, and what it means."""

    option: str
    value: Any
    name: str
    means: Any


CASES = (
    Case("seed", 7, "seed", 7),
    Case("seed", 0, "seed", 0),
    Case("seed", -1, "seed", None),
    Case("seed", "7", "seed", None),
    Case("stop", "x", "stop", ["x"]),
    Case("stop", ["x", "y"], "stop", ["x", "y"]),
    Case("stop", None, "stop", []),
    Case("reasoning_effort", "", "effort", "auto"),
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


def test_sampling() -> None:
    """Only settings that are set are sent, and none is asked for by another name."""
    request = provider_request(top_a=None, min_p=0)
    assert request.sampling("temperature", "top_a", "min_p", "unknown") == {"temperature": 1, "min_p": 0}


def test_messages_are_those_of_the_conversion() -> None:
    """The request has no messages of its own."""
    assert provider_request(said("user", "a")).messages == [said("user", "a")]
