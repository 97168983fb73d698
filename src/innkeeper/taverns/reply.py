"""Reply: an answer of a model as the tavern keeps it, for terminals and services alike.

In the silly tavern the regex scripts for answers run; then, in each tavern, blank ends go, and what the model wrote beyond its
own turn: its name in front, and everything from a line on in which somebody else begins to speak. The rules are those of
SillyTavern's page, but an answer is never cut to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.note import Note
from innkeeper.taverns.participants import members_of, name_of

if TYPE_CHECKING:
    from innkeeper.prompt import BuildRequest, Ports

__all__ = ["Reply", "finished_reply", "rewrites_replies"]

_SILLY: Final = "silly"
_ENDS: Final = frozenset('.!?…*")}]`”’»。！？）」』】')
"""Marks that a sentence may end with."""


class Reply(msgspec.Struct, frozen=True):
    """An answer as it is kept. ``variables`` are the chat's afterwards, by scope; ``notes`` say which scripts did not run."""

    text: str
    variables: Mapping[str, Any] = EMPTY
    notes: tuple[Note, ...] = ()


def finished_reply(request: BuildRequest, text: str, *, speaker: str = "", ports: Ports | None = None) -> Reply:
    """What the tavern keeps of an answer.

    ``request`` is that of the turn, with the chat up to the answer in its history, and with the variables after the build.
    ``speaker`` is who answers, the character where left out. A continuation keeps its blank beginning; words in the user's
    place are not run through scripts. Raises what a build raises for its inputs.
    """
    reply = Reply(text, request.variables)
    if request.tavern == _SILLY and request.generation != "impersonate":
        from innkeeper.taverns.silly import stored_text

        stripped = text if request.generation == "continue" else text.strip()
        scripted = stored_text(request, stripped, ports=ports)
        reply = Reply(scripted.text, scripted.variables, scripted.notes)
    return msgspec.structs.replace(reply, text=_trimmed(request, reply.text, speaker))


def rewrites_replies(request: BuildRequest) -> bool:
    """Whether there are scripts that could make something else of what the model says."""
    from innkeeper.taverns.assets import Assets

    if request.tavern != _SILLY:
        return False
    assets = Assets(request)
    cards = [member.card for member in assets.members] or [card for card in (assets.character,) if card is not None]
    sources = [request.settings.get("regex"), *(card.raw for card in cards), getattr(assets.preset, "raw", None)]
    return any(_has_scripts(source) for source in sources)


def _has_scripts(source: Any) -> bool:
    """Whether regex scripts are in a card, a preset or a list of them."""
    if isinstance(source, (list, tuple)):
        return bool(source)
    if not isinstance(source, Mapping):
        return False
    inner = source.get("data") if isinstance(source.get("data"), Mapping) else source
    extensions = inner.get("extensions") if isinstance(inner, Mapping) else None
    return isinstance(extensions, Mapping) and bool(extensions.get("regex_scripts"))


def _trimmed(request: BuildRequest, text: str, speaker: str) -> str:
    """The text without blank ends, the speaker's name in front, and other people's lines."""
    continues, impersonates = request.generation == "continue", request.generation == "impersonate"
    user, character = name_of(request.user, "User"), speaker or name_of(request.character, "Assistant")
    own, other = (user, character) if impersonates else (character, user)
    text = text.rstrip() if continues else text.strip()
    if not continues:
        text = text.removeprefix(f"{own}:").lstrip() or text
    power = request.settings.get("power_user")
    power = power if isinstance(power, Mapping) else EMPTY
    members = () if power.get("disable_group_trimming") else members_of(request.group)
    text = _until_another(text, (other, *(name for name in members if name != own)))
    return _whole_sentences(text) if power.get("trim_sentences") else text


def _until_another(text: str, names: Iterable[str]) -> str:
    """The text before the first line in which somebody of these begins to speak; all of it where nothing would be left."""
    pattern = _lines_of(tuple(sorted({name for name in names if name.strip()})))
    match = None if pattern is None else pattern.search(text)
    return (match and text[: match.start()].rstrip()) or text


@lru_cache(maxsize=256)
def _lines_of(names: tuple[str, ...]) -> re.Pattern[str] | None:
    return re.compile(rf"\n(?:{'|'.join(map(re.escape, names))}):") if names else None


def _whole_sentences(text: str) -> str:
    """The text up to its last end of a sentence; all of it where there is none."""
    end = next((place for place in range(len(text), 0, -1) if text[place - 1] in _ENDS), 0)
    return text[:end] or text
