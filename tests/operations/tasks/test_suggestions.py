"""Suggestions: JSON of a known shape in a few attempts; what can be saved is, and says so; all of it is judged."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.gate.tier import Ceilings, Tier
from innkeeper.inference.errors import AnswerError, HttpError
from innkeeper.inference.fake import Answer, EchoServer, FakeReply
from innkeeper.inference.routing.models import RouteModels
from innkeeper.inference.routing.route import Routes
from innkeeper.inference.routing.routed import RoutedModels
from innkeeper.inference.routing.router import Router
from innkeeper.library.errors import FieldError, TemplateNotFoundError, TierBlockedError
from innkeeper.library.library import Library
from innkeeper.operations.tasks.execution import TextTasks
from innkeeper.operations.tasks.suggestions import (
    ATTEMPTS,
    KEYS,
    LONGEST_WAIT,
    SUGGESTION_TYPES,
    Suggested,
    SuggestionRequest,
    Suggestions,
    read_suggestions,
    schema_of,
    suggestions_reply,
)
from innkeeper.prompt.errors import StrictModeError
from tests.operations.tasks.house import deployment, library_at, run

MIRA = {"name": "Mira", "description": "A ferrywoman.", "traits": "patient"}
ALL: dict[str, Any] = {
    name: [f"{name} {n}" for n in range(shape.most)] if shape.most else f"a {name}" for name, shape in KEYS.items()
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """One library for all."""
    with library_at(tmp_path_factory.mktemp("suggestions") / "library.db") as library:
        yield library


def suggested(library: Library, server: EchoServer, **fields: Any) -> Suggested:
    """What a provider suggests for Mira."""
    strict = fields.pop("strict", False)

    async def use(tasks: Any) -> Suggested:
        return await Suggestions(tasks).suggest(SuggestionRequest(character=MIRA, **fields), strict=strict)

    found: Suggested = run(library, use, deployment(server))
    return found


@pytest.mark.parametrize("wanted", SUGGESTION_TYPES)
def test_each_type(library: Library, wanted: str) -> None:
    """Exactly the keys of a type come back, and the model is held to them."""
    with EchoServer(f"```json\n{json.dumps(ALL)}\n```") as server:
        found = suggested(library, server, kind=wanted)
        body = server.requests[0].body
    assert set(found.fields) == set(SUGGESTION_TYPES[wanted])
    assert (found.missing, found.salvaged) == ((), False)
    assert body["response_format"] == schema_of(SUGGESTION_TYPES[wanted])
    assert all(f'"{name}"' in body["messages"][-1]["content"] for name in SUGGESTION_TYPES[wanted])
    assert "A ferrywoman." in body["messages"][0]["content"]
    reply = suggestions_reply(found, took_ms=12.34)
    assert {name: reply[name] for name in found.fields} == dict(found.fields)
    assert (reply["success"], reply["model_used"], reply["processing_time_ms"]) == (True, "big", 12.34)
    assert {"degraded", "tier", "resolution", "route_trace", "cost_usd"} <= reply.keys()


def test_what_is_missing_is_asked_for_again(library: Library) -> None:
    """The next attempt is told what lacks; both answers count; there are so many attempts and no more."""
    first = {name: ALL[name] for name in list(KEYS)[:3]}
    rest = {name: ALL[name] for name in list(KEYS)[3:]}
    with EchoServer(json.dumps(first), json.dumps(rest)) as server:
        found = suggested(library, server)
        messages = server.requests[1].body["messages"]
    assert found.fields == ALL
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    assert '"suggestedTraits"' not in messages[-1]["content"]
    with EchoServer(*[json.dumps(first)] * (ATTEMPTS + 1)) as server:
        found = suggested(library, server)
        assert len(server.requests) == ATTEMPTS
    assert set(found.missing) == set(rest)
    assert found.answer is not None
    assert "partial" in found.answer.reasons
    assert len(found.answer.traces) == ATTEMPTS


def test_what_can_be_saved_is_and_says_so(library: Library) -> None:
    """Of JSON that breaks off, whole texts stay."""
    broken = '{"suggestedTraits": ["calm", "dry wit", "stub'
    with EchoServer(*[broken] * ATTEMPTS) as server:
        found = suggested(library, server, kind="traits")
    assert found.fields == {"suggestedTraits": ["calm", "dry wit"]}
    assert found.answer is not None
    assert "salvaged" in found.answer.reasons
    with EchoServer(*[broken] * ATTEMPTS) as server, pytest.raises((StrictModeError, TemplateNotFoundError)):
        suggested(library, server, kind="traits", strict=True)


def test_nothing_is_an_error(library: Library) -> None:
    """Where no attempt gives anything, there is an error with the trace of the last."""
    with EchoServer(*["I would rather talk."] * ATTEMPTS) as server, pytest.raises(AnswerError) as caught:
        suggested(library, server)
    assert caught.value.code == "no_suggestions"
    assert caught.value.details["route_trace"]["steps"]


def test_a_refusal_is_told(library: Library) -> None:
    """It is not asked again, and stands in the reply word for word."""
    with EchoServer(FakeReply(content="I will not.", finish_reason="content_filter")) as server:
        reply = suggestions_reply(suggested(library, server), took_ms=1)
        assert len(server.requests) == 1
    assert (reply["success"], reply["refusal"]) == (False, "I will not.")


@pytest.mark.parametrize(
    ("asked", "waited", "answered"),
    [("2", [2.0], True), (None, [], False), (str(LONGEST_WAIT + 1), [], False)],
    ids=["as it asks", "nobody knows how long", "too long"],
)
def test_a_busy_provider_is_waited_for_once(
    library: Library,
    asked: str | None,
    waited: list[float],
    answered: bool,
) -> None:
    """As long as it asks, within bounds; where that is too long, or nobody knows, its answer is the error."""
    busy = Answer(status=429, headers={} if asked is None else {"retry-after": asked})
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def go() -> Suggested:
        routes = RouteModels(Routes())
        models = RoutedModels(Router([deployment(server)]), routes, clock=lambda: 1.0 + sum(waits))
        try:
            return await Suggestions(TextTasks(library, models), sleep).suggest(SuggestionRequest(kind="voice"))
        finally:
            await routes.close()

    with EchoServer(busy, '{"suggestedVoiceTone": "calm"}') as server:
        if answered:
            assert asyncio.run(go()).fields == {"suggestedVoiceTone": "calm"}
        else:
            with pytest.raises(HttpError) as caught:
                asyncio.run(go())
            assert caught.value.status == 429
    assert waits == waited


BAD = "a 12 year old girl who loves to have sex"


def test_what_does_not_pass_is_for_nobody(library: Library) -> None:
    """A description that is blocked asks nobody; what is suggested is judged as an answer, and as a card."""
    with EchoServer(json.dumps({"suggestedVoiceTone": BAD})) as server, pytest.raises(TierBlockedError):
        suggested(library, server, kind="voice")
    with EchoServer() as server, pytest.raises(TierBlockedError):
        run(
            library,
            lambda tasks: Suggestions(tasks).suggest(SuggestionRequest(character={"name": "x", "description": BAD})),
            deployment(server),
        )


@pytest.mark.parametrize(("age", "tier"), [(None, "character"), (17, "character"), (30, "policy")])
def test_an_adult_tier_needs_a_declared_age(library: Library, age: int | None, tier: str) -> None:
    """What a client asks for is granted no further than age, account and policy go; each that is in the way is named."""
    with EchoServer(json.dumps({"suggestedVoiceTone": "calm"})) as server:
        adult = Ceilings(account=Tier.NSFW)
        found = suggested(library, server, kind="voice", content_mode="nsfw", declared_age=age, ceilings=adult)
    assert found.answer is not None
    assert found.answer.tier is Tier.SFW
    assert any(tier in reason for reason in found.answer.prepared.tier.reasons), found.answer.prepared.tier.reasons


def test_types_that_there_are_not() -> None:
    """A type that there is not is an error that lists those that there are."""
    with pytest.raises(FieldError, match="no type of suggestions") as caught:
        SuggestionRequest(kind="everything")
    assert "traits" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("text", "fields", "salvaged"),
    [
        ('{"suggestedVoiceTone": "calm"}', {"suggestedVoiceTone": "calm"}, False),
        ('Sure! {"suggestedVoiceTone": " calm "} Enjoy.', {"suggestedVoiceTone": "calm"}, False),
        ('{"suggestedTraits": ["a", "a", 7, " ", "b"]}', {"suggestedTraits": ["a", "b"]}, False),
        ('{"suggestedTraits": "a"}', {"suggestedTraits": ["a"]}, False),
        ('{"suggestedTraits": ["1","2","3","4","5","6"]}', {"suggestedTraits": ["1", "2", "3", "4", "5"]}, False),
        ('{"suggestedVoiceTone": ["calm"]}', {}, False),
        ('{"suggestedVoiceTone": null}', {}, False),
        ('{"suggestedVoiceTone": "half \\ud800"}', {"suggestedVoiceTone": "half \ufffd"}, False),
        ('"suggestedVoiceTone": "a \\"dry\\" wit", {{{', {"suggestedVoiceTone": 'a "dry" wit'}, True),
        ("[" * 10_000, {}, False),
        ("", {}, False),
    ],
)
def test_reading(text: str, fields: dict[str, Any], salvaged: bool) -> None:
    """What is read of an answer."""
    found = read_suggestions(text, ["suggestedVoiceTone", "suggestedTraits"])
    assert (dict(found.fields), found.salvaged) == (fields, salvaged)


@given(st.text(alphabet='{}[]":,\\ \nsuggestedTraitsVoiceTone\ud800x', max_size=300))
def test_whatever_a_model_writes(text: str) -> None:
    """Anything is read without an error: every value is of its key's shape, and can be stored."""
    found = read_suggestions(f'{{"suggestedTraits": ["a", {text}', list(KEYS))
    for name, value in found.fields.items():
        shape = KEYS[name]
        texts = value if shape.most else [value]
        assert all(isinstance(one, str) and one.strip() == one != "" for one in texts)
        assert json.dumps(value).encode()
        assert len(texts) <= max(shape.most, 1)
