"""Keys made ready: plain ones by number, the others as what they are."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from innkeeper.lore.patterns import Patterns, key_tests


def test_keys_after_macros() -> None:
    """Without an index plain keys stay texts, braces are only text, and empty keys are left out."""
    tests = key_tests(["", " ferry ", "{{char}}", "/f/i"], exact_case=False, whole_words=True)
    assert [(test.text, test.number, test.regex is not None) for test in tests] == [
        ("ferry", None, False),
        ("{{char}}", None, False),
        ("/f/i", None, True),
    ]


@dataclass(frozen=True)
class Plain:
    """Keys, and whether all of them are plain texts (empty ones are nothing)."""

    keys: tuple[str, ...]
    plain: bool


PLAIN = (
    Plain(("ferry", " Two words ", ""), plain=True),
    Plain(("a/b", "a} b"), plain=True),
    Plain(("ferry", "/fer+y/"), plain=False),
    Plain((" /fer+y/",), plain=False),
    Plain(("{{char}}",), plain=False),
    Plain(("<user>",), plain=False),
    Plain(("a\\{",), plain=False),
    Plain(("  ",), plain=False),
)


@pytest.mark.parametrize("exact_case", [True, False])
@pytest.mark.parametrize("whole_words", [True, False])
@pytest.mark.parametrize("case", PLAIN, ids=lambda case: repr(case.keys))
def test_numbers_of_plain_keys(case: Plain, *, exact_case: bool, whole_words: bool) -> None:
    """The numbers seen at a glance are those that the keys have when they are made ready; other keys are not guessed at."""
    patterns = Patterns()
    numbers = patterns.numbers(case.keys, exact_case=exact_case, whole_words=whole_words)
    assert (numbers is not None) is case.plain
    if numbers is not None:
        count = len(patterns.done(unicode_words=False))
        tests = key_tests(case.keys, exact_case=exact_case, whole_words=whole_words, patterns=patterns)
        assert [test.number for test in tests] == numbers
        assert len(patterns.done(unicode_words=False)) == count
