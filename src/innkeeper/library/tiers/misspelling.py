"""Misspelling: the slips of the hand that leave a word readable: a letter left out, doubled or changed places, another vowel."""

from __future__ import annotations

from typing import Final

__all__ = ["misspellings"]

_SHORTEST: Final = 5
"""Shorter words are other words with one letter changed."""

_VOWELS: Final = "aeiou"


def misspellings(word: str) -> set[str]:
    """A folded word or phrase with one slip in it, without the word itself; nothing for a short one. The first letter stays."""
    if len(word) < _SHORTEST or not word.isascii():
        return set()
    slips = set()
    for at in range(1, len(word)):
        before, letter, after = word[:at], word[at], word[at + 1 :]
        if letter == " ":
            continue
        slips |= {before + after, before + letter * 2 + after}
        if after[:1].strip():
            slips.add(before + after[0] + letter + after[1:])
        if letter in _VOWELS:
            slips |= {before + vowel + after for vowel in _VOWELS}
    return slips - {word}
