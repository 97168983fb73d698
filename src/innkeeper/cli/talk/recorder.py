"""TurnRecorder: writes the turns of a conversation into the log while it goes on.

A log that fails is told of once, and the talk goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from innkeeper.prompt.errors import InnkeeperError

if TYPE_CHECKING:
    from innkeeper.cli.settings.settings import UserSettings
    from innkeeper.cli.talk.conversation import TerminalChat
    from innkeeper.cli.talk.log import TalkLog
    from innkeeper.prompt import Plan


class RecordedTurn(NamedTuple):
    """One call of a model: what the user said (nothing where it was asked again), what came, and what it took.

    ``end`` is the provider's reason, ``stopped`` after Ctrl-C, else the kind of the error.
    """

    plan: Plan
    said: str
    reply: str
    end: str | None
    usage: Mapping[str, Any] | None
    speaker: str


class TurnRecorder:
    """Keeps turns, and what the conversation goes on from. A conversation is in the log from its first turn on."""

    def __init__(self, kind: str, chat: int | None = None) -> None:
        self.kind = kind
        self.chat = chat
        self.line: int | None = None
        self._failed = False

    @cached_property
    def log(self) -> TalkLog:
        """The log, opened when the first turn has been: nobody waits for it before."""
        from innkeeper.cli.talk.log import TalkLog

        return TalkLog()

    def turn(self, talk: TerminalChat, turn: RecordedTurn) -> None:
        """Keep a turn."""
        if self._failed:
            return
        try:
            if self.chat is None:
                self.chat = self.log.begin(self.kind, talk)
            self.line = self.log.keep(self.chat, talk, turn)
        except InnkeeperError as error:
            self._give_up(error)

    def changed(self, talk: TerminalChat) -> None:
        """Keep what the conversation goes on from, once it is in the log."""
        if self._failed or self.chat is None:
            return
        try:
            self.log.update(self.chat, talk)
        except InnkeeperError as error:
            self._give_up(error)

    def _give_up(self, error: InnkeeperError) -> None:
        self._failed = True
        click.echo(f"innkeeper: nothing more is kept: {error.render()}", err=True)


def recorder(settings: UserSettings, kind: str, *, off: bool = False, chat: int | None = None) -> TurnRecorder | None:
    """What keeps a conversation in the log; None where the settings or the command line say not to."""
    return None if off or not settings.get("logging") else TurnRecorder(kind, chat)
