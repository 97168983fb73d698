"""Diffs: text, variables, configuration and tokens between two versions."""

from __future__ import annotations

from innkeeper.library.templates.diffs import Change, diff
from innkeeper.library.templates.template import Variable
from tests.library.making import made


def test_everything_that_changed() -> None:
    """Changed lines, variables and fields are listed, each with both sides, and the text's tokens on both."""
    before = made("t", "one\ntwo\n", variables="a b", token_limit=10, metadata={"x": 1})
    after = made("t", "one\nthree four\n", 2, variables="b c", token_limit=20, metadata={"y": 1}, target_model="m")
    found = diff(before, after)
    assert found.text == ("--- t@1", "+++ t@2", "@@ -1,3 +1,3 @@", " one", "-two", "+three four", " ")
    assert [(change.path, change.before is None, change.after is None) for change in found.variables] == [
        ("a", False, True),
        ("c", True, False),
    ]
    assert found.config == (
        Change("key.target_model", None, "m"),
        Change("metadata.x", 1, None),
        Change("metadata.y", None, 1),
        Change("token_limit", 10, 20),
    )
    assert (found.before, found.after, found.tokens, found.same) == ("id-t@1", "id-t@2", 1, False)


def test_changed_variable() -> None:
    """A variable that is declared otherwise is one change."""
    found = diff(made("t", variables="a"), made("t", variables=(Variable(name="a", max_tokens=3),)))
    assert [change.path for change in found.variables] == ["a"]
    assert found.text == ()


def test_same_content() -> None:
    """Versions with the same content differ in nothing, whatever their notes say."""
    assert diff(made("t", note="one"), made("t", version=2, note="two")).same


def test_long_texts_are_compared_up_to_a_limit() -> None:
    """What differs beyond the lines compared is still said to differ."""
    text = "line\n" * 6_000
    assert diff(made("t", text + "a"), made("t", text + "b")).text == ("beyond line 5000: different",)


def test_tokens_by_a_counter_of_ones_own() -> None:
    """A counter that is handed in counts, for the model that is named."""

    class Letters:
        def count(self, text: str, model: str | None = None) -> int:
            return len(text) * (2 if model == "double" else 1)

        def describe(self, model: str | None = None) -> dict[str, str]:
            return {"model": str(model)}

    found = diff(made("t", "ab"), made("t", "abc"), counter=Letters(), model="double")
    assert (found.tokens_before, found.tokens_after) == (4, 6)
