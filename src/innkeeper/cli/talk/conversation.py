"""TerminalChat: a conversation at the terminal. Each turn asks a model, shows the reply, and goes into store and log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from innkeeper.budget import accounting, cache_plan
from innkeeper.cli.talk.log import RecordedTurn, TalkState, TurnRecorder
from innkeeper.content.chat import ChatLog
from innkeeper.content.files.saving import save_chat
from innkeeper.conversation.client_turn import settled_request
from innkeeper.conversation.conversation import Conversation, ConversationTurn, Kind
from innkeeper.conversation.store import ChatFile, ConversationStore
from innkeeper.inference.client.model_handle import ModelHandle, PlanAnswer, served_tokens
from innkeeper.prompt import BuildRequest, InnkeeperError, Note, Plan, Ports, utc_now
from innkeeper.taverns import build as build_plan

if TYPE_CHECKING:
    from innkeeper.budget import Accounting
    from innkeeper.inference.tools.toolbox import Toolbox


Builder = Callable[[BuildRequest, Ports], Plan]
"""Builds a request: `innkeeper.taverns.build`."""


class _ReplyCutError(Exception):
    """The reply has ended, since somebody else begins to speak."""


class TerminalChat:
    """A conversation and the model that answers it. ``store`` keeps the chat after each message; ``notes`` begin each plan's.

    ``tools`` are those that the model may call; ``plan`` and ``last`` are of the last turn. An interrupted reply keeps the text
    so far; one that fails before its first word leaves the user's message, to be asked again.
    """

    def __init__(
        self,
        conversation: Conversation,
        handle: ModelHandle,
        build: Builder = build_plan,
        *,
        store: ConversationStore[ChatLog] | None = None,
        notes: tuple[Note, ...] = (),
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self.conversation = conversation
        self.handle = handle
        self.store = store
        self.recorder: TurnRecorder | None = None
        self.last: RecordedTurn | None = None
        self.plan: Plan | None = None
        self.tools: Toolbox | None = None
        self._build, self._notes, self._now = build, notes, now
        self._sent: tuple[str, Plan] | None = None

    @property
    def base(self) -> BuildRequest:
        """The request that all turns have in common."""
        return self.conversation.base

    @property
    def chat(self) -> ChatLog:
        """The chat as it is now."""
        return self.conversation.chat

    @property
    def path(self) -> Path | None:
        """The file of the chat, if it has one."""
        return self.store.path if isinstance(self.store, ChatFile) else None

    @property
    def state(self) -> TalkState:
        """The state that the log keeps."""
        return TalkState(self.conversation, self.handle.model, self.handle.address, self.path)

    def preview(self, text: str = "") -> Plan:
        """Return the plan that a turn with ``text`` would have. Nothing changes and no model is asked."""
        return self._planned(self.conversation.request(message=text))

    def take(self, kind: Kind, on_delta: Callable[[str], Any], message: str = "", member: str | None = None) -> str:
        """Take a turn and return the reply. If no plan can be made, nothing is kept. Raises as `Conversation.begin`."""
        turn = self.conversation.begin(kind, self._planned, message=message, member=member, when=self._when())
        if turn.message:
            self.keep(turn.conversation)
        self.conversation = turn.conversation
        text, self.conversation = self._answered(turn, on_delta)
        if kind != "impersonate":
            self.keep(self.conversation)
        return text

    def keep(self, conversation: Conversation) -> None:
        """Go on with this conversation, and keep it in store and log."""
        if self.store is not None:
            self.store.keep(conversation.chat)
        self.conversation = conversation
        if self.recorder is not None:
            self.recorder.keep(self.state)

    def rebase(self, **fields: Any) -> None:
        """Change fields of the request that all turns have in common."""
        self.conversation = msgspec.structs.replace(self.conversation, base=self.base.with_(**fields))

    def use(self, handle: ModelHandle) -> None:
        """Let another model answer from now on; a window that was the former model's becomes its own."""
        window = self.base.context_window
        window = handle.window if window == self.handle.window else window
        turn = handle.turn
        self.rebase(model=turn.model, dialect=turn.dialect, context_window=window or turn.context_window)
        before, self.handle = self.handle, replace(handle, media=self.handle.media)
        before.close()

    def figures(self, plan: Plan) -> Accounting:
        """Return the tokens of a plan, as the model of this conversation counts them."""
        return accounting(plan, self.handle.counter)

    def save(self, path: Path) -> None:
        """Write the chat to a new file, and keep it there from now on. Raises `OutputExistsError`."""
        save_chat(path, self.chat)
        self.store = ChatFile(path, self.chat)

    def close(self) -> None:
        """Close the model."""
        self.handle.close()

    def _planned(self, request: BuildRequest) -> Plan:
        tools = self._offered(request.generation) or request.tools
        plan = self._build(request.with_(now=request.now or self._now(), tools=tools), self.handle.ports)
        return plan.with_(notes=(*self._notes, *plan.notes)) if self._notes else plan

    def _answered(self, turn: ConversationTurn, on_delta: Callable[[str], Any]) -> tuple[str, Conversation]:
        """Return the reply that was shown, and the conversation after it.

        Ctrl-C ends the reply, or is raised before its first word. The reply also ends where somebody else begins to speak.
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
        usage = self._with_prediction(plan, usage)
        self._record(RecordedTurn(plan, turn.message, stream.text.strip(), end, usage, speaker))
        return stream.text, conversation

    def _asked(self, turn: ConversationTurn, hear: Callable[[str], Any], on_calls: Callable[[], Any]) -> PlanAnswer:
        """Let the model answer a plan, with tools if there are any."""
        if self.tools is None or not self._offered(turn.plan.request.generation if turn.plan.request else "normal"):
            return self.handle.answer(turn.plan, hear, lambda text: click.echo(f"innkeeper: {text}", err=True))
        from innkeeper.cli.talk.tools import answer_with_tools

        return answer_with_tools(turn.speaking_plan, turn.before, self.handle, self.tools, hear, on_calls)

    def _offered(self, generation: str) -> list[dict[str, Any]]:
        """Return the tools of a turn: the model may call them at the beginning of the character's reply."""
        speaks = generation not in {"continue", "impersonate"}
        return self.tools.registry.openai_tools() if self.tools is not None and speaks else []

    def _with_prediction(self, plan: Plan, usage: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """Add to a usage that tells what a cache served, what it should have served after the prompt before."""
        before, self._sent = self._sent, (self.handle.model, plan)
        if served_tokens(usage) is None:
            return usage
        if before is None and self.recorder is not None and (bundle := self.recorder.sent()) is not None:
            before = (bundle.request.model or "", self._build(bundle.request, self.handle.ports))
        previous = None if before is None or before[0] != self.handle.model else before[1]
        try:
            cached = cache_plan(plan, self.handle.provider, previous, counter=self.handle.counter)
        except InnkeeperError:  # nobody knows the rule of this provider
            return usage
        return {**(usage or {}), "predicted_cached_tokens": cached.read}

    def _record(self, turn: RecordedTurn) -> None:
        self.last = turn
        if self.recorder is not None:
            self.recorder.record(self.state, turn)

    def _when(self) -> str:
        return self._now().isoformat(timespec="seconds")


def begin_chat(
    request: BuildRequest,
    handle: ModelHandle,
    *,
    store: ConversationStore[ChatLog] | None = None,
    greeting: int | None = 0,
    known: ChatLog | None = None,
    notes: tuple[Note, ...] = (),
    alone: bool = False,
) -> TerminalChat:
    """Return the conversation of a request; a new one begins with the greeting of this number, unless it is None.

    ``known`` is the chat to go on with, by default that of the store. With ``alone`` a greeting has no alternatives, which are a
    build each. Raises what the store and a build raise.
    """
    base, settled = settled_request(request, msgspec.structs.replace(handle.turn, seed=request.seed))
    known = known or (None if store is None else store.load())
    when = utc_now().isoformat(timespec="seconds")
    conversation = Conversation.begun(base, handle.ports, chat=known, greeting=greeting, alone=alone, when=when)
    talk = TerminalChat(conversation, handle, store=store, notes=(*notes, *settled))
    if known is None and conversation.chat.messages:
        talk.keep(conversation)
    return talk
