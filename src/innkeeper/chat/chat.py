"""Chat: people talk with a character; each turn builds a prompt, asks a model, shows the reply as it comes, and is kept.

It is a face of `innkeeper.conversation.Conversation`, as ``innkeeper chat`` is: a turn sends and keeps the same bytes at both.
"""

from __future__ import annotations

from asyncio import CancelledError, to_thread
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Self, Unpack

import msgspec

from innkeeper.chat.inputs import Card, ChatInputs, chat_request
from innkeeper.chat.stores import DEFAULT_NAME, ChatLocation, open_store
from innkeeper.conversation.client_turn import settled_request
from innkeeper.conversation.conversation import Conversation, ConversationTurn, Kind
from innkeeper.inference.client.model_clients import chat_usage, response_fold
from innkeeper.inference.client.model_handle import ModelHandle, ModelSource, refused_calls
from innkeeper.inference.client.portal import portal
from innkeeper.inference.response.events import TextDelta
from innkeeper.inference.response.views.chat import finish_reason
from innkeeper.inference.routing.route import Route
from innkeeper.prompt import BuildRequest, InnkeeperError, Message, Plan, UsageError, utc_now
from innkeeper.prompt.machine import Secret
from innkeeper.taverns import build

if TYPE_CHECKING:
    from innkeeper.conversation.reply import ReplyStream

STOPPED: Final = "stopped"
"""The end of a turn whose reader went away before the reply was whole."""


class AnsweredTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that was taken: the plan that was sent, the reply as it is kept, and what it cost.

    ``end`` is the provider's reason, `STOPPED`, or the kind of the error. ``usage`` has OpenAI's names. ``note`` tells of calls
    of tools, which nobody runs here.
    """

    kind: Kind
    plan: Plan
    reply: str
    speaker: str
    end: str | None = None
    usage: Mapping[str, Any] | None = None
    note: str = ""


class StreamedReply:
    """A reply on its way, piece by piece: for ``async for`` and ``await``, or for ``for`` and `text` in a blocking program.

    The turn begins with the first piece that is asked for. Leaving it early stops the model, and keeps what has come.
    """

    def __init__(self, pieces: AsyncGenerator[str]) -> None:
        self._pieces = pieces

    def __aiter__(self) -> AsyncGenerator[str]:
        return self._pieces

    def __iter__(self) -> Generator[str]:
        return portal().iterate(self._pieces)

    def __await__(self) -> Generator[Any, None, str]:
        async def whole() -> str:
            return "".join([piece async for piece in self._pieces])

        return whole().__await__()

    def text(self) -> str:
        """Return the whole reply."""
        return "".join(self)


class Chat:
    """A chat with a character, or with several, in a program. One turn is taken at a time; threads may share it.

    `send`, `swipe`, `regenerate`, `continue_reply` and `impersonate` ask the model. All other methods wait for the store alone:
    an event loop calls them, and `Chat` itself, in a thread. Each begins with the chat as the store has it, where another process
    has changed it; variables and lasting effects of lore are those of the turn that was kept last.

    Args:
        card: the character, or a list of those of a group.
        model: ``PROVIDER:MODEL``, ``local``, ``http://ADDRESS:MODEL``, a `Route`, a client, or a `ModelHandle` that chats share.
        store: a file (``.jsonl``), a folder, the URL of a database, a store; in memory where left out.
        name: which chat of a folder or a database.
        greeting: the number of the card's greeting that a new chat begins with, None for none.
        key: the provider's key, by default ``INNKEEPER_API_KEY``.
        clock: what tells the time.
        inputs: `ChatInputs`: ``persona``, ``lorebooks``, ``preset``, ``tavern``, ``settings``, ``request``.

    Raises:
        UnknownNameError: a keyword or a provider that there is not.
        UsageError: a greeting that there is not, or a name that no chat can have.
        InputError: a file that cannot be used; and what opening a store, a model and a build raise.
    """

    def __init__(
        self,
        card: Card | Sequence[Card] | None = None,
        *,
        model: ModelSource = "local",
        store: ChatLocation = None,
        name: str = DEFAULT_NAME,
        greeting: int | None = 0,
        key: Secret | str | None = None,
        clock: Callable[[], datetime] = utc_now,
        **inputs: Unpack[ChatInputs],
    ) -> None:
        self._request = chat_request(card, inputs)
        self._clock, self._lock, self.name = clock, Lock(), name
        self._stores, self._store = open_store(store, name)
        handle = ModelHandle.of(model, self._request.context_window, Secret(key) if isinstance(key, str) else key)
        self._model = handle.speaking(self._request.dialect)
        self._owns_model = isinstance(model, (str, Route))
        turn = msgspec.structs.replace(self._model.turn, seed=self._request.seed)
        self._base, self._notes = settled_request(self._request, turn)
        self.last: AnsweredTurn | None = None
        known, ports = self._store.load(), self._model.ports
        self.conversation = Conversation.begun(self._base, ports, chat=known, greeting=greeting, when=self._when())
        if known is None and self.conversation.chat.messages:
            self._keep(self.conversation)

    # ------------------------------------------------------------------------------------------------------------- looking

    @property
    def history(self) -> tuple[Message, ...]:
        """The messages as a prompt takes them, oldest first."""
        return self.conversation.history

    @property
    def variables(self) -> Mapping[str, Any]:
        """The variables of the chat by scope."""
        return self.conversation.base.variables

    @property
    def alternatives(self) -> tuple[str, ...]:
        """The alternatives of the last message; `choose` shows one."""
        return self.conversation.alternatives

    @property
    def plan(self) -> Plan:
        """The plan of the last turn; where another process took it, that of asking for its reply again, built now."""
        if self.last is not None:
            return self.last.plan
        if not any(message.role == "user" for message in self.history):
            return self.preview()
        return self.conversation.begin("regenerate", self._planned, when=self._when()).plan

    @property
    def verdicts(self) -> tuple[Any, ...]:
        """The decision about each lorebook entry in `plan`; none if the tavern has no lore."""
        return tuple(getattr(self.plan.lore, "verdicts", ()) or ())

    def preview(self, message: str = "") -> Plan:
        """Return the plan that a turn with this message would have. Nothing changes and no model is asked."""
        return self._planned(self.conversation.request(message=message))

    # --------------------------------------------------------------------------------------------------------------- turns

    def send(self, message: str = "", *, member: str | None = None) -> StreamedReply:
        """Say something, and read the reply.

        Without a message a group goes on: ``member`` speaks, else whose turn it is. What was said is kept even where the model
        fails; `regenerate` asks for the reply again.

        Reading raises `UsageError`, `UnknownNameError`, `TierBlockedError`, `ProviderError`, and what building and keeping raise.
        """
        return StreamedReply(self._turn("normal", message, member))

    def swipe(self) -> StreamedReply:
        """Ask for one more alternative of the last reply. Raises as `send`."""
        return StreamedReply(self._turn("swipe"))

    def regenerate(self) -> StreamedReply:
        """Ask for another reply in place of the last, or for the one that is missing. Raises as `send`."""
        return StreamedReply(self._turn("regenerate"))

    def continue_reply(self) -> StreamedReply:
        """Ask for more of the last reply. Raises as `send`."""
        return StreamedReply(self._turn("continue"))

    def impersonate(self) -> StreamedReply:
        """Let the model write what the user may say; nothing of it is kept. Raises as `send`."""
        return StreamedReply(self._turn("impersonate"))

    async def _turn(self, kind: Kind, message: str = "", member: str | None = None) -> AsyncGenerator[str]:
        with self._alone():
            turn = await to_thread(self._begin, kind, message, member)
            stream, fold = turn.reply(), response_fold(self._model.model)
            end, usage, note = None, None, ""
            try:
                async with aclosing(self._model.events(turn.plan)) as events:
                    async for event in events:
                        fold.take(event)
                        if isinstance(event, TextDelta) and (text := stream.feed(event.text)):
                            yield text
                        if stream.is_cut:
                            end = "stop"
                            break
                if not stream.is_cut:
                    response = fold.response()
                    note = refused_calls(response) if response.calls else ""
                    end, usage = finish_reason(response), chat_usage(response)
            except (CancelledError, GeneratorExit):
                if stream.raw.strip():
                    self._end(turn, stream, end=STOPPED)
                raise
            except InnkeeperError as error:
                self.last = self._answered(turn, stream.raw, end=error.kind)
                raise
            if rest := await to_thread(self._end, turn, stream, end=end, usage=usage, note=note):
                yield rest

    def _begin(self, kind: Kind, message: str, member: str | None) -> ConversationTurn:
        """Plan a turn, and keep the user's message."""
        self._refresh()
        turn = self.conversation.begin(kind, self._planned, message=message, member=member, when=self._when())
        self.conversation = turn.conversation
        if turn.message:
            self._keep(turn.conversation)
        return turn

    def _end(self, turn: ConversationTurn, stream: ReplyStream, **facts: Any) -> str:
        """Keep the reply; return the rest of it to show."""
        rest, conversation = turn.keep(stream, self._when())
        self.last = self._answered(turn, stream.text, **facts)
        self.conversation = conversation
        if turn.kind != "impersonate":
            self._keep(conversation)
        return rest

    def _answered(self, turn: ConversationTurn, reply: str, **facts: Any) -> AnsweredTurn:
        speaker = turn.conversation.character_name
        return AnsweredTurn(kind=turn.kind, plan=turn.plan, reply=reply.strip(), speaker=speaker, **facts)

    def _planned(self, request: BuildRequest) -> Plan:
        plan = build(request.with_(now=request.now or self._clock()), self._model.ports)
        return plan.with_(notes=(*self._notes, *plan.notes)) if self._notes else plan

    # ------------------------------------------------------------------------------------------------------------- changes

    def choose(self, number: int) -> None:
        """Show an alternative of the last message, from 1. Raises `UsageError`."""
        self._change(lambda before: before.with_alternative(number))

    def edit(self, text: str, number: int | None = None) -> None:
        """Change the text of a message, from 1, the last where left out. Raises `UsageError`."""
        self._change(lambda before: before.edited(text, number))

    def delete(self, number: int | None = None) -> None:
        """Take a message out, from 1, the last where left out. Raises `UsageError`."""
        self._change(lambda before: before.without(number)[0])

    def note(self, text: str | None) -> None:
        """Set the author's note, or remove it with None."""
        self._change(lambda before: before.with_note(text))

    def branch(self, name: str, length: int | None = None) -> Chat:
        """Return a new chat with the first ``length`` messages of this one, by default all; this one stays as it is.

        It is kept beside this one under its own name, and shares its model. Variables and lasting effects are those of now.
        Raises `UsageError` for a name that is taken, a length that is not there, or a store that keeps one chat alone.
        """
        if self._stores is None:
            raise UsageError("this store keeps one chat alone", hint="give a store with a method named(name)")
        with self._alone():
            self._refresh()
            chat = self.conversation.chat
        if length is not None and not 0 <= length <= len(chat.messages):
            raise UsageError(f"the chat has no first {length} messages", hint=f"it has {len(chat.messages)}")
        store = self._stores.named(name)
        if store.load() is not None:
            raise UsageError(f"there is a chat {name!r} already", hint="choose another name")
        cut = msgspec.structs.replace(chat, messages=chat.messages[:length], bad_lines=(), data=None)
        store.keep(cut.with_metadata({"main_chat": self.name}))
        request, stores = self._request, self._stores
        return Chat(request=request, model=self._model, store=stores, name=name, greeting=None, clock=self._clock)

    def close(self) -> None:
        """Close the model; a client that was passed in stays open."""
        if self._owns_model:
            self._model.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------------------------------------------------- keeping

    def _change(self, change: Callable[[Conversation], Conversation]) -> None:
        with self._alone():
            self._refresh()
            self._keep(change(self.conversation))

    def _refresh(self) -> None:
        """Go on with the chat as the store has it, where another process has changed it."""
        known = self._store.load()
        if known is None or known is self.conversation.chat:
            return
        shared = {name: values for name, values in self.variables.items() if name != "local"}
        base = self._base.with_(variables={**self._base.variables, **shared})
        conversation = Conversation.begun(base, self._model.ports, chat=known, when="")
        self.conversation = msgspec.structs.replace(conversation, speaker=self.conversation.speaker)

    def _keep(self, conversation: Conversation) -> None:
        self._store.keep(conversation.chat)
        self.conversation = conversation

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Take a turn alone. Raises `UsageError` while another is under way."""
        if not self._lock.acquire(blocking=False):
            raise UsageError("this chat is answering already", hint="wait for the reply, or open the chat once more")
        try:
            yield
        finally:
            self._lock.release()

    def _when(self) -> str:
        return self._clock().isoformat(timespec="seconds")
