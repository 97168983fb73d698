"""ResponseFold: events put together item by item; whatever their order, what was said is there, and nothing is invented."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.errors import MAX_TOOL_CALLS
from innkeeper.inference.response.events import (
    CallDelta,
    Finished,
    ModelEvent,
    OtherOutput,
    ReasoningDelta,
    RefusalDelta,
    Started,
    TextDelta,
    UsageReport,
)
from innkeeper.inference.response.fold import ResponseFold, response_of
from innkeeper.inference.response.response import (
    CallItem,
    MessageItem,
    ModelResponse,
    OtherItem,
    ReasoningItem,
    RefusalPart,
    ResponseError,
    TextPart,
    Usage,
)
from innkeeper.prompt import FrozenDict

END = Finished(reason="stop")


def folded(*events: ModelEvent, **options: Any) -> ModelResponse:
    """The response of these events."""
    return response_of(events, **{"response_id": "resp_1", "model": "m", "created": 0, **options})


def test_messages() -> None:
    """Text goes on; `new` begins a message, `part` a part; a refusal is a part of its own."""
    response = folded(
        TextDelta(text="a"),
        TextDelta(text="b"),
        TextDelta(text="c", part=True),
        RefusalDelta(text="d"),
        TextDelta(text="e", new=True),
        RefusalDelta(text="f", new=True),
        END,
    )
    contents = [item.content for item in response.output if isinstance(item, MessageItem)]
    assert contents == [
        (TextPart(text="ab"), TextPart(text="c"), RefusalPart(refusal="d")),
        (TextPart(text="e"),),
        (RefusalPart(refusal="f"),),
    ]
    assert (response.text, response.refusal) == ("abce", "df")


def test_reasoning() -> None:
    """Thoughts and summaries, their paragraphs, their signatures in pieces, and one that is kept back."""
    response = folded(
        ReasoningDelta(text="a"),
        ReasoningDelta(text="b", part=True),
        ReasoningDelta(text="s", summary=True),
        ReasoningDelta(signature="x"),
        ReasoningDelta(signature="y"),
        ReasoningDelta(signature="z", new=True, redacted=True),
        END,
    )
    first, second = response.output
    assert first == ReasoningItem(id="rs_1_0", content=("a", "b"), summary=("s",), signature="xy")
    assert second == ReasoningItem(id="rs_1_1", signature="z", redacted=True)
    assert response.reasoning == "ab"


def test_calls() -> None:
    """Pieces of several calls at once go to their own; the first id and name count; order is that of their beginnings."""
    response = folded(
        CallDelta(index=3, call_id="a", name="f", arguments="{"),
        CallDelta(index=0, call_id="b", name="g"),
        CallDelta(index=3, call_id="other", name="other", arguments="}"),
        CallDelta(index=0, signature="s"),
        Finished(reason="tool_calls"),
    )
    assert response.calls == (
        CallItem(id="fc_1_0", call_id="a", name="f", arguments="{}"),
        CallItem(id="fc_1_1", call_id="b", name="g", signature="s"),
    )


def test_calls_are_limited() -> None:
    """Calls past the limit are left out and counted."""
    fold = ResponseFold("resp_1", "m", 0)
    for index in range(MAX_TOOL_CALLS + 2):
        fold.take(CallDelta(index=index, name="f"))
        fold.take(CallDelta(index=index, arguments="{}"))
    assert (len(fold.output), fold.left_out) == (MAX_TOOL_CALLS, 2)


def test_ids() -> None:
    """An item has the provider's own id where there is one, else one that follows from the answer's."""
    response = folded(
        TextDelta(text="a", item_id="msg_x"),
        ReasoningDelta(text="b", item_id="rs_x"),
        CallDelta(index=0, name="f", item_id="fc_x"),
        TextDelta(text="c"),
        END,
    )
    assert [item.id for item in response.output if not isinstance(item, OtherItem)] == [
        "msg_x",
        "rs_x",
        "fc_x",
        "msg_1_3",
    ]


def test_usage() -> None:
    """A later figure replaces an earlier one; one that is not told stays; nothing told is nothing."""
    early, late = Usage(input_tokens=5, output_tokens=1), Usage(output_tokens=9)
    assert folded(UsageReport(usage=early), UsageReport(usage=late), END).usage == Usage(
        input_tokens=5, output_tokens=9
    )
    assert folded(END).usage is None
    assert folded(END).to_dict()["usage"] is None


def test_facts() -> None:
    """What the provider says of itself is gathered; its word for the end is among it."""
    response = folded(
        Started(id="i", model="real", facts=FrozenDict({"a": 1})),
        Started(facts=FrozenDict({"b": 2, "a": 3})),
        Finished(reason="stop", word="eos"),
    )
    assert response.provider == {"id": "i", "model": "real", "a": 3, "b": 2, "finish_reason": "eos"}
    assert (response.id, response.model) == ("resp_1", "m")


@pytest.mark.parametrize(
    ("events", "error", "cancelled", "status"),
    [
        ((END,), None, False, "completed"),
        ((Finished(reason="tool_calls"),), None, False, "completed"),
        ((Finished(reason="refusal"),), None, False, "completed"),
        ((Finished(reason="length"),), None, False, "incomplete"),
        ((Finished(reason="content_filter"),), None, False, "incomplete"),
        ((Finished(reason="error"),), None, False, "failed"),
        ((), None, False, "incomplete"),
        ((), ResponseError("cut_stream", "It broke."), False, "failed"),
        ((), None, True, "cancelled"),
    ],
)
def test_status(events: tuple[ModelEvent, ...], error: ResponseError | None, cancelled: bool, status: str) -> None:
    """How an answer stands follows from how it ended; in one that is not whole, only the last item is not."""
    fold = ResponseFold("resp_1", "m", 0)
    for event in (TextDelta(text="a"), TextDelta(text="b", new=True), *events):
        fold.take(event)
    response = fold.response(error, cancelled=cancelled)
    assert response.status == status
    whole = "completed" if status == "completed" else "incomplete"
    assert [item.status for item in response.output if isinstance(item, MessageItem)] == ["completed", whole]


def test_other_items() -> None:
    """Items of other kinds keep their place and their words."""
    item = FrozenDict({"type": "web_search_call", "id": "ws"})
    response = folded(TextDelta(text="a"), OtherOutput(item=item), TextDelta(text="b"), END)
    assert [type(one).__name__ for one in response.output] == ["MessageItem", "OtherItem", "MessageItem"]
    assert response.to_dict()["output"][1] == item


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
EVENTS = st.lists(
    st.builds(TextDelta, text=TEXTS, new=st.booleans(), part=st.booleans())
    | st.builds(RefusalDelta, text=TEXTS, new=st.booleans())
    | st.builds(ReasoningDelta, text=TEXTS, summary=st.booleans(), new=st.booleans(), part=st.booleans())
    | st.builds(CallDelta, index=st.integers(0, 3), name=TEXTS, arguments=TEXTS)
    | st.builds(UsageReport, usage=st.builds(Usage, input_tokens=st.none() | st.integers(0, 9)))
    | st.builds(OtherOutput, item=st.just(FrozenDict({"type": "x"})))
    | st.builds(Started, id=st.none() | TEXTS)
    | st.just(END),
    max_size=20,
)


@given(events=EVENTS)
def test_any_events(events: list[ModelEvent]) -> None:
    """Whatever comes, all that was said is there in order, ids differ, and the response can be written."""
    fold = ResponseFold("resp_1", "m", 0)
    for event in events:
        fold.take(event)
        assert fold.response().text == fold.text
    response = fold.response()
    assert response.text == "".join(event.text for event in events if isinstance(event, TextDelta))
    assert response.refusal == "".join(event.text for event in events if isinstance(event, RefusalDelta))
    written = "".join(call.arguments for call in response.calls)
    assert sorted(written) == sorted("".join(event.arguments for event in events if isinstance(event, CallDelta)))
    ids = [item.id for item in response.output if not isinstance(item, OtherItem)]
    assert len(ids) == len(set(ids))
    assert response.to_dict()["object"] == "response"
