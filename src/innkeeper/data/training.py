"""Training rows: a prompt with the answer to learn, as text, token numbers and a mask of the tokens that count for the loss.

Only what the character says counts: lore, instructions and the user's turns are context. The text is the one that a model reads:
in the template that the request names, or in the own template of a model on this machine (`ModelRows`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import accumulate, chain
from typing import Any, Final

from innkeeper.data.batch import text_of, token_ids
from innkeeper.prompt import Plan, UsageError
from innkeeper.prompt.block import BudgetGroup

IGNORED: Final = 0
TRAINED: Final = 1


def training_row(plan: Plan) -> dict[str, Any]:
    """Return the text of a plan, its token numbers, and 1 for each token of the character's turns, 0 for all others.

    Raises `UsageError` where no tokenizer of the plan's model is here.
    """
    text = text_of(plan)
    tokens: list[int] = []
    mask: list[int] = []
    for part, is_trained in trained_parts(plan, text):
        ids = token_ids(part, plan.model)
        tokens += ids
        mask += [TRAINED if is_trained else IGNORED] * len(ids)
    return {"text": text, "tokens": tokens, "mask": mask}


def trained_parts(plan: Plan, text: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces that are wholly trained on or not at all, in their order."""
    at = 0
    for block in plan.sent_blocks():
        content = block.content.strip()
        if block.role != "assistant" or block.group != BudgetGroup.HISTORY or not content:
            continue
        start = text.find(content, at)
        if start < 0:
            continue
        if start > at:
            yield text[at:start], False
        yield content, True
        at = start + len(content)
    if at < len(text):
        yield text[at:], False


def packed(rows: Iterable[Mapping[str, Any]], window: int) -> Iterator[dict[str, list[int]]]:
    """Join rows to sequences of at most ``window`` tokens, in their order; each row begins where its ``starts`` say.

    A row that is longer is cut at its front, so that the last answer stays. Raises `UsageError` for a window below 1.
    """
    if window < 1:
        raise UsageError("a window has at least one token", hint="give the number of tokens of a sequence")
    waiting: list[Mapping[str, Any]] = []
    size = 0
    for row in rows:
        length = min(len(row["tokens"]), window)
        if waiting and size + length > window:
            yield _joined(waiting, window)
            waiting, size = [], 0
        waiting.append(row)
        size += length
    if waiting:
        yield _joined(waiting, window)


def _joined(rows: Sequence[Mapping[str, Any]], window: int) -> dict[str, list[int]]:
    tokens = [list(row["tokens"])[-window:] for row in rows]
    masks = [list(row["mask"])[-window:] for row in rows]
    starts = [0, *accumulate(map(len, tokens[:-1]))]
    return {"tokens": list(chain(*tokens)), "mask": list(chain(*masks)), "starts": starts}


def split_of(name: str, shares: Mapping[str, float], salt: str = "") -> str:
    """Return the split that a row belongs to, always the same for the same name: ``{"train": 0.9, "test": 0.1}``.

    Rows of one conversation are kept together by giving its name. Raises `UsageError` for shares that are not positive.
    """
    total = sum(shares.values())
    if not shares or min(shares.values()) < 0 or total <= 0:
        raise UsageError("shares of splits are positive numbers", hint='such as {"train": 0.9, "test": 0.1}')
    point = int.from_bytes(sha256(f"{salt}\n{name}".encode("utf-8", "replace")).digest()[:8], "big") / 2**64 * total
    for split, share in shares.items():
        point -= share
        if point < 0:
            return split
    return list(shares)[-1]


def distinct(rows: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield rows whose fingerprint was not there before, in their order."""
    known: set[bytes] = set()
    for row in rows:
        key = bytes.fromhex(row["fingerprint"])
        if key not in known:
            known.add(key)
            yield row
