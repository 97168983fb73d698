"""Prose: sentences of the pages that are too long, and words that are this project's own inventions.

``python scripts/prose.py`` prints each with its page and line, and what share they are; ``--check`` fails above the bar.
Tables, code, headings, generated pages, decisions (``docs/adr``) and the changelog are left out.
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
WRITTEN_BY_PROGRAMS: Final = "<!-- Written by"
MOST_WORDS: Final = 25
"""Words of a sentence that a reader takes in at once."""

ALLOWED_SHARE: Final = 0.01
INVENTED: Final = re.compile(
    r"\b(what is (said|told|kept|given|wanted|found)|whoever comes first|dead letters? office|the letter that|settle[sd]? what"
    r"|of (which|whom) (each|one|some|none)|in the words of|as they have them|nobody is (asked|told)|is nobody)\b",
    re.IGNORECASE,
)
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
        return [*long, *(match.group() for match in INVENTED.finditer(self.text))]


def sentences(page: Path) -> Iterator[Sentence]:
    """Return the sentences of a page: of its paragraphs and of the items of its lists."""
    text = page.read_text("utf-8")
    if WRITTEN_BY_PROGRAMS in text[:200]:
        return
    text = _CODE.sub(lambda match: "\n" * match.group().count("\n"), text)
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
    """Print the faults; 1 with ``--check`` where they are more than the allowed share."""
    every = [sentence for page in pages() for sentence in sentences(page)]
    wrong = [sentence for sentence in every if sentence.faults]
    for each in wrong:
        print(f"{each.page.relative_to(ROOT)}:{each.line}: {', '.join(each.faults)}: {each.text[:150]}")
    share = len(wrong) / max(len(every), 1)
    print(f"{len(wrong):,} of {len(every):,} sentences ({share:.1%}, allowed {ALLOWED_SHARE:.0%})")
    return int("--check" in sys.argv and share > ALLOWED_SHARE)


if __name__ == "__main__":
    sys.exit(main())
