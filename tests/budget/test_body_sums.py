"""The sum is made from the body that is sent, and the answer's limit in the body is the reserve: one rule in every tavern."""

from __future__ import annotations

import base64
from typing import Any, cast

import pytest

from innkeeper.budget import accounting
from innkeeper.inference import PromptRunner, RunnerConfig
from innkeeper.prompt import MaxTokensExceededError, NoteKind
from innkeeper.prompt.payload.dialect import reply_limit
from innkeeper.taverns import TAVERNS, vibe
from tests.properties.test_bodies_fit import picture

TAVERN_NAMES = sorted(TAVERNS)
DIALECTS = ("openai", "anthropic", "gemini", "mistral", "responses", "sillytavern")
SCHEMA = {
    "type": "object",
    "properties": {f"field_{number}": {"type": "string", "description": "lantern " * 20} for number in range(40)},
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("tavern", TAVERN_NAMES)
@pytest.mark.parametrize("is_named", [True, False], ids=["named", "when-rendered"])
def test_the_answers_limit_in_the_body_is_the_reserve(tavern: str, dialect: str, is_named: bool) -> None:
    """Whether the build knows the dialect or not."""
    named: dict[str, Any] = {"dialect": dialect} if is_named else {}
    plan = TAVERNS[tavern].build(
        message="hi", context_window=300, reserved_tokens=7, model="claude-sonnet-4-5", **named
    )
    assert reply_limit(plan.to_request(dialect).body) == 7


@pytest.mark.parametrize("tavern", TAVERN_NAMES)
@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens", "max_output_tokens"])
def test_an_option_raises_the_reserve_and_is_refused_beyond_the_window(tavern: str, name: str) -> None:
    """Under each of its names; the body asks for what the option says."""
    build, beyond = TAVERNS[tavern].build, cast("dict[str, Any]", {name: 900})
    plan = build(message="hi", context_window=500, reserved_tokens=20, options={name: 90})
    assert accounting(plan).reserve == reply_limit(plan.to_request().body) == 90
    for way in (
        lambda: build(message="hi", context_window=500, options=beyond),
        lambda: build(message="hi", context_window=500).to_request("openai", **beyond),
    ):
        with pytest.raises(MaxTokensExceededError):
            way()


@pytest.mark.parametrize("tavern", TAVERN_NAMES)
def test_a_reserve_of_zero_is_one_that_was_given(tavern: str) -> None:
    """No tavern puts its own in its place."""
    plan = TAVERNS[tavern].build(message="hi", context_window=60, reserved_tokens=0)
    assert accounting(plan).reserve == reply_limit(plan.to_request("openai").body) == 0


@pytest.mark.parametrize("tavern", TAVERN_NAMES)
def test_a_picture_costs_what_the_provider_takes(tavern: str) -> None:
    """A body that is larger than its window by a picture is refused, or goes without it."""
    with_picture = [{"role": "user", "content": [{"type": "text", "text": "see"}, picture(1024, 1024)]}]
    asked: dict[str, Any] = {"message": "hi", "model": "gpt-4o", "dialect": "openai"}
    build = TAVERNS[tavern].build
    sums = accounting(build(history=with_picture, context_window=3000, reserved_tokens=0, **asked))
    bare = build(history=[{"role": "user", "content": "see"}], context_window=3000, reserved_tokens=0, **asked)
    assert sums.media == 765
    assert sums.total - accounting(bare).total == 765
    assert "iVBOR" not in str(
        build(history=with_picture, context_window=400, reserved_tokens=0, **asked).to_request().body
    )


@pytest.mark.parametrize("tavern", ["vibe", "smart", "template"])
def test_what_cannot_be_known_is_an_estimate_with_a_note(tavern: str) -> None:
    """The note says what could not be read, and as what it counts."""
    document = {"type": "document", "source": {"type": "url", "url": "https://x.test/a.pdf"}}
    plan = TAVERNS[tavern].build(
        history=[{"role": "user", "content": [{"type": "text", "text": "read"}, document]}],
        message="hi",
        context_window=90_000,
        model="claude-sonnet-4-5",
        dialect="anthropic",
    )
    (note,) = (note for note in plan.notes if note.data.get("attachments"))
    assert note.kind is NoteKind.ESTIMATE
    assert note.message == "its pages cannot be read of 1 file attachment: counted as 46,000 tokens"
    assert accounting(plan).media == 46_000


@pytest.mark.parametrize("tavern", TAVERN_NAMES)
def test_the_schema_of_the_answer_counts(tavern: str) -> None:
    """A prompt that has no room for it is refused, whether the build knows of it or the rendering."""
    build = TAVERNS[tavern].build
    form = {"type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA}}
    assert accounting(build(message="hi", context_window=9000, options={"response_format": form})).schema > 1000
    for way in (
        lambda: build(message="hi", context_window=500, reserved_tokens=9, options={"response_format": form}),
        lambda: build(message="hi", context_window=500, reserved_tokens=9).to_request("openai", response_format=form),
    ):
        with pytest.raises(MaxTokensExceededError):
            way()


@pytest.mark.parametrize("dialect", ["anthropic", "gemini"])
@pytest.mark.parametrize("tavern", ["vibe", "smart", "template"])
def test_thoughts_that_are_sent_back_count(tavern: str, dialect: str) -> None:
    """To providers that get them; to others they cost nothing."""
    thinking = {
        "role": "assistant",
        "content": "Yes.",
        "reasoning": [{"text": "long thought " * 60, "signature": "s" * 40}],
    }
    asked: dict[str, Any] = {
        "history": [{"role": "user", "content": "?"}, thinking],
        "message": "hi",
        "context_window": 4000,
    }
    sums = accounting(TAVERNS[tavern].build(**asked, dialect=dialect))
    assert sums.reasoning > 120
    assert accounting(TAVERNS[tavern].build(**asked, dialect="openai")).reasoning == 0


def test_blocks_that_only_one_provider_reads_count_there() -> None:
    """Such as the search that Anthropic's server did."""
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "lantern " * 50}}
    asked: dict[str, Any] = {
        "history": [
            {"role": "user", "content": "?"},
            {"role": "assistant", "content": [search, {"type": "text", "text": "Y"}]},
        ],
        "message": "hi",
    }
    there, elsewhere = (accounting(vibe.build(**asked, dialect=dialect)).total for dialect in ("anthropic", "openai"))
    assert there - elsewhere > 50


@pytest.mark.parametrize("tavern", TAVERN_NAMES)
@pytest.mark.parametrize("hint", ["gpt-4", "gpt-4o"])
def test_what_decides_is_what_is_shown(tavern: str, hint: str) -> None:
    """The counter that trims is the one that accounting shows: that of the hint, where there is no model."""
    history = [
        {"role": "user", "content": f"{number} " + "Ælfgifu 港 antidisestablishmentarianism " * 9}
        for number in range(40)
    ]
    asked: dict[str, Any] = {"history": history, "message": "hi", "context_window": 3000, "reserved_tokens": 100}
    hinted = TAVERNS[tavern].build(**asked, meta={"model_hint": hint})
    modelled = TAVERNS[tavern].build(**asked, model=hint)
    budget = accounting(hinted)
    assert (budget.tokenizer, budget.total) == (accounting(modelled).tokenizer, accounting(modelled).total)
    assert hinted.messages == modelled.messages
    assert budget.free is not None
    assert 0 <= budget.free < (250 if tavern == "risu" else 200)  # RisuAI keeps a margin of 50 tokens


class Nobody:
    """A client that is never asked."""

    def chat_completions(self, **_request: Any) -> Any:
        """Fail."""
        raise AssertionError


def test_options_of_a_runner_are_judged_by_window_and_model() -> None:
    """They are sent as they are; beyond the window they are refused, and what the model does not take is a note."""
    runner, config = PromptRunner(client=Nobody()), RunnerConfig.build(provider="openai", model="gpt-4o")
    asked: dict[str, Any] = {"message": "hi", "request": {"context_window": 600}}
    with pytest.raises(MaxTokensExceededError):
        runner.build_request(config, **asked, llm_options={"max_tokens": 700})
    made = runner.build_request(config, **asked, llm_options={"temperature": "hot", "zzz": 1, "max_tokens": 100})
    assert made.payload["max_tokens"] == accounting(made.plan).reserve == 100
    assert [note.message for note in made.notes] == [
        "llm_options: sent as it is, but openai: option 'temperature' is not sent: 'hot' is not a number",
        "llm_options: sent as it is, but openai: option 'zzz' is not sent",
    ]


def test_a_text_file_costs_its_text() -> None:
    """Counted by the plan's own counter."""
    text = "the reef is safe " * 20
    part = {"type": "file", "data": base64.b64encode(text.encode()).decode(), "media_type": "text/plain"}
    plan = vibe.build(
        history=[{"role": "user", "content": [{"type": "text", "text": "read"}, part]}],
        message="hi",
        dialect="anthropic",
        model="claude-sonnet-4-5",
    )
    assert 60 < accounting(plan).media < 120


FORM = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}
TOOL = {"name": "look", "description": "Look around.", "parameters": {"type": "object"}}


@pytest.mark.parametrize("tavern", ["silly", "vibe", "smart", "risu"])
@pytest.mark.parametrize("fields", [{}, {"tools": [TOOL]}, {"options": {"response_format": FORM}}], ids=str)
@pytest.mark.parametrize("dialect", [None, "openai", "anthropic", "gemini", "text"])
@pytest.mark.parametrize("window", [600, 8_000])
def test_a_prompt_has_one_count(tavern: str, fields: dict[str, Any], dialect: str | None, window: int) -> None:
    """The report of trimming and the shown sum are one figure, whoever decided what was left out, and by what count."""
    history = [{"role": ("user", "assistant")[at % 2], "content": f"line {at} of the reef " * 4} for at in range(60)]
    fields = {"message": "hi", "history": history, "context_window": window, "reserved_tokens": 50, **fields}
    plan = TAVERNS[tavern].build(model="gpt-4o", dialect=dialect, **fields)
    report, shown = plan.trim_report, accounting(plan)
    if report is not None:
        assert (report.final_tokens if report.sent_tokens is None else report.sent_tokens) == shown.total
        assert report.initial_tokens == report.final_tokens + sum(record.token_count for record in report.evictions)
