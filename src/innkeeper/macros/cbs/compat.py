"""Compat: where later versions of RisuAI differ from 166.3.3, each difference a switch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec


class CbsCompat(msgspec.Struct, frozen=True, kw_only=True):
    """The behaviour of one version of RisuAI. The defaults are those of the later versions."""

    name: str = "later"
    version: str = "later"
    """What ``{{metadata::version}}`` prints where the scope has none."""
    ordered_comparisons: bool = True
    """``#when::5::>::3`` asks whether 5 is above 3; 166.3.3 asks whether 3 is above 5."""
    whitespace_modes: bool = True
    """``#when::keep::…`` and ``#when::legacy::…`` test the condition behind them; in 166.3.3 they are false."""
    each_as: bool = True
    """``#each list as x`` cuts at the last `` as ``; a header of one word makes nothing."""
    json_items: bool = True
    """``#each`` writes items that are no text as JSON; 166.3.3 as JavaScript prints them."""
    block_keep: bool = True
    """``#each::keep`` and ``#escape::keep`` leave white space as it is; 166.3.3 does not know them."""
    else_in_pure: bool = True
    """``{{:else}}`` inside a block that is not evaluated is text; in 166.3.3 it shifts the closers behind it."""
    erasers: bool = True
    """``bkspc`` and ``erase`` exist."""


LATER: Final = CbsCompat()
RISU_166: Final = CbsCompat(
    name="166.3.3",
    version="166.3.3",
    ordered_comparisons=False,
    whitespace_modes=False,
    each_as=False,
    json_items=False,
    block_keep=False,
    else_in_pure=False,
    erasers=False,
)

PROFILES: Final[Mapping[str, CbsCompat]] = {compat.name: compat for compat in (LATER, RISU_166)}
"""The profiles by name."""
