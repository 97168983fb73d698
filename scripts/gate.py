"""Measure the tier gate by the labelled texts: ``python scripts/gate.py [--wrong [KIND]] [--lang LANG] [--write]``.

Prints misses and false alarms by kind and by language. With ``--write`` it first packs the words of the data anew, and puts what
it prints into ``docs/tiers.md``. ``--wrong`` lists the texts that were judged wrongly, never those held out.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
TABLES: Final = ROOT / "src/innkeeper/gate/data/tables"
sys.path.insert(0, str(ROOT))

from innkeeper.gate.words.packing import packed  # noqa: E402 - the checkout must be on the path first
from tests import doors, labelled  # noqa: E402


def main() -> None:
    """Judge every text and tell the result."""
    options = _parser().parse_args()
    if options.write:
        for name, table in packed().items():
            (TABLES / f"{name}.json").write_bytes(table)
    answers = labelled.judged()
    if options.wrong is not None:
        for answer in answers:
            text = answer.text
            chosen = options.wrong in {"", text.kind, text.group} and options.lang in {None, text.lang}
            if chosen and answer.wrong and text.source != labelled.HELD_OUT:
                print(f"{text.group}\t{text.kind}\t{text.lang}\t{answer.passed}\t{' // '.join(text.texts.values())!r}")
        return
    print(labelled.table(answers))
    if options.write:
        labelled.PAGE.write_text(doors.page_with_doors(labelled.page_with(answers)), encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Measure the tier gate by the labelled texts.")
    parser.add_argument("--wrong", nargs="?", const="", metavar="KIND", help="list what is judged wrongly, of one kind")
    parser.add_argument("--lang", choices=labelled.LANGUAGES, help="with --wrong: of one language")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/tiers.md")
    return parser


if __name__ == "__main__":
    main()
