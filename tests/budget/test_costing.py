"""Costing: texts, metadata and overheads of messages."""

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.budget import Cost, Costing, framing_of, trim
from innkeeper.budget.costing import count_texts, whole
from innkeeper.prompt import Attachment, Block, FrozenDict, Message
from innkeeper.prompt.errors import UsageError
from innkeeper.tokens import FRAMINGS, NO_FRAMING, OPENAI, default_counter
from innkeeper.tokens.media import media_rule
from tests.budget.doubles import BLOCKS, Batch, Characters, block

CALLS = FrozenDict(tool_calls=({"id": "c1"},))
MESSAGE = Message("user", "Hi", "Bob", (Attachment("image", url="u"),), FrozenDict(tool_call_id="c1", other=1))
ELSEWHERE = media_rule(None, None).most
"""What a picture costs that is elsewhere."""


@given(st.lists(st.text(max_size=5), max_size=6))
def test_one_by_one_is_the_same_as_in_one_batch(texts: list[str]) -> None:
    """A counter without a batch is asked once for each different text."""
    counter = Characters()
    assert count_texts(counter, texts) == count_texts(Batch(), texts)
    assert len(counter.asked) == len(set(texts))


def test_content_alone() -> None:
    """Without a framing a message costs its text, and what its media cost."""
    assert Costing(counter=Characters()).costs([MESSAGE]) == [Cost(2, 0, ELSEWHERE, ELSEWHERE)]
    assert Costing(counter=Characters(), dialect="text").costs([MESSAGE]) == [Cost(2, 0, 0)]


def test_overheads_are_apart_from_the_text() -> None:
    """Role, name, framing, tool parts, a flat overhead, and media at their price."""
    costing = Costing(counter=Characters(), framing=OPENAI, message_overhead_tokens=10, attachment_tokens=100)
    fixed = 3 + 1 + 10 + 100
    assert costing.costs([MESSAGE]) == [Cost(2, 0, fixed + len("user") + len("Bob") + len("c1"), 100)]


def test_metadata_counts_as_the_json_it_is() -> None:
    """On request all of it counts, and then tool parts are not counted twice."""
    costing = Costing(counter=Characters(), framing=OPENAI, include_message_metadata_tokens=True)
    (cost,) = costing.costs([MESSAGE])
    assert cost.metadata == len('{"tool_call_id":"c1","other":1}')
    assert cost.overhead == 3 + 1 + len("userBob") + ELSEWHERE


def test_tool_calls_count_where_the_framing_says_so() -> None:
    """As JSON, like all providers get them."""
    asking = block("", role="assistant", message_metadata=CALLS)
    assert Costing(counter=Characters(), framing=OPENAI).totals([asking]) == [
        3 + len("assistant") + len('[{"id":"c1"}]')
    ]
    assert Costing(counter=Characters()).totals([asking]) == [0]


@given(BLOCKS, st.sampled_from(sorted(FRAMINGS)), st.booleans())
def test_totals_are_the_totals_of_the_costs(blocks: Any, framing: str, metadata: bool) -> None:
    """The quick way and the full one agree, for blocks and for their messages, under every framing."""
    costing = Costing(counter=Characters(), framing=FRAMINGS[framing], include_message_metadata_tokens=metadata)
    totals = costing.totals(blocks)
    assert totals == [cost.total for cost in costing.costs(blocks)]
    assert totals == costing.totals([b.message() for b in blocks])
    assert costing.total(blocks) == sum(totals) + FRAMINGS[framing].reply


@pytest.mark.parametrize("name", sorted(FRAMINGS))
def test_a_prompt_costs_what_its_framing_says(name: str) -> None:
    """The sum over messages is the framing's own count of the whole prompt."""
    counter = default_counter()
    messages = [
        Message("system", "Be brief."),
        Message("user", "Hi there", "Bob"),
        Message("assistant", "", metadata=CALLS),
    ]
    costing = Costing(counter=counter, framing=FRAMINGS[name])
    assert costing.total(messages) == FRAMINGS[name].count_messages(messages, counter)


def test_a_dialect_that_is_no_key_counts_as_any() -> None:
    """Totals are kept by how they were counted, where that can be a key."""

    @dataclass
    class Own:
        name: str = "openai"

    shapes: list[Any] = [None, Own()]
    costings = [Costing(counter=default_counter(), framing=OPENAI, model="gpt-4o", shape=shape) for shape in shapes]
    assert costings[0].totals([Message("user", "Hi")]) == costings[1].totals([Message("user", "Hi")])


def test_nothing_costs_nothing() -> None:
    """No messages, no tokens but the reply's."""
    assert Costing(counter=Characters()).costs([]) == []
    assert Costing(counter=Characters(), framing=OPENAI).total([]) == OPENAI.reply


@pytest.mark.parametrize("field", ["message_overhead_tokens", "attachment_tokens"])
def test_overheads_are_whole_numbers(field: str) -> None:
    """Checked when the costing is made."""
    wrong: dict[str, Any] = {field: -1}
    with pytest.raises(UsageError, match=field):
        msgspec.structs.replace(Costing(counter=Characters(), framing=NO_FRAMING), **wrong)


def test_metadata_of_odd_objects_is_counted_somehow() -> None:
    """What JSON cannot hold counts as it prints."""
    odd = Block(role="user", content="", message_metadata=FrozenDict(x=object))
    assert Costing(counter=Characters(), include_message_metadata_tokens=True).totals([odd]) == [
        len('{"x":"<class \'object\'>"}')
    ]


@pytest.mark.parametrize(
    ("dialect", "framing"),
    [
        (None, "openai"),
        ("openai", "openai"),
        ("responses", "openai"),
        ("mistral", "openai"),
        ("a dialect of one's own", "openai"),
        ("anthropic", "anthropic"),
        ("gemini", "google"),
        ("text", "none"),
    ],
)
def test_a_dialect_is_counted_as_its_provider_does(dialect: str | None, framing: str) -> None:
    """Measured providers by their own rule, one text for all messages by none, others as OpenAI."""
    assert framing_of(dialect).name == framing


def test_they_are_usage_errors() -> None:
    """Exit code 2, HTTP 400, each with a hint."""
    budgets: list[dict[str, Any]] = [{}, {"max_tokens": -1}]
    for budget in budgets:
        with pytest.raises(UsageError) as caught:
            trim([], counter=Characters(), **budget)
        error = caught.value
        assert isinstance(error, UsageError)
        assert (error.exit_code, error.http_status) == (2, 400)
        assert error.hint


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (-1, "not a negative number"),
        (1.5, "not a decimal number"),
        (True, "not true or false"),
        ("5", r"not text \(5\)"),
        (None, "not null"),
    ],
)
def test_what_is_no_number_of_tokens_is_shown(value: Any, says: str) -> None:
    """The parameter and what it was; huge values are shortened."""
    with pytest.raises(UsageError, match=f"max_tokens must be a whole number of tokens, {says}") as caught:
        whole("max_tokens", value)
    assert caught.value.details["name"] == "max_tokens"
    with pytest.raises(UsageError) as caught:
        whole("x", "y" * 10_000)
    assert len(str(caught.value)) < 200


def test_whole_numbers_pass() -> None:
    """From zero up."""
    assert [whole("x", value) for value in (0, 10**20)] == [0, 10**20]
