"""Reply: a model's answer as the tavern keeps it, whole or while it comes, for terminals and services alike.

Scripts for answers run where the tavern has some. Then, in each tavern, these go: blank ends, the speaker's name in front,
and everything from the first line of somebody else on. The rules are those of SillyTavern's page, but an answer is never cut to
nothing. `ReplyStream` gives the same text piece by piece: what was shown of an answer is the message that is kept.
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
from innkeeper.taverns.assets import Assets
from innkeeper.taverns.participants import members_of, name_of
from innkeeper.taverns.registry import reply_scripts, rewrites_replies

if TYPE_CHECKING:
    from innkeeper.prompt import BuildRequest, Ports


_ENDS: Final = frozenset('.!?…*")}]`”’»。！？）」』】')
"""Marks that end a sentence."""


class Reply(msgspec.Struct, frozen=True):
    """An answer as it is kept, with the chat's variables after it by scope. ``notes`` name the scripts that did not run."""

    text: str
    variables: Mapping[str, Any] = EMPTY
    notes: tuple[Note, ...] = ()


class ReplyRules(msgspec.Struct, frozen=True):
    """How an answer is trimmed: ``own`` is the speaker's name, ``others`` are the names of those who may begin to speak in it.

    A continuation (``continues``) keeps its blank beginning; with ``whole_sentences`` half a sentence at the end goes. With
    ``scripts`` regex scripts may rewrite the answer.
    """

    own: str
    others: tuple[str, ...] = ()
    continues: bool = False
    whole_sentences: bool = False
    scripts: bool = False

    @classmethod
    def of(cls, request: BuildRequest, speaker: str = "", *, scripts: bool | None = None) -> ReplyRules:
        """Return the rules of a request.

        ``speaker`` is the name of who answers, by default the character. ``scripts``: regex scripts may rewrite replies; by
        default it is looked up.
        """
        user, character = name_of(request.user, "User"), speaker or name_of(request.character, "Assistant")
        own, other = (user, character) if request.generation == "impersonate" else (character, user)
        power = request.settings.get("power_user")
        power = power if isinstance(power, Mapping) else EMPTY
        members = () if power.get("disable_group_trimming") else members_of(request.group)
        alone = request.character is None and request.group is None  # a model without a part speaks for nobody
        others = dict.fromkeys(name for name in (other, *members) if not alone and name.strip() and name != own)
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
        """Whether an answer is final only when it is whole."""
        return self.whole_sentences or self.scripts

    def trimmed(self, text: str) -> str:
        """Return the text without blank ends, the speaker's name in front, and other people's lines; never nothing."""
        text = text.rstrip() if self.continues else text.strip()
        if not self.continues:
            text = text.removeprefix(f"{self.own}:").lstrip() or text
        pattern = lines_of(self.others)
        match = None if pattern is None else pattern.search(text)
        text = (match and text[: match.start()].rstrip()) or text
        if not self.whole_sentences:
            return text
        end = next((index for index in range(len(text), 0, -1) if text[index - 1] in _ENDS), 0)
        return text[:end] or text


@lru_cache(maxsize=256)
def lines_of(names: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return the pattern of the beginning of a line of one of these; None without names."""
    return re.compile(rf"\n(?:{'|'.join(map(re.escape, names))}):") if names else None


def answered_request(request: BuildRequest, variables: Mapping[str, Any]) -> BuildRequest:
    """Return the request by which an answer is finished: the user's message in its history, the variables after the build."""
    message = (Message("user", request.message),) if request.message else ()
    history = (*Assets(request).history, *message)
    return request.with_(history=history, message="", variables=variables)


def finished_reply(request: BuildRequest, text: str, *, speaker: str = "", ports: Ports | None = None) -> Reply:
    """Return an answer as the tavern keeps it.

    ``request`` is that of the turn, from `answered_request`; ``speaker`` is the name of who answers, by default the character.
    Scripts do not run over words in the user's place. Raises what a build raises for its inputs.
    """
    reply = Reply(text, request.variables)
    scripts = None if request.generation == "impersonate" else reply_scripts(request)
    if scripts is not None:
        scripted = scripts.stored_text(request, text, ports)
        reply = Reply(scripted.text, scripted.variables, scripted.notes)
    return msgspec.structs.replace(reply, text=ReplyRules.of(request, speaker).trimmed(reply.text))


class ReplyStream:
    """One answer on its way: `feed` takes its pieces and `end` closes it; each returns the text that can be shown then.

    A piece is held back while it may still go: a name in front, a blank end, the beginning of a line of somebody else. An answer
    that scripts may rewrite, or whose last half sentence goes, is held back until it is whole. Once ``is_cut`` is true, no later
    piece belongs to the answer. ``text`` was shown, ``raw`` was fed.
    """

    def __init__(self, rules: ReplyRules) -> None:
        self.rules = rules
        self.is_cut = False
        self._pattern = lines_of(rules.others)
        self._front = f"{rules.own}:"
        self._held = ""
        self._begun = rules.continues
        self.is_ended = False
        self._fed: list[str] = []
        self._shown: list[str] = []

    @property
    def raw(self) -> str:
        """The answer as it came so far."""
        return "".join(self._fed)

    @property
    def text(self) -> str:
        """The text that was shown; after `end` the message to keep."""
        return "".join(self._shown)

    def feed(self, piece: str) -> str:
        """Take a piece; return the text that can be shown now."""
        self._fed.append(piece)
        return "" if self.rules.holds else self._show(self._sure_text(piece))

    def end(self, finished: str | None = None) -> str:
        """Return the rest of the text to show.

        ``finished`` is the answer after scripts, for rules with ``scripts``. The second call returns nothing.
        """
        if self.is_ended:
            return ""
        self.is_ended = True
        if self.rules.holds:
            return self._show(self.rules.trimmed(self.raw) if finished is None else finished)
        rest, self._held = ("" if self.is_cut else self._held.rstrip()), ""
        return self._show(rest)

    def _show(self, text: str) -> str:
        if text:
            self._shown.append(text)
        return text

    def _sure_text(self, piece: str) -> str:
        """Return the text that is final after a piece."""
        if self.is_cut:
            return ""
        self._held += piece
        if not self._begun:
            self._begin()
        if not self._begun:
            return ""
        match = None if self._pattern is None else self._pattern.search(self._held)
        if match is not None:
            before = self._held[: match.start()].rstrip()
            self.is_cut = bool(self._shown or before)
            if self.is_cut:
                return before
            self._pattern = None  # an answer is never cut to nothing: this one is kept whole
        text = self._held[: self._sure()].rstrip()
        self._held = self._held[len(text) :]
        return text

    def _begin(self) -> None:
        """Remove the blank beginning and the name in front, once it is known whether there is one."""
        self._held = self._held.lstrip()
        if self._front.startswith(self._held):
            return
        named = self._held.startswith(self._front)
        rest = self._held[len(self._front) :].lstrip() if named else self._held
        if rest:
            self._held, self._begun = rest, True

    def _sure(self) -> int:
        """Return how much of the held text cannot be the beginning of somebody else's line."""
        if self._pattern is None:
            return len(self._held)
        line = self._held.rfind("\n")
        last = self._held[line:] if line >= 0 else ""
        return line if last and any(f"\n{name}:".startswith(last) for name in self.rules.others) else len(self._held)
