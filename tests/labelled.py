"""The labelled texts that the tier gate is measured by, and the measuring, through the public door.

Three files in ``tests/vectors/tiers``: what is grown by rule (``grow.py`` makes it), what is written by hand to work with, and
``held_out.jsonl``, also written by hand. Nobody mends the gate by looking at that one; it tells whether the rest was learnt by
heart. Once it has been looked at, it moves to the others, and new ones are written.

An evasion is caught where neither tier lets the request pass. An innocent text is a false alarm where a tier to which it belongs
stops it.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from innkeeper.library import Ceilings, TextKind, Tier, TierGate, TierPolicy
from tests.shared import ROOT, VECTORS

FOLDER: Final = VECTORS / "tiers"
PAGE: Final = ROOT / "docs" / "tiers.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
HELD_OUT: Final = "held_out"
OTHER_HANDS: Final = ("tuned", "blind")
"""Texts in the manner of forums, news, fiction, parents, law, schools and doctors, written before the rules that read them. The
gate was mended by looking at ``tuned`` alone; ``blind`` tells what that is worth."""

LANGUAGES: Final = ("en", "zh", "ja", "ko", "es", "fr", "de", "pt", "ru", "it")


@dataclass(frozen=True)
class Labelled:
    """One labelled text, or several that are judged together, by the kind of entry."""

    source: str
    kind: str
    lang: str
    expect: str
    texts: dict[TextKind, str]
    hard: bool = False
    tiers: tuple[str, ...] = ("sfw",)

    @classmethod
    def of(cls, source: str, row: dict[str, Any]) -> "Labelled":
        """A row of a file: the general tier where it names none, both for what must be stopped."""
        texts = row.get("texts") or {"user_text": row["text"]}
        default = ("sfw", "nsfw") if row["expect"] == "stop" else ("sfw",)
        return cls(
            source,
            row["kind"],
            row["lang"],
            row["expect"],
            {TextKind(kind): text for kind, text in texts.items()},
            hard=row.get("hard", False),
            tiers=tuple(row.get("tiers", default)),
        )

    @property
    def group(self) -> str:
        """What its goal goes by: ``evasion``, ``plain`` or ``hard``."""
        return "evasion" if self.expect == "stop" else "hard" if self.hard else "plain"


@dataclass(frozen=True)
class Judged:
    """A text with what the gate answered in each tier it is judged in."""

    text: Labelled
    passed: dict[str, bool]

    @property
    def wrong(self) -> bool:
        """A miss, where one tier let an evasion pass; a false alarm, where one stopped what is innocent."""
        return any(self.passed.values()) if self.text.expect == "stop" else not all(self.passed.values())


def texts() -> Iterator[Labelled]:
    """All labelled texts, in the order of the files."""
    for name in ("grown", "hand", HELD_OUT):
        yield from texts_of(name)


def texts_of(name: str) -> Iterator[Labelled]:
    """The texts of one file."""
    for line in (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        yield Labelled.of(name, json.loads(line))


def judged(given: Iterable[Labelled] | None = None) -> list[Judged]:
    """Every text, as the gate with the packaged lists judges it. The adult tier is there and the account verified."""
    gate = TierGate.of(TierPolicy(adult_enabled=True))
    open_to = Ceilings(account=Tier.NSFW)
    return [
        Judged(text, {tier: gate.check(text.texts, tier, open_to).decision.passed for tier in text.tiers})
        for text in (texts() if given is None else given)
    ]


def table_of_other_hands() -> str:
    """A table in Markdown: misses and false alarms in the two halves of the set of other hands."""
    lines = [
        "| half | missed, English | missed, other nine | false alarms, English | false alarms, other nine |",
        "|---|---|---|---|---|",
    ]
    for name in OTHER_HANDS:
        answers = judged(texts_of(name))
        cells = (
            _share(each for each in answers if each.text.expect == expect and (each.text.lang == "en") is english)
            for expect in ("stop", "allow")
            for english in (True, False)
        )
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def rate(answers: Iterable[Judged]) -> float:
    """The share that is wrong; 0 of nothing."""
    known = [answer.wrong for answer in answers]
    return sum(known) / len(known) if known else 0.0


def table(answers: list[Judged]) -> str:
    """Two tables in Markdown, by kind and by language: misses and false alarms of how many texts, those held out apart."""
    lines = ["| kind | English | other nine | held out |", "|---|---|---|---|"]
    for group, title in (("evasion", "missed"), ("plain", "false alarm, plain"), ("hard", "false alarm, hard")):
        mine = [answer for answer in answers if answer.text.group == group]
        lines += [_row(f"{title}: {kind}", mine, kind) for kind in _kinds(mine)]
        lines.append(_row(f"**{title}: all**", mine))
    lines += ["", "| language | missed | false alarm, plain | false alarm, hard |", "|---|---|---|---|"]
    for lang in LANGUAGES:
        cells = (
            _share(answer for answer in answers if (answer.text.lang, answer.text.group) == (lang, group))
            for group in ("evasion", "plain", "hard")
        )
        lines.append(f"| {lang} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _kinds(answers: list[Judged]) -> list[str]:
    return list(Counter(answer.text.kind for answer in answers))


def _row(title: str, answers: list[Judged], kind: str | None = None) -> str:
    mine = [answer for answer in answers if kind in {None, answer.text.kind}]
    english = _share(answer for answer in mine if answer.text.lang == "en")
    others = _share(answer for answer in mine if answer.text.lang != "en")
    held = _share(answer for answer in mine if answer.text.source == HELD_OUT)
    return f"| {title} | {english} | {others} | {held} |"


def _share(answers: Iterable[Judged]) -> str:
    known = [answer.wrong for answer in answers]
    return f"{sum(known)} of {len(known)} ({100 * sum(known) / len(known):.1f} %)" if known else ""


def page_with(answers: list[Judged]) -> str:
    """The page about tiers, its measurement brought up to date."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table_of_other_hands()}\n\n{table(answers)}\n\n{END}{after}"
