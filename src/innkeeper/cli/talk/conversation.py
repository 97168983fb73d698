"""A chat that goes on: builds a plan for each turn, asks a model, keeps what was said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from innkeeper.budget import accounting
from innkeeper.cli.talk.answering import ModelHandle
from innkeeper.cli.talk.recorder import Listener, RecordedTurn
from innkeeper.content.chat import Chat
from innkeeper.content.chat_message import ChatMessage
from innkeeper.content.files.saving import append_to_chat, save_chat
from innkeeper.conversation.reply import ReplyRules, finished_reply
from innkeeper.conversation.reply_stream import ReplyStream
from innkeeper.prompt import BuildRequest, InnkeeperError, Message, Plan, Ports, UnknownNameError, UsageError, utc_now
from innkeeper.prompt.data import EMPTY
from innkeeper.taverns import TAVERNS
from innkeeper.taverns import build as build_plan
from innkeeper.taverns.participants import members_of, name_of, speakers_of

if TYPE_CHECKING:
    from innkeeper.budget import Accounting
    from innkeeper.inference.tools.toolbox import Toolbox


Builder = Callable[[BuildRequest, Ports], Plan]
"""What makes a plan of a request: `innkeeper.taverns.build`."""


class _ReplyCutError(Exception):
    """The reply is at its end, since somebody else begins to speak: nothing more of it is waited for."""


class Conversation:
    """One chat with one character, or with a group, in memory and, with ``path``, on disk after each message.

    ``base`` is the request all turns have in common; ``tools`` is what the model may call. ``plan`` is that of the last turn. A
    reply that is interrupted keeps what had come; one that fails before its first word leaves the user's message there, for
    `retry`.
    """

    def __init__(
        self,
        base: BuildRequest,
        chat: Chat,
        handle: ModelHandle,
        build: Builder = build_plan,
        *,
        path: Path | None = None,
        now: Callable[[], datetime] = utc_now,
        listener: Listener | None = None,
    ) -> None:
        self.base = base
        self.listener = listener
        self.last: RecordedTurn | None = None
        self.chat = chat
        self.plan: Plan | None = None
        self.members = members_of(base.group)
        self.speaker: int | None = None
        self.waiting: list[int] = []
        self.path = path
        self._header_is_new = False
        self.handle = handle
        self.tools: Toolbox | None = None
        self._build = build
        self._now = now

    def preview(self, text: str = "") -> Plan:
        """The plan that a turn with ``text`` would have; nothing changes and nobody is asked."""
        return self._planned(self.chat, text, "normal")

    def greet(self, greetings: Sequence[str], shown: int = 0) -> None:
        """Begin an empty chat with one of the character's greetings; the others are its alternatives."""
        message = self._message("assistant", greetings[shown])
        self._add(message.replace(swipes=tuple(greetings), swipe_id=shown) if len(greetings) > 1 else message)

    def say(self, text: str, on_delta: Callable[[str], Any]) -> str:
        """A turn: the user's words, the plan, the reply, which is returned. Nothing is kept when no plan can be made.

        In a group the first of those who reply does so; the others are then `waiting`, for `turn`.
        """
        plan = self._planned(self.chat, text, "normal")
        self.speaker, *self.waiting = speakers_of(plan) or (None,)
        stored = plan.stored or EMPTY
        bias = {"bias": stored["message_bias"]} if "message_bias" in stored else None
        message = self._message("user", stored.get("message", text), bias)
        self._add(message.replace(hidden=True) if stored.get("message_hidden") else message)
        return self._answer(plan, on_delta, said=text)

    def turn(self, on_delta: Callable[[str], Any], member: str | None = None) -> str:
        """One more reply in a group: of this member, else of the first that waits, else of whom the group's strategy chooses.

        Raises `UsageError` where there is no group, `UnknownNameError` for somebody who is not in it.
        """
        if not self.members:
            raise UsageError("there is no group: only one character is here")
        if member is not None:
            self.speaker = member_of(self.members, member)
        elif self.waiting:
            self.speaker = self.waiting.pop(0)
        else:
            self.speaker = None
        plan = self._planned(self.chat, "", "normal", self.speaker)
        if self.speaker is None:
            self.speaker, *self.waiting = speakers_of(plan) or (0,)
        return self._answer(plan, on_delta)

    def carry_on(self, on_delta: Callable[[str], Any]) -> str:
        """More of the last reply, which grows by it; what came is returned. Raises `UsageError`."""
        if not self._has_reply():
            raise UsageError("there is no reply yet to go on with")
        more = self._heard(self._of_kind("continue"), on_delta).rstrip()
        last = self.chat.messages[-1]
        self._amend(last.replace(text=last.text + _joint(self.base.preset, last.text, more) + more))
        return more

    def impersonate(self, on_delta: Callable[[str], Any]) -> str:
        """What the model would say in the user's place; it is said by nobody yet. Raises `UsageError`."""
        return self._heard(self._of_kind("impersonate"), on_delta)

    def edit(self, text: str, number: int | None = None) -> None:
        """Give a message (from 1, the last where left out) another text. Raises `UsageError`."""
        place = self._place(number)
        self._change(self.chat.replace_message(place, self.chat.messages[place].replace(text=text)))

    def delete(self, number: int | None = None) -> ChatMessage:
        """Take a message (from 1, the last where left out) out of the chat; it is returned. Raises `UsageError`."""
        place = self._place(number)
        gone = self.chat.messages[place]
        self._change(self.chat.without(place))
        return gone

    def note(self, text: str | None) -> None:
        """Set the author's note of this chat, or take it out; its depth and its interval stay what they are."""
        usual = {"note_interval": 1, "note_position": 1, "note_depth": 4, "note_role": 0}
        missing = {name: value for name, value in usual.items() if not self.chat.metadata.get(name)} if text else {}
        chat = self.chat.with_metadata({"note_prompt": text or None, **missing})
        self.base = self.base.with_(settings={**self.base.settings, "chat_metadata": chat.metadata})
        self._change(chat)

    def add_lore(self, book: Any) -> None:
        """One more lorebook from now on."""
        self.base = self.base.with_(lorebooks=(*self.base.lorebooks, book))

    def use(self, handle: ModelHandle) -> None:
        """Let another model answer from now on; a window that was the former model's becomes its own."""
        window = self.base.context_window
        window = handle.window if window == self.handle.window else window
        self.base = self.base.with_(model=handle.model, context_window=window or handle.window)
        before, self.handle = self.handle, replace(handle, media=self.handle.media)
        before.close()

    def retry(self, on_delta: Callable[[str], Any]) -> str:
        """The last turn again; the old reply is gone once the first word of the new one is there."""
        plan = self._again("regenerate")
        return self._answer(plan, on_delta, instead=self._has_reply())

    def swipe(self, on_delta: Callable[[str], Any]) -> str:
        """One more alternative to the last reply; the others are kept beside it."""
        if not self._has_reply():
            raise UsageError("there is no reply yet to give an alternative to")
        last = self.chat.messages[-1]
        reply = self._heard(self._again("swipe"), on_delta)
        swipes = (*(last.swipes or (last.text,)), reply)
        grown = last.replace(swipes=swipes, swipe_id=len(swipes) - 1, send_date=self._when())
        self._amend(grown.replace(text=reply))  # apart: the text is written over the alternative that is shown
        return reply

    def choose(self, number: int) -> str:
        """Show alternative ``number`` (from 1) of the last message instead. Raises `UsageError` where there is none."""
        last = self.chat.messages[-1] if self.chat.messages else None
        swipes = last.swipes if last is not None else ()
        if last is None or not 1 <= number <= len(swipes):
            raise UsageError(f"the last message has no alternative {number}", hint=f"it has {len(swipes)}")
        self._amend(last.replace(swipe_id=number - 1).replace(text=swipes[number - 1]))
        return swipes[number - 1]

    @property
    def user_name(self) -> str:
        """What the user is called."""
        return name_of(self.base.user, "User")

    @property
    def character_name(self) -> str:
        """What the character is called; in a group, who speaks."""
        if self.members:
            return self.members[self.speaker or 0]
        return name_of(self.base.character, "Assistant")

    @property
    def alternatives(self) -> tuple[str, ...]:
        """The alternatives of the last message."""
        return self.chat.messages[-1].swipes if self.chat.messages else ()

    @property
    def shown(self) -> int:
        """Which of the alternatives is shown, from 1."""
        return ((self.chat.messages[-1].swipe_id or 0) if self.chat.messages else 0) + 1

    @property
    def is_greeting(self) -> bool:
        """Whether nobody but the character has spoken yet."""
        return len(self.chat.messages) == 1 and self._has_reply()

    def figures(self, plan: Plan) -> Accounting:
        """The tokens of a plan, as the model of this conversation counts them."""
        return accounting(plan, self.handle.counter)

    def save(self, path: Path) -> None:
        """Write the chat to a new file, and keep it there from now on. Raises `OutputExistsError`."""
        save_chat(path, self.chat)
        self.path = path

    def close(self) -> None:
        """Let go of what answers."""
        self.handle.close()

    def _planned(self, chat: Chat, text: str, generation: str, speaker: int | None = None) -> Plan:
        base = self.base if speaker is None else self.base.with_(group={**self.base.group, "speaker": speaker})
        request = base.with_(
            history=chat.to_messages(hidden=self.base.tavern == SILLY),
            message=text,
            generation=generation,
            now=self.base.now or self._now(),
            tools=self._offered(generation) or base.tools,
        )
        return self._build(request, self.handle.ports)

    def _answer(self, plan: Plan, on_delta: Callable[[str], Any], *, instead: bool = False, said: str = "") -> str:
        reply = self._heard(plan, on_delta, said)
        message = self._message("assistant", reply)
        if instead:
            self._amend(message)
        else:
            self._add(message)
        return reply

    def _heard(self, plan: Plan, on_delta: Callable[[str], Any], said: str = "") -> str:
        """Return the reply that is kept, which is what was shown of it.

        Ctrl-C ends it where it is; with nothing heard yet it comes through. It also ends where somebody else begins to speak.
        """
        self.plan = plan
        rules = ReplyRules.of(self._request_after(plan), self.character_name)
        stream = ReplyStream(rules)

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
            stream = ReplyStream(rules)

        end, usage = None, None
        try:
            _, end, usage = self._asked(plan, hear, begin_again)
        except _ReplyCutError:
            end = "stop"
        except KeyboardInterrupt:
            if not stream.raw.strip():
                raise
            end = "stopped"
        except InnkeeperError as error:
            self._told(RecordedTurn(plan, said, stream.raw, error.kind, None, self.character_name))
            raise
        self._remember(plan)
        finished = finished_reply(self._request_after(plan), stream.raw, speaker=self.character_name)
        self.base = self.base.with_(variables=finished.variables)
        show(stream.end(finished.text))
        self._told(RecordedTurn(plan, said, stream.text.strip(), end, usage, self.character_name))
        return stream.text

    def _asked(
        self, plan: Plan, hear: Callable[[str], Any], on_calls: Callable[[], Any]
    ) -> tuple[str, str | None, Mapping[str, Any] | None]:
        """Let the model answer a plan, with tools where there are some; return the text, why it ended, and its figures."""
        if self.tools is None or not self._offered(plan.request.generation if plan.request else "normal"):
            return self.handle.answer(plan, hear)
        from innkeeper.cli.talk.tools import answer_with_tools

        before = self._before(plan)
        return answer_with_tools(self._of_speaker(plan), before, self.handle, self.tools, hear, on_calls)

    def _offered(self, generation: str) -> list[dict[str, Any]]:
        """What the model may call, where it speaks for the character from the beginning of a reply."""
        speaks = generation not in {"continue", "impersonate"}
        return self.tools.registry.openai_tools() if self.tools is not None and speaks else []

    def _of_speaker(self, plan: Plan) -> Plan:
        """The plan, with a request that says who of a group speaks: nobody else is to when it is built again."""
        if plan.request is None or not self.members or self.speaker is None:
            return plan
        return plan.with_(request=plan.request.with_(group={**self.base.group, "speaker": self.speaker}))

    def _before(self, plan: Plan) -> tuple[Message, ...]:
        """The chat up to the reply that a plan asks for: without the one that it is to replace."""
        request = plan.request
        replaced = request is not None and (request.generation in {"regenerate", "swipe"} or request.message)
        chat = self.chat.without(-1) if replaced and self._has_reply() else self.chat
        return tuple(chat.to_messages(hidden=self.base.tavern == SILLY))

    def _told(self, turn: RecordedTurn) -> None:
        self.last = turn
        if self.listener is not None:
            self.listener.turn(self, turn)

    def _request_after(self, plan: Plan) -> BuildRequest:
        """Return the request by which the answer to a plan is finished: with the chat up to the answer."""
        history, now = self.chat.to_messages(hidden=True), self.base.now or self._now()
        generation = "normal" if plan.request is None else plan.request.generation
        return self.base.with_(tavern=plan.tavern, history=history, now=now, generation=generation)

    def _remember(self, plan: Plan) -> None:
        """What the turn changed beside the chat: variables and lasting effects of lore; both are stored in its header."""
        chat = self.chat.with_(plan)
        self._header_is_new = self._header_is_new or chat is not self.chat
        self.chat = chat
        carried = ("timedWorldInfo", "innkeeper") if plan.carry else ()  # what the state below says already
        metadata = {name: value for name, value in chat.metadata.items() if name not in carried}
        settings = {**self.base.settings, "chat_metadata": metadata}
        self.base = self.base.with_(variables=plan.variables, lore_state=plan.carry, settings=settings)

    def _again(self, generation: str) -> Plan:
        """The plan of the last turn, as ``generation`` makes it."""
        speaker = self.speaker if self.members else None
        chat = self.chat.without(-1) if self._has_reply() else self.chat
        if not chat.messages or chat.messages[-1].role != "user":
            raise UsageError("there is no message of yours yet to answer")
        if TAVERNS[self.base.tavern].inputs.reason("generation") is None:
            # The tavern takes an old reply out of the chat by itself; what was typed was rewritten when it was said.
            return self._planned(self.chat, "", generation, speaker)
        return self._planned(chat.without(-1), chat.messages[-1].text, "normal", speaker)

    def _of_kind(self, generation: str) -> Plan:
        """The plan of a generation that only some taverns know. Raises `UsageError`."""
        if TAVERNS[self.base.tavern].inputs.reason("generation") is not None:
            hint = "--tavern silly can"
            raise UsageError(f"the tavern {self.base.tavern} has no generation {generation!r}", hint=hint)
        return self._planned(self.chat, "", generation, self.speaker if self.members else None)

    def _place(self, number: int | None) -> int:
        count = len(self.chat.messages)
        if not count or not 1 <= (number or count) <= count:
            hint = f"they go from 1 to {count}" if count else "nothing has been said yet"
            raise UsageError(f"there is no message {number or 'yet'}", hint=hint)
        return (number or count) - 1

    def _has_reply(self) -> bool:
        return bool(self.chat.messages) and self.chat.messages[-1].role == "assistant"

    def _message(self, role: str, text: str, extra: Mapping[str, Any] | None = None) -> ChatMessage:
        name = self.user_name if role == "user" else self.character_name
        return ChatMessage.create(role, text, name=name, send_date=self._when(), extra=extra)

    def _when(self) -> str:
        return self._now().isoformat(timespec="seconds")

    def _add(self, message: ChatMessage) -> None:
        """One more message; the file, too, only grows, unless its header has changed."""
        chat = self.chat.append(message)
        if self._header_is_new:
            self._rewrite(chat)
        elif self.path is not None:
            append_to_chat(self.path, message, chat=self.chat)
        self._now_is(chat)

    def _amend(self, message: ChatMessage) -> None:
        """Another last message."""
        self._change(self.chat.replace_message(-1, message))

    def _change(self, chat: Chat) -> None:
        """Another chat; the file is written anew and takes the old one's place in one step."""
        self._rewrite(chat)
        self._now_is(chat)

    def _now_is(self, chat: Chat) -> None:
        self.chat = chat
        if self.listener is not None:
            self.listener.changed(self)

    def _rewrite(self, chat: Chat) -> None:
        if self.path is not None:
            save_chat(self.path, chat, force=True)
        self._header_is_new = False


def member_of(members: Sequence[str], name: str) -> int:
    """The place of a member by its name or the beginning of it. Raises `UnknownNameError`."""
    wanted = name.casefold()
    for fits in (str.__eq__, str.startswith):
        for place, member in enumerate(members):
            if fits(member.casefold(), wanted):
                return place
    raise UnknownNameError("member of the group", name, members)


def _joint(preset: Any, before: str, more: str) -> str:
    """What stands between a reply and its continuation: what the preset says, unless one of them has a space or mark there."""
    if not before or not more or before[-1].isspace() or more[0].isspace() or more[0] in ".,;:!?…)]}\"'»”’*":
        return ""
    return str(getattr(preset, "continue_postfix", " "))


SILLY: Final = "silly"
"""The tavern whose chats have hidden messages."""
