"""What a model wrote of a moment: tags, faults, and what is left once the faults are cut out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.operations.scenes.text import cut_faults, read_narrative, read_tags, repair_text

GOOD = "Mira stands at the counter of a dim kitchen. Steam rises from a copper kettle beside her."


def test_tags() -> None:
    """Tags are taken out of the text; of two of one kind the first counts."""
    tags = read_tags(f"[SCENE_NAME: Tea  time] {GOOD} [scene_desc: Late.] [SCENE_NAME: other]")
    assert (tags.text, tags.name, tags.description) == (GOOD, "Tea time", "Late.")
    assert read_tags("[SCENE_NAME: left open").name == "left open"


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        (GOOD, ()),
        ("Mira isn't alone: Tom's coat hangs by the door, and the cat's asleep.", ()),
        (f"**{GOOD}**", ()),
        (f'{GOOD} "Come in," she says.', ("dialogue",)),
        (f"{GOOD} “Come in.”", ("dialogue",)),
        ("I look at the kitchen, and my kettle steams.", ("first_person",)),
        (f"{GOOD} I'm tired.", ("first_person",)),
        ('She says "I am here" in the doorway.', ("dialogue",)),
        ("word " * 61, ("too_long",)),
        ("A kitchen.", ("too_short",)),
    ],
)
def test_faults(text: str, faults: tuple[str, ...]) -> None:
    """Speech, the first person, too many words and too few are faults; an apostrophe is none."""
    assert read_narrative(text, 60).faults == faults


def test_as_many_words_as_the_template_allows() -> None:
    """The limit is that of the template's row, for the faults, what the model is told, and the cut."""
    text = "One two three four five six. Seven eight nine ten eleven twelve."
    assert read_narrative(text, 12).faults == ()
    narrative = read_narrative(text, 8)
    assert narrative.faults == ("too_long",)
    assert "8 words" in repair_text(narrative, 8)
    assert cut_faults(narrative, 8).text == "One two three four five six."


def test_cut_faults() -> None:
    """What nothing is wrong with stays word for word; what is left of the rest may still be a fault."""
    text = "Mira isn't alone. \"Who's there?\" I ask. Tom's coat hangs by the old door."
    done = cut_faults(read_narrative(text, 60), 60)
    assert done.text == "Mira isn't alone. Tom's coat hangs by the old door."
    assert done.faults == ()
    assert cut_faults(read_narrative("I am. I was.", 60), 60).faults == ("too_short",)


@given(st.text(max_size=200), st.integers(20, 200))
def test_mending_cuts_only(text: str, most: int) -> None:
    """No word is added, and no more are left than there may be."""
    done = cut_faults(read_narrative(text, most), most)
    assert len(done.text.split()) <= most
    assert not {"dialogue", "first_person", "too_long"} & set(done.faults)
    without = str.maketrans("", "", "*_`#")
    assert all(word.translate(without) in text.translate(without) for word in done.text.split())
