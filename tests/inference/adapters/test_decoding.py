"""AnswerDecoder: bytes to events, whatever they begin with and however they are cut; what is not whole is an error."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.adapters import decoding
from innkeeper.inference.adapters.decoding import AnswerDecoder, Event, EventParser, SplitCharacters
from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.inference.errors import DecodeError, ReplyError, StreamCutError
from innkeeper.inference.response.events import CallDelta, Finished, ModelEvent, ReasoningDelta, TextDelta
from innkeeper.prompt import LimitError
from tests.inference.adapters.answers import ENDPOINT, JSON, LINES, SSE, WIRES, Said, answer, events, sse

CHAT = "openai-chat"
WIRE = WIRES[CHAT]
SAID = Said(("It is ", "late."))


def delta(text: str) -> dict[str, object]:
    """A chunk with more text."""
    return {"choices": [{"delta": {"content": text}}]}


@pytest.mark.parametrize(
    "kind", [SSE, JSON, "text/plain", "", "application/octet-stream"], ids=lambda kind: kind or "none"
)
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"], ids=["plain", "bom"])
@pytest.mark.parametrize(
    "start", [b"", b"\n\n", b": ping\n\n", b"retry: 9\n\n"], ids=["nothing", "blank", "comment", "retry"]
)
def test_the_first_byte_counts(kind: str, bom: bytes, start: bytes) -> None:
    """What the bytes begin with says what they are, not the content type."""
    assert answer(CHAT, bom + start + WIRE.stream(SAID), kind).text == "It is late."
    if start.strip() == b"":
        assert answer(CHAT, bom + start + WIRE.whole(SAID), kind).text == "It is late."


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_line_endings(end: bytes, size: int) -> None:
    """Every line ending of the standard, in any pieces."""
    raw = WIRE.stream(SAID).replace(b"\n", end)
    assert answer(CHAT, [raw[at : at + size] for at in range(0, len(raw), size)], SSE).text == "It is late."


def test_ids_that_repeat() -> None:
    """Two events of one id in a row are one; of none, two."""
    first, second = (f"id: 1\ndata: {json.dumps(delta('a'))}\n\n" for _ in range(2))
    other = f"id: 2\ndata: {json.dumps(delta('b'))}\n\n"
    assert answer(CHAT, f"{first}{second}{other}data: [DONE]\n\n".encode(), SSE).text == "ab"
    assert answer(CHAT, sse(delta("a"), delta("a"), done=True), SSE).text == "aa"


def test_what_comes_after_the_end() -> None:
    """Behind the mark of the end nothing counts."""
    assert answer(CHAT, sse(delta("a"), done=True) + sse(delta("b")), SSE).text == "a"


def test_a_last_event_that_is_not_closed() -> None:
    """It counts when it is whole; else the stream was cut in it, and the text so far is told."""
    raw = sse(delta("a"), {"choices": [{"delta": {}, "finish_reason": "stop"}]})
    assert answer(CHAT, raw[:-2], SSE).finish == "stop"
    with pytest.raises(StreamCutError, match="inside an event") as caught:
        answer(CHAT, raw[:-9], SSE)
    assert caught.value.partial == "a"


def test_ends() -> None:
    """No events, no end, no JSON: an error each."""
    with pytest.raises(DecodeError, match="no events"):
        answer(CHAT, b": ping\n\n", SSE)
    with pytest.raises(StreamCutError, match="without a finish reason") as caught:
        answer(CHAT, sse(delta("a")), SSE)
    assert caught.value.partial == "a"
    with pytest.raises(DecodeError, match="event 2 of the stream is not JSON") as broken:
        answer(CHAT, sse(delta("a")) + b"data: {oops\n\n", SSE)
    assert broken.value.sample == "{oops"
    with pytest.raises(DecodeError, match="not JSON"):
        answer(CHAT, b"<html>", "text/html")
    with pytest.raises(DecodeError):
        answer(CHAT, b"", JSON)


@pytest.mark.parametrize("name", WIRES)
@pytest.mark.parametrize("body", [{}, {"choices": []}, {"candidates": []}, {"object": "x"}], ids=json.dumps)
@pytest.mark.parametrize("streamed", [True, False])
def test_an_answer_without_a_message_is_none(name: str, body: dict[str, object], streamed: bool) -> None:
    """What holds neither a message nor a reason is an error in every protocol, whole and streamed, whatever marks its end."""
    with pytest.raises(DecodeError):
        answer(name, sse(body, done=True), SSE) if streamed else answer(name, json.dumps(body).encode(), JSON)


def test_error_events() -> None:
    """An event of the type error is one, whatever its data is; so is data with an error in it."""
    for raw in (b'event: error\ndata: {"message": "Full."}\n\n', b'data: {"error": "Full."}\n\n'):
        with pytest.raises(ReplyError, match=r"Full\."):
            answer(CHAT, sse(delta("a")) + raw, SSE)


NUMBERS = ["NaN", "Infinity", "-Infinity", "1e999", "123456789012345678901234567890"]


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_that_json_cannot_say(number: str) -> None:
    """They are an error of ours or a number; never one that could not be passed on."""
    raw = f'{{"choices": [{{"message": {{"content": "x"}}}}], "cost": {number}}}'.encode()
    for body, kind in ((raw, JSON), (b"data: " + raw + b"\n\ndata: [DONE]\n\n", SSE)):
        try:
            json.dumps(answer(CHAT, body, kind).to_dict(), allow_nan=False)
        except DecodeError as error:
            assert "JSON cannot" in error.message  # noqa: PT017 - either is right
    assert number


@given(text=st.text(max_size=20), split=st.integers(0, 40))
def test_characters_that_are_cut_between_events(text: str, split: int) -> None:
    """Halves of characters in two events are one character; every event holds whole ones."""
    units = text.encode("utf-16-be", "surrogatepass").hex()
    escaped = ["\\u" + units[at : at + 4] for at in range(0, len(units), 4)]
    pieces = ["".join(escaped[: split % (len(escaped) + 1)]), "".join(escaped[split % (len(escaped) + 1) :])]
    raw = "".join(f'data: {{"choices":[{{"delta":{{"content":"{piece}"}}}}]}}\n\n' for piece in pieces)
    found = events(CHAT, raw.encode() + b"data: [DONE]\n\n", SSE)
    texts = [event.text for event in found if isinstance(event, TextDelta)]
    assert "".join(texts) == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert all(part.encode() is not None for part in texts)


def test_bytes_that_are_no_text() -> None:
    """Bytes that are no UTF-8 are replaced, not refused."""
    raw = sse(delta("a?"), done=True).replace(b"?", b"\xff")
    assert answer(CHAT, raw, SSE).text == "a\ufffd"


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line, or an event, that never ends is given up."""
    monkeypatch.setattr(decoding, "MAX_EVENT_BYTES", 100)
    with pytest.raises(LimitError, match="MAX_EVENT_BYTES"):
        events("ollama-chat", [b'{"a": "', *[b"x" * 10] * 20], LINES)


def test_partial() -> None:
    """The text so far is there at every moment."""
    decoder = AnswerDecoder(ADAPTERS[CHAT].reading(), ENDPOINT, 200, {"content-type": SSE})
    assert decoder.partial == ""
    list(decoder.feed(sse(delta("It "), delta("is"))))
    assert decoder.partial == "It is"


@given(raw=st.binary(max_size=200), kind=st.sampled_from([SSE, JSON, LINES]), size=st.integers(1, 50))
def test_any_bytes(raw: bytes, kind: str, size: int) -> None:
    """Any bytes are events or an error of ours, in any pieces the same."""

    def outcome(pieces: list[bytes]) -> object:
        try:
            return events(CHAT, pieces, kind)
        except (DecodeError, ReplyError, StreamCutError) as error:
            return type(error), error.message

    assert outcome([raw[at : at + size] for at in range(0, len(raw), size)]) == outcome([raw])


def parse(stream: bytes, piece: int = 0, parser: EventParser | None = None) -> tuple[list[Event], Event | None]:
    """The events of a stream in pieces of so many bytes (0: at once), and what is unfinished at its end."""
    parser = parser or EventParser()
    size = piece or max(len(stream), 1)
    events = [event for start in range(0, len(stream), size) for event in parser.feed(stream[start : start + size])]
    return events, parser.close()


@dataclass(frozen=True)
class Case:
    stream: bytes
    events: tuple[Event, ...]
    left: Event | None = None


CASES = {
    "one": Case(b"data: hi\n\n", (Event("hi"),)),
    "no_space": Case(b"data:hi\n\n", (Event("hi"),)),
    "only_one_space_goes": Case(b"data:  hi\n\n", (Event(" hi"),)),
    "crlf": Case(b"data: a\r\n\r\ndata: b\r\n\r\n", (Event("a"), Event("b"))),
    "cr": Case(b"data: a\r\rdata: b\r\r", (Event("a"), Event("b"))),
    "mixed_ends": Case(b"data: a\n\r\ndata: b\r\n\n", (Event("a"), Event("b"))),
    "several_lines": Case(b"data: a\ndata: b\ndata\n\n", (Event("a\nb\n"),)),
    "comments": Case(b": ping\n\n: ping\ndata: a\n: ping\n\n", (Event("a"),)),
    "type_and_id": Case(b"id: 7\nevent: note\ndata: a\n\ndata: b\n\n", (Event("a", "note", "7"), Event("b"))),
    "id_with_nul": Case(b"id: a\0b\ndata: a\n\n", (Event("a"),)),
    "llamacpp_errors": Case(b"error: {}\n\ndata: a\n\n", (Event("{}", "error"), Event("a"))),
    "unknown_fields": Case(b"retry: 10\nfoo: bar\nbaz\ndata: a\n\n", (Event("a"),)),
    "type_without_data": Case(b"event: note\n\ndata: a\n\n", (Event("a"),)),
    "byte_order_mark": Case(b"\xef\xbb\xbfdata: a\n\n", (Event("a"),)),
    "blank_lines": Case(b"\n\n\ndata: a\n\n\n\n", (Event("a"),)),
    "colons": Case(b"data: a: b\n\n", (Event("a: b"),)),
    "characters": Case("data: 你好 🙂\n\n".encode(), (Event("你好 🙂"),)),
    "not_utf8": Case(b"data: \xff\xfe\n\n", (Event("\ufffd\ufffd"),)),
    "no_blank_line_at_the_end": Case(b"data: a\n\ndata: [DONE]\n", (Event("a"),), Event("[DONE]")),
    "no_line_end_at_the_end": Case(b"data: a\n\ndata: b", (Event("a"),), Event("b")),
    "cut_in_a_character": Case("data: 你".encode()[:-1], (), Event("\ufffd")),
    "only_a_comment": Case(b": ping", ()),
    "empty": Case(b"", ()),
}


@pytest.mark.parametrize("piece", [0, 1, 2, 3, 7])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_events(case: Case, piece: int) -> None:
    """A stream has the same events in whatever pieces it comes: inside characters, line ends and fields."""
    assert parse(case.stream, piece) == (list(case.events), case.left)


@pytest.mark.parametrize(
    "stream", [b"data: " + b"x" * 200, b"data: xxxxxxxxx\n" * 20, b":" + b"x" * 200], ids=["line", "lines", "comment"]
)
@pytest.mark.parametrize("piece", [0, 1, 10])
def test_limit(stream: bytes, piece: int) -> None:
    """An event, or a line that never ends, is refused once it is too large."""
    with pytest.raises(LimitError, match="MAX_EVENT_BYTES"):
        parse(stream, piece, EventParser(max_event_bytes=100))


def test_the_limit_is_for_one_event() -> None:
    """Many small events are no large one."""
    parser = EventParser(max_event_bytes=20)
    assert len([event for _ in range(50) for event in parser.feed(b"data: 123456\n\n")]) == 50


EVENT_LINES = st.sampled_from(
    [b"data: a", b"data:", b"event: x", b"id: 1", b":", b"data: \xc3\xa9", b"data: \xf0\x9f", b"", b"z"]
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@given(st.lists(st.tuples(EVENT_LINES, ENDS)), st.lists(st.integers(1, 5)))
def test_pieces_do_not_matter(lines: list[tuple[bytes, bytes]], sizes: list[int]) -> None:
    """Any lines, in any pieces, give what they give at once."""
    stream = b"".join(line + end for line, end in lines)
    parser, position, events = EventParser(), 0, []
    for size in [*sizes, len(stream) + 1]:
        events += parser.feed(stream[position : position + size])
        position += size
    assert (events, parser.close()) == parse(stream)


@given(st.binary(max_size=300))
def test_any_bytes_of_events(stream: bytes) -> None:
    """Whatever the bytes, there are events with text data, and nothing raises."""
    events, left = parse(stream)
    assert all(isinstance(event.data, str) for event in [*events, *([left] if left else [])])


HIGH, LOW, FACE = "\ud83d", "\ude00", "\U0001f600"


def through(*events: ModelEvent) -> list[ModelEvent]:
    """The events as they come out."""
    split = SplitCharacters()
    return [*(whole for event in events for whole in split.take(event)), *split.end()]


def test_whole_texts_pass() -> None:
    """What is whole passes untouched."""
    event = TextDelta(text="é" + FACE)
    assert through(event)[0] is event


def test_halves_meet() -> None:
    """The first half waits; what else its event brought does not."""
    found = through(TextDelta(text="a" + HIGH, new=True), TextDelta(text=LOW + "b"))
    assert found == [TextDelta(text="a", new=True), TextDelta(text=FACE + "b")]
    calls = through(CallDelta(index=1, name="f", arguments=HIGH), CallDelta(index=1, arguments=LOW))
    assert calls == [CallDelta(index=1, name="f"), CallDelta(index=1, arguments=FACE)]


def test_halves_that_never_meet() -> None:
    """Another text, another item, the end: what is left is U+FFFD, in its place."""
    lost = TextDelta(text="\ufffd")
    end = Finished(reason="stop")
    assert through(TextDelta(text=HIGH), end) == [TextDelta(), lost, end]
    assert through(TextDelta(text=HIGH)) == [TextDelta(), lost]
    assert through(TextDelta(text=HIGH), TextDelta(text=LOW, new=True)) == [
        TextDelta(),
        lost,
        TextDelta(text="\ufffd", new=True),
    ]
    thought = ReasoningDelta(text=LOW)
    assert through(TextDelta(text=HIGH), thought) == [TextDelta(), lost, ReasoningDelta(text="\ufffd")]
    assert through(CallDelta(index=0, arguments=HIGH), CallDelta(index=1, arguments=LOW))[1:] == [
        CallDelta(index=0, arguments="\ufffd"),
        CallDelta(index=1, arguments="\ufffd"),
    ]
