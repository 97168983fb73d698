"""The text of the language policy."""

from innkeeper.macros.verbatim import ALL_ZONES
from innkeeper.taverns.vibe.policy_text import policy_text


def test_short_lines() -> None:
    """A heading and a few short lines, each a bullet."""
    lines = policy_text("ja-JP", "casual", ("think", "lang")).splitlines()
    assert 5 <= len(lines) <= 8
    assert all(line.startswith("- ") for line in lines[1:])
    assert max(map(len, lines)) < 200


def test_what_it_says() -> None:
    """Language, style, verbatim zones, machine-read text, tool turns, tags."""
    text = policy_text("ja-JP", "casual", ("think", "lang"))
    for word in (
        "ja-JP",
        "casual",
        "code",
        "Liquid",
        "HTML",
        "XML",
        "URLs",
        "Markdown links",
        "tool names",
        "JSON keys",
        "<think>",
        "<lang code=",
    ):
        assert word in text
    assert len(ALL_ZONES) == 6  # a new zone must be named in the text


def test_without_style_and_tags() -> None:
    """What is not wanted is not said."""
    text = policy_text("fr")
    assert "Style" not in text
    assert "tags as it is" not in text
    assert "<lang" not in text
