"""What is left out for want of room."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt.block import Origin
from innkeeper.prompt.errors import MaxTokensExceededError
from innkeeper.taverns.risu.line import PromptLine, line
from innkeeper.taverns.risu.window import LineCounter, fitted, without_oldest

COUNTER = LineCounter(len, "gpt4o")


def lines(lengths: list[int], memo: str | None = None) -> list[PromptLine]:
    """Lines of so many characters; the first with a memo."""
    made = [line("user", "x" * length, Origin("test"), "chat") for length in lengths]
    return [line("system", made[0].content, Origin("test"), "memory", memo=memo), *made[1:]] if memo else made


@given(st.lists(st.integers(0, 40), min_size=1, max_size=12), st.integers(1, 400))
def test_the_oldest_go_first(lengths: list[int], window: int) -> None:
    """What is left is the end of the list, as long as it may be; what is before it is left out."""
    history = lines(lengths)
    total = COUNTER.lines(history)
    try:
        left, rest = without_oldest(history, total, window, COUNTER)
    except MaxTokensExceededError:
        assert COUNTER.line(history[-1]) > window
        return
    assert left == history[len(history) - len(left) :]
    assert [*rest, *left] == history
    assert COUNTER.lines(left) <= window
    assert len(left) == len(history) or COUNTER.lines(history[-len(left) - 1 :]) > window


def test_a_summary_stays() -> None:
    """Those behind it go."""
    history = lines([10, 20, 20, 20], memo="supaMemory")
    left, _ = without_oldest(history, COUNTER.lines(history), 45, COUNTER)
    assert left == [history[0], history[3]]


def test_no_window_is_no_limit() -> None:
    """Nothing is left out, and nothing is refused."""
    history = lines([1000, 1000])
    assert without_oldest(history, 5000, 0, COUNTER) == (history, [])
    assert fitted(history, 0, COUNTER) == (history, [])


def test_only_removable_lines_go_at_the_end() -> None:
    """From the top; where they are not enough it is an error."""
    from msgspec.structs import replace

    first, second, third = lines([10, 10, 10])
    second_out = replace(second, removable=True)
    assert fitted([first, second_out, third], 35, COUNTER) == ([first, third], [second_out])
    with pytest.raises(MaxTokensExceededError):
        fitted([first, second, third], 35, COUNTER)


def test_names_count_for_all_but_gpt() -> None:
    """And each message has an overhead."""
    named = line("user", "abc", Origin("test"), "examples", name="example_user")
    assert COUNTER.line(named) == 8
    assert LineCounter(len, "mistral-large-latest").line(named) == 3 + 3 + 12 + 1


def test_an_applications_own_memory() -> None:
    """It gets the lines, their tokens and the window; a summary goes to the template's card."""
    from collections.abc import Sequence

    from innkeeper.prompt.block import OriginAsset
    from innkeeper.taverns import risu

    seen: list[tuple[int, int, int]] = []

    def shorten(lines: Sequence[PromptLine], total: int, window: int) -> Sequence[PromptLine]:
        seen.append((len(lines), total, window))
        summary = line("system", "All of it.", Origin(OriginAsset.HISTORY, "summary"), "memory", memo="hypaMemory")
        return [summary, *lines[-1:]]

    cards = [{"type": "memory", "innerFormat": "Before: {{slot}}"}, {"type": "chat"}]
    builder = risu.builder(character="Ann", message="Hi", preset={"promptTemplate": cards}, context_window=2000)
    plan = builder.configure_step("memory", shorten=shorten).build()
    assert [block.content for block in plan.blocks] == ["Before: All of it.", "Hi"]
    assert seen[0][0] == 3
    assert 300 < seen[0][1] < seen[0][2] == 2000


def test_biases_of_tokens() -> None:
    """By the model's own tokens; a text whose tokens nobody knows is noted."""
    from innkeeper.taverns import risu

    biases = [["Hello", -101], ["[[7]]", 5], ["\\n", 1], ["x", "y"], 3]
    own: dict[str, object] = {"database": {"bias": biases}, "character": {"bias": [["{{char}}", 2]]}}
    plan = risu.build(character="Ann", message="Hi", model="gpt4o", settings={"risu": own})
    others = dict.fromkeys(("24912", "32949", "40617"), -100)  # hello, with a blank before it and without
    assert plan.options["logit_bias"] == {"13225": -100, "7": 5, "198": 1, "27411": 2, **others}
    other = risu.build(character="Ann", message="Hi", model="nobody", settings={"risu": own})
    assert other.options["logit_bias"] == {"7": 5}
    assert any("tokens of nobody are not known" in note.message for note in other.notes)


LONG = [{"role": ("user", "assistant")[at % 2], "content": "w " * 30} for at in range(8)]


@pytest.mark.parametrize(
    ("cards", "chat"),
    [
        ([{"type": "plain", "text": "P"}], 0),
        ([{"type": "chat", "rangeStart": -1, "rangeEnd": "end"}], 1),
        ([{"type": "chat", "rangeStart": -1000}] * 3, 9),
    ],
)
def test_the_window_of_a_preset_refuses_nothing_that_risu_sends(cards: list[dict[str, Any]], chat: int) -> None:
    """A prompt without the user's words, and a chat that is sent twice, at the cost of the reply."""
    from innkeeper.taverns import risu

    preset = {"promptTemplate": cards, "maxContext": 520, "maxResponse": 300}
    plan = risu.build(character="Ann", history=LONG, model="mistral-large-latest", preset=preset)
    assert sum(block.slot == "chat" for block in plan.enabled_blocks) >= chat
    assert plan.options["max_tokens"] + plan.trim_report.final_tokens <= 520
