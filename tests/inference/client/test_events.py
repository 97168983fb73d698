"""Server-sent events: the same events whatever the pieces, and never anything but events or a limit."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.client.events import Event, EventParser
from innkeeper.prompt import LimitError


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


LINES = st.sampled_from(
    [b"data: a", b"data:", b"event: x", b"id: 1", b":", b"data: \xc3\xa9", b"data: \xf0\x9f", b"", b"z"]
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@given(st.lists(st.tuples(LINES, ENDS)), st.lists(st.integers(1, 5)))
def test_pieces_do_not_matter(lines: list[tuple[bytes, bytes]], sizes: list[int]) -> None:
    """Any lines, in any pieces, give what they give at once."""
    stream = b"".join(line + end for line, end in lines)
    parser, position, events = EventParser(), 0, []
    for size in [*sizes, len(stream) + 1]:
        events += parser.feed(stream[position : position + size])
        position += size
    assert (events, parser.close()) == parse(stream)


@given(st.binary(max_size=300))
def test_any_bytes(stream: bytes) -> None:
    """Whatever the bytes, there are events with text data, and nothing raises."""
    events, left = parse(stream)
    assert all(isinstance(event.data, str) for event in [*events, *([left] if left else [])])
