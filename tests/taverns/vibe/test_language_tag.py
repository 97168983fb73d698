"""Language tags."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.taverns.vibe.language_tag import ALIASES, VIBETAVERN_LANGUAGES, canonical_tag, is_language


@pytest.mark.parametrize(("alias", "tag"), ALIASES.items(), ids=list(ALIASES))
def test_aliases(alias: str, tag: str) -> None:
    """Each alias, however it is written, stands for one of VibeTavern's languages."""
    assert tag in VIBETAVERN_LANGUAGES
    for spelling in (alias, alias.upper(), f" {alias.replace('-', '_')} "):
        assert canonical_tag(spelling) == tag


@given(st.one_of(st.text(max_size=40), st.from_regex(r"[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8}){0,3}", fullmatch=True)))
def test_any_text(text: str) -> None:
    """Any text has a canonical form, which is its own; asking whether it is a language never fails."""
    tag = canonical_tag(text)
    assert canonical_tag(tag) == tag
    assert is_language(tag) in {True, False}


@pytest.mark.parametrize("tag", ["", "x", "english", "en--US", "a" * 200, "zh_CN", "en-US\n", "-en"])
def test_no_languages(tag: str) -> None:
    """What is no tag is no language."""
    assert not is_language(tag)
