"""Records: what is known of a call."""

from innkeeper.inference.response.response import ModelResponse, Usage
from innkeeper.service.guard.work import CallRecord


def test_several_turns() -> None:
    """The usage of all turns counts; what no turn tells stays unknown."""
    record = CallRecord()
    record.asks(route="local", model="asked")
    record.book(Usage(input_tokens=10, output_tokens=2), 0.5, estimated=False)
    record.book(Usage(), 0, estimated=False)
    record.book(Usage(input_tokens=5, cached_tokens=3), 0.25, estimated=False)
    record.answered(ModelResponse(id="resp_1", model="asked", created=1, finish="stop"))
    assert record.usage == Usage(input_tokens=15, output_tokens=2, cached_tokens=3)
    assert (record.tokens, record.cost, record.finish_reason, record.answered_by) == (17, 0.75, "stop", "asked")


def test_moments() -> None:
    """Moments are times of the day, in order."""
    record = CallRecord()
    record.asks(route="local")
    assert record.asked is not None
    assert record.at <= record.moment(record.asked)
    assert record.seconds >= 0
    record.ended = record.began + 1.5
    assert record.seconds == 1.5
