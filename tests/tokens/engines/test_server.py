"""Asking a server: what is sent and read, and what happens when it does not answer."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from innkeeper.tokens import SERVER_RULES, AskServer, BoundedCache, Counter, TokenizerUnavailableError
from tests import shared


class Server:
    """A server that gives one reply to everything and remembers what came."""

    def __init__(self, reply: Any) -> None:
        self.reply = reply
        self.asked: list[tuple[str, Mapping[str, Any], float]] = []

    def __call__(self, path: str, body: Mapping[str, Any], seconds: float) -> Any:
        self.asked.append((path, body, seconds))
        if isinstance(self.reply, BaseException):
            raise self.reply
        return self.reply


@dataclass(frozen=True)
class Case:
    rule: str
    reply: Any
    path: str
    body: Mapping[str, Any]


CASES = [
    Case(
        "llama.cpp", {"tokens": [1, 2, 3]}, "/tokenize", {"content": "hi", "add_special": False, "parse_special": False}
    ),
    Case(
        "vllm",
        {"count": 3, "max_model_len": 9},
        "/tokenize",
        {"model": "m/x", "prompt": "hi", "add_special_tokens": False},
    ),
    Case("koboldcpp", {"value": 3}, "/api/extra/tokencount", {"prompt": "hi", "special": False}),
    Case(
        "tabby",
        {"length": 3, "tokens": [1, 2, 3]},
        "/v1/token/encode",
        {"text": "hi", "add_bos_token": False, "encode_special_tokens": False},
    ),
    Case(
        "anthropic",
        {"input_tokens": 10},
        "/v1/messages/count_tokens",
        {"model": "m/x", "messages": [{"role": "user", "content": "hi"}]},
    ),
    Case("openai", {"input_tokens": 10}, "/v1/responses/input_tokens", {"model": "m/x", "input": "hi"}),
    Case(
        "gemini",
        {"totalTokens": 3},
        "/v1beta/models/m%2Fx:countTokens",
        {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_rules(case: Case) -> None:
    """Each kind of server is asked its own way, and its answer read, less what it adds around the text."""
    server = Server(case.reply)
    assert AskServer(server, case.rule, model="m/x", seconds=1.5).count("hi") == 3
    assert server.asked == [(case.path, case.body, 1.5)]


def test_every_rule_has_a_case() -> None:
    """No rule is untested."""
    assert {case.rule for case in CASES} == set(SERVER_RULES)


def test_empty_text_is_not_asked() -> None:
    """The empty text has no tokens."""
    server = Server({"tokens": []})
    assert AskServer(server, "llama.cpp").count("") == 0
    assert server.asked == []


BAD = {
    "raises": OSError("refused"),
    "an exit": SystemExit(),
    "nothing": None,
    "no count": {},
    "text": {"tokens": None},
    "negative": {"tokens": -1},
    "a truth value": {"tokens": True},
}


@pytest.mark.parametrize("name", BAD)
def test_bad_answers_are_typed_errors(name: str) -> None:
    """Whatever is wrong with an answer, it is one error."""
    with pytest.raises(TokenizerUnavailableError):
        AskServer(Server(BAD[name]), "llama.cpp").count("hi")


def test_the_time_limit_holds() -> None:
    """A request that does not come back is left behind after its seconds."""
    release = threading.Event()
    ask = AskServer(lambda *_: release.wait(20), "llama.cpp", seconds=0.01)
    with pytest.raises(TokenizerUnavailableError, match=r"within 0\.01 s"):
        ask.count("hi")
    release.set()


def test_a_server_that_is_down_is_not_asked_for_ever() -> None:
    """After three failures in a row it is left alone until it is reset; a success in between starts anew."""
    server = Server(OSError())
    ask = AskServer(server, "llama.cpp")

    def fail(times: int) -> None:
        for _ in range(times):
            with pytest.raises(TokenizerUnavailableError):
                ask.count("hi")

    fail(2)
    server.reply = {"tokens": [1]}
    assert ask.count("hi") == 1
    server.reply = OSError()
    fail(5)
    assert ask.given_up
    assert len(server.asked) == 2 + 1 + 3
    ask.reset()
    server.reply = {"tokens": [1]}
    assert ask.count("hi") == 1


def test_a_counter_asks_once_and_falls_back() -> None:
    """With a counter, answers are remembered, and without an answer the text is still counted."""
    server = Server({"tokens": [1] * 9})
    some = Counter({"local": AskServer(server, "llama.cpp", label="here")}, cache=BoundedCache())
    assert some.count_many(["one", "one"], "local") == [9, 9]
    assert some.count("one", "local") == 9
    assert len(server.asked) == 1
    assert some.describe("local")["tokenizer"] == "server:llama.cpp:here:"
    server.reply = OSError()
    assert some.count("lamp", "local") == Counter().count("lamp")
    assert some.describe("local")["given_up"] is False


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        ("anthropic", "anthropic__test_anthropic_model_usage_limit_exceeded.yaml"),
        ("openai", "openai_responses__test_responses_usage_limit_exceeded.yaml"),
    ],
)
def test_recorded_endpoints_are_read(rule: str, name: str) -> None:
    """The recorded answers of providers' counting endpoints are read."""
    file = shared.need(f"fixtures/pydantic_ai_cassettes/{name}")
    exchange = yaml.safe_load(file.read_text("utf-8"))["interactions"][0]
    server = Server(exchange["response"]["parsed_body"])
    ask = AskServer(server, rule, model=exchange["request"]["parsed_body"]["model"])
    assert 10 <= ask.count("The quick brown fox jumps over the lazy dog.") <= 12
    assert exchange["request"]["uri"].partition("?")[0].endswith(server.asked[0][0])
