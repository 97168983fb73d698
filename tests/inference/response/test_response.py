"""ModelResponse: a strict superset of OpenAI's Responses object; what is not known is null."""

import json

import pytest

from innkeeper.inference.response.response import (
    CallItem,
    MessageItem,
    ModelResponse,
    OtherItem,
    ReasoningItem,
    RefusalPart,
    TextPart,
    Usage,
)
from innkeeper.prompt import FrozenDict

SEARCH = FrozenDict(
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}}
)
FULL = ModelResponse(
    id="resp_1",
    model="m",
    created=7,
    output=(
        ReasoningItem(id="rs_1", summary=("a", "b"), content=("c",), signature="s", redacted=True),
        MessageItem(id="msg_1", content=(TextPart(text="Hi"), RefusalPart(refusal="No."))),
        CallItem(id="fc_1", call_id="call_1", name="f", arguments="{}", signature="t"),
        OtherItem(item=SEARCH),
    ),
    usage=Usage(input_tokens=3, output_tokens=4, cached_tokens=1, cache_write_tokens=0, reasoning_tokens=2),
    finish="tool_calls",
    provider=FrozenDict({"id": "x"}),
)


def test_the_official_type_reads_it() -> None:
    """OpenAI's own type takes the object, with every item of its kind."""
    responses = pytest.importorskip("openai.types.responses", reason="needs the openai package")
    read = responses.Response.model_validate(FULL.to_dict())
    assert [item.type for item in read.output[:3]] == ["reasoning", "message", "function_call"]
    assert (read.output_text, read.usage.total_tokens) == ("Hi", 7)


def test_both_times_and_the_rest() -> None:
    """``created`` stands beside ``created_at``; thoughts, signatures and what the provider said are there; JSON takes it all."""
    body = FULL.to_dict()
    assert (body["created"], body["created_at"]) == (7, 7)
    assert body["output"][0]["encrypted_content"] == "s"
    assert body["output"][0]["redacted"] is True
    assert body["output"][2]["signature"] == "t"
    assert body["output"][3] == SEARCH
    assert (body["finish_reason"], body["provider"]) == ("tool_calls", {"id": "x"})
    assert json.loads(json.dumps(body))["output"][3] == SEARCH


def test_views() -> None:
    """Texts, refusals, calls and thoughts at a glance; a summary where there is nothing else."""
    assert (FULL.text, FULL.refusal, FULL.reasoning) == ("Hi", "No.", "c")
    assert [call.name for call in FULL.calls] == ["f"]
    bare = ModelResponse(id="r", model="m", created=0, output=(ReasoningItem(id="x", summary=("a", "b")),))
    assert bare.reasoning == "a\n\nb"


@pytest.mark.parametrize(
    ("usage", "total"),
    [
        (Usage(input_tokens=3, output_tokens=4), 7),
        (Usage(input_tokens=3, output_tokens=4, total_tokens=9), 9),
        (Usage(input_tokens=3), None),
        (Usage(), None),
    ],
)
def test_total(usage: Usage, total: int | None) -> None:
    """A total is the provider's own, else the sum where both are known, else not known."""
    assert usage.to_dict()["total_tokens"] == total


def test_what_is_unknown_is_null() -> None:
    """No figure is invented."""
    body = ModelResponse(id="r", model="m", created=0).to_dict()
    assert (body["usage"], body["error"], body["incomplete_details"], body["finish_reason"]) == (None, None, None, None)
    assert Usage(input_tokens=0).to_dict()["input_tokens_details"] == {}


@pytest.mark.parametrize(("finish", "reason"), [("length", "max_output_tokens"), ("content_filter", "content_filter")])
def test_incomplete(finish: str, reason: str) -> None:
    """Why it is not whole, in OpenAI's words."""
    body = ModelResponse(id="r", model="m", created=0, status="incomplete", finish=finish).to_dict()  # type: ignore[arg-type]
    assert body["incomplete_details"] == {"reason": reason}
