"""Messages: thoughts that are kept back, and those that are only not shown, are blocks of their own kinds."""

import pytest

from innkeeper.inference.response.events import Finished, ModelEvent, ReasoningDelta, TextDelta, UsageReport
from innkeeper.inference.response.fold import ResponseFold, response_of
from innkeeper.inference.response.response import Usage
from innkeeper.inference.response.views.messages import MESSAGES

TEXT, END = TextDelta(text="Hi"), Finished(reason="stop")
CASES = {
    "kept_back": (
        (ReasoningDelta(signature="s", redacted=True, new=True),),
        {"type": "redacted_thinking", "data": "s"},
    ),
    "not_shown": ((ReasoningDelta(signature="s", new=True),), {"type": "thinking", "thinking": "", "signature": "s"}),
    "shown": (
        (ReasoningDelta(text="hm", new=True), ReasoningDelta(signature="s")),
        {"type": "thinking", "thinking": "hm", "signature": "s"},
    ),
}


@pytest.mark.parametrize(("thoughts", "block"), CASES.values(), ids=CASES)
def test_thoughts(thoughts: tuple[ModelEvent, ...], block: dict[str, str]) -> None:
    """What goes back is what came, whole and streamed."""
    events = (*thoughts, TEXT, END)
    response = response_of(events, response_id="resp_1", model="m", created=0)
    assert MESSAGES.whole(response)["content"][0] == block
    view = MESSAGES.stream(ResponseFold("resp_1", "m", 0))
    sent = [*view.start(), *(each for event in events for each in view.take(event)), *view.end()]
    told = [each.data for each in sent if isinstance(each.data, dict) and each.data.get("index") == 0]
    grown = dict(told[0]["content_block"])
    for delta in (each["delta"] for each in told if "delta" in each):
        name = delta["type"].removesuffix("_delta")
        grown[name] = grown[name] + delta[name]
    assert grown == block


def test_usage_that_nobody_reports_is_an_estimate_that_says_so() -> None:
    """Whole and at the end of a stream: four bytes count as a token, and a note tells them from a provider's figures."""
    fold = ResponseFold("resp_1", "m", 0, sent=b"x" * 401)
    view = MESSAGES.stream(fold)
    sent = [*view.start(), *(each for event in (TEXT, END) for each in view.take(event)), *view.end()]
    last = next(each.data for each in sent if each.name == "message_delta")
    for body in (MESSAGES.whole(fold.response()), last):
        assert isinstance(body, dict)
        assert (body["usage"]["input_tokens"], body["usage"]["output_tokens"]) == (101, 1)
        assert "estimates" in body["innkeeper"]["notes"][-1]
    reported = response_of(
        [UsageReport(usage=Usage(input_tokens=9, output_tokens=2)), TEXT, END],
        response_id="resp_1",
        model="m",
        created=0,
    )
    assert "innkeeper" not in MESSAGES.whole(reported)
