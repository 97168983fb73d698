"""A prompt is sent, and its answer comes as it is written."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

from innkeeper.inference.adapters.adapter import ModelRequest
from innkeeper.inference.response.events import CallDelta, Finished, ModelEvent, ReasoningDelta, TextDelta, UsageReport
from innkeeper.inference.response.response import Usage
from innkeeper.inference.routing.models import ModelAnswer, RouteModels
from innkeeper.inference.routing.route import Route, Routes
from innkeeper.prompt.errors import ProviderError
from innkeeper.service.inspector.access import Access
from innkeeper.service.inspector.surface import Inspector
from innkeeper.service.inspector.talking import InspectorTalk
from tests.service.inspector.opened import Browser, example_session, session_of

TELLER = "teller=http://127.0.0.1:9:teller"
BLOCKED = "Mia is fourteen, and a romantic evening begins."


class Parrot(RouteModels):
    """Routes that answer with the user's last message, fail in the middle, and tell of what may not pass."""

    def __init__(self) -> None:
        super().__init__(Routes.read(("parrot=http://127.0.0.1:9:parrot", "broken=http://127.0.0.1:9:broken", TELLER)))
        self.bodies: list[Any] = []
        self.closed = False

    async def ask(self, route: Route, sent: ModelRequest, **_: Any) -> ModelAnswer:
        self.bodies.append(sent.body)
        return ModelAnswer(self._events(route, sent.body))

    async def _events(self, route: Route, body: Any) -> AsyncGenerator[ModelEvent]:
        asked = [message["content"] for message in body["messages"] if message["role"] == "user"]
        text = BLOCKED if route.name == "teller" else asked[-1]
        for word in text.split(" "):
            yield TextDelta(text=f"{word} ")
            if route.name == "broken":
                raise ProviderError("it broke")

    async def close(self) -> None:
        await super().close()
        self.closed = True


def talked(body: dict[str, Any], models: Parrot | None = None) -> tuple[int, list[tuple[str, Any]], Parrot]:
    """The status, the events, and who was asked."""
    models = models or Parrot()
    with Browser(Inspector(example_session(), Access(), InspectorTalk(models, "parrot"))) as browser:
        reply = browser.post("/v1/inspector/talk", json=body)
    events = [block.split("\n", 1) for block in reply.text.split("\n\n") if block.startswith("event: ")]
    found = [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in events]
    return reply.status_code, found, models


def test_an_answer_comes_with_the_plan_that_made_it() -> None:
    """Piece by piece, then whole; the model gets the prompt's messages, and no more than was reserved for the answer."""
    status, events, models = talked({"message": "Say\nthis now"})
    assert status == 200
    assert [name for name, _ in events] == ["delta", "delta", "end"]
    message, plan = events[-1][1]["message"], events[-1][1]["plan"]
    assert message == "".join(data["text"] for name, data in events if name == "delta") == "Say\nthis now"
    texts = ["".join(piece["text"] for piece in one["pieces"]) for one in plan["messages"]]
    assert [one["content"] for one in models.bodies[0]["messages"]] == texts
    assert models.bodies[0]["max_tokens"] == plan["tokens"]["reserved"]
    assert models.closed


def test_a_variation_is_asked_by_options_and_tools_of_its_own() -> None:
    """Another turn and file of the workspace, samplers, a tool and an answer's schema; the workspace stays as it is."""
    tool = {"type": "function", "function": {"name": "tide", "parameters": {"type": "object"}}}
    shape = {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}}}
    asked = {"temperature": 0.25, "response_format": shape, "extra": {"messages": []}}
    plain, _, before = talked({})
    variation = {"settings": {"turn": 0, "message": "Say this"}, "saved": True}
    status, events, models = talked({"variation": variation, "options": asked, "tools": [tool]})
    body, usual = models.bodies[0], before.bodies[0]
    assert (plain, status) == (200, 200)
    assert (body["temperature"], body["tools"][0]["function"]["name"]) == (0.25, "tide")
    assert body["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert "Say this" in [one["content"] for one in body["messages"]]
    assert 0 < len(body["messages"]) < len(usual["messages"])
    assert "tools" not in usual
    plan = events[-1][1]["plan"]
    assert any("'extra' has no effect" in note["message"] for note in plan["notes"])


def test_an_answer_has_calls_thoughts_and_tokens() -> None:
    """What a model gives beside its words is told at the end, by the provider's own count."""

    class Caller(Parrot):
        async def _events(self, route: Route, body: Any) -> AsyncGenerator[ModelEvent]:
            yield ReasoningDelta(text="The tide …")
            yield CallDelta(index=0, call_id="c", name="tide", arguments='{"hour": 9}')
            yield UsageReport(usage=Usage(input_tokens=90, output_tokens=7))
            yield Finished(reason="tool_calls", word="tool_calls")

    end = talked({"message": "Say this"}, Caller())[1][-1][1]
    facts = {"thoughts": "The tide …", "calls": [{"name": "tide", "arguments": '{"hour": 9}'}], "finish": "tool_calls"}
    assert end.items() >= {"message": "", **facts, "input_tokens": 90, "output_tokens": 7}.items()


def test_a_text_is_answered_without_the_prompt() -> None:
    """A template's text as the instructions; what may not pass is stopped, and nobody unknown is asked."""
    models = Parrot()
    with Browser(Inspector(example_session(), Access(), InspectorTalk(models, "parrot"))) as browser:
        path, asked = (
            "/v1/inspector/talk",
            {"instructions": "Greet Ansel.", "message": "Hi", "options": {"seed": 1}},
        )
        events = browser.post(path, json=asked).text
        blocked = browser.post(path, json={"instructions": BLOCKED, "message": "Hi"}).text
        unknown = browser.post(path, json={"instructions": "x", "route": "nobody"}).status_code
    said = [(one["role"], one["content"]) for one in models.bodies[0]["messages"]]
    assert said == [("system", "Greet Ansel."), ("user", "Hi")]
    assert models.bodies[0]["seed"] == 1
    assert '"message":"Hi ' in events
    assert ("event: error" in blocked, unknown) == (True, 404)


def test_models_tell_what_they_take() -> None:
    """Each route with the options that its dialect writes; nobody is listed where nobody answers."""
    routes = Routes.read(("claude=anthropic:claude-sonnet-4-5",))
    with Browser(Inspector(example_session(), Access(), InspectorTalk(RouteModels(routes), "claude"))) as browser:
        models = {model["name"]: model for model in browser.json("models")}
    assert models.keys() == {"local", "claude"}
    assert {"temperature", "top_k", "stop"} <= {*models["claude"]["options"]}
    assert "seed" not in models["claude"]["options"]
    assert "seed" in models["local"]["options"]
    assert models["claude"]["tools"]
    with Browser(Inspector(example_session(), Access())) as browser:
        assert browser.json("models") == []


def test_what_goes_wrong_is_told() -> None:
    """Before the first piece as a status, after it as an event."""
    status, events, _ = talked({"message": "Say this", "route": "broken"})
    assert (status, [name for name, _ in events]) == (200, ["delta", "error"])
    assert events[-1][1]["message"] == "it broke"
    assert talked({"route": "nobody"})[0] == 404
    assert talked({"message": 5})[0] == 400


def test_an_answer_that_may_not_pass_ends_in_an_error() -> None:
    """What a model makes of a minor in a romance is stopped, though nothing of it was asked for."""
    _, events, models = talked({"message": "Say this", "route": "teller"})
    assert [name for name, _ in events][-1] == "error"
    assert "message" not in events[-1][1] or "Mia" not in events[-1][1]["message"]
    assert len(models.bodies) == 1
    assert talked({"message": "Say this"})[1][-1][0] == "end"


def test_without_models_nobody_answers() -> None:
    """The call is refused, and the page knows that there is no such room."""
    with Browser(Inspector(example_session(), Access())) as browser:
        assert browser.post("/v1/inspector/talk", json={}).status_code == 404
        assert not browser.json("workspace")["talk"]


def test_an_answer_is_trimmed_and_its_prompt_has_tools() -> None:
    """What the model writes for somebody else is neither shown nor kept; tools of the request go with the prompt."""
    tool = {"type": "function", "function": {"name": "tide", "parameters": {"type": "object"}}}
    request = {"character": {"name": "Wenna"}, "user": "Ansel", "tools": [tool], "message": "x"}
    models = Parrot()
    session = session_of({"own.request.json": json.dumps(request).encode()})
    with Browser(Inspector(session, Access(), InspectorTalk(models, "parrot"))) as browser:
        body = {"message": "Wenna: Come in.\nAnsel: Thank you."}
        events = browser.post("/v1/inspector/talk", json=body).text
    assert '"message":"Come in."' in events
    assert "Thank" not in events.rpartition("event: end")[0]
    assert [one["function"]["name"] for one in models.bodies[0]["tools"]] == ["tide"]
