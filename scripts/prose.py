"""Prose: sentences of the pages that are too long, words that are this project's own inventions, and how many words there are.

``python scripts/prose.py`` prints each such sentence with its page and line, the share and the words; ``--check`` fails above a
bar. Sentences are those of paragraphs and lists; words are those of whole pages, tables and code too. Generated pages and parts,
decisions (``docs/adr``) and the changelog are left out.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
PAGES: Final = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
LEFT_OUT: Final = ("docs/adr/", "docs/_build/", "docs/reference/")
WRITTEN_BY_PROGRAMS: Final = re.compile(r"<!-- Written by|writes\s+this page")
MOST_WORDS: Final = 25
"""Words of a sentence that a reader takes in at once."""

ALLOWED_SHARE: Final = 0.01
ALLOWED_WORDS: Final = 55_000
INVENTED: Final = re.compile(
    r"\b(what is (said|told|kept|given|wanted|found)|whoever comes first|dead letters? office|the letter that|settle[sd]?"
    r"|of (which|whom) (each|one|some|none)|in the (very )?words of|in the words that|as they have them|nobody is (asked|told)"
    r"|is nobody|(is|are|was|were) told|told as|is the word|stands? (in|under|behind|beside|below)|(is|are) none\b(?! of)"
    r"|that there is not|(becomes|comes|became|came) of|desks?|shel(f|ves)|dear(er)?|goes by its|by the words of)\b",
    re.IGNORECASE,
)
_WRITTEN_PART: Final = re.compile(r"^<!-- (?:\w+: )?begin\b.*?^<!-- (?:\w+: )?end -->", re.MULTILINE | re.DOTALL)
_CODE: Final = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_NOT_PROSE: Final = re.compile(r"^(\||#|<!--|:::|\s*$|---)")
_SPAN: Final = re.compile(r"`[^`]*`|\]\([^)]*\)|<https?://[^>]*>")
_END: Final = re.compile(r"(?<=[.!?])[\"')*_\]]*\s+(?=[\"'(*_\[]*[A-Z0-9`])")
_WORD: Final = re.compile(r"[A-Za-z0-9][\w'’-]*|\u0060")


class Sentence(NamedTuple):
    """A sentence of a page: its text, where it stands, how many words it has."""

    page: Path
    line: int
    text: str

    @property
    def words(self) -> int:
        """How many words it has; a piece of code is one."""
        return len(_WORD.findall(_SPAN.sub("`", self.text)))

    @property
    def faults(self) -> list[str]:
        """What is wrong with it."""
        long = [f"{self.words} words"] if self.words > MOST_WORDS else []
        return [*long, *(match.group() for match in INVENTED.finditer(_SPAN.sub("`", self.text)))]


def written(page: Path) -> str:
    """Return what people wrote of a page; a part that a program writes is as many blank lines."""
    text = page.read_text("utf-8")
    return "" if WRITTEN_BY_PROGRAMS.search(text[:400]) else _WRITTEN_PART.sub(_blank_lines, text)


def _blank_lines(match: re.Match[str]) -> str:
    return "\n" * match.group().count("\n")


def sentences(page: Path) -> Iterator[Sentence]:
    """Return the sentences of a page: of its paragraphs and of the items of its lists."""
    text = _CODE.sub(_blank_lines, written(page))
    paragraph: list[str] = []
    start = 1
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        item = re.match(r"\s*([-*]|\d+\.)\s+", line)
        if paragraph and (item or _NOT_PROSE.match(line)):
            yield from (Sentence(page, start, part) for part in _END.split(" ".join(paragraph)) if part)
            paragraph = []
        if not _NOT_PROSE.match(line):
            start = start if paragraph else number
            paragraph.append(line.strip() if item is None else line[item.end() :].strip())


def pages() -> list[Path]:
    """Return the pages that people write."""
    return [page for page in PAGES if not str(page.relative_to(ROOT)).startswith(LEFT_OUT)]


def main() -> int:
    """Print the faults; 1 with ``--check`` where they are more than the allowed share, or the words too many."""
    every = [sentence for page in pages() for sentence in sentences(page)]
    wrong = [sentence for sentence in every if sentence.faults]
    for each in wrong:
        print(f"{each.page.relative_to(ROOT)}:{each.line}: {', '.join(each.faults)}: {each.text[:150]}")
    share, words = len(wrong) / len(every), sum(len(written(page).split()) for page in pages())
    print(f"{len(wrong):,} of {len(every):,} sentences ({share:.1%}, allowed {ALLOWED_SHARE:.0%})")
    print(f"{words:,} words (allowed {ALLOWED_WORDS:,})")
    return int("--check" in sys.argv and (share > ALLOWED_SHARE or words > ALLOWED_WORDS))


if __name__ == "__main__":
    sys.exit(main())
