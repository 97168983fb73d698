"""Post-processing: steps of a template, each pure and versioned, whose differences make the text; never nothing of something."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.library.errors import FieldError
from innkeeper.library.templates.postprocessing import KEY, STEPS, Cast, PostProcessing, Processed

CAST = Cast("Mira", "Tomas")


def run(text: str, *steps: Any) -> Processed:
    """A text after some steps."""
    return PostProcessing.of({KEY: list(steps)}).run(text, CAST)


@pytest.mark.parametrize(
    ("step", "text", "after"),
    [
        ("labels", "Mira: Come in.", "Come in."),
        ("labels", "\n **Mira:** Come in.", "Come in."),
        ("labels", "assistant: Come in.", "Come in."),
        ("labels", "Come in.\nMira: Sit.", "Come in.\nMira: Sit."),
        ("labels", "Miranda: Come in.", "Miranda: Come in."),
        ("meta_labels", "Hello\nAI: Come in.\n**System:** x", "Hello\nCome in.\nx"),
        ("user_lines", "Come in.\nYou: I do.\ntomas: Hm.\nSit.", "Come in.\nSit."),
        ("user_lines", "Your hat: nice.", "Your hat: nice."),
        ("asides", "(me waves) Hello.\n(not me)", "**Narrator:** waves\nHello.\n(not me)"),
        ("narrator", "[Narrator] Rain.\nnarrator: More.", "**Narrator:** Rain.\n**Narrator:** More."),
        ("narrator", "**Narrator:** Rain.", "**Narrator:** Rain."),
        ("speaker", "Come in.\n\nSit.", "**Mira:** Come in.\n\nSit."),
        ({"step": "speaker", "most": 9}, "Come in.\n\n**Mira:** Sit.", "**Mira:** Come in.\n\n**Mira:** Sit."),
        ("emoji", "Hi \U0001f600 there \U0001f469\u200d\U0001f680!", "Hi there !"),
        ("blank_lines", "a  \n\n\n\nb \t\n\nc", "a\n\nb\n\nc"),
        ({"step": "words", "most": 3}, "One two. Three four five six.", "One two."),
        ({"step": "words", "most": 4}, "One, two three four five six.", "One, two three four"),
        ({"step": "words", "most": 9}, "One two.  ", "One two.  "),
        ({"step": "actions", "most": 1}, "*nods* Yes. *sits* **No.** *waves*", "*nods* Yes. **No.** "),
    ],
)
def test_each_step(step: Any, text: str, after: str) -> None:
    """What a step makes of a text."""
    assert run(text, step).text == after


def test_only_labels_where_a_template_says_nothing() -> None:
    """A template that names no steps has its label taken off; one that names none at all has nothing done."""
    text = "Mira: Hi \U0001f600\n\n\n\nYou: yes"
    assert PostProcessing.of({}).run(text, CAST).text == text.removeprefix("Mira: ")
    assert run(text) == Processed(text, text)


@pytest.mark.parametrize("steps", [["labels", "emoji", "blank_lines"], [*STEPS]])
@given(st.text(alphabet='aMira :*()\n\t.!You"\U0001f600[Narrator]me<>{}', max_size=300))
def test_differences_make_the_text(steps: list[str], text: str) -> None:
    """The original is kept; the differences of all steps, one after the other, give the text; only nothing becomes nothing."""
    done = run(text, *steps)
    now = done.original
    for report in done.steps:
        if report.kept:
            continue
        for one in reversed(report.differences):
            assert now[one.start : one.start + len(one.was)] == one.was
            now = now[: one.start] + one.now + now[one.start + len(one.was) :]
    assert (now, done.original) == (done.text, text)
    assert bool(done.text.strip()) is bool(text.strip())
    assert run(text, *steps) == done


def test_what_would_leave_nothing_is_kept() -> None:
    """A step that would take all of it away takes nothing, and says so."""
    done = run("You: I do.", "user_lines")
    assert (done.text, done.changed, done.steps[0].kept, done.steps[0].changed) == ("You: I do.", False, True, False)


@pytest.mark.parametrize(
    "listed",
    [
        "labels",
        ["label"],
        [7],
        [{"step": "labels", "most": 3}],
        [{"step": "words", "most": 0}],
        ["labels@2"],
        [{"x": 1}],
    ],
)
def test_what_is_no_step_is_an_error(listed: Any) -> None:
    """A step that there is not, another version of one, or a number where none belongs: an error, with near names."""
    with pytest.raises(FieldError):
        PostProcessing.of({KEY: listed})
    assert PostProcessing.of({KEY: ["labels@1"]}).steps == (("labels", 0),)


HOSTILE = {
    "blanks": " " * 50_000 + "x",
    "tabs and newlines": " \t\n" * 16_000,
    "dots": "." * 50_000 + "x",
    "stars": "*a" * 25_000,
    "asides": "(me " + " " * 49_000,
    "many asides": ("(me" + " " * 400 + "\n") * 120,
    "names": "Mira:" * 10_000,
    "brackets": "[narrator]" * 5_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_texts(text: str) -> None:
    """Texts that would stop careless patterns are processed like any other."""
    assert run(text, *STEPS).original == text
