"""Greetings: the same as a build says, however often they are asked for."""

from dataclasses import dataclass
from typing import Any

import pytest

from innkeeper.conversation import ConversationState, TurnInput
from innkeeper.conversation import greetings as module
from innkeeper.conversation.greetings import greetings_before
from innkeeper.prompt import Ports
from innkeeper.taverns.profiles import OpenProfile, open_profile

NOON, NIGHT = "2026-01-15T12:00:00+00:00", "2026-01-15T23:00:00+00:00"
SCALES = "{{random:a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p}}"


@dataclass(frozen=True)
class Case:
    id: str
    card: dict[str, Any]
    builds: int
    """How many greetings are built for three conversations that differ in time and chance alone."""


CASES = [
    Case("plain", {"first_mes": "Hail, {{user}}!"}, 1),
    Case("time", {"first_mes": "It is {{time}}."}, 3),
    Case("chance", {"first_mes": f"Take {SCALES}."}, 3),
    Case("chance-before-it", {"description": f"{{{{setvar::x::{SCALES}}}}}", "first_mes": "{{getvar::x}}"}, 3),
    Case("nothing-to-say", {"first_mes": ""}, 1),
]


def profile_of(card: dict[str, Any], **fields: Any) -> OpenProfile:
    """A profile with this card."""
    return open_profile({"name": "a", "character": {"name": "Wenna", "description": "x", **card}, **fields})


def said(profile: OpenProfile, now: str = NOON, seed: int = 0, ports: Ports | None = None, **fields: Any) -> Any:
    """The greetings of a chat that begins then."""
    base = profile.request.with_(now=now, seed=seed, **fields)
    chat = TurnInput.of([{"role": "user", "content": "Ho."}]).messages
    return greetings_before(profile, base, ConversationState(), chat, ports or Ports())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_greeting_is_what_its_moment_makes_it(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is kept only where neither time nor chance had a part in it; each is what a build of its own says."""
    builds, build = [], module._built

    def counted(*given: Any) -> tuple[str, ...]:
        builds.append(given)
        return build(*given)

    monkeypatch.setattr(module, "_built", counted)
    profile, moments = profile_of(case.card), [(NOON, 1), (NIGHT, 2), (NOON, 3)]
    kept = [said(profile, now, seed) for now, seed in moments]
    assert len(builds) == case.builds
    assert kept == [said(profile_of(case.card), now, seed) for now, seed in moments]


@pytest.mark.parametrize(
    ("first", "other"),
    [({"variables": {"local": {"x": "1"}}}, {"variables": {"local": {"x": "2"}}}), ({"model": "m"}, {"model": "n"})],
    ids=["variables", "model"],
)
def test_what_else_it_depends_on_counts(first: dict[str, Any], other: dict[str, Any]) -> None:
    """Requests that differ in anything else have greetings of their own."""
    profile = profile_of({"first_mes": "{{getvar::x}} of {{model}}"})
    one, two = said(profile, **first), said(profile, **other)
    assert one != two
    assert (one, two) == (said(profile, **first), said(profile, **other))


def test_a_group_greets_as_before() -> None:
    """Each member says its own, the second time too."""
    cards = [{"name": name, "first_mes": f"{{{{char}}}} says hail, {name}."} for name in ("Ada", "Bo")]
    profile = open_profile({"name": "a", "group": {"members": cards}})
    assert said(profile) == said(profile, NIGHT, 7) == ("Ada says hail, Ada.", "Bo says hail, Bo.")


def test_a_build_with_objects_is_always_built() -> None:
    """Ports that are more than bounds may change a greeting: it is not taken from those that are kept."""
    profile, ports = profile_of({"first_mes": "Hail!"}), Ports(warning_handler=print)
    assert said(profile) == said(profile, ports=ports) == ("Hail!",)
    assert module._key(profile.request, profile.request, 0, ports) is None
