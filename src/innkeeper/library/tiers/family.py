"""Family: phrases in which a word of age only tells of somebody's family. They are few on purpose; most are English."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_NUMBER: Final = r"no|an?|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,2}|many|several|some|any|more"
_OTHER: Final = "other|young|small|grown|healthy|own|their|his|her|our|my|your"
_FEW: Final = rf"(?:(?:{_NUMBER}|{_OTHER}) ){{0,3}}"
_KIN: Final = (
    r"(?:child|children|kids?|infants?|toddlers?)\b"
    r"(?! (?:s )?(?:lovers?|brides?|grooms?|girlfriends?|boyfriends?|wi(?:fe|ves)|husbands?|dates?|partners?|sweethearts?"
    r"|romantic|romance|flirt|sedu|kiss))"
)
_PARENT: Final = r"(?:grand)?(?:fathers?|mothers?|parents?|ma|pa|mum|mom|dad)"
_SITTER: Final = rf"(?:(?:baby ?)?sitter|nanny|aunt|uncle|{_PARENT})"
_COURTED: Final = (
    r"(?P<courted>(?:with|kiss(?:es|ed|ing)?|seduc\w+|caress\w*|dat(?:es|ed|ing)|woo(?:s|ed|ing)?|court(?:s|ed|ing)?"
    r"|marr(?:y|ies|ied)|undress\w*) )?"
)
"""What makes somebody's child the one who is courted; it is no word of a family then."""

_STATUS: Final = (
    r"(?:divorced|widowed|separated|single|geschieden|verwitwet|alleinerziehend|verheiratet|divorcee?|separee?|veuf|veuve|mariee?"
    r"|divorciad[oa]|separad[oa]|viud[oa]|casad[oa]|viuv[oa]|divorziat[oa]|separat[oa]|vedov[oa]|sposat[oa])"
)
_COUNT: Final = (
    r"(?:\d|two|three|four|five|zwei|drei|vier|funf|deux|trois|quatre|cinq|dos|tres|cuatro|cinco|dois|duas|quatro|due|tre|quattro"
    r"|cinque)"
)
_CHILDREN: Final = r"(?:children|kids|kindern?|enfants|hij[oa]s|filh[oa]s|figli[ae]?|bambin[ie])"

_PHRASES: Final = (
    rf"{_COURTED}(?:my|our|his|her|their|your) (?:own |other |little |small )?(?:children|kids|twins)\b",
    r"(?:put|putting|puts|tuck|tucked|tucking|got|getting) (?:the )?(?:kids|children|twins|baby) (?:to|in|into) bed",
    rf"(?:had|has|have|having|bore|bears?|bearing|expecting) (?:(?:him|her|them|us) )?{_FEW}{_KIN}",
    rf"(?:rais|adopt|babysit|father)(?:es?|s|ed|ing|ting|t)? (?:the )?{_FEW}{_KIN}",
    rf"(?:look|looks|looked|looking) after (?:the )?{_FEW}{_KIN}",
    rf"{_PARENT} (?:of|to) (?:the )?{_FEW}{_KIN}",
    rf"(?:widow|widower|couple|family|single {_PARENT}) with {_FEW}{_KIN}",
    rf"{_SITTER} (?:watch|mind|keep|kept|take|took|ha)(?:s|es|ed|d|ing)? (?:the )?{_FEW}{_KIN}",
    r"(?:the )?(?:children|kids) (?:fell|are|were|got|get) (?:ill|sick|asleep|away|home|hungry|grown)\b",
    r"(?:the )?(?:child|children) of (?:the |these |two )?(?:lovers|couple|parents)\b",
    r"for (?:children|kids) and (?:adults|parents|grown ups)\b",
    r"(?:high |middle |old )?school (?:reunions?|boards?|fees)\b",
    rf"{_STATUS} (?:(?:mit|with|avec|con|com|and|und|et|e|y) )?{_COUNT} {_CHILDREN}\b",
    rf"(?:mutter|vater|mere|pere|madre|padre|mae|pai) (?:von|de) {_COUNT} {_CHILDREN}\b",
)
_ALL: Final = re.compile(rf"\b(?:{'|'.join(_PHRASES)})")
_GATE: Final = (
    "child",
    "kid",
    "kinder",
    "enfants",
    "hijos",
    "hijas",
    "filhos",
    "filhas",
    "figli",
    "bambini",
    "bambine",
    "infant",
    "toddler",
    "school reunion",
    "school board",
    "school fees",
)
"""What every one of the phrases has in it."""


def kin_in(text: str) -> Iterator[tuple[int, int]]:
    """Where a folded plain text tells of a family; asked only where an age word was found."""
    if any(map(text.__contains__, _GATE)):
        yield from (match.span() for match in _ALL.finditer(text) if not match["courted"])
