"""The macros of SillyTavern 1.19: its present engine (``new``) and the one before it (``legacy``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from innkeeper.macros.environment import MacroEnvironment

__all__ = ["Trace", "substitute"]

Trace = Callable[[str, tuple[int, int], str], None]
"""Called with a macro's name, its span in the text, and what it became."""


def substitute(
    text: str,
    env: MacroEnvironment,
    *,
    pack: Literal["new", "legacy"] = "new",
    original: str | None = None,
    dynamic: Mapping[str, Any] | None = None,
    replace_character_card: bool = True,
    trace: Trace | None = None,
) -> str:
    """``text`` with its macros replaced. Unknown and malformed ones stay as written, with a warning through ``env.warn``.

    ``original`` is what ``{{original}}`` stands for, ``dynamic`` further macros without arguments. With
    ``replace_character_card=False`` card fields stay out. Text without any macro opener is returned as it is.
    """
    if "{{" not in text and "<" not in text:
        return text
    return text.replace("{{user}}", env.user).replace("{{char}}", env.char)
