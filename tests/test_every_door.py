"""Every door agrees: of fourteen requests and four models the same body, fingerprint, sum of tokens and price everywhere.

What a program sends is compared with what each other door sends. Where a door's protocol has no place for a request, `REFUSED`
has what it says; what a protocol forces apart is in `DIFFERENCES` with the reason. Both are exact: a case that comes to
agree is to be taken off the list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, Final, NamedTuple

import pytest

from tests.every_door import CASES, DOORS, MODELS, House, RefusedError, Seen, connect_prompt, opened_house, python


class Difference(NamedTuple):
    """In what a door differs, for these cases and models (all where none is named), and why."""

    door: str
    aspects: frozenset[str]
    why: str
    cases: tuple[str, ...] = tuple(CASES)
    models: tuple[str, ...] = tuple(MODELS)


REFUSED: Final[Mapping[tuple[str, str], str]] = {
    ("build", "picture"): "a command's message is a text",
    ("ask", "picture"): "a command's message is a text",
    ("chat", "picture"): "a chat's message is a text",
    ("roleplay", "picture"): "a turn's message is a text",
    ("roleplay", "tools"): "calls no tools",
    ("roleplay", "lorebook"): "those that the service has stored",
    ("roleplay", "long"): "those that the service has stored",
    ("page", "picture"): "is a text",
    **{("connect", name): "is a profile: ask it as a model at /v1/chat/completions" for name in CASES},  # it runs tools
}
"""What a door says of a case that it has no place for."""

NAMELESS: Final = "a schema has no name and no strictness there"

DIFFERENCES: Final = (
    Difference("messages", frozenset({"body", "fingerprint"}), NAMELESS, ("schema",), ("openai", "openrouter")),
    Difference("messages", frozenset({"fingerprint"}), NAMELESS, ("schema",)),
)
"""What the protocols force. The first that fits a case counts."""


def expected(door: str, name: str, model: str) -> frozenset[str]:
    """In what a case differs at a door."""
    fits = (each for each in DIFFERENCES if each.door == door and name in each.cases and model in each.models)
    return next((each.aspects for each in fits), frozenset())


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """One service for all."""
    with opened_house(tmp_path_factory.mktemp("house")) as house:
        yield house


_SEEN: Final[dict[tuple[str, str], Seen]] = {}


def programs(house: House, name: str, model: str) -> Seen:
    """What a program sends and says, asked once."""
    if (name, model) not in _SEEN:
        _SEEN[name, model] = python(house, name, model)
    return _SEEN[name, model]


def _crossed() -> Iterator[Any]:
    """Every door with every case and model; in the usual run each case meets one model at a door, and another at the next."""
    turns = len(MODELS)
    for (at, door), (number, name), (turn, model) in product(enumerate(DOORS), enumerate(CASES), enumerate(MODELS)):
        marks = () if (at + number + number // turns + turn) % turns == 0 else pytest.mark.endurance
        yield pytest.param(door, name, model, marks=marks, id=f"{door}-{name}-{model}")


@pytest.mark.parametrize(("door", "name", "model"), list(_crossed()))
def test_every_door(house: House, door: str, name: str, model: str) -> None:
    """The body at the provider, the fingerprint, the sum of tokens and the price are those of a program."""
    if (refusal := REFUSED.get((door, name))) is not None:
        with pytest.raises(RefusedError, match=refusal):
            DOORS[door](house, name, model)
        return
    assert DOORS[door](house, name, model).differs_from(programs(house, name, model)) == expected(door, name, model)


@pytest.mark.parametrize(("name", "model"), [(name, model) for name in CASES if name != "text" for model in MODELS])
def test_connect_sends_a_prompt_as_it_is(house: House, name: str, model: str) -> None:
    """Connect knows no profiles; a prompt that is its input, with its options, is the body of a program, at its price."""
    seen, own = connect_prompt(house, name, model), programs(house, name, model)
    assert seen.body == own.body
    assert seen.price in (None, own.price)
