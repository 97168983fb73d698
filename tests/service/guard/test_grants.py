"""Grants: what a key may do, as its line in the key file says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt.allowance import BuildLimits
from innkeeper.prompt.errors import ConfigError, UsageError
from innkeeper.service.errors import ScopeError
from innkeeper.service.guard.grants import ANSWERING, OPEN, PROBES, SURFACES, Grant, surface_of


@pytest.mark.parametrize(
    ("words", "grant"),
    [
        ("", OPEN),
        ("scope=chat,prompts", Grant(scope=("chat", "prompts"))),
        ("route=local,openai/*", Grant(route=("local", "openai/*"))),
        ("rate=60 tokens=1e5 calls=4 spend=2.50", Grant(rate=60, tokens=100_000, calls=4, spend=2.5)),
        ("scope=tasks tier=nsfw", Grant(scope=("tasks",), tier="nsfw")),
        ("seconds=0.5 profile=mira", Grant(profile=("mira",), limits=BuildLimits(seconds=0.5))),
    ],
)
def test_words(words: str, grant: Grant) -> None:
    """Words become bounds; what is left out is open."""
    assert Grant.read(words.split()) == grant


@pytest.mark.parametrize(
    "words",
    [
        "scope=",
        "scope=caht",
        "route=,",
        "rate=0",
        "rate=often",
        "tier=adult",
        "calls=1.5",
        "spend=-1",
        "seconds=x",
        "rate=5 s3cret=1",
    ],
)
def test_refused_words(words: str) -> None:
    """What bounds nothing there is, or no number, is refused, and what may be a part of a key is not quoted."""
    with pytest.raises(UsageError) as caught:
        Grant.read(words.split())
    assert "s3cret" not in caught.value.render()


@pytest.mark.parametrize(
    ("words", "kind", "name", "allowed"),
    [
        ("", "route", "anything", True),
        ("route=local", "route", "local", True),
        ("route=local", "route", "LOCAL", False),
        ("route=openai/*", "route", "openai/gpt-5", True),
        ("route=openai/*", "route", "openai", False),
        ("route=local", "profile", "mira", False),
        ("profile=m*", "route", "local", False),
        ("profile=m* route=local", "route", "local", True),
        ("profile=m* route=local", "profile", "mira", True),
        ("route=* profile=m*", "route", "auto", True),
        ("profile=m*", "operation", "anything", True),
        ("scope=chat", "profile", "mira", True),
        ("profile=m*", "profile", "ann", False),
        ("operation=modules/smarttavern/macro/*", "operation", "modules/smarttavern/macro/process_text", True),
        ("operation=modules/smarttavern/macro/*", "operation", "modules/smarttavern/files/write", False),
    ],
)
def test_names(words: str, kind: str, name: str, allowed: bool) -> None:
    """A key uses what one of its patterns fits, and lists show it no more than that."""
    grant = Grant.read(words.split())
    assert grant.allows(kind, name) is allowed
    if allowed:
        grant.check(kind, name)
    else:
        with pytest.raises(ScopeError) as caught:
            grant.check(kind, name)
        assert caught.value.http_status == 403


@pytest.mark.parametrize(("surface", "allowed"), [("chat", True), ("gateway", False), ("metrics", False), (None, True)])
def test_surfaces(surface: str | None, allowed: bool) -> None:
    """A key with scopes reaches those surfaces, and the pages that belong to none."""
    OPEN.check_surface(surface)
    grant = Grant(scope=("chat",))
    if allowed:
        grant.check_surface(surface)
    else:
        with pytest.raises(ScopeError):
            grant.check_surface(surface)


@given(st.lists(st.text(max_size=12) | st.sampled_from(["scope=chat", "rate=1", "tokens=nan", "steps=5"]), max_size=4))
def test_any_words(words: list[Any]) -> None:
    """Any words are a grant or an error of ours."""
    try:
        Grant.read(words)
    except (ConfigError, UsageError) as error:
        assert error.hint  # noqa: PT017 - either outcome is right


@pytest.mark.parametrize(
    ("path", "surface"),
    [
        ("/v1/chat/completions", "chat"),
        ("/v1/responses/resp_1/cancel", "chat"),
        ("/v1/messages", "chat"),
        ("/v1/messages/count_tokens", "chat"),
        ("/v1/messages2", None),
        ("/v1/models", None),
        ("/v1/prompts/build", "prompts"),
        ("/prompt.v1.PromptService/Run", "run"),
        ("/api/modules/smarttavern/macro/process_text", "gateway"),
        ("/api/health", None),
        ("/metrics", "metrics"),
        ("/", None),
        ("", None),
    ],
)
def test_paths(path: str, surface: str | None) -> None:
    """A path belongs to the surface whose path it is or lies below, as whole segments."""
    assert surface_of(path) == surface


def test_surface_names() -> None:
    """Probes belong to no surface, and what waits for models is a surface."""
    assert SURFACES.keys() > ANSWERING
    assert not any(surface_of(path) for path in PROBES)
