"""TerminalChat: a conversation at the terminal: each turn asks a model, shows what is kept, and goes into file and log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from innkeeper.budget import accounting
from innkeeper.cli.talk.answering import ModelHandle, PlanAnswer
from innkeeper.cli.talk.recorder import RecordedTurn, TurnRecorder
from innkeeper.content.files.saving import save_chat
from innkeeper.conversation.chat_file import ChatFile
from innkeeper.conversation.conversation import Conversation, ConversationTurn, Kind
from innkeeper.prompt import BuildRequest, InnkeeperError, Note, Plan, Ports, utc_now
from innkeeper.taverns import build as build_plan

if TYPE_CHECKING:
    from innkeeper.budget import Accounting
    from innkeeper.content.chat import Chat
    from innkeeper.inference.tools.toolbox import Toolbox


Builder = Callable[[BuildRequest, Ports], Plan]
"""What makes a plan of a request: `innkeeper.taverns.build`."""


class _ReplyCutError(Exception):
    """The reply is at its end, since somebody else begins to speak: nothing more of it is waited for."""


class TerminalChat:
    """A conversation and the model that answers it; with ``path``, in a file after each message. ``notes`` begin each plan's.

    ``tools`` is what the model may call, ``plan`` that of the last turn, ``last`` what it came to. A reply that is interrupted
    keeps what had come; one that fails before its first word leaves the user's message there, to be asked again.
    """

    def __init__(
        self,
        conversation: Conversation,
        handle: ModelHandle,
        build: Builder = build_plan,
        *,
        path: Path | None = None,
        notes: tuple[Note, ...] = (),
        now: Callable[[], datetime] = utc_now,
        listener: TurnRecorder | None = None,
    ) -> None:
        self.conversation = conversation
        self.handle = handle
        self.listener = listener
        self.last: RecordedTurn | None = None
        self.plan: Plan | None = None
        self.tools: Toolbox | None = None
        self._file = None if path is None else ChatFile(path, conversation.chat)
        self._build, self._notes, self._now = build, notes, now

    @property
    def base(self) -> BuildRequest:
        """The request that all turns have in common."""
        return self.conversation.base

    @property
    def chat(self) -> Chat:
        """The chat as it is now."""
        return self.conversation.chat

    @property
    def path(self) -> Path | None:
        """The file of the chat, where it has one."""
        return None if self._file is None else self._file.path

    def preview(self, text: str = "") -> Plan:
        """Return the plan that a turn with ``text`` would have; nothing changes and nobody is asked."""
        return self._planned(self.conversation.request(message=text))

    def take(self, kind: Kind, on_delta: Callable[[str], Any], message: str = "", member: str | None = None) -> str:
        """Take a turn, and return the reply. Nothing is kept where no plan can be made. Raises as `Conversation.begin`."""
        turn = self.conversation.begin(kind, self._planned, message=message, member=member, when=self._when())
        if turn.message:
            self.keep(turn.conversation)
        self.conversation = turn.conversation
        text, self.conversation = self._answered(turn, on_delta)
        if kind != "impersonate":
            self.keep(self.conversation)
        return text

    def greet(self, greetings: Sequence[str], shown: int = 0) -> None:
        """Begin an empty chat with one of the character's greetings; the others are its alternatives."""
        self.keep(self.conversation.greeted(greetings, shown, when=self._when()))

    def keep(self, conversation: Conversation) -> None:
        """Go on with this conversation, in the file and the log, too."""
        if self._file is not None:
            self._file.keep(conversation.chat)
        self.conversation = conversation
        if self.listener is not None:
            self.listener.changed(self)

    def rebase(self, **fields: Any) -> None:
        """Change fields of the request that all turns have in common, from now on."""
        self.conversation = msgspec.structs.replace(self.conversation, base=self.base.with_(**fields))

    def use(self, handle: ModelHandle) -> None:
        """Let another model answer from now on; a window that was the former model's becomes its own."""
        window = self.base.context_window
        window = handle.window if window == self.handle.window else window
        self.rebase(model=handle.model, context_window=window or handle.window)
        before, self.handle = self.handle, replace(handle, media=self.handle.media)
        before.close()

    def figures(self, plan: Plan) -> Accounting:
        """Return the tokens of a plan, as the model of this conversation counts them."""
        return accounting(plan, self.handle.counter)

    def save(self, path: Path) -> None:
        """Write the chat to a new file, and keep it there from now on. Raises `OutputExistsError`."""
        save_chat(path, self.chat)
        self._file = ChatFile(path, self.chat)

    def close(self) -> None:
        """Let the model go."""
        self.handle.close()

    def _planned(self, request: BuildRequest) -> Plan:
        tools = self._offered(request.generation) or request.tools
        plan = self._build(request.with_(now=request.now or self._now(), tools=tools), self.handle.ports)
        return plan.with_(notes=(*self._notes, *plan.notes)) if self._notes else plan

    def _answered(self, turn: ConversationTurn, on_delta: Callable[[str], Any]) -> tuple[str, Conversation]:
        """Return the reply that is kept, which is what was shown of it, and the conversation after it.

        Ctrl-C ends it where it is; with nothing heard yet it comes through. It also ends where somebody else begins to speak.
        """
        self.plan = plan = turn.plan
        speaker, stream = turn.conversation.character_name, turn.reply()

        def show(text: str) -> None:
            if text:
                on_delta(text)

        def hear(piece: str) -> None:
            show(stream.feed(piece))
            if stream.is_cut and self.tools is None:
                raise _ReplyCutError

        def begin_again() -> None:
            nonlocal stream
            show(stream.end() + "\n")
            stream = turn.reply()

        end, usage = None, None
        try:
            _, end, usage = self._asked(turn, hear, begin_again)
        except _ReplyCutError:
            end = "stop"
        except KeyboardInterrupt:
            if not stream.raw.strip():
                raise
            end = "stopped"
        except InnkeeperError as error:
            self._record(RecordedTurn(plan, turn.message, stream.raw, error.kind, None, speaker))
            raise
        rest, conversation = turn.keep(stream, self._when())
        show(rest)
        self._record(RecordedTurn(plan, turn.message, stream.text.strip(), end, usage, speaker))
        return stream.text, conversation

    def _asked(self, turn: ConversationTurn, hear: Callable[[str], Any], on_calls: Callable[[], Any]) -> PlanAnswer:
        """Let the model answer a plan, with tools where there are some."""
        if self.tools is None or not self._offered(turn.plan.request.generation if turn.plan.request else "normal"):
            return self.handle.answer(turn.plan, hear)
        from innkeeper.cli.talk.tools import answer_with_tools

        return answer_with_tools(turn.speaking_plan, turn.before, self.handle, self.tools, hear, on_calls)

    def _offered(self, generation: str) -> list[dict[str, Any]]:
        """Return what the model may call, where it speaks for the character from the beginning of a reply."""
        speaks = generation not in {"continue", "impersonate"}
        return self.tools.registry.openai_tools() if self.tools is not None and speaks else []

    def _record(self, turn: RecordedTurn) -> None:
        self.last = turn
        if self.listener is not None:
            self.listener.turn(self, turn)

    def _when(self) -> str:
        return self._now().isoformat(timespec="seconds")
