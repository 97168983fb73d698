"""Reply: an answer of a model as the tavern keeps it, for terminals and services alike.

In the silly tavern the regex scripts for answers run; then, in each tavern, blank ends go, and what the model wrote beyond its
own turn: its name in front, and everything from a line on in which somebody else begins to speak. The rules are those of
SillyTavern's page, but an answer is never cut to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.message import Message
from innkeeper.prompt.note import Note
from innkeeper.taverns.assets import Assets, rewrites_replies
from innkeeper.taverns.participants import members_of, name_of

if TYPE_CHECKING:
    from innkeeper.prompt import BuildRequest, Ports


_SILLY: Final = "silly"
_ENDS: Final = frozenset('.!?…*")}]`”’»。！？）」』】')
"""Marks that a sentence may end with."""


class Reply(msgspec.Struct, frozen=True):
    """An answer as it is kept. ``variables`` are the chat's afterwards, by scope; ``notes`` say which scripts did not run."""

    text: str
    variables: Mapping[str, Any] = EMPTY
    notes: tuple[Note, ...] = ()


class ReplyRules(msgspec.Struct, frozen=True):
    """How an answer is trimmed: ``own`` is the name of who answers, ``others`` those of who else may begin to speak in it.

    A continuation (``continues``) keeps its blank beginning; with ``whole_sentences`` half a sentence at the end goes. With
    ``scripts`` regex scripts may rewrite the answer, too.
    """

    own: str
    others: tuple[str, ...] = ()
    continues: bool = False
    whole_sentences: bool = False
    scripts: bool = False

    @classmethod
    def of(cls, request: BuildRequest, speaker: str = "", *, scripts: bool | None = None) -> ReplyRules:
        """Return the rules of a request.

        ``speaker`` is who answers, the character where left out. ``scripts`` says whether regex scripts may rewrite replies; it
        is looked up where left out.
        """
        user, character = name_of(request.user, "User"), speaker or name_of(request.character, "Assistant")
        own, other = (user, character) if request.generation == "impersonate" else (character, user)
        power = request.settings.get("power_user")
        power = power if isinstance(power, Mapping) else EMPTY
        members = () if power.get("disable_group_trimming") else members_of(request.group)
        others = dict.fromkeys(name for name in (other, *members) if name.strip() and name != own)
        scripts = rewrites_replies(request) if scripts is None else scripts
        return cls(
            own,
            tuple(others),
            continues=request.generation == "continue",
            whole_sentences=bool(power.get("trim_sentences")),
            scripts=scripts and request.generation != "impersonate",
        )

    @property
    def holds(self) -> bool:
        """Whether nothing of an answer is final before it is whole."""
        return self.whole_sentences or self.scripts

    def trimmed(self, text: str) -> str:
        """The text without blank ends, the speaker's name in front, and other people's lines; never nothing of something."""
        text = text.rstrip() if self.continues else text.strip()
        if not self.continues:
            text = text.removeprefix(f"{self.own}:").lstrip() or text
        pattern = lines_of(self.others)
        match = None if pattern is None else pattern.search(text)
        text = (match and text[: match.start()].rstrip()) or text
        return _whole_sentences(text) if self.whole_sentences else text


@lru_cache(maxsize=256)
def lines_of(names: tuple[str, ...]) -> re.Pattern[str] | None:
    """What begins a line in which somebody of these speaks; None for nobody."""
    return re.compile(rf"\n(?:{'|'.join(map(re.escape, names))}):") if names else None


def _whole_sentences(text: str) -> str:
    """The text up to its last end of a sentence; all of it where there is none."""
    end = next((end_index for end_index in range(len(text), 0, -1) if text[end_index - 1] in _ENDS), 0)
    return text[:end] or text


def answered_request(request: BuildRequest, variables: Mapping[str, Any]) -> BuildRequest:
    """Return the request by which an answer is finished: the user's message in its history, the variables after the build."""
    message = (Message("user", request.message),) if request.message else ()
    history = (*Assets(request).history, *message)
    return request.with_(history=history, message="", variables=variables)


def finished_reply(request: BuildRequest, text: str, *, speaker: str = "", ports: Ports | None = None) -> Reply:
    """What the tavern keeps of an answer.

    ``request`` is that of the turn as `answered_request` returns it.
    ``speaker`` is who answers, the character where left out. Words in the user's place are not run through scripts. Raises what
    a build raises for its inputs.
    """
    reply = Reply(text, request.variables)
    if request.tavern == _SILLY and request.generation != "impersonate":
        from innkeeper.taverns.silly import stored_text

        stripped = text if request.generation == "continue" else text.strip()
        scripted = stored_text(request, stripped, ports=ports)
        reply = Reply(scripted.text, scripted.variables, scripted.notes)
    return msgspec.structs.replace(reply, text=ReplyRules.of(request, speaker).trimmed(reply.text))
