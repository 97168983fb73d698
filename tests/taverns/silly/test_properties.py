"""What holds for every build of this tavern: budget, origins, determinism, order of inputs, growth of the chat."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import MaxTokensExceededError, StrictModeError
from innkeeper.prompt.errors import PipelineError
from innkeeper.taverns import silly
from tests.lore.books import entry
from tests.taverns.silly.builds import book, build, card, contents, request, turns

TEXTS = st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=40), max_size=8)
WORDS = st.lists(st.sampled_from(["lamp", "bell", "ferry", "{{user}}", "{{random::a::b}}", "rain\n"]), max_size=6)
HISTORIES = st.lists(WORDS.map(" ".join), max_size=8)
BOOK = book(
    entry(1, "bell", content="The bell is old.", position=0),
    entry(2, "ferry", content="{{char}} rows.", position=4, depth=1),
    entry(3, "lamp", probability=50, position=1),
)


@given(TEXTS, st.integers(120, 600), st.integers(0, 100))
def test_the_budget_is_never_exceeded(texts: list[str], window: int, reply: int) -> None:
    """Used and reserved tokens fit the window, whatever is said; or the build says why not."""
    preset = {"openai_max_context": window, "openai_max_tokens": reply or 1}
    try:
        plan = build(history=turns(*texts), preset=preset, lorebooks=[BOOK])
    except MaxTokensExceededError as error:
        plan, needed = None, error.estimated_tokens
    if plan is None:
        assert needed > window - (reply or 1)
        return
    report = plan.trim_report
    assert report.final_tokens + (reply or 1) <= window
    assert report.final_tokens <= report.budget_tokens


@given(HISTORIES, st.booleans())
def test_the_map_covers_the_text(texts: list[str], squash: bool) -> None:
    """Every character that is sent has an origin, and every range says its own text."""
    plan = build(history=turns(*texts), message="the bell", lorebooks=[BOOK], preset={"squash_system_messages": squash})
    for block in plan.enabled_blocks:
        assert "".join(piece.text for piece in block.ranges()) == block.content
        assert block.origin is not None
    assert plan.source_map("openai").exact


@given(HISTORIES, st.integers(0, 5))
def test_the_same_request_gives_the_same_bytes(texts: list[str], seed: int) -> None:
    """Also when other builds came between, and from a request that was written down and read again."""
    first = request(history=turns(*texts), message="ferry, bell, lamp", lorebooks=[BOOK], seed=seed)
    plan = silly.build(first)
    silly.build(request(history=turns(*texts, "more"), seed=seed + 1))
    assert silly.build(first).fingerprint() == plan.fingerprint()
    again = silly.build(type(first).from_json(first.to_json()))
    assert again.fingerprint() == plan.fingerprint()


@given(st.permutations(["a", "b", "c", "d"]))
def test_the_order_of_independent_inputs_does_not_matter(names: list[str]) -> None:
    """Injections at depths are sorted by their ids, options by nobody: their order in the request is not seen."""
    injections = [{"id": name, "content": name.upper(), "position": "chat", "depth": 1} for name in names]
    settings_: dict[str, Any] = {"power_user": {}, "generation": {}}
    plan = build(history=turns("x", "y"), injections=injections, settings=dict(reversed(settings_.items())))
    assert "A\nB\nC\nD" in contents(plan)


@given(HISTORIES.filter(bool), st.sampled_from(["rain", "lamp oil", "quiet"]))
def test_a_new_message_changes_nothing_before_it(texts: list[str], new: str) -> None:
    """With nothing at depths and no lore that fires, the old prompt is the beginning of the new one."""
    fixed = [text.replace("{{random::a::b}}", "") or "x" for text in texts]
    fields: dict[str, Any] = {"character": card(description="A clockmaker.")}
    before = contents(build(history=turns(*fixed), **fields))
    after = contents(build(history=turns(*fixed, new), **fields))
    assert after[: len(before)] == before
    assert after[-1] == new


def test_what_is_kept_of_messages_changes_no_prompt() -> None:
    """The same messages under another user, another names behaviour and another place give their own prompts."""
    history = request(history=turns("hi", "yes")).history
    named = {"names_behavior": 2}
    first = build(history=history, preset=named)
    assert "Sam: hi" in contents(first)
    assert "Ann: hi" in contents(build(history=history, preset=named, user={"name": "Ann"}))
    assert "hi" in contents(build(history=history))
    assert [b.id for b in build(history=history[1:]).blocks if b.content == "yes"] == ["history-0"]
    assert build(history=history, preset=named).fingerprint() == first.fingerprint()


def test_strict_mode_raises_what_would_be_a_warning() -> None:
    """An unknown macro and fixed prompts that are too long: warnings, or errors when strict."""
    assert build(message="{{nobody}}").warnings
    with pytest.raises((StrictModeError, PipelineError), match="nobody"):
        build(message="{{nobody}}", strict=True)


def test_fixed_prompts_that_do_not_fit() -> None:
    """The error carries the window as ``max_tokens`` and the reply as ``reserve_tokens``; or a warning when asked for."""
    fields: dict[str, Any] = {
        "character": card(description="lamp " * 500),
        "preset": {"openai_max_context": 300, "openai_max_tokens": 50},
        "message": "hi",
    }
    with pytest.raises(MaxTokensExceededError) as caught:
        build(**fields)
    error = caught.value
    assert (error.step, error.max_tokens, error.reserve_tokens, error.limit_tokens) == ("trimming", 300, 50, 250)
    assert error.estimated_tokens > 500
    plan = build(**fields, step_options={"trimming": {"on_overflow": "warn"}})
    assert "exceed the context" in plan.warnings[0].message


def test_what_is_left_out_is_listed() -> None:
    """Every message is in the prompt or among the evictions, with its tokens and a reason."""
    texts = [f"message {place} " + "rain " * 30 for place in range(12)]
    plan = build(history=turns(*texts), preset={"openai_max_context": 300, "openai_max_tokens": 50})
    sent = {block.content for block in plan.enabled_blocks}
    left = {block.content for block in plan.blocks if not block.enabled}
    assert sent | left >= set(texts)
    assert not sent & left
    records = plan.trim_report.evictions
    assert {record.block_id for record in records} == {block.id for block in plan.blocks if not block.enabled}
    assert all(record.token_count > 0 and record.reason for record in records)


LASTING = book(
    entry(1, "bell", sticky=4, position=0),
    entry(2, "ferry", content="{{random::bell::rain}}", cooldown=3, position=4, depth=1),
    entry(3, "lamp", probability=50, sticky=2, cooldown=2, position=1),
)


@given(HISTORIES, st.integers(0, 5), st.sampled_from([None, "text"]))
def test_the_steps_that_carry_leave_what_a_whole_build_leaves(texts: list[str], seed: int, dialect: str | None) -> None:
    """Turn after turn, in chats and in text completion, with a persona that is searched a turn later."""
    user = {"name": "U", "description": "A bell.", "position": 4, "depth": 1}
    asked = request(lorebooks=[LASTING], user=user, seed=seed, dialect=dialect)
    for end in range(len(texts)):
        asked = asked.with_(history=turns(*texts[:end]), message=texts[end])
        carried, plan = silly.build(asked, pipeline=silly.TAVERN.carrying(asked)), silly.build(asked)
        assert carried.carry == plan.carry
        asked = asked.with_(lore_state=plan.carry, variables=plan.variables)


def test_a_cache_friendly_prompt_takes_all_steps() -> None:
    """It leaves where it was cut."""
    assert silly.TAVERN.carrying(request(settings={"cache_friendly": True})) is None
