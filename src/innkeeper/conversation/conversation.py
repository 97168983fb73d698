"""Conversation: one chat as a value, and a turn of it: the next request to a model, and the chat after its answer.

A turn is of one kind: a reply, one more reply (`continue`, `regenerate`, `swipe`), or the user's own words (`impersonate`).
`Conversation.begin` plans it, `ConversationTurn.reply` reads the answer, and `ConversationTurn.keep` returns the conversation
after it. Nothing here asks a model, reads the clock or writes a file; a `ConversationStore` keeps the chat.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec

from innkeeper.content.chat import ChatLog
from innkeeper.content.chat_message import ChatMessage
from innkeeper.conversation.reply import ReplyRules, ReplyStream, finished_reply
from innkeeper.prompt import BuildRequest, Message, Plan, Ports, UnknownNameError, UsageError
from innkeeper.prompt.data import EMPTY
from innkeeper.taverns import TAVERNS
from innkeeper.taverns.participants import avatar_of, cards_of, greetings_of, members_of, name_of, speakers_of

Kind: TypeAlias = Literal["normal", "continue", "impersonate", "regenerate", "swipe"]
"""The kinds of turns, by the names of SillyTavern's generations."""

Build: TypeAlias = Callable[[BuildRequest], Plan]
"""Builds a request."""

_SILLY: Final = "silly"
"""The tavern whose chats have hidden messages."""

_NOTE: Final = {"note_interval": 1, "note_position": 1, "note_depth": 4, "note_role": 0}
"""The default position of an author's note."""


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """A chat with one character or a group. ``base`` is the request that all its turns have in common.

    ``speaker`` is the member of the group that speaks, ``waiting`` are those that reply next. Times of messages (``when``) are
    ISO 8601.
    """

    base: BuildRequest
    chat: ChatLog
    speaker: int | None = None
    waiting: tuple[int, ...] = ()

    @property
    def members(self) -> tuple[str, ...]:
        """The names of the group's members, none where there is no group."""
        return members_of(self.base.group)

    @property
    def user_name(self) -> str:
        """The name of the user."""
        return name_of(self.base.user, "User")

    @property
    def character_name(self) -> str:
        """The name of the character; in a group, of the member that speaks."""
        members = self.members
        return members[self.speaker or 0] if members else name_of(self.base.character, "Assistant")

    @property
    def history(self) -> tuple[Message, ...]:
        """The messages as a prompt takes them."""
        return self.chat.to_messages(hidden=self.base.tavern == _SILLY)

    @property
    def has_reply(self) -> bool:
        """Whether the last message is the character's."""
        return bool(self.chat.messages) and self.chat.messages[-1].role == "assistant"

    @property
    def is_greeting(self) -> bool:
        """Whether nobody but the character has spoken yet."""
        return len(self.chat.messages) == 1 and self.has_reply

    @property
    def alternatives(self) -> tuple[str, ...]:
        """The alternatives of the last message."""
        return self.chat.messages[-1].swipes if self.chat.messages else ()

    @property
    def shown(self) -> int:
        """The number of the alternative that is shown, from 1."""
        return ((self.chat.messages[-1].swipe_id or 0) if self.chat.messages else 0) + 1

    @classmethod
    def begun(
        cls,
        base: BuildRequest,
        ports: Ports,
        *,
        chat: ChatLog | None = None,
        greeting: int | None = 0,
        alone: bool = False,
        when: str,
    ) -> Conversation:
        """Return the conversation that goes on with ``chat``, or a new one with the character's greeting of this number, if any.

        In a group each member greets. With ``alone`` a greeting has no alternatives, which are a build each. Raises `UsageError`
        for a number that is no greeting's, and what a build raises.
        """
        if chat is not None:
            base = base.with_(settings={**base.settings, "chat_metadata": chat.metadata})
            stored = chat.metadata.get("variables")
            if isinstance(stored, Mapping) and base.tavern != _SILLY:  # which reads its own
                base = base.with_(variables={**base.variables, "local": {**base.variables.get("local", {}), **stored}})
            return cls(base=base, chat=chat)
        names = {"user_name": name_of(base.user, "User"), "character_name": name_of(base.character, "Assistant")}
        new = cls(base=base, chat=ChatLog(header={**names, "create_date": when, "chat_metadata": {}}))
        if greeting is None or not (new.members or base.character is not None):
            return new
        if not new.members:
            texts = greetings_of(base, ports, greeting, alone=alone)
            return new.greeted(texts, 0 if alone else greeting, when=when)
        for index, card in enumerate(cards_of(base.group)):
            texts = greetings_of(base.with_(group=None, character=card), ports, 0, alone=True)
            new = new._with(speaker=index).greeted(texts, when=when)
        return new

    # ------------------------------------------------------------------------------------------------------------- turns

    def request(self, kind: str = "normal", message: str = "", *, speaker: int | None = None) -> BuildRequest:
        """Return the request of a turn."""
        base = self.base if speaker is None else self.base.with_(group={**(self.base.group or {}), "speaker": speaker})
        return base.with_(history=self.history, message=message, generation=kind)

    def begin(
        self, kind: Kind, build: Build, *, message: str = "", member: str | None = None, when: str
    ) -> ConversationTurn:
        """Plan a turn.

        A normal one takes the user's ``message``, which is kept whatever becomes of the answer. Without one it is one more reply
        in a group: of ``member``, else of the first that waits, else of whom the group's strategy chooses.

        Raises `UsageError` where the chat has nothing that such a turn could go on from, `UnknownNameError` for a member that is
        not in the group, and what building raises.
        """
        if kind == "normal":
            return self._begin_with(build, message, when) if message else self._begin_reply(build, member)
        if kind in ("continue", "impersonate"):
            if kind == "continue" and not self.has_reply:
                raise UsageError("there is no reply yet to go on with")
            if not self._knows_kinds:
                raise UsageError(f"the tavern {self.base.tavern} has no generation {kind!r}", hint="--tavern silly can")
            return ConversationTurn(kind=kind, plan=build(self.request(kind, speaker=self._member)), conversation=self)
        if kind == "swipe" and not self.has_reply:
            raise UsageError("there is no reply yet to give an alternative to")
        return ConversationTurn(kind=kind, plan=build(self._request_again(kind)), conversation=self)

    @property
    def _member(self) -> int | None:
        return self.speaker if self.members else None

    def _begin_with(self, build: Build, text: str, when: str) -> ConversationTurn:
        plan = build(self.request(message=text))
        speaker, *waiting = speakers_of(plan) or (None,)
        stored = plan.stored or EMPTY
        bias = {"bias": stored["message_bias"]} if "message_bias" in stored else None
        message = self._message("user", stored.get("message", text), when, bias)
        message = message.replace(hidden=True) if stored.get("message_hidden") else message
        after = self._with(chat=self.chat.append(message), speaker=speaker, waiting=tuple(waiting))
        return ConversationTurn(kind="normal", plan=plan, conversation=after, message=text)

    def _begin_reply(self, build: Build, member: str | None) -> ConversationTurn:
        members, waiting = self.members, list(self.waiting)
        if not members:
            raise UsageError("there is no group: only one character is here")
        speaker = None
        if member is not None:
            speaker = member_of(members, member)
        elif waiting:
            speaker = waiting.pop(0)
        plan = build(self.request(speaker=speaker))
        if speaker is None:
            speaker, *waiting = speakers_of(plan) or (0,)
        after = self._with(speaker=speaker, waiting=tuple(waiting))
        return ConversationTurn(kind="normal", plan=plan, conversation=after)

    def _request_again(self, kind: str) -> BuildRequest:
        """Return the request of the last turn, as one of this kind."""
        chat = self.chat.without(-1) if self.has_reply else self.chat
        if not chat.messages or chat.messages[-1].role != "user":
            raise UsageError("there is no message of yours yet to answer")
        if self._knows_kinds:
            # The tavern takes an old reply out of the chat by itself; what was typed was rewritten when it was said.
            return self.request(kind, speaker=self._member)
        before = self._with(chat=chat.without(-1))
        return before.request(message=chat.messages[-1].text, speaker=self._member)

    @property
    def _knows_kinds(self) -> bool:
        return TAVERNS[self.base.tavern].inputs.reason("generation") is None

    def after(self, plan: Plan) -> Conversation:
        """Return the conversation with what a build leaves beside the messages: variables and lasting effects of lore."""
        chat = self.chat.with_(plan)
        covered = ("timedWorldInfo", "innkeeper") if plan.carry else ()  # what ``lore_state`` says already
        metadata = {name: value for name, value in chat.metadata.items() if name not in covered}
        settings = {**self.base.settings, "chat_metadata": metadata}
        base = self.base.with_(variables=plan.variables, lore_state=plan.carry, settings=settings)
        return self._with(base=base, chat=chat)

    # ----------------------------------------------------------------------------------------------------------- changes

    def greeted(self, greetings: Sequence[str], shown: int = 0, *, when: str) -> Conversation:
        """Return the conversation with one of the character's greetings; the others are its alternatives."""
        message = self._message("assistant", greetings[shown], when)
        message = message.replace(swipes=tuple(greetings), swipe_id=shown) if len(greetings) > 1 else message
        return self._with(chat=self.chat.append(message))

    def edited(self, text: str, number: int | None = None) -> Conversation:
        """Return it with another text of a message (from 1, the last where left out). Raises `UsageError`."""
        index = self._index(number)
        return self._with(chat=self.chat.replace_message(index, self.chat.messages[index].replace(text=text)))

    def without(self, number: int | None = None) -> tuple[Conversation, ChatMessage]:
        """Return it without a message (from 1, the last where left out), and that message. Raises `UsageError`."""
        index = self._index(number)
        return self._with(chat=self.chat.without(index)), self.chat.messages[index]

    def with_note(self, text: str | None) -> Conversation:
        """Return it with this author's note, or with none; the note's depth and interval stay."""
        missing = {name: value for name, value in _NOTE.items() if not self.chat.metadata.get(name)} if text else {}
        chat = self.chat.with_metadata({"note_prompt": text or None, **missing})
        base = self.base.with_(settings={**self.base.settings, "chat_metadata": chat.metadata})
        return self._with(base=base, chat=chat)

    def with_alternative(self, number: int) -> Conversation:
        """Return it with alternative ``number`` (from 1) of the last message shown. Raises `UsageError` where there is none."""
        swipes = self.alternatives
        if not 1 <= number <= len(swipes):
            raise UsageError(f"the last message has no alternative {number}", hint=f"it has {len(swipes)}")
        shown = self.chat.messages[-1].replace(swipe_id=number - 1).replace(text=swipes[number - 1])
        return self._with(chat=self.chat.replace_message(-1, shown))

    def _index(self, number: int | None) -> int:
        count = len(self.chat.messages)
        if not count or not 1 <= (number or count) <= count:
            hint = f"they go from 1 to {count}" if count else "nothing has been said yet"
            raise UsageError(f"there is no message {number or 'yet'}", hint=hint)
        return (number or count) - 1

    def _message(self, role: str, text: str, when: str, extra: Mapping[str, Any] | None = None) -> ChatMessage:
        name = self.user_name if role == "user" else self.character_name
        avatar = avatar_of(self.base.group, self.speaker) if role == "assistant" else None
        return ChatMessage.create(role, text, name=name, send_date=when, extra=extra, avatar=avatar)

    def _with(self, **changes: Any) -> Conversation:
        return msgspec.structs.replace(self, **changes)


class ConversationTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A planned turn. ``conversation`` is the one before the answer, with the user's message (``message`` as typed)."""

    kind: Kind
    plan: Plan
    conversation: Conversation
    message: str = ""

    def reply(self) -> ReplyStream:
        """Return the reader of its answer."""
        return ReplyStream(ReplyRules.of(self._request(self.conversation), self.conversation.character_name))

    def keep(self, reply: ReplyStream, when: str) -> tuple[str, Conversation]:
        """End the answer: return the rest of it to show, and the conversation after the turn.

        The text that was shown is the message that is kept. Raises what a build raises, where scripts finish the answer.
        """
        after = self.conversation.after(self.plan)
        finished = finished_reply(self._request(after), reply.raw, speaker=after.character_name)
        rest = reply.end(finished.text)
        after = msgspec.structs.replace(after, base=after.base.with_(variables=finished.variables))
        return rest, msgspec.structs.replace(after, chat=self._chat_after(after, reply.text, when))

    @property
    def before(self) -> tuple[Message, ...]:
        """The messages up to the answer: without the one that it replaces."""
        request, chat = self.plan.request, self.conversation.chat
        replaced = request is not None and (request.generation in {"regenerate", "swipe"} or request.message)
        if replaced and self.conversation.has_reply:
            chat = chat.without(-1)
        return chat.to_messages(hidden=self.conversation.base.tavern == _SILLY)

    @property
    def speaking_plan(self) -> Plan:
        """The plan, with a request that names the member that speaks: nobody else does when it is built again."""
        conversation, request = self.conversation, self.plan.request
        if request is None or not conversation.members or conversation.speaker is None:
            return self.plan
        group = {**(conversation.base.group or {}), "speaker": conversation.speaker}
        return self.plan.with_(request=request.with_(group=group))

    def _request(self, conversation: Conversation) -> BuildRequest:
        """Return the request by which the answer is finished: with the chat up to the answer."""
        generation, now = "normal", conversation.base.now
        if self.plan.request is not None:
            generation, now = self.plan.request.generation, self.plan.request.now
        history = conversation.chat.to_messages(hidden=True)
        return conversation.base.with_(tavern=self.plan.tavern, history=history, now=now, generation=generation)

    def _chat_after(self, after: Conversation, text: str, when: str) -> ChatLog:
        """Return the chat with the answer."""
        chat = after.chat
        if self.kind == "impersonate":
            return chat
        message = after._message("assistant", text, when)  # noqa: SLF001 - of the same module
        if self.kind == "normal" or not after.has_reply:
            return chat.append(message)
        last = chat.messages[-1]
        if self.kind == "continue":
            message = last.replace(text=last.text + _joint(after.base.preset, last.text, text) + text)
        elif self.kind == "swipe":
            swipes = (*(last.swipes or (last.text,)), text)
            grown = last.replace(swipes=swipes, swipe_id=len(swipes) - 1, send_date=when)
            message = grown.replace(text=text)  # apart: the text is written over the alternative that is shown
        return chat.replace_message(-1, message)


def member_of(members: Sequence[str], name: str) -> int:
    """Return the index of a member by its name or the beginning of it. Raises `UnknownNameError`."""
    folded = name.casefold()
    for fits in (str.__eq__, str.startswith):
        for index, member in enumerate(members):
            if fits(member.casefold(), folded):
                return index
    raise UnknownNameError("member of the group", name, members)


def _joint(preset: Any, before: str, more: str) -> str:
    """Return what joins a reply and its continuation: the preset's text, unless one of them has a space or a mark there."""
    if not before or not more or before[-1].isspace() or more[0].isspace() or more[0] in ".,;:!?…)]}\"'»”’*":
        return ""
    return str(getattr(preset, "continue_postfix", " "))
