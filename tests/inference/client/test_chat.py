"""A chat completion decoded: its pieces of text and its reply, or one typed error."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.adapters.decoding import AnswerDecoder
from innkeeper.inference.adapters.openai_chat import choice_of
from innkeeper.inference.client.chat import ChatRecording, ChatReply, refuses_streaming
from innkeeper.inference.client.endpoint import Endpoint, Response
from innkeeper.inference.errors import DecodeError, HttpError, ReplyError, StreamCutError
from innkeeper.inference.response.events import TextDelta
from innkeeper.prompt import InnkeeperError

ENDPOINT = Endpoint.of({"base_url": "http://h", "api_key": "sk-test-0123456789"}, None, {})


def event(content: str | None = None, finish: str | None = None, **more: Any) -> bytes:
    """One chunk as an event."""
    delta = {} if content is None else {"content": content}
    chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"
WHOLE = json.dumps(
    {"choices": [{"message": {"content": "Hi 你"}, "finish_reason": "stop"}]}, ensure_ascii=False
).encode()


def decode(stream: bytes, content_type: str = "text/event-stream", piece: int = 0) -> tuple[list[str], ChatReply]:
    """Deltas and reply of an answer that comes in pieces of so many bytes."""
    recording, headers = ChatRecording(), {"content-type": content_type}
    decoder = AnswerDecoder(recording, ENDPOINT, 200, headers)
    size = piece or max(len(stream), 1)
    events = [event for at in range(0, len(stream), size) for event in decoder.feed(stream[at : at + size])]
    events += decoder.close()
    deltas = [event.text for event in events if isinstance(event, TextDelta)]
    return deltas, recording.reply(200, headers)


@dataclass(frozen=True)
class Good:
    stream: bytes
    deltas: list[str]
    finish_reason: str | None = "stop"
    content_type: str = "text/event-stream; charset=utf-8"


GOOD = {
    "stream": Good(event("Hi ") + event("你") + event(finish="stop") + DONE, ["Hi ", "你"]),
    "no_done": Good(event("Hi") + event(finish="stop"), ["Hi"]),
    "no_finish": Good(event("Hi") + DONE, ["Hi"], None),
    "no_blank_line_after_done": Good(event("Hi") + b"data: [DONE]", ["Hi"], None),
    "last_event_without_blank_line": Good(event("Hi", "stop").rstrip(), ["Hi"]),
    "after_done": Good(event("Hi") + DONE + event("more"), ["Hi"], None),
    "done_twice": Good(event("Hi") + DONE + DONE, ["Hi"], None),
    "usage_apart": Good(event("Hi", "stop") + event(usage={"total_tokens": 3}) + DONE, ["Hi"]),
    "unknown_events": Good(b"event: ping\ndata: {}\n\ndata: 3\n\n: x\n\n" + event("Hi", "stop") + DONE, ["Hi"]),
    "blank_data": Good(b"data: \n\n" + event("Hi", "stop") + DONE, ["Hi"]),
    "same_id_twice": Good(b"id: 1\n" + event("Hi") + b"id: 1\n" + event("Hi") + DONE, ["Hi"], None),
    "same_text_twice": Good(event("Hi") + event("Hi") + DONE, ["Hi", "Hi"], None),
    "finish_twice": Good(event("Hi", "stop") + event(finish="stop") + DONE, ["Hi"]),
    "crlf": Good((event("Hi", "stop") + DONE).replace(b"\n", b"\r\n"), ["Hi"]),
    "json_for_a_stream": Good(WHOLE, ["Hi 你"], content_type="application/json"),
    "json_that_says_stream": Good(b"\n " + WHOLE, ["Hi 你"]),
    "stream_that_says_json": Good(event("Hi", "stop"), ["Hi"], content_type="application/json"),
    "stream_that_says_nothing": Good(event("Hi", "stop"), ["Hi"], content_type=""),
    "byte_order_mark": Good(b"\xef\xbb\xbf" + event("Hi", "stop"), ["Hi"], content_type=""),
}


@pytest.mark.parametrize("piece", [0, 1, 5])
@pytest.mark.parametrize("case", GOOD.values(), ids=GOOD)
def test_good(case: Good, piece: int) -> None:
    """A complete answer gives its deltas and its reply, in whatever pieces it comes."""
    deltas, reply = decode(case.stream, case.content_type, piece)
    assert deltas == case.deltas
    assert (reply.content, reply.finish_reason) == ("".join(case.deltas), case.finish_reason)


@dataclass(frozen=True)
class Bad:
    stream: bytes
    error: type[InnkeeperError]
    message: str
    partial: str | None = None
    content_type: str = "text/event-stream"


BAD = {
    "empty": Bad(b"", DecodeError, "held no events"),
    "white_space": Bad(b"\n\n \n", DecodeError, "held no events"),
    "only_comments": Bad(b": ping\n\n", DecodeError, "held no events"),
    "only_done": Bad(DONE, DecodeError, "has no message"),
    "ends_between_events": Bad(event("Hi"), StreamCutError, "without a finish reason", "Hi"),
    "ends_in_an_event": Bad(event("Hi") + event("you")[:20], StreamCutError, "inside an event", "Hi"),
    "ends_in_a_character": Bad(event("Hi") + event("你")[:52], StreamCutError, "inside an event", "Hi"),
    "ends_in_a_field": Bad(event("Hi") + b"da", StreamCutError, "without a finish reason", "Hi"),
    "broken_event": Bad(event("Hi") + b"data: {oops}\n\n", DecodeError, "event 2 of the stream is not JSON"),
    "deep_event": Bad(b"data: " + b"[" * 100_000 + b"\n\n", DecodeError, "not JSON"),
    "error_event": Bad(event("Hi") + b'data: {"error": {"message": "Full."}}\n\n', ReplyError, "Full.", "Hi"),
    "typed_error_event": Bad(b'event: error\ndata: {"message": "Full."}\n\n', ReplyError, "Full."),
    "error_after_the_end": Bad(event("Hi", "stop") + event(error={"message": "x", "code": 400}), ReplyError, "x"),
    "html": Bad(b"<html>", DecodeError, "not JSON", content_type="text/html"),
    "html_that_says_stream": Bad(b"<html>", DecodeError, "not JSON"),
    "text": Bad(b"hello", DecodeError, "not JSON", content_type="text/plain"),
    "json_without_message": Bad(b'{"ok": true}', DecodeError, "no message", content_type="application/json"),
    "json_error": Bad(b'{"error": {"message": "Full."}}', ReplyError, "Full.", content_type="application/json"),
    "json_cut": Bad(WHOLE[:-3], DecodeError, "not JSON", content_type="application/json"),
}


@pytest.mark.parametrize("piece", [0, 1])
@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_bad(case: Bad, piece: int) -> None:
    """Each incomplete or wrong answer is one typed error; a cut one keeps what had arrived."""
    with pytest.raises(case.error) as caught:
        decode(case.stream, case.content_type, piece)
    assert type(caught.value) is case.error
    assert case.message in str(caught.value)
    if isinstance(caught.value, StreamCutError) or case.partial:
        assert getattr(caught.value, "partial", None) == case.partial


STREAM = (
    event("Hi ", id="c") + b": ping\n\n" + event("你好") + event("🙂") + event(finish="stop") + event(usage={}) + DONE
)


@pytest.mark.parametrize("end", range(len(STREAM)))
def test_cut_at_every_byte(end: int) -> None:
    """Cut anywhere, a stream is either complete but for its last formalities or a typed error; text is a prefix."""
    found: Any = None
    try:
        found = decode(STREAM[:end])[1]
    except (StreamCutError, DecodeError) as error:
        found = error
    if isinstance(found, StreamCutError):
        assert "Hi 你好🙂".startswith(found.partial)
    elif isinstance(found, DecodeError):
        assert "no events" in str(found)
    else:
        assert (found.content, found.finish_reason) == ("Hi 你好🙂", "stop")


@given(
    st.lists(st.sampled_from([event("a"), event(finish="stop"), DONE, b": x\n\n", b"data: {", b"\n\n", b"\xf0", b"{"]))
)
def test_any_stream(parts: list[bytes]) -> None:
    """Any mixture of events and rubbish is a reply or one of our errors."""
    try:
        deltas, reply = decode(b"".join(parts))
    except InnkeeperError:
        return
    assert "".join(deltas) == reply.content


@pytest.mark.parametrize(
    "body", [None, [], {}, {"choices": None}, {"choices": []}, {"choices": [1]}, {"choices": [{"message": "x"}]}]
)
def test_choice_of_nothing(body: Any) -> None:
    """A body without a message is a typed error."""
    with pytest.raises(DecodeError, match="no message"):
        choice_of(body)


def test_reply_of() -> None:
    """A reply unpacks into text, usage, finish reason and response; odd usage and reasons are nothing."""
    body = {"choices": [{"message": {"content": [{"text": "a"}]}, "finish_reason": 3}], "usage": 4}
    response = Response(200, {}, body)
    content, usage, finish_reason, found = ChatReply.of(response)
    assert (content, usage, finish_reason, found) == ("a", None, None, response)


@pytest.mark.parametrize(
    ("status", "message", "param", "refused"),
    [
        (400, "stream is not supported", None, True),
        (422, "Streaming is off", None, True),
        (400, "Unknown parameter: stream_options", None, True),
        (400, "bad value", "stream", True),
        (501, "no streaming here", None, True),
        (400, "the upstream failed", None, False),
        (400, "streamlined prompts only", None, False),
        (500, "stream broke", None, False),
        (429, "too many streams", None, False),
    ],
)
def test_refuses_streaming(status: int, message: str, param: str | None, refused: bool) -> None:
    """Only a client error about streaming itself asks for the whole answer instead."""
    error = HttpError(message, status=status, headers={}, sample="", body={"error": {"param": param}})
    assert refuses_streaming(error) is refused
