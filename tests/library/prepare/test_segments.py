"""Segments: made to fit by their roles, nothing lost unsaid; an enhancer is asked once to be shorter."""

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.library.errors import OverBudgetError
from innkeeper.library.models.facts import CLIP, Measure
from innkeeper.library.prepare.budget import Budget
from innkeeper.library.prepare.segments import Repair, Role, Segment, compress, fit_segments
from innkeeper.prompt.errors import ProviderError

WORDS = Measure("words", lambda text: len(text.split()))

PROMPT = (
    Segment("Wenna Skerrow, grey braid", Role.IDENTITY),
    Segment("pours a cup of tea", Role.ACTION),
    Segment("wool coat, brass buttons", Role.CLOTHING),
    Segment("in a harbour inn. Nets hang on the wall. Rain falls outside.", Role.SETTING),
    Segment("calm evening", Role.MOOD),
    Segment("oil painting", Role.STYLE),
    Segment("sharp focus", Role.QUALITY),
    Segment("35 mm", Role.TECHNICAL, weight=0.5),
)

STEPS = {
    "all fits": (99, [], []),
    "technical first": (32, [Role.TECHNICAL], ["budget"]),
    "then quality": (30, [Role.TECHNICAL, Role.QUALITY], ["budget"] * 2),
    "then mood": (28, [Role.TECHNICAL, Role.QUALITY, Role.MOOD], ["budget"] * 3),
    "then style": (26, [Role.TECHNICAL, Role.QUALITY, Role.MOOD, Role.STYLE], ["budget"] * 4),
    "then the setting's tail": (
        23,
        [Role.TECHNICAL, Role.QUALITY, Role.MOOD, Role.STYLE, Role.SETTING],
        ["budget"] * 4 + ["tail"],
    ),
}


@pytest.mark.parametrize(("room", "roles", "reasons"), STEPS.values(), ids=STEPS)
def test_roles_go_in_their_order(room: int, roles: list[Role], reasons: list[str]) -> None:
    """Quality and technical first, then mood, style, the end of the setting."""
    done = compress(PROMPT, room, WORDS)
    assert [dropped.role for dropped in done.dropped] == roles
    assert [dropped.reason for dropped in done.dropped] == reasons
    assert done.compressed is bool(roles)
    assert done.tokens <= room


def test_a_setting_loses_its_last_sentence_first() -> None:
    """A tail is cut after a sentence, and what went is told."""
    done = compress(PROMPT, 23, WORDS)
    tail = done.dropped[-1]
    assert "in a harbour inn. Nets hang on the wall." in done.text
    assert (tail.place, tail.text, tail.tokens) == (3, "Rain falls outside.", 3)


def test_identity_and_action_stay_whatever_they_say() -> None:
    """A segment cannot give up its identity or action."""
    segments = [
        Segment("Wenna", Role.IDENTITY, 0.0),
        Segment("sings", Role.ACTION, 0.0),
        Segment("good", Role.QUALITY, 9),
    ]
    assert compress(segments, 2, WORDS).text == "Wenna, sings"


def test_what_must_stay_is_cut_after_words_at_last() -> None:
    """Only when nothing else is left, the action loses its end, then the identity."""
    done = compress(PROMPT[:2], 6, WORDS)
    assert done.text == "Wenna Skerrow, grey braid, pours a"
    assert [(dropped.role, dropped.text, dropped.reason) for dropped in done.dropped] == [
        (Role.ACTION, "cup of tea", "cut")
    ]
    assert compress(PROMPT[:2], 2, WORDS).text == "Wenna, pours"


def test_too_little_room_is_an_error() -> None:
    """A prompt whose identity does not fit is refused, not emptied."""
    with pytest.raises(OverBudgetError):
        compress(PROMPT, 1, WORDS)
    with pytest.raises(OverBudgetError):
        compress([Segment("x" * 20, Role.IDENTITY)], 5, Measure("chars", len))


def test_a_minimum_is_kept() -> None:
    """A segment with a minimum is shortened to it, not dropped."""
    segments = [Segment("Wenna", Role.IDENTITY), Segment("a b c d e f", Role.STYLE, min=2), Segment("q", Role.QUALITY)]
    assert compress(segments, 4, WORDS).text == "Wenna, a b c"
    assert compress(segments, 3, WORDS).text == "Wenna, a b"
    with pytest.raises(OverBudgetError):
        compress(segments, 2, WORDS)


def test_a_segment_that_may_not_go_is_cut_before_actions() -> None:
    """Of what is never dropped, neither identity nor action is shortened first."""
    segments = [
        Segment("Wenna", Role.IDENTITY),
        Segment("sings a song", Role.ACTION),
        Segment("a b c", Role.MOOD, droppable=False),
    ]
    assert compress(segments, 5, WORDS).text == "Wenna, sings a song, a"


def test_empty_and_repeated_segments_are_listed() -> None:
    """Nothing goes without a reason."""
    segments = [Segment(" ", Role.MOOD), Segment("Wenna", Role.IDENTITY), Segment("wenna", Role.STYLE)]
    assert [dropped.reason for dropped in compress(segments, 9, WORDS).dropped] == ["empty", "duplicate"]


words = st.lists(st.sampled_from(["amber", "lamp", "harbour.", "rope,", "tide"]), min_size=1, max_size=8).map(" ".join)
segments = st.lists(
    st.builds(Segment, words, st.sampled_from(list(Role)), st.floats(0, 2), st.booleans(), st.integers(0, 3)),
    max_size=8,
)


@given(segments, st.integers(1, 60))
def test_what_is_compressed_fits_and_nothing_is_lost(parts: list[Segment], room: int) -> None:
    """It fits; words are whole; of identity and action a beginning stays; what is left and what went is all there was."""
    try:
        done = compress(parts, room, WORDS)
    except OverBudgetError:
        return
    assert WORDS.count(done.text) == done.tokens <= room
    gone = {place: [d.text for d in done.dropped if d.place == place] for place in range(len(parts))}
    left = list(done.segments)
    for place, part in enumerate(parts):
        whole = re.findall(r"\w+", " ".join(reversed(gone[place]))) == re.findall(r"\w+", part.text)  # all of it went
        fits = not whole and bool(left) and left[0].role is part.role and part.text.startswith(left[0].text)
        kept = left.pop(0).text if fits else ""
        reasons = {d.reason for d in done.dropped if d.place == place}
        assert kept or "duplicate" in reasons or part.role not in {Role.IDENTITY, Role.ACTION}
        told = " ".join([kept, *reversed(gone[place])])
        assert re.findall(r"\w+", told) == re.findall(r"\w+", part.text)
    assert not left


def test_clip_prompts_fit_their_window() -> None:
    """With CLIP's own count a long prompt fits its 75 positions."""
    parts = [*PROMPT, *(Segment(f"a lantern number {n} on the long oak table", Role.SETTING) for n in range(30))]
    measure = CLIP.measure()
    done = compress(parts, CLIP.limit_usable, measure)
    assert measure.most(done.text) <= 75
    assert done.text.startswith("Wenna Skerrow, grey braid, pours a cup of tea")


def whole(text: str) -> list[Segment]:
    """A text as one setting."""
    return [Segment(text, Role.SETTING)]


SHORT, OVER = "one two three four", ("repair:over_budget",)
ANSWERS: dict[str, tuple[str | None, str, bool, tuple[str, ...]]] = {
    "fits": ("one two three", "one two three", True, ()),
    "shorter but too long": ("six seven eight nine ten", "six seven eight nine", True, OVER),
    "longer": ("x " * 20, SHORT, False, OVER),
    "empty": (" ", SHORT, False, OVER),
    "nobody to ask": (None, SHORT, False, ()),
}


@pytest.mark.parametrize(("answer", "text", "repaired", "notes"), ANSWERS.values(), ids=ANSWERS)
def test_one_round_of_repair(answer: str | None, text: str, repaired: bool, notes: tuple[str, ...]) -> None:
    """The enhancer is asked once; its answer is taken where it helps; then the prompt is compressed."""
    asked: list[Repair] = []

    def ask(repair: Repair) -> str:
        asked.append(repair)
        return answer or ""

    long = "one two three four five six"
    done = fit_segments(long, Budget(4, 4), WORDS, segments_of=whole, ask=None if answer is None else ask)
    assert (done.text, done.repaired, done.notes) == (text, repaired, notes)
    assert asked == ([] if answer is None else [Repair(long, 6, 4)])


def test_a_failed_repair_is_noted() -> None:
    """A provider's error is no loss: the prompt is compressed, and the failure told."""

    def fail(repair: Repair) -> str:
        raise ProviderError("down")

    done = fit_segments("one two three", Budget(2, 2), WORDS, segments_of=whole, ask=fail)
    assert (done.text, done.notes) == ("one two", ("repair:provider",))


def test_what_fits_is_not_touched() -> None:
    """A text within its budget is returned as it is; nobody is asked."""
    done = fit_segments("one  two", Budget(2, 2), WORDS, segments_of=whole, ask=lambda _: "never")
    assert (done.text, done.compressed, done.repaired) == ("one  two", False, False)


@given(
    st.lists(st.sampled_from(["amber", "(long golden:1.2)", "{{ who is it }}", "<lora:my x:1>", "tide."]), min_size=1),
    st.sampled_from(list(Role)),
    st.integers(1, 20),
)
def test_compression_keeps_groups_whole(parts: list[str], role: Role, room: int) -> None:
    """Whatever is compressed, what is left are whole words and groups."""
    try:
        done = compress([Segment(" ".join(parts), role), Segment("Wenna", Role.IDENTITY)], room, WORDS)
    except OverBudgetError:
        return
    for opens, closes in ("()", "{}", "<>"):
        assert done.text.count(opens) == done.text.count(closes)


@pytest.mark.parametrize("least", [0, 3])
def test_compression_looks_at_a_prompt_a_few_times(least: int) -> None:
    """Twice as many segments are little more than twice as much to count, whatever they keep."""

    def counted(number: int) -> int:
        seen: list[int] = []
        measure = Measure("words", lambda text: seen.append(len(text)) or len(text.split()))  # type: ignore[func-returns-value]
        roles = list(Role)
        parts = [
            Segment(f"a lantern number {n} by the door", roles[n % len(roles)], min=least * (n % 2))
            for n in range(number)
        ]
        with contextlib.suppress(OverBudgetError):
            compress(parts, 400, measure)
        return sum(seen)

    assert counted(800) <= 2.5 * counted(400)
