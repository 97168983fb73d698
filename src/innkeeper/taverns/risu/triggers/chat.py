"""Effects on the chat and its texts: messages, prompts, lorebook entries, notes, what is shown and what is sent."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from innkeeper.macros.cbs.scope import data_of
from innkeeper.taverns.risu.triggers.conditions import occurs, slice_of
from innkeeper.taverns.risu.triggers.state import Operands, TriggerState
from innkeeper.taverns.risu.triggers.values import set_variable
from innkeeper.text.javascript.values import json_text, parse_json, text_of

_SLOT: Final = "{{slot}}"
_ORDER: Final = 100
_ROLES: Final = ("user", "assistant", "system")


def add_prompt(operands: Operands) -> None:
    """Add a text to the prompt at ``start``, ``historyend`` or ``promptend``."""
    state, location = operands.state, str(operands.effect.get("location"))
    if location in state.prompts:
        state.prompts[location] += operands.text("value") + "\n\n"
        state.spend(len(state.prompts[location]))


def impersonate(operands: Operands) -> None:
    """Add a message of the user or the character."""
    role = operands.effect.get("role")
    if role in ("user", "char"):
        operands.state.messages.append({"role": role, "data": operands.text("value")})


def cut(state: TriggerState, start: float, end: float) -> None:
    """Leave the messages from one index up to before another."""
    state.messages[:] = slice_of(state.messages, start, end)


def modify(operands: Operands) -> None:
    """Replace the text of a message."""
    messages, index = operands.state.messages, operands.number("index")
    if 0 <= index < len(messages) and index == int(index):
        messages[int(index)] = {**messages[int(index)], "data": operands.text("value")}


def _last(state: TriggerState, role: str | None = None) -> str | None:
    state.spend(len(state.messages))
    messages = (data_of(message) for message in reversed(state.messages) if role in (None, message.get("role")))
    return next(messages, None)


def message_at(operands: Operands) -> str | None:
    """``v2GetMessageAtIndex``."""
    message = operands.state.inputs.scope.message(operands.number("index"))
    return None if message is None else data_of(message)


def search(operands: Operands) -> str:
    """``v2QuickSearchChat``."""
    text, depth = operands.text("value"), operands.number("depth")
    is_there = not math.isnan(depth) and occurs(text, str(operands.effect.get("condition")), depth, operands.state)
    return "1" if is_there else "0"


def cut_chat(operands: Operands) -> None:
    """``v2CutChat``: to the end where that is no number."""
    end = operands.number("end")
    cut(operands.state, operands.number("start"), math.inf if math.isnan(end) else end)


# -------------------------------------------------------------------------------------------------------------- lorebook


def _index(operands: Operands) -> int | None:
    """The index of a lorebook entry, if there is one."""
    number = operands.number("index")
    return int(number) if 0 <= number < len(operands.state.lorebook) and number == int(number) else None


def content_at(operands: Operands) -> str | None:
    """``v2GetLorebookByIndex``."""
    index = _index(operands)
    return None if index is None else text_of(operands.state.lorebook[index].get("content"))


def entries_named(operands: Operands) -> str:
    """The indexes of the entries whose names match a regular expression, in any letter case."""
    state, pattern = operands.state, operands.text("name")
    names = [str(entry.get("comment") or "") for entry in state.lorebook]
    state.step(len(names))
    return json_text([index for index, name in enumerate(names) if state.split(pattern, "i", name) is not None])


def _order(operands: Operands, usual: float = _ORDER) -> float:
    order = operands.number("insertOrder")
    return usual if math.isnan(order) else int(order) if order % 1 == 0 else order


def create_entry(operands: Operands) -> None:
    """``v2CreateLorebook``."""
    operands.state.lorebook.append(
        {
            "key": operands.text("key"),
            "comment": operands.text("name"),
            "content": operands.text("content"),
            "mode": "normal",
            "insertorder": _order(operands),
            "alwaysActive": False,
            "secondkey": "",
            "selective": False,
        }
    )
    operands.state.lorebook_changed = True


def _change_entry(operands: Operands, change: Callable[[Mapping[str, Any]], Mapping[str, Any] | None]) -> None:
    """Replace a lorebook entry, or remove it."""
    index = _index(operands)
    if index is not None:
        entry = change(operands.state.lorebook[index])
        operands.state.lorebook[index : index + 1] = [] if entry is None else [entry]
        operands.state.lorebook_changed = True


def _modified(operands: Operands, entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """An entry with other texts, in which ``{{slot}}`` is what was there before."""
    fields = {"comment": "name", "key": "key", "content": "content"}
    texts: dict[str, Any] = {}
    for own, field in fields.items():
        text, before = operands.text(field), str(entry.get(own) or "")
        operands.state.spend(text.count(_SLOT) * len(before))
        texts[own] = text.replace(_SLOT, before)
    current = entry.get("insertorder") or _ORDER
    order = operands.text("insertOrder").replace(_SLOT, text_of(current))
    named = Operands(operands.state, {"insertOrder": order, "insertOrderType": "value"})
    return {**entry, **texts, "insertorder": _order(named, current)}


# --------------------------------------------------------------------------------------------------------- shown and sent


def _request(operands: Operands) -> list[Any]:
    """The messages of a request; none where the data are no list."""
    try:
        value = parse_json(operands.state.text("display_data"))
    except ValueError:
        value = None
    operands.state.spend(len(operands.state.text("display_data")))
    return value if isinstance(value, list) else []


def _of_request(operands: Operands, field: str) -> str | None:
    messages, index = _request(operands), operands.number("index")
    message = messages[int(index)] if 0 <= index < len(messages) and index == int(index) else None
    value = message.get(field) if isinstance(message, dict) else None
    return None if value is None else text_of(value)


def _set_of_request(operands: Operands, field: str, value: str) -> None:
    messages, index = _request(operands), operands.number("index")
    if 0 <= index < len(messages) and index == int(index) and isinstance(messages[int(index)], dict):
        messages[int(index)][field] = value
        operands.state.set_text("display_data", json_text(messages))


def set_role(operands: Operands) -> None:
    """``v2SetRequestStateRole``."""
    role = operands.text("value")
    if role in _ROLES:
        _set_of_request(operands, "role", role)


def _getter(name: str) -> Callable[[Operands], str | None]:
    return lambda operands: operands.state.text(name)


def _setter(name: str) -> Callable[[Operands], None]:
    return lambda operands: operands.state.set_text(name, operands.text("value"))


def stop(operands: Operands) -> None:
    """Have nothing sent."""
    operands.state.stop_sending = True


OUTPUTS: Final[Mapping[str, Callable[[Operands], str | None]]] = {
    "v2GetLastMessage": lambda operands: _last(operands.state),
    "v2GetLastUserMessage": lambda operands: _last(operands.state, "user"),
    "v2GetLastCharMessage": lambda operands: _last(operands.state, "char"),
    "v2GetMessageAtIndex": message_at,
    "v2GetMessageCount": lambda operands: str(len(operands.state.messages)),
    "v2GetFirstMessage": lambda operands: operands.state.inputs.scope.greeting,
    "v2QuickSearchChat": search,
    "v2Tokenize": lambda operands: str(operands.state.inputs.count(operands.text("value"))),
    "v2GetAllLorebooks": lambda operands: json_text([entry.get("content") for entry in operands.state.lorebook]),
    "v2GetLorebookByName": entries_named,
    "v2GetLorebookByIndex": content_at,
    "v2GetLorebookCount": lambda operands: str(len(operands.state.lorebook)),
    "v2GetLorebookCountNew": lambda operands: str(len(operands.state.lorebook)),
    "v2GetLorebook": lambda _: None,
    "v2GetLorebookEntry": lambda _: None,
    "v2GetLorebookIndexViaName": lambda _: "-1",
    "v2GetAuthorNote": _getter("author_note"),
    "v2GetReplaceGlobalNote": _getter("global_note"),
    "v2GetCharacterDesc": _getter("description"),
    "v2GetPersonaDesc": _getter("persona"),
    "v2GetDisplayState": _getter("display_data"),
    "v2GetRequestState": lambda operands: _of_request(operands, "content"),
    "v2GetRequestStateRole": lambda operands: _of_request(operands, "role"),
    "v2GetRequestStateLength": lambda operands: str(len(_request(operands))),
}
"""Effects that write a result into a variable. The older ones of lorebooks read entries as lists, and never meet any."""

ACTIONS: Final[Mapping[str, Callable[[Operands], None]]] = {
    "setvar": set_variable,
    "cutchat": lambda operands: cut(operands.state, operands.number("start"), operands.number("end")),
    "v2CutChat": cut_chat,
    **dict.fromkeys(("modifychat", "v2ModifyChat"), modify),
    **dict.fromkeys(("impersonate", "v2Impersonate"), impersonate),
    **dict.fromkeys(("systemprompt", "v2SystemPrompt"), add_prompt),
    **dict.fromkeys(("stop", "v2StopPromptSending"), stop),
    "v2CreateLorebook": create_entry,
    "v2ModifyLorebookByIndex": lambda operands: _change_entry(operands, lambda entry: _modified(operands, entry)),
    "v2DeleteLorebookByIndex": lambda operands: _change_entry(operands, lambda _: None),
    "v2SetLorebookAlwaysActive": lambda operands: _change_entry(
        operands, lambda entry: {**entry, "alwaysActive": bool(operands.effect.get("value"))}
    ),
    "v2SetAuthorNote": _setter("author_note"),
    "v2SetReplaceGlobalNote": _setter("global_note"),
    "v2SetCharacterDesc": _setter("description"),
    "v2SetPersonaDesc": _setter("persona"),
    "v2SetDisplayState": _setter("display_data"),
    "v2SetRequestState": lambda operands: _set_of_request(operands, "content", operands.text("value")),
    "v2SetRequestStateRole": set_role,
}
"""Effects that change the chat and its texts."""
