"""Texts for the tests of the smart macros: strategies that draw what looks like them, and runs of one text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from innkeeper.macros.smart import FIXED, MacroCompat, MacroOptions, SmartEnvironment, expand

__all__ = ["HOSTILE", "TABLES", "environment", "expanded"]

_PARTS = (
    "{", "}", "<", ">", "{{", "}}", "<<", ">>", "{{noop}}", "<<noop>>", "upper:", "getvar:a", "getvar:b", "user", "us", "er",
    "a", " ", ":", "::", "{{getvar:a}}", "<<getvar:c}}", "{{getvar:d}}", "setvar:a:", "//", "foo", "python:1", "\n",
)  # fmt: skip

HOSTILE = st.lists(st.sampled_from(_PARTS), max_size=14).map("".join)
"""Texts full of marks, macros and pieces of them."""

TABLES = st.fixed_dictionaries(
    {name: st.lists(st.sampled_from(_PARTS), max_size=4).map("".join) for name in ("a", "b", "c", "d", "user_name")}
)
"""Variables whose values are such texts."""


def environment(
    variables: Mapping[str, Any] | None = None, compat: MacroCompat = FIXED, **options: Any
) -> SmartEnvironment:
    """A run over these variables."""
    return SmartEnvironment.of(variables, None, MacroOptions(compat=compat, **options))


def expanded(text: Any, variables: Mapping[str, Any] | None = None, compat: MacroCompat = FIXED, **options: Any) -> str:
    """A text with its macros replaced."""
    return expand(text, environment(variables, compat, **options))
