"""Compat: SillyTavern's quirks that users ask to be rid of, each a switch; a profile is a set of them.

A quirk is only here where leaving it out makes a sensible prompt. The default profile keeps them all: same prompt, defects
included. A plan names its profile.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

import msgspec

from innkeeper.prompt.errors import UnknownNameError

__all__ = ["DEFAULT_PROFILE", "PROFILES", "Compat", "compat_of"]


class Compat(msgspec.Struct, frozen=True, kw_only=True):
    """Each field is true where SillyTavern's behaviour is kept."""

    double_removal: bool = True
    """A loser of two inclusion groups is removed twice, the second time taking the last new entry with it, whatever it is
    (`sillytavern.md` 31; case ``group-multi-3``). Off: only losers go."""

    reversed_ties: bool = True
    """Entries of one order stand in reverse of their activation (`sillytavern.md` 29; case ``order-ties``). Off: in it."""

    ascii_words: bool = True
    """Any letter beyond ASCII ends a word, so a whole-word key is found inside words of most languages
    (`sillytavern.md` 23). Off: letters of scripts that are written with spaces belong to words."""

    note_lore_vanishes: bool = True
    """Lore at the author's note is lost in turns the note is not due (`sillytavern.md` 37). Off: it is sent without the note."""

    injections_need_main: bool = True
    """Injections beside the main prompt vanish when the order does not name it (`sillytavern.md` 45). Off: they come first."""

    own_prompts_say_so: bool = True
    """A preset's own prompt that does not say ``"system_prompt": false`` is sent only in the chat (measured on SillyTavern
    1.19). Off: it is sent in its turn."""


DEFAULT_PROFILE: Final = "sillytavern-1.19"
"""The profile of requests that name none."""

PROFILES: Final = MappingProxyType(
    {
        DEFAULT_PROFILE: Compat(),
        "fixed": Compat(
            double_removal=False,
            reversed_ties=False,
            ascii_words=False,
            note_lore_vanishes=False,
            injections_need_main=False,
            own_prompts_say_so=False,
        ),
    }
)
"""Every profile by name."""


def compat_of(profile: str | None) -> Compat:
    """The quirks of a profile (``None``: the default one). Raises `UnknownNameError`."""
    name = profile or DEFAULT_PROFILE
    if name not in PROFILES:
        what = "profile"
        raise UnknownNameError(what, name, PROFILES)
    return PROFILES[name]
