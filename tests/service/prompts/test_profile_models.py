"""Profiles as models: a client's chat in, a finished answer out, with the state that goes with the conversation."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from innkeeper.inference.requests.chat import read_chat
from innkeeper.inference.requests.request import UnknownReferenceError
from innkeeper.inference.requests.responses import read_responses
from innkeeper.inference.response.events import ModelEvent, TextDelta
from innkeeper.inference.response.fold import ResponseFold
from innkeeper.inference.response.response import ModelResponse
from innkeeper.inference.routing.models import EmbeddingsError, ModelAnswer, ModelNotFoundError, RouteModels
from innkeeper.inference.routing.route import Routes
from innkeeper.library.log.conversation_states import ConversationStates
from innkeeper.prompt.errors import InnkeeperError, LimitError, UnknownNameError
from innkeeper.service import Gateway, Settings
from innkeeper.service.errors import ScopeError, SpendLimitError
from innkeeper.service.exchange import HttpReply, Request
from innkeeper.service.guard.accounts import read_prices
from innkeeper.service.guard.grants import Grant, Keys
from innkeeper.service.guard.work import CallRecord, Gate
from innkeeper.service.prompts import profile_models
from innkeeper.service.prompts.profile_models import PLAN_PATH, ProfileModels
from innkeeper.service.prompts.tasks import PLANS, TURN, error_of, failed
from innkeeper.taverns.profiles.opened import Profiles
from tests.taverns.profiles.folders import WENNA, profile_folder

SCRIPT = (
    '[[settings.regex]]\nscriptName = "s"\nfindRegex = "/HUSH/g"\nreplaceString = "{{setvar::hushed::9}}hush"\n'
    "placement = [2]\n"
)
COUNT = "{{incvar::n}}"


class Workers:
    """A pool whose one worker is in this process."""

    def __init__(self, settings: Settings) -> None:
        self.gateway = Gateway(settings, ready=False)

    async def answer(self, request: Request, caller: str) -> HttpReply:
        """What a worker answers."""
        return await asyncio.to_thread(self.gateway.answer, request)


class Inn:
    """Profiles over a provider that says what it is told to, and remembers what it was sent."""

    def __init__(self, folder: Path, says: list[str]) -> None:
        self.sent: list[dict[str, Any]] = []
        self.says = says
        self.workers = Workers(Settings(profiles=(folder,)))
        known = Routes.read(("fast=http://127.0.0.1:9:own-model",))
        self.routes = RouteModels(known, transport=httpx.MockTransport(self._provide))
        pool: Any = self.workers
        states = ConversationStates.private()
        self.models = ProfileModels(Profiles([folder]), self.routes, pool, states=states)

    def _provide(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.sent.append(body)
        if not body.get("stream"):
            message = {"role": "assistant", "content": "".join(self.says)}
            return httpx.Response(200, json={"choices": [{"message": message, "finish_reason": "stop"}]})
        lines: list[Any] = [{"choices": [{"delta": {"content": piece}}]} for piece in self.says]
        lines.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
        text = "".join(f"data: {json.dumps(line)}\n\n" for line in lines) + "data: [DONE]\n\n"
        return httpx.Response(200, text=text, headers={"content-type": "text/event-stream"})

    def ask(self, messages: Any, caller: str = "me", **fields: Any) -> tuple[ModelResponse, ModelAnswer]:
        """One request in the shape of chat completions, and its answer."""
        said = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        request = read_chat({"model": "wenna", "messages": said, **fields})

        async def run() -> tuple[ModelResponse, ModelAnswer]:
            answer = await self.models.answer(request, caller)
            fold = ResponseFold("r", request.model, 0)
            async for event in answer.events:
                fold.take(event)
            await self.routes.close()
            return fold.response(), answer

        return asyncio.run(run())

    def texts(self, place: int = -1) -> list[str]:
        """What the provider was sent."""
        return [message["content"] for message in self.sent[place]["messages"]]


Make = Callable[..., Inn]


@pytest.fixture
def inn(tmp_path: Path) -> Make:
    """An inn with the profile *wenna*, whose document has these lines."""

    def make(text: str = "", says: tuple[str, ...] = ("It is.",), **given: Any) -> Inn:
        document = WENNA.replace('model = "some-model"', 'route = "fast"') + text
        return Inn(profile_folder(tmp_path / "wenna", document), [*says], **given)

    return make


def test_a_card_answers(inn: Make) -> None:
    """The route gets the profile's prompt under its own model's name; the answer says which profile and plan it was."""
    house = inn()
    response, answer = house.ask("Is the reef safe?")
    assert response.text == "It is."
    assert house.sent[0]["model"] == "own-model"
    assert house.texts()[0].startswith("You are Wenna Carrow.")
    assert answer.headers["x-innkeeper-profile"] == "wenna"
    assert answer.headers["x-innkeeper-route"] == "fast"
    assert answer.headers["x-innkeeper-plan"].startswith(PLAN_PATH)
    assert [(card.name, card.owner) for card in house.models.cards()] == [("wenna", "profile")]


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_is_finished(inn: Make, stream: bool) -> None:
    """Whole or streamed, what the model says beyond its turn is not passed on."""
    house = inn(says=("Wenna", " Carrow: It", " is.\nAn", "sel: Why?", "\nWenna Carrow: So."))
    response, _ = house.ask("Is it?", stream=stream)
    assert response.text == "It is."
    assert response.finish == "stop"


@pytest.mark.parametrize("stream", [False, True])
def test_scripts_finish_an_answer(inn: Make, stream: bool) -> None:
    """Where scripts may rewrite the answer it comes whole, and what they set goes on with the conversation."""
    house = inn(SCRIPT, says=("HU", "SH now"))
    response, _ = house.ask("Hm", stream=stream)
    assert response.text == "hush now"
    longer = [
        {"role": "user", "content": "Hm"},
        {"role": "assistant", "content": response.text},
        {"role": "user", "content": "{{getvar::hushed}} times"},
    ]
    house.ask(longer)
    assert "9 times" in house.texts()


def test_a_conversation_has_a_state(inn: Make) -> None:
    """The next turn begins where the last one ended, the same one where it began; another caller begins anew."""
    house = inn("[variables.local]\nn = 4\n")
    house.ask(COUNT)
    assert "5" in house.texts()
    longer = [
        {"role": "system", "content": "It is ten."},
        {"role": "user", "content": COUNT},
        {"role": "assistant", "content": "So."},
        {"role": "user", "content": COUNT + "!"},
    ]
    for _ in range(2):
        house.ask(longer)
        assert "6!" in house.texts()
    house.ask(COUNT)
    assert "5" in house.texts()
    house.ask(longer, caller="you")
    assert "6!" not in house.texts()


def test_a_round_of_tools_is_a_turn(inn: Make) -> None:
    """The prompt is made again with the results, from the state of the turn that called."""
    house = inn()
    house.ask("Fog?")
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    called = {"role": "assistant", "content": "It is.", "tool_calls": [call]}
    chat = [{"role": "user", "content": "Fog?"}, called, {"role": "tool", "tool_call_id": "c1", "content": "Fog."}]
    _, answer = house.ask(chat, tools=[{"type": "function", "function": {"name": "look"}}])
    assert answer.headers["x-innkeeper-conversation"] == "continued; turn=2"


def test_a_named_conversation_goes_on_without_its_beginning(inn: Make) -> None:
    """A client that sends the last messages alone has its state if it names the conversation."""
    house = inn("[variables.local]\nn = 4\n")
    late = [{"role": "assistant", "content": "So."}, {"role": "user", "content": COUNT}]
    house.ask(COUNT, metadata={"conversation": "7"})
    house.ask(late, metadata={"conversation": "7"})
    assert "6" in house.texts()
    house.ask(late, metadata={"conversation": "8"})
    assert "5" in house.texts()


def test_a_system_prompt_is_reported(inn: Make) -> None:
    """A client's system prompt that has no effect is named in a note."""
    house = inn('system = "ignore"\n')
    _, answer = house.ask([{"role": "system", "content": "BE A PIRATE"}, {"role": "user", "content": "Hi"}])
    assert "BE A PIRATE" not in "".join(house.texts())
    assert any("system prompt is ignored" in note.message for note in answer.notes)


def test_what_a_profile_has_no_place_for_is_told(inn: Make) -> None:
    """Fields and hosted tools that are for a provider are named in notes."""
    house = inn()
    _, answer = house.ask("Hi", web_search_options={}, tools=[{"type": "web_search"}])
    told = " ".join(note.message for note in answer.notes)
    assert "web_search" in told


@pytest.mark.parametrize("field", ["conversation", "prompt"])
def test_a_prompt_that_is_elsewhere_is_not_answered_without(inn: Make, field: str) -> None:
    """A conversation or prompt that only OpenAI keeps is not found, at routes and profiles alike: no model is asked."""
    request = read_responses({"model": "wenna", "input": "Hi", field: {"id": "x_1"}})
    models = inn("", ["Good evening."])
    for door in (models.models.answer, models.models.count_tokens):
        with pytest.raises(UnknownReferenceError) as caught:
            asyncio.run(door(request, "me"))
        assert (caught.value.http_status, caught.value.details["code"]) == (404, f"{field}_not_found")
    assert models.sent == []


def test_a_plan_is_looked_at(inn: Make) -> None:
    """The number of a plan leads to its explanation, until the profile changes."""
    house = inn()
    _, answer = house.ask("Is the reef safe?")
    turn = asyncio.run(house.models.plans.get("me", answer.headers["x-innkeeper-plan"].removeprefix(PLAN_PATH)))
    asked = Request(TURN, PLANS, turn.digest, body=turn.task)
    reply = house.workers.gateway.answer(asked)
    told = json.loads(reply.body)
    assert told["body"]["messages"] == house.sent[0]["messages"]
    assert "Bell Reef" in json.dumps(told["explanation"])
    changed = house.workers.gateway.answer(Request(TURN, PLANS, "0" * 64, body=turn.task))
    assert changed.status == 409


@pytest.mark.parametrize(
    ("seeds", "same"), [('seed = "fresh"\n', False), ('seed = "messages"\n', True), ("seed = 5\n", True)]
)
def test_chance(inn: Make, monkeypatch: pytest.MonkeyPatch, seeds: str, same: bool) -> None:
    """A seed is another each time, one for the same messages, or one for all; a client may name it."""
    numbers = iter(range(100))
    monkeypatch.setattr(profile_models, "fresh_seed", lambda: next(numbers))
    house = inn(seeds)
    roll = "{{random::" + "::".join(map(str, range(50))) + "}}"
    for _ in range(3):
        house.ask(roll)
    rolls = {house.texts(place)[-2] for place in range(3)}
    assert (len(rolls) == 1) is same
    house.ask(roll, seed=7)
    house.ask(roll, seed=7)
    assert house.texts(-1) == house.texts(-2)


@pytest.mark.parametrize(
    ("target", "route", "model"),
    [
        ('route = "fast"', "fast", "own-model"),
        ('provider = "openrouter"\nmodel = "a/b"', "openrouter:a/b", "a/b"),
        ('model = "openrouter:a/b:free"', "openrouter:a/b:free", "a/b:free"),
        ('provider = "http://127.0.0.1:9"\nmodel = "m"', "http://127.0.0.1:9:m", "m"),
        ("", "local", "smollm2"),
        ('model = "local:qwen"', "local:qwen", "qwen"),
        ('model = "qwen"', "local:qwen", "qwen"),
    ],
)
def test_who_answers(tmp_path: Path, target: str, route: str, model: str) -> None:
    """A profile names a route, a provider and its model, or nobody: then the model of this machine answers."""
    folder = profile_folder(tmp_path / "wenna", f'character = "wenna.png"\n{target}\n')
    models = Inn(folder, []).models
    found = models._known.of_profile(models._profiles.document("wenna"))
    assert (found.name, found.model) == (route, model)


def test_numbers_of_any_size(inn: Make) -> None:
    """A number that no machine holds is the client's own, and harms nobody."""
    house = inn()
    huge = 2**80
    tool = {"type": "function", "function": {"name": "tide", "parameters": {"type": "integer", "maximum": huge}}}
    assert house.ask("Hi", seed=huge, tools=[tool], metadata={"x": "y"})[0].text == "It is."


def test_half_sentences_go_where_they_should(inn: Make) -> None:
    """With that setting an answer comes when it is whole, without its last half sentence."""
    house = inn("[settings.power_user]\ntrim_sentences = true\n", says=("It is. But", " then"))
    for stream in (True, False):
        assert house.ask("Hm", stream=stream)[0].text == "It is."


def test_an_answer_without_words(inn: Make) -> None:
    """Calls of tools alone pass through, with scripts and without."""
    for text in ("", SCRIPT):
        assert inn(text, says=()).ask("Hm", stream=True)[0].text == ""


def test_who_goes_away_stops_the_model(inn: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing an answer in its middle closes that of the route."""
    house, closed = inn(), []

    async def events() -> AsyncGenerator[ModelEvent]:
        try:
            for piece in ("One", " two", " three"):
                yield TextDelta(text=piece)
        finally:
            closed.append(True)

    async def ask(*_: Any, **__: Any) -> ModelAnswer:
        return ModelAnswer(events())

    async def run() -> None:
        said = [{"role": "user", "content": "Hi"}]
        answer = await house.models.answer(read_chat({"model": "wenna", "messages": said, "stream": True}), "me")
        assert await anext(answer.events) == TextDelta(text="One")
        await answer.events.aclose()

    monkeypatch.setattr(house.routes, "ask", ask)
    asyncio.run(run())
    assert closed


def test_a_broken_profile_is_still_listed(inn: Make, tmp_path: Path) -> None:
    """It says what is wrong when it is asked, and the others go on."""
    house = inn()
    (tmp_path / "wenna" / "profile.toml").write_text("nonsense = 1")
    assert [card.name for card in house.models.cards()] == ["wenna"]
    with pytest.raises(InnkeeperError, match="nonsense"):
        house.ask("Hi")
    asyncio.run(house.models.close())


def test_errors_come_as_they_are(inn: Make, tmp_path: Path) -> None:
    """An unknown profile or route, what a key may not use, and what a worker refuses are errors of their own classes."""
    house = inn()
    with pytest.raises(ModelNotFoundError):
        house.ask("Hi", model="tobin")
    with pytest.raises(EmbeddingsError):
        asyncio.run(house.models.embeddings({"model": "wenna"}))
    (tmp_path / "wenna" / "profile.toml").write_text('route = "none"')
    with pytest.raises(UnknownNameError, match="route"):
        house.ask("Hi")
    (tmp_path / "wenna" / "profile.toml").write_text('route = "fast"\npersona = "gone.json"')
    with pytest.raises(InnkeeperError, match=r"gone\.json") as error:
        house.ask("Hi")
    assert error.value.http_status == 503


def test_an_error_travels_as_it_is() -> None:
    """An error that a worker tells is of the same class, with all that it knows."""
    error = LimitError("the chat", limit="MAX", allowed=3, found=5, hint="less")
    again = error_of(failed(error))
    assert isinstance(again, LimitError)
    assert (again.to_dict(), again.http_status, again.allowed) == (error.to_dict(), 413, 3)


def test_a_profile_is_charged_whoever_asks_it(inn: Make) -> None:
    """By the price of its route, also where the surface does nothing for it; a key is checked for the profile."""
    keys = Keys("k", grants={"k": Grant(profile=("wenna",), route=("none",), spend=1.0)})
    name = keys.name(b"k") or ""
    gate = Gate(calls=2, volume=9, keys=keys, prices=read_prices(("*=1000000,1000000",)))
    house, record = inn(), CallRecord(caller=name)
    with gate.ticket(name, record) as ticket:
        house.ask("Is it safe?")
    assert (record.profile, record.cost > 0, record.tokens > 0) == ("wenna", True, True)
    assert record.route
    with pytest.raises(SpendLimitError):
        asyncio.run(ticket.afford())
    gate.keys = Keys("k", grants={"k": Grant(profile=("mira",))})
    with gate.ticket(name), pytest.raises(ScopeError):
        house.ask("Is it safe?")


def _conversation(answer: ModelAnswer) -> tuple[str, list[str]]:
    """What an answer says of its conversation: the header, and the notes about it."""
    notes = [note.message for note in answer.notes if note.data.get("input") == "conversation"]
    return answer.headers["x-innkeeper-conversation"], notes


def test_a_conversation_says_whether_it_goes_on(inn: Make) -> None:
    """New or continued, and which turn it is; the same turn once more has the same number."""
    house = inn()
    begun = [{"role": "user", "content": "Hm"}]
    longer = [*begun, {"role": "assistant", "content": "It is."}, {"role": "user", "content": "So?"}]
    assert _conversation(house.ask(begun)[1]) == ("new; turn=1", [])
    for _ in range(2):
        assert _conversation(house.ask(longer)[1]) == ("continued; turn=2", [])


def test_a_state_that_is_missing_is_noted(inn: Make) -> None:
    """A chat with answers in it whose state nobody knows begins anew, and says so."""
    late = [{"role": "assistant", "content": "So."}, {"role": "user", "content": "Hm"}]
    header, notes = _conversation(inn().ask(late)[1])
    assert header == "new; turn=1"
    assert ["no state is known" in note for note in notes] == [True]


def test_a_state_that_is_left_is_noted(inn: Make) -> None:
    """A named conversation whose client sends the newest message alone begins anew, and says so."""
    house = inn()
    house.ask("Hm", metadata={"conversation": "solo"})
    assert _conversation(house.ask("Hm", metadata={"conversation": "solo"})[1]) == ("new; turn=1", [])
    header, notes = _conversation(house.ask("So?", metadata={"conversation": "solo"})[1])
    assert header == "new; turn=1"
    assert ["the state of this conversation is left" in note for note in notes] == [True]
