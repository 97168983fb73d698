"""Replacement texts of JavaScript: what their signs stand for."""

from __future__ import annotations

import pytest

from innkeeper.text.javascript.substitution import replaced, substituted

SIDES = {"`": "before", "'": "behind"}
TEXTS = {
    "$&": "ab",
    "$1-$2": "a-b",
    "$3": "$3",
    "$0 $00 $": "$0 $00 $",
    "$01 $10 $12": "a a0 a2",
    "$$1": "$1",
    "$`|$'": "before|behind",
    "$<n>$<m>": "$<n>$<m>",
    "plain": "plain",
}


@pytest.mark.parametrize("template", TEXTS)
def test_a_sign_stands_for_a_part_of_the_match(template: str) -> None:
    """Without named groups ``$<`` is text; a number without a group, too."""
    assert substituted(template, ("ab", "a", "b"), SIDES.__getitem__, lambda _: None) == TEXTS[template]


def test_a_group_without_a_match_is_empty() -> None:
    """Named and numbered groups that matched nothing are empty."""
    assert substituted("[$1$<n>$<m>]", ("x", None), SIDES.__getitem__, lambda _: None, {"n": None}) == "[]"


@pytest.mark.parametrize(
    ("text", "old", "new", "result"),
    [
        ("banana", "a", "o", "bonono"),
        ("aba", "b", "[$&$`$']", "a[baa]a"),
        ("ab", "", "$$", "$a$b$"),
        ("ab", "", "-", "-a-b-"),
        ("ab", "x", "$&", "ab"),
    ],
)
def test_all_occurrences_are_replaced(text: str, old: str, new: str, result: str) -> None:
    """As ``replaceAll`` does it with a text to look for."""
    assert replaced(text, old, new, lambda _: None) == result


def test_what_is_made_is_counted() -> None:
    """The characters of parts are reported before they are copied."""
    spent: list[int] = []
    replaced("ab" * 10, "b", "$&$&$`", spent.append)
    assert sum(spent) >= len(replaced("ab" * 10, "b", "$&$&$`", lambda _: None)) - 20
