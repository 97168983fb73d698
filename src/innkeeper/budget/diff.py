"""PlanDiff: what one plan has that another has not: blocks, words, tokens, money, verdicts, and what a prefix cache keeps."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Any, Final, NamedTuple

import msgspec

from innkeeper.budget.accounting import Accounting, accounting
from innkeeper.budget.prefix import PrefixReport, prefix_report
from innkeeper.prompt import Block, LimitError, Plan, TokenCounter
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.block import BudgetGroup
from innkeeper.prompt.data import plain_data, to_json
from innkeeper.prompt.report import Cell, ShowsTables, TextTable, WordRun, html_page
from innkeeper.prompt.text import shorten
from innkeeper.tokens.table.catalogue import listed_cost

MAX_DIFF_BLOCKS: Final = 2_000
"""Messages of a plan that are compared with those of another, besides what both begin and end with (`LimitError`)."""

MAX_DIFF_WORDS: Final = 500
"""Words of a changed text that are compared one by one (no error: between its common ends a longer text is one change)."""

_ALIKE: Final = 0.3
"""How alike two texts must be, from 0 to 1, to be one message that changed."""

_LONG: Final = 4_000
_LOOK_AHEAD: Final = 32
"""Among how many messages the changed form of one is looked for."""

_WORD: Final = re.compile(r"\S+\s*|\s+")
_SHOWN: Final = 60


class BlockChangeKind(StrEnum):
    """What became of a block."""

    ADDED = "added"
    REMOVED = "removed"
    MOVED = "moved"
    CHANGED = "changed"


class WordChange(msgspec.Struct, frozen=True):
    """Words that were replaced. ``offset`` is the character of the new text at which ``after`` begins."""

    offset: int
    before: str
    after: str


class BlockChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message that differs. Indexes count the messages that are sent, from 0; ``reason`` says why it is gone.

    ``origin`` is where its text comes from, ``tokens_before`` and ``tokens_after`` what it costs.
    """

    kind: BlockChangeKind
    role: str
    slot: str | None = None
    origin: str | None = None
    before: int | None = None
    after: int | None = None
    tokens_before: int = 0
    tokens_after: int = 0
    words: tuple[WordChange, ...] = ()
    reason: str | None = None

    @property
    def tokens(self) -> int:
        """The tokens that the prompt has more by it."""
        return self.tokens_after - self.tokens_before

    @property
    def name(self) -> str:
        """The block as people know it: its slot, or where its text comes from."""
        return self.slot or self.origin or self.role


class VerdictFlip(msgspec.Struct, frozen=True):
    """A lorebook entry that is in one prompt only, with both verdicts; ``None`` where its book is not there."""

    book: str
    uid: str
    title: str
    fired: bool
    before: str | None
    after: str | None


class OptionChange(msgspec.Struct, frozen=True):
    """What goes with the messages and differs: the model, an option, stop strings, tools."""

    name: str
    before: Any
    after: Any


class PlanFigures(msgspec.Struct, frozen=True):
    """One side: its messages, its tokens, and what reading them costs in US dollars by the catalogue, if it has a price."""

    tavern: str
    model: str | None
    messages: int
    tokens: int
    cost: float | None


class PlanDiff(ShowsTables, msgspec.Struct, frozen=True, kw_only=True):
    """The difference of two plans. ``cache`` says what of the first a provider's prefix cache can serve to the second."""

    before: PlanFigures
    after: PlanFigures
    blocks: tuple[BlockChange, ...]
    verdicts: tuple[VerdictFlip, ...]
    options: tuple[OptionChange, ...]
    cache: PrefixReport

    @property
    def same(self) -> bool:
        """Whether a model gets the same."""
        return not (self.blocks or self.options)

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON-ready data."""
        facts: dict[str, Any] = msgspec.to_builtins(self, enc_hook=plain_data)
        return {"same": self.same, **facts, "cache": self.cache.to_dict()}

    def tables(self) -> tuple[TextTable, ...]:
        """The difference as tables: figures, blocks, verdicts, options."""
        return (
            TextTable("figures", ("", "before", "after", "change"), tuple(self._figures())),
            TextTable("blocks", ("change", "block", "from", "tokens", "words"), tuple(map(_block_row, self.blocks))),
            TextTable("entries", ("entry", "before", "after"), tuple(map(_verdict_row, self.verdicts))),
            TextTable("options", ("option", "before", "after"), tuple(map(_option_row, self.options))),
        )

    def to_html(self) -> str:
        """The tables as a page."""
        return html_page("Difference of two prompts", self.tables())

    def __str__(self) -> str:
        """The tables as text."""
        return "\n\n".join([table.to_text() for table in self.tables() if table.rows])

    def _figures(self) -> Iterator[tuple[Cell, ...]]:
        a, b = self.before, self.after
        yield "messages", a.messages, b.messages, signed(b.messages - a.messages)
        yield "tokens", a.tokens, b.tokens, signed(b.tokens - a.tokens)
        if a.cost is not None and b.cost is not None:
            yield "cost to read", money(a.cost), money(b.cost), f"{b.cost - a.cost:+.6f}"
        cache = self.cache
        yield "shared prefix", None, cache.shared_tokens, f"{cache.token_share:.0%} of the tokens"
        if cache.index is not None:
            source = f", {cache.origin}" if cache.origin else ""
            yield "first difference", None, f"message {cache.index + 1}", f"{cache.slot or cache.block_id}{source}"


def signed(number: int) -> str:
    """Return a number with its sign; nothing for 0."""
    return f"{number:+,}" if number else ""


def money(dollars: float) -> str:
    """Return US dollars as they are shown."""
    return f"${dollars:.6f}"


def plan_diff(before: Plan, after: Plan, counter: TokenCounter | None = None) -> PlanDiff:
    """Compare two plans as they are sent, message by message. ``counter`` is the built-in one where none is given.

    Raises `LimitError` for more than `MAX_DIFF_BLOCKS` messages that differ.
    """
    figures = accounting(before, counter), accounting(after, counter)
    return PlanDiff(
        before=_side(before, figures[0]),
        after=_side(after, figures[1]),
        blocks=tuple(_block_changes(before, after, *figures)),
        verdicts=tuple(_flips(before, after)),
        options=tuple(_option_changes(before, after)),
        cache=prefix_report(before, after, counter),
    )


def _side(plan: Plan, figures: Accounting) -> PlanFigures:
    return PlanFigures(
        plan.tavern, plan.model, len(figures.lines), figures.total, listed_cost(plan.model, figures.total)
    )


# --------------------------------------------------------------------------------------------------------------- pairs


class Pair(NamedTuple):
    """The index of a message on both sides, or on one; whether it is the same there."""

    before: int | None
    after: int | None
    same: bool = False


def paired(
    before: Sequence[Hashable], after: Sequence[Hashable], is_changed: Callable[[int, int], bool]
) -> Iterator[Pair]:
    """Pair all messages of both: those that are the same, and between them those that changed, came or went.

    ``is_changed`` says whether the messages at two indexes are one message that was changed.
    """
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    a, b = before[start : len(before) - end], after[start : len(after) - end]
    largest = max(len(a), len(b))
    if largest > MAX_DIFF_BLOCKS:
        raise LimitError("the messages that differ", limit="MAX_DIFF_BLOCKS", allowed=MAX_DIFF_BLOCKS, found=largest)
    charge("diff", len(a) * len(b) // 4)
    yield from (Pair(index, index, same=True) for index in range(start))
    for kind, a1, a2, b1, b2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from (Pair(start + a1 + n, start + b1 + n, same=True) for n in range(a2 - a1))
        else:
            yield from _replaced(range(start + a1, start + a2), range(start + b1, start + b2), is_changed)
    for n in range(end, 0, -1):
        yield Pair(len(before) - n, len(after) - n, same=True)


def _common(a: Sequence[Hashable], b: Sequence[Hashable]) -> int:
    """The length of the beginning that two lists share."""
    shortest = min(len(a), len(b))
    return next((index for index in range(shortest) if a[index] != b[index]), shortest)


def _replaced(a: range, b: range, is_changed: Callable[[int, int], bool]) -> Iterator[Pair]:
    """Messages in the place of others, in their order: the nearest that is a changed form of one belongs to it."""
    start = b.start
    for index in a:
        ahead = range(start, min(start + _LOOK_AHEAD, b.stop))
        match = next((other for other in ahead if is_changed(index, other)), None)
        if match is None:
            yield Pair(index, None)
            continue
        yield from (Pair(None, other) for other in range(start, match))
        yield Pair(index, match)
        start = match + 1
    yield from (Pair(None, other) for other in range(start, b.stop))


def is_changed_form(before: Block, after: Block) -> bool:
    """Whether two blocks are one that was changed: of one role and slot, or with texts that are alike."""
    if before.role != after.role or before.group != after.group:
        return False
    if before.slot is not None and before.slot == after.slot and before.group != BudgetGroup.HISTORY:
        return True
    charge("diff", 500)
    matcher = SequenceMatcher(None, before.content[:_LONG], after.content[:_LONG])
    return matcher.real_quick_ratio() > _ALIKE and matcher.quick_ratio() > _ALIKE


# -------------------------------------------------------------------------------------------------------------- blocks


def _block_changes(before: Plan, after: Plan, figures: Accounting, others: Accounting) -> Iterator[BlockChange]:
    a, b = before.sent_blocks(), after.sent_blocks()
    keys = [[to_json(block.message()) for block in side] for side in (a, b)]
    pairs = list(paired(keys[0], keys[1], lambda i, j: is_changed_form(a[i], b[j])))
    targets = _moves(pairs, a, b)
    moved = set(targets.values())
    reasons = {record.block_id: record.reason for record in getattr(after.trim_report, "evictions", ())}
    reasons |= {block.id: str(block.metadata["evicted"]) for block in after.blocks if block.metadata.get("evicted")}
    for pair in pairs:
        i, j = pair.before, pair.after
        if pair.same or (i is None and j in moved):
            continue
        if i is not None and j is None:
            j = targets.get(i)
        block = a[i] if j is None and i is not None else b[j or 0]
        kind = _kind(i, j, same=i is not None and j is not None and keys[0][i] == keys[1][j])
        yield BlockChange(
            kind=kind,
            role=block.role,
            slot=block.slot,
            origin=None if block.origin is None else str(block.origin),
            before=i,
            after=j,
            tokens_before=0 if i is None else figures.lines[i].tokens,
            tokens_after=0 if j is None else others.lines[j].tokens,
            words=() if i is None or j is None else tuple(_words(a[i].content, b[j].content)),
            reason=reasons.get(block.id) if kind is BlockChangeKind.REMOVED else None,
        )


def _kind(before: int | None, after: int | None, *, same: bool) -> BlockChangeKind:
    if before is None:
        return BlockChangeKind.ADDED
    if after is None:
        return BlockChangeKind.REMOVED
    return BlockChangeKind.MOVED if same else BlockChangeKind.CHANGED


def _moves(pairs: Sequence[Pair], a: Sequence[Block], b: Sequence[Block]) -> dict[int, int]:
    """The new index of each message that stands elsewhere: with the same text, or of the same place in the same asset."""
    arrived: dict[Hashable, list[int]] = {}
    for pair in pairs:
        if pair.before is None and pair.after is not None:
            for key in _identities(b[pair.after]):
                arrived.setdefault(key, []).append(pair.after)
    moves: dict[int, int] = {}
    for pair in pairs:
        if pair.after is None and pair.before is not None:
            candidates = (index for key in _identities(a[pair.before]) for index in arrived.get(key, ()))
            taken = set(moves.values())
            target = next((index for index in candidates if index not in taken), None)
            if target is not None:
                moves[pair.before] = target
    return moves


def _identities(block: Block) -> tuple[Hashable, ...]:
    whole = (block.role, block.name, block.content)
    source = block.origin if block.group != BudgetGroup.HISTORY else None
    return (whole,) if source is None else (whole, (block.role, block.slot, source))


def _words(before: str, after: str) -> Iterator[WordChange]:
    """The words that differ, in order."""
    a, b = _WORD.findall(before), _WORD.findall(after)
    start = _common(a, b)
    end = _common(a[start:][::-1], b[start:][::-1])
    offset = sum(map(len, b[:start]))
    a, b = a[start : len(a) - end], b[start : len(b) - end]
    if max(len(a), len(b)) > MAX_DIFF_WORDS:
        yield WordChange(offset, "".join(a), "".join(b))
        return
    charge("diff", len(a) * len(b) // 4)
    for kind, a1, a2, b1, b2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind != "equal":
            yield WordChange(offset + sum(map(len, b[:b1])), "".join(a[a1:a2]), "".join(b[b1:b2]))


# -------------------------------------------------------------------------------------------------- verdicts, options


def _flips(before: Plan, after: Plan) -> Iterator[VerdictFlip]:
    verdicts = [getattr(plan.lore, "verdicts", None) or () for plan in (before, after)]
    sides: list[dict[tuple[str, str], Any]] = [{(each.book, str(each.uid)): each for each in side} for side in verdicts]
    for key in dict.fromkeys((*sides[0], *sides[1])):
        both = [side.get(key) for side in sides]
        before_fired, fired = (each is not None and each.fired for each in both)
        if before_fired is not fired:
            texts = [None if each is None else str(each) for each in both]
            title = next(each.title for each in reversed(both) if each is not None)
            yield VerdictFlip(*key, title, fired, texts[0], texts[1])


def _option_changes(before: Plan, after: Plan) -> Iterator[OptionChange]:
    a, b = (
        {"model": plan.model, "dialect": plan.dialect, **plan.options, "stop": list(plan.stop), "tools": plan.tools}
        for plan in (before, after)
    )
    for name in dict.fromkeys((*a, *b)):
        if a.get(name) != b.get(name):
            yield OptionChange(name, a.get(name), b.get(name))


# ---------------------------------------------------------------------------------------------------------------- rows


def _block_row(change: BlockChange) -> tuple[Cell, ...]:
    runs = [run for word in change.words for run in _runs(word)]
    words: Cell = tuple(runs) if runs else change.reason
    return change.kind.value, f"{change.role} {change.slot or ''}", change.origin, signed(change.tokens), words


def _runs(word: WordChange) -> Iterator[WordRun]:
    if word.before:
        yield WordRun(shorten(word.before.strip() or word.before, _SHOWN), "old")
    if word.after:
        yield WordRun(shorten(word.after.strip() or word.after, _SHOWN), "new")
    yield WordRun(" ")


def _verdict_row(flip: VerdictFlip) -> tuple[Cell, ...]:
    sides = (flip.before or "not there", flip.after or "not there")
    return f"{flip.title or flip.uid} [{flip.book}]", *sides


def _option_row(change: OptionChange) -> tuple[Cell, ...]:
    return change.name, *(None if value is None else str(value) for value in (change.before, change.after))
