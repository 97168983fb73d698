"""Language tags: one spelling for each language, and whether there is such a language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

__all__ = ["ALIASES", "VIBETAVERN_LANGUAGES", "canonical_tag", "is_language"]

VIBETAVERN_LANGUAGES: Final = ("en-US", "zh-CN", "zh-TW", "ko-KR", "ja-JP", "yue-HK")
"""The languages that VibeTavern itself allows: pass them as ``allowed`` for the same."""

ALIASES: Final[Mapping[str, str]] = {
    "en": "en-US",
    "en-us": "en-US",
    "zh-cn": "zh-CN",
    "zh-hans": "zh-CN",
    "zh-hans-cn": "zh-CN",
    "zh-tw": "zh-TW",
    "zh-hant": "zh-TW",
    "zh-hant-tw": "zh-TW",
    "ko": "ko-KR",
    "ko-kr": "ko-KR",
    "ja": "ja-JP",
    "ja-jp": "ja-JP",
    "yue": "yue-HK",
    "yue-hk": "yue-HK",
}
"""Tags in lower case and the tag they stand for (VibeTavern's table)."""

_LONGEST: Final = 100
_PARTS: Final = re.compile(r"[A-Za-z0-9]{1,8}(?:-[A-Za-z0-9]{1,8})*")


@lru_cache(maxsize=256)
def canonical_tag(tag: str) -> str:
    """The usual spelling of a tag: by the alias table, else as BCP 47 has it. What is no tag stays as written.

    >>> canonical_tag("zh_hans"), canonical_tag("PT-br"), canonical_tag("plain English")
    ('zh-CN', 'pt-BR', 'plain English')
    """
    spelled = tag.strip().replace("_", "-")
    if spelled.lower() in ALIASES:
        return ALIASES[spelled.lower()]
    if len(spelled) > _LONGEST or not _PARTS.fullmatch(spelled):
        return tag.strip()
    import langcodes

    try:
        standard: str = langcodes.standardize_tag(spelled)
    except ValueError:
        return tag.strip()
    return ALIASES.get(standard.lower(), standard)


@lru_cache(maxsize=256)
def is_language(tag: str) -> bool:
    """Whether a tag is valid: well-formed, and each part of it registered."""
    if len(tag) > _LONGEST or not _PARTS.fullmatch(tag):
        return False
    import langcodes

    return bool(langcodes.tag_is_valid(tag))
