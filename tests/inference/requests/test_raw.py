"""Raw requests: sent byte for byte, on the route that they are for, and only where everybody reads them alike."""

from dataclasses import dataclass

import pytest

from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.inference.requests.raw import read_raw, refuse_raw
from innkeeper.inference.requests.request import provider_request
from innkeeper.inference.routing.route import Route
from innkeeper.prompt.errors import FormatError, InnkeeperError, LimitError, UnsupportedError, UsageError

ODD = b'{ "model" : "big",\n "messages":[], "extra": {"a":1e2,"text":"\\u00e9 \xc3\xa9"}, "stream" :true }  '
INN = Route(name="inn", model="big")


@pytest.mark.parametrize("surface", ["openai-chat", "openai-responses", "anthropic-messages", "text-completion"])
def test_a_raw_body_is_sent_byte_for_byte(surface: str) -> None:
    """Blanks, the order of keys and the spelling of numbers and characters are the caller's."""
    asked = read_raw(ODD, surface, "inn")
    route = Route(name="inn", model="big", adapter=surface)
    sent = provider_request(asked, route, ADAPTERS[surface])
    assert (asked.model, asked.stream, asked.choices) == ("inn", True, 1)
    assert (sent.content, sent.raw, sent.stream, sent.notes) == (ODD, True, True, ())


def test_the_model_on_this_machine_takes_chats() -> None:
    """It is asked by chat completions."""
    asked = read_raw(b'{"model":"smollm2","messages":[]}', "openai-chat")
    assert provider_request(asked, Route.of("local", "local"), ADAPTERS["local"]).content


@dataclass(frozen=True)
class Bad:
    """A raw body that is refused."""

    id: str
    content: bytes
    error: type[InnkeeperError]
    words: str


BAD = [
    Bad("nothing", b"", FormatError, "not JSON"),
    Bad("no JSON", b"model=big", FormatError, "not JSON"),
    Bad("a list", b"[]", UsageError, "object"),
    Bad("no model", b"{}", UsageError, "model"),
    Bad("a number for a model", b'{"model":7}', UsageError, "model"),
    Bad("two models", b'{"model":"small","model":"big"}', FormatError, "twice"),
    Bad("two models, one escaped", b'{"model":"small","\\u006dodel":"big"}', FormatError, "twice"),
    Bad(
        "a key twice below",
        b'{"model":"big","stream_options":{"include_usage":true,"include_usage":false}}',
        FormatError,
        "twice",
    ),
    Bad("another case", b'{"model":"big","Model":"huge"}', UsageError, "spelled"),
    Bad("a letter that folds", '{"model":"big","\u017ftream":true}'.encode(), UsageError, "spelled"),
    Bad("NaN", b'{"model":"big","temperature":NaN}', FormatError, "NaN"),
    Bad("infinity", b'{"model":"big","temperature":-Infinity}', FormatError, "Infinity"),
    Bad("broken UTF-8", b'{"model":"big","a":"\xff"}', FormatError, "utf-8"),
    Bad("UTF-16", '{"model":"big"}'.encode("utf-16"), FormatError, "utf-8"),
    Bad("a byte order mark", b'\xef\xbb\xbf{"model":"big"}', FormatError, "BOM"),
    Bad("two values", b'{"model":"big"}{"model":"huge"}', FormatError, "Extra data"),
    Bad("too deep", b'{"model":"big","a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", LimitError, "nesting"),
    Bad("a long number", b'{"model":"big","a":' + b"9" * 5000 + b"}", FormatError, "digits"),
    Bad("several answers", b'{"model":"big","n":2}', UnsupportedError, "one answer"),
    Bad("in the background", b'{"model":"big","background":true}', UnsupportedError, "waits"),
    Bad("a stream by another type", b'{"model":"big","stream":1}', UsageError, "stream"),
]


@pytest.mark.parametrize("case", BAD, ids=lambda it: it.id)
def test_a_body_that_could_be_read_otherwise_is_refused(case: Bad) -> None:
    """What readers of JSON take for different things is sent to none of them."""
    with pytest.raises(case.error, match=case.words):
        read_raw(case.content, "openai-chat")


def test_many_keys_with_one_twice_at_the_end() -> None:
    """It is found however many there are."""
    keys = b",".join(b'"k%d":0' % at for at in range(20_000))
    with pytest.raises(FormatError, match="k19999"):
        read_raw(b'{"model":"big",' + keys + b',"k19999":1}', "openai-chat")


@pytest.mark.parametrize(
    ("route", "surface"),
    [
        (Route(name="inn", model="big", adapter="anthropic-messages"), "openai-chat"),
        (Route(name="inn", model="big"), "openai-responses"),
        (Route(name="inn", model="big", adapter="llamacpp-completion"), "text-completion"),
        (Route(name="inn", model="big", adapter="gemini-generateContent"), "openai-chat"),
    ],
)
def test_a_route_of_another_protocol_takes_none(route: Route, surface: str) -> None:
    """Its provider would not understand it."""
    with pytest.raises(UnsupportedError, match="no raw body"):
        provider_request(read_raw(b'{"model":"big"}', surface, "inn"), route, ADAPTERS[route.adapter])


def test_a_route_is_one_model() -> None:
    """A key that may use a route may not ask its provider for anything else."""
    with pytest.raises(UsageError, match="not that of the route"):
        provider_request(read_raw(b'{"model":"huge"}', "openai-chat", "inn"), INN, ADAPTERS["openai-chat"])


def test_who_makes_the_prompt_himself_takes_none() -> None:
    """A profile, and a model that is chosen for each request."""
    with pytest.raises(UnsupportedError, match="the profile 'wenna'"):
        refuse_raw(read_raw(b'{"model":"wenna"}', "openai-chat"), "the profile")
