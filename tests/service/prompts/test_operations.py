"""Operations on prompts, as a worker answers them."""

import json
from pathlib import Path
from typing import Any

import pytest

from innkeeper.operations.operation import Operation
from innkeeper.service import Gateway, Settings
from innkeeper.service.exchange import Request
from innkeeper.service.prompts import answer, operations
from innkeeper.service.prompts.answer import PROFILES_HEADER
from tests.taverns.profiles.folders import profile_folder

SAID = [{"role": "user", "content": "Is the reef safe?"}]
CARD = {"name": "Wenna", "description": "Keeps a light."}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Gateway:
    """A worker's gateway with one profile."""
    folder: Path = tmp_path_factory.mktemp("profiles") / "wenna"
    return Gateway(Settings(profiles=(profile_folder(folder),), python=False), ready=False)


def ask(gateway: Gateway, name: str, asked: Any, **headers: str) -> tuple[int, Any]:
    """Status and body of an operation's reply."""
    told = {"profiles": PROFILES_HEADER}
    named = {told.get(key, key): value for key, value in headers.items()}
    reply = gateway.answer(Request("POST", f"/v1/prompts/{name}", "", named, json.dumps(asked).encode()))
    return reply.status, json.loads(reply.body)


def test_a_turn_is_built(gateway: Gateway) -> None:
    """The prompt of a turn over a profile: body, tokens, and the state that it leaves, with which the next one goes on."""
    status, made = ask(gateway, "build", {"profile": "wenna", "messages": SAID, "seed": 5})
    assert status == 200
    assert made["body"]["messages"][-2] == {"role": "user", "content": "Is the reef safe?"}
    assert (made["dialect"], made["seed"], made["tokens"]["window"]) == ("openai", 5, 2048)
    assert made["plan"]["blocks"]
    longer = [*SAID, {"role": "assistant", "content": "No."}, {"role": "user", "content": "Why?"}]
    status, again = ask(gateway, "build", {"profile": "wenna", "messages": longer, "state": made["state"]})
    assert status == 200
    assert again["state"]["greetings"] == made["state"]["greetings"]


def test_a_request_is_built(gateway: Gateway) -> None:
    """A whole request, with its assets as data, in the dialect that is asked for."""
    asked = {"request": {"tavern": "silly", "character": CARD, "message": "Hi"}, "dialect": "anthropic"}
    status, made = ask(gateway, "build", asked)
    assert status == 200
    assert made["body"]["messages"][-1]["content"] == [{"type": "text", "text": "Hi"}]
    assert "state" not in made


def test_a_chat_is_followed(gateway: Gateway) -> None:
    """Turn by turn, of a request and of a chat over a profile."""
    longer = [*SAID, {"role": "assistant", "content": "No."}, {"role": "user", "content": "Why?"}]
    for asked in ({"request": {"tavern": "silly", "history": longer}}, {"profile": "wenna", "messages": longer}):
        status, made = ask(gateway, "timeline", {**asked, "provider": "openai"})
        assert (status, made["provider"], len(made["turns"])) == (200, "openai", 2)


def test_the_same_request_gives_the_same_bytes(gateway: Gateway) -> None:
    """Request, state, time and seed settle the reply to the byte."""
    asked = {"profile": "wenna", "messages": SAID, "seed": 5, "now": "2026-01-15T12:00:00Z"}
    one, other = (ask(gateway, "build", asked) for _ in range(2))
    assert one == other


def test_a_prompt_is_explained(gateway: Gateway) -> None:
    """Each block with its source, as data and as text."""
    status, told = ask(gateway, "explain", {"profile": "wenna", "messages": SAID})
    assert status == 200
    assert len(told["explanation"]["rows"]) >= 10
    assert "lorebook(Skerrow)" in told["text"]


def test_two_prompts_are_compared(gateway: Gateway) -> None:
    """What the second has that the first has not; equal ones are the same, whatever the time is."""
    one = {"profile": "wenna", "messages": SAID}
    other = {**one, "messages": [{"role": "user", "content": "Hm."}], "options": {"temperature": 2}}
    _, same = ask(gateway, "diff", {"a": one, "b": one})
    assert (same["same"], same["messages"], same["options"]) == (True, [], {})
    _, told = ask(gateway, "diff", {"a": one, "b": other})
    assert not told["same"]
    assert told["messages"][-1]["b"] == [{"role": "user", "content": "Hm."}]
    assert told["options"] == {"temperature": {"a": 0.7, "b": 2}}
    assert told["difference"]["options"] == [{"name": "temperature", "before": 0.7, "after": 2}]
    assert {change["kind"] for change in told["difference"]["blocks"]} >= {"added"}


def test_a_cache_is_planned(gateway: Gateway) -> None:
    """What a provider's cache reads of the second prompt after the first; nothing where there is no first."""
    one = {"profile": "wenna", "messages": SAID}
    _, first = ask(gateway, "cache", {"b": one, "provider": "llamacpp"})
    assert (first["a"], first["cache"]["read"], first["cache"]["provider"]) == (None, 0, "llamacpp")
    _, again = ask(gateway, "cache", {"a": one, "b": one, "provider": "llamacpp"})
    assert again["cache"]["read"] == again["cache"]["total"] > 0
    other = {**one, "messages": [{"role": "user", "content": "Hm."}]}
    _, changed = ask(gateway, "cache", {"a": one, "b": other, "provider": "llamacpp"})
    assert 0 < changed["cache"]["read"] < changed["cache"]["total"]
    assert changed["cache"]["cause"]["mend"]
    assert ask(gateway, "cache", {"b": one, "provider": "nobody"})[0] == 404


def test_tokens_are_counted(gateway: Gateway) -> None:
    """Of a text, of messages, of a prompt."""
    _, text = ask(gateway, "count", {"text": "hello world", "model": "gpt-4o"})
    assert (text["tokens"], text["exact"]) == (2, True)
    _, messages = ask(gateway, "count", {"messages": SAID, "model": "gpt-4o"})
    assert messages["tokens"] > sum(messages["each"]) > 0
    _, prompt = ask(gateway, "count", {"profile": "wenna", "messages": SAID})
    assert prompt["tokens"]["used"] > 100


@pytest.mark.parametrize(
    ("name", "asked", "status", "told"),
    [
        ("build", {}, 400, "neither a request nor a profile"),
        ("build", {"profile": "wenna", "request": {}}, 400, "both"),
        ("build", {"profil": "wenna"}, 400, "no field 'profil'"),
        ("build", {"profile": "wanna", "messages": []}, 404, "unknown profile"),
        ("build", {"profile": 3}, 400, "must be text"),
        ("build", {"profile": "wenna", "messages": 3}, 400, "must be a list"),
        ("build", {"profile": "wenna", "seed": "x"}, 400, "whole number"),
        ("build", {"profile": "wenna", "messages": [{"role": "user"}]}, 400, "needs content"),
        ("build", {"profile": "wenna", "messages": SAID, "state": {"x": 1}}, 400, "no state"),
        ("build", {"request": {"character": "card.png"}}, 400, "name of a file"),
        ("build", {"request": {}, "messages": []}, 400, "belongs into the request"),
        ("build", {"request": {"tavern": "x"}}, 404, "unknown tavern"),
        ("build", [], 400, "object"),
        ("diff", {"a": {}}, 400, "neither"),
        ("diff", {"a": 1, "b": 2}, 400, "must be an object"),
        ("diff", {"a": {"profil": "wenna"}}, 400, "an unknown field 'profil'"),
        ("diff", {"a": {"profile": "wenna", "seed": "x"}}, 400, "a.seed must be a whole number"),
        ("count", {}, 400, "nothing to count"),
        ("nothing", {}, 404, "unknown operation"),
    ],
)
def test_what_does_not_fit_is_told(gateway: Gateway, name: str, asked: Any, status: int, told: str) -> None:
    """An error has its status, OpenAI's shape, and says what is wrong and where."""
    code, body = ask(gateway, name, asked)
    assert code == status
    assert told in body["error"]["message"]
    assert set(body["error"]) == {"type", "code", "message", "param"}


def test_what_is_not_json(gateway: Gateway) -> None:
    """A body that is no JSON is an error with its place."""
    reply = gateway.answer(Request("POST", "/v1/prompts/build", body=b"{"))
    assert reply.status in (400, 422)
    assert json.loads(reply.body)["error"]["message"]


def test_a_caller_uses_his_profiles_alone(gateway: Gateway) -> None:
    """A key that may use some profiles may not build others, in any operation."""
    turn = {"profile": "wenna", "messages": SAID}
    assert ask(gateway, "build", turn, profiles="wen*")[0] == 200
    assert ask(gateway, "build", turn, profiles="tobin")[0] == 403
    assert ask(gateway, "diff", {"a": {"request": {}}, "b": turn}, profiles="tobin")[0] == 403


def test_code_can_be_switched_off(gateway: Gateway) -> None:
    """A service that was started without the macro that runs code does not run it in requests that it is sent."""
    asked = {"request": {"tavern": "smart", "message": "{{python:6*7}}", "settings": {"python": True}}}
    status, made = ask(gateway, "build", asked)
    assert status == 200
    assert "42" not in json.dumps(made["body"])


def test_code_can_be_switched_off_in_profiles(tmp_path: Path) -> None:
    """So it does in turns over profiles."""
    folder = tmp_path / "smart"
    folder.mkdir()
    (folder / "profile.toml").write_text('tavern = "smart"\nvariant = "smarttavern"\n')
    texts = []
    for python in (True, False):
        house = Gateway(Settings(profiles=(folder,), python=python), ready=False)
        _, made = ask(house, "build", {"profile": "smart", "messages": [{"role": "user", "content": "{{python:6*7}}"}]})
        texts.append(json.dumps(made["body"]["messages"]))
    assert "42" in texts[0]
    assert "42" not in texts[1]


@pytest.mark.parametrize(("error", "status"), [(MemoryError(), 413), (RuntimeError("x"), 500)])
def test_a_defect_is_told_without_its_words(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    """Whatever goes wrong in an operation, the caller gets an answer that quotes no prompt."""

    def fail(_: operations.PromptSource, __: Any) -> Any:
        raise error

    monkeypatch.setattr(answer, "OPERATIONS", {"build": Operation("prompts.build", fail)})
    code, body = ask(gateway, "build", {})
    assert code == status
    assert "error" in body


def test_work_is_bounded(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prompt with too many messages is not compared, and what a call may take holds here, too."""
    monkeypatch.setattr(operations, "MAX_DIFF_MESSAGES", 3)
    turn = {"profile": "wenna", "messages": SAID}
    assert ask(gateway, "diff", {"a": turn, "b": turn})[0] == 413
    status, _ = ask(gateway, "build", turn, **{"x-innkeeper-limits": "steps=10"})
    assert status >= 400
