"""The table of all functions of CBS, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from innkeeper.macros.cbs.functions import application, chat, display, draws, encoding, lists, moments, numbers, texts
from innkeeper.macros.cbs.functions import variables as variable_functions
from innkeeper.macros.cbs.run import Function

FUNCTIONS: Final[Mapping[str, Function]] = {
    **application.FUNCTIONS,
    **chat.FUNCTIONS,
    **display.FUNCTIONS,
    **draws.FUNCTIONS,
    **encoding.FUNCTIONS,
    **lists.FUNCTIONS,
    **moments.FUNCTIONS,
    **numbers.FUNCTIONS,
    **texts.FUNCTIONS,
    **variable_functions.FUNCTIONS,
}
"""Each function by each of its names, in small letters without blanks, ``_`` and ``-``."""
