"""Functions of the chat: names, fields of cards, messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from innkeeper.macros.cbs.functions.lists import list_text
from innkeeper.macros.cbs.run import CbsCall, Function, Result, ThrownError, by_alias
from innkeeper.macros.cbs.scope import NO_VALUE, data_of
from innkeeper.text.javascript.values import json_text


def _field(name: str) -> Function:
    """A function that expands a field of the scope."""
    return lambda call: call.run.parse(call.run, getattr(call.scope, name))


def _previous(call: CbsCall, role: str, end: int) -> str:
    """The last message of a role before an index, else the greeting as it was written."""
    messages = call.scope.messages
    end = min(end, len(messages))
    last = next((index for index in range(end - 1, -1, -1) if messages[index].get("role") == role), None)
    call.run.spend(end if last is None else end - last)
    return call.scope.greeting if last is None else data_of(messages[last])


def previous_user_message(call: CbsCall) -> Result:
    """The user's last message before this one; nothing where the text is no message's."""
    return "" if call.scope.chat_index == -1 else _previous(call, "user", max(call.scope.chat_index, 0))


def previous_char_message(call: CbsCall) -> Result:
    """The character's last message before this one, or of the chat."""
    index = call.scope.chat_index
    return _previous(call, "char", len(call.scope.messages) if index == -1 else max(index, 0))


def last_message(call: CbsCall) -> Result:
    """The last message."""
    if not call.scope.messages:
        raise ThrownError
    return data_of(call.scope.messages[-1])


def previous_chat_log(call: CbsCall) -> Result:
    """The message of an index."""
    message = call.scope.message(call.number(0))
    return "Out of range" if message is None else data_of(message)


def _as_json(call: CbsCall, messages: Sequence[Mapping[str, Any]]) -> str:
    """A list of messages as JSON texts, their texts expanded."""
    expanded = ({**message, "data": call.run.parse(call.run, data_of(message))} for message in messages)
    return list_text(call, [json_text(message) for message in expanded])


def history(call: CbsCall) -> Result:
    """All messages: as JSON beginning with the greeting, or with an argument as raw texts."""
    if not call.args:
        return _as_json(call, [{"role": "char", "data": call.scope.greeting}, *call.scope.messages])
    with_role = "role" in call.args
    return list_text(
        call,
        [
            f"{message.get('role')}: {data_of(message)}" if with_role else data_of(message)
            for message in call.scope.messages
        ],
    )


def _history_of(role: str) -> Callable[[CbsCall], Result]:
    return lambda call: _as_json(call, [message for message in call.scope.messages if message.get("role") == role])


def role_name(call: CbsCall) -> Result:
    """Whose text this is: by the caller's word, the greeting, the message, the card."""
    scope = call.scope
    if scope.chat_role:
        return scope.chat_role
    if scope.is_first_message:
        return "char"
    message = scope.message(scope.chat_index)
    return str((message.get("role") if message else scope.role) or NO_VALUE)


FUNCTIONS: Final[Mapping[str, Function]] = by_alias(
    {
        "char bot": lambda call: "botname" if call.scope.generic_names else call.scope.char,
        "user": lambda call: "username" if call.scope.generic_names else call.scope.user,
        "persona userpersona": _field("persona"),
        "personality charpersona": _field("personality"),
        "description chardesc": _field("description"),
        "scenario": _field("scenario"),
        "exampledialogue examplemessage": _field("example_messages"),
        "mainprompt systemprompt": _field("main_prompt"),
        "jb jailbreak": _field("jailbreak"),
        "globalnote systemnote ujb": _field("global_note"),
        "lorebook worldinfo": lambda call: list_text(call, [json_text(entry) for entry in call.scope.lorebook()]),
        "previouscharchat lastcharmessage": previous_char_message,
        "previoususerchat lastusermessage": previous_user_message,
        "lastmessage": last_message,
        "lastmessageid lastmessageindex": lambda call: str(len(call.scope.messages) - 1),
        "previouschatlog": previous_chat_log,
        "history messages": history,
        "userhistory usermessages": _history_of("user"),
        "charhistory charmessages": _history_of("char"),
        "chatindex": lambda call: str(call.scope.chat_index),
        "firstmsgindex firstmessageindex": lambda call: str(call.scope.greeting_index),
        "role": role_name,
        "isfirstmsg isfirstmessage": lambda call: "1" if call.scope.is_first_message else "0",
    }
)
