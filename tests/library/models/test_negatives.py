"""Negative prompts: by family, tier and mode, in order, without repeats, within the window, and never from a higher tier."""

import pytest

from innkeeper.library.models.measure import CLIP, Measure, TokenizerSpec
from innkeeper.library.models.negatives import NegativeRow, join_negatives
from innkeeper.library.tier import Tier

WORDS = Measure("words", lambda text: len(text.split()))


def row(text: str, priority: int = 1, **more: object) -> NegativeRow:
    """A row for SDXL in the general tier."""
    return NegativeRow(str(more.pop("id", text)), "sdxl", text, priority=priority, **more)  # type: ignore[arg-type]


ROWS = (
    row("jpeg artifacts", 3),
    row("blurry", 1),
    row("worst quality", 2),
    row("bad anatomy", 4),
    row("off", 0, is_active=False),
    row("grain", 1, generation_mode="i2i"),
    NegativeRow("other", "wan", "static"),
    row("adult row", 1, content_mode=Tier.NSFW),
)


def test_lower_numbers_come_first() -> None:
    """The most important fragments are first, since a full window loses its end."""
    done = join_negatives(ROWS, "sdxl", Tier.SFW, "txt2img")
    assert done.text == "blurry, worst quality, jpeg artifacts, bad anatomy"
    assert [fragment.priority for fragment in done.kept] == [1, 2, 3, 4]
    assert (done.tier, done.skipped, done.dropped) == (Tier.SFW, "", ())
    assert done.tokens == CLIP.measure().count(done.text)


def test_equal_priorities_are_in_the_order_of_ids() -> None:
    """The same table gives the same prompt, whatever order its rows are read in."""
    rows = [row("b", id="2"), row("a", id="1")]
    assert join_negatives(rows, "sdxl", Tier.SFW, "txt2img").text == "a, b"
    assert join_negatives(rows[::-1], "sdxl", Tier.SFW, "txt2img").text == "a, b"


@pytest.mark.parametrize(
    ("tier", "mode", "text", "used"),
    [
        (Tier.NSFW, "txt2img", "adult row", Tier.NSFW),
        (Tier.NSFW, "i2i", "grain", Tier.SFW),
        (Tier.SFW, "i2i", "grain", Tier.SFW),
        (Tier.SFW, "inpaint", "", None),
    ],
    ids=["own tier", "falls to general", "own mode", "nothing"],
)
def test_fallback_goes_down_only(tier: Tier, mode: str, text: str, used: Tier | None) -> None:
    """The tier's rows, else the general tier's of the same family and mode, else none."""
    done = join_negatives(ROWS, "sdxl", tier, mode, measure=WORDS)
    assert (done.text, done.tier, bool(done.skipped)) == (text, used, not text)


def test_a_general_request_never_takes_an_adult_row() -> None:
    """Even when no other row is left."""
    done = join_negatives([row("adult row", content_mode=Tier.NSFW)], "sdxl", Tier.SFW, "txt2img")
    assert (done.text, done.skipped) == ("", "no_rows")


def test_an_image_takes_three() -> None:
    """Image to image: three fragments, the rest is listed."""
    rows = [row("blurry, worst quality", 1, generation_mode="i2i"), row("a, b", 2, generation_mode="i2i", id="x")]
    done = join_negatives(rows, "sdxl", Tier.SFW, "i2i", user_text="c", measure=WORDS)
    assert done.text == "blurry, worst quality, a"
    assert [(d.fragment.text, d.reason) for d in done.dropped] == [("b", "i2i_limit"), ("c", "i2i_limit")]


def test_repeats_are_left_out() -> None:
    """Of two that differ in case or spaces only, the first stays."""
    done = join_negatives(
        [row("Blurry, soft", 1), row("blurry ,  SOFT", 2)], "sdxl", Tier.SFW, "txt2img", user_text="soft"
    )
    assert done.text == "Blurry, soft"
    assert [d.reason for d in done.dropped] == ["duplicate"] * 3


def test_weights_in_brackets_are_one_fragment() -> None:
    """A comma in brackets parts nothing, and a bracket left open ends with the text."""
    done = join_negatives([row("(blurry, soft:1.2), ), (open, end", 1)], "sdxl", Tier.SFW, "txt2img", measure=WORDS)
    assert [fragment.text for fragment in done.kept] == ["(blurry, soft:1.2)", ")", "(open, end"]


def test_the_window_is_kept() -> None:
    """What does not fit is listed; what is smaller and comes later still may."""
    spec = TokenizerSpec("clip", "clip", 5, reserve=1)
    done = join_negatives(
        [row("a b", 1), row("c d e", 2), row("f g", 3)], "sdxl", Tier.SFW, "txt2img", spec=spec, measure=WORDS
    )
    assert (done.text, done.tokens) == ("a b, f g", 4)
    assert [(d.fragment.text, d.reason) for d in done.dropped] == [("c d e", "budget")]


def test_clip_prompts_fit_their_window() -> None:
    """Counted by CLIP's own vocabulary, a hundred rows give at most 75."""
    done = join_negatives([row(f"fault number {n}", n) for n in range(100)], "sdxl", Tier.SFW, "txt2img")
    assert 60 < done.tokens <= 75


def test_models_without_such_an_input_are_skipped() -> None:
    """The reason says why there is none."""
    done = join_negatives(ROWS, "sdxl", Tier.SFW, "txt2img", spec=None, user_text="mine")
    assert (done.text, done.kept, done.skipped) == ("", (), "no_negative_input")


def test_the_users_own_come_last() -> None:
    """They have no row."""
    done = join_negatives([row("blurry")], "sdxl", Tier.SFW, "txt2img", user_text="fog,, rain")
    assert [(fragment.text, fragment.row) for fragment in done.kept] == [
        ("blurry", "blurry"),
        ("fog", ""),
        ("rain", ""),
    ]
