"""Rules for control tags in an answer: strip them, drop them with what they hold, or rename them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from innkeeper.inference.output_tags.markup import Tag, attributes, scan, write_attributes
from innkeeper.prompt.frozen import EMPTY, FrozenDict

__all__ = ["TagRule", "apply_rule"]


class TagRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What happens to ``<tag …>…</tag>``, written in any case.

    ``strip`` keeps what is inside, ``drop`` does not, ``rename`` makes it ``<to …>`` with attribute names mapped through
    ``attrs``.
    """

    tag: str
    action: Literal["strip", "drop", "rename"]
    to: str | None = None
    attrs: FrozenDict = EMPTY


def apply_rule(text: str, rule: TagRule) -> str:
    """``text`` after one rule. Linear in the text."""
    pieces = scan(text, {rule.tag.lower()})
    if rule.action == "strip":
        return "".join(piece for piece in pieces if isinstance(piece, str))
    return "".join(_kept(pieces) if rule.action == "drop" else _renamed(pieces, rule.to or rule.tag, rule.attrs))


def _kept(pieces: Iterable[str | Tag]) -> Iterable[str]:
    """The text outside all spans; a span that is not closed reaches to the end, a stray closer is nothing."""
    depth = 0
    for piece in pieces:
        if isinstance(piece, str):
            if not depth:
                yield piece
        elif piece.closing:
            depth = max(depth - 1, 0)
        elif not piece.empty:
            depth += 1


def _renamed(pieces: Iterable[str | Tag], to: str, names: Mapping[str, str]) -> Iterable[str]:
    """Tags under their new name; stray closers go, missing ones come at the end."""
    open_tags = 0
    lower = {name.lower(): new for name, new in names.items()}
    for piece in pieces:
        if isinstance(piece, str):
            yield piece
        elif not piece.closing:
            open_tags += not piece.empty
            yield _opener(piece, to, lower)
        elif open_tags:
            open_tags -= 1
            yield f"</{to}>"
    yield f"</{to}>" * open_tags


def _opener(tag: Tag, to: str, names: Mapping[str, str]) -> str:
    pairs = [(names.get(name.lower(), name), value) for name, value in attributes(tag)]
    return f"<{to}{write_attributes(pairs)}{'/' if tag.empty else ''}>"
