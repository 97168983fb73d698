"""How fast a chat becomes a payload: 1,000 messages in every dialect, plain, with names, full of tool calls; its source map."""

from collections.abc import Callable, Iterator
from functools import partial

from benchmarks.case import Case
from innkeeper.dialects import DIALECTS
from innkeeper.prompt import Block, Message, Plan

TEXT = "She looked at the door and said: “Well, that is that.” "
CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"


def cases() -> Iterator[Case]:
    """Each dialect by itself; the modes of the text dialect; the map of a payload."""
    chats = {"plain": _plain(), "with names": _named(), "half of them calls and results": _tools()}
    for name in DIALECTS:
        for kind, chat in chats.items():
            yield Case(f"{name}, {kind}", partial(DIALECTS[name].messages, chat, {}), note="1,000 messages")
    text = partial(DIALECTS["text"].messages, chats["plain"])
    for name, options in (
        ("instruct", {"instruct": "chatml"}),
        ("chat template, trusted", {"chat_template": CHATML, "trusted_template": True}),
        ("chat template, in a process of its own", {"chat_template": CHATML}),
    ):
        yield Case(f"text, {name}", partial(text, options), note="1,000 messages")
    for name in ("openai", "anthropic", "text"):
        yield Case(f"source map of {name}", _mapped(chats["with names"], name), note="1,000 messages")


def _plain() -> list[Message]:
    talk = [Message(("assistant", "user")[place % 2], f"{place} {TEXT * 6}") for place in range(999)]
    return [Message("system", "You are a lighthouse keeper."), *talk]


def _named() -> list[Message]:
    return [Message(each.role, each.content, "Bob" if each.role == "user" else "Alice") for each in _plain()]


def _tools() -> list[Message]:
    return [message for turn in range(250) for message in _turn(turn)]


def _turn(turn: int) -> list[Message]:
    call = {"id": f"call_{turn}", "type": "function", "function": {"name": "look", "arguments": '{"where":"out"}'}}
    return [
        Message("user", "Look out of the window."),
        Message.of({"role": "assistant", "content": "", "tool_calls": [call]}),
        Message.of({"role": "tool", "content": "Fog.", "tool_call_id": f"call_{turn}"}),
        Message("assistant", "There is fog."),
    ]


def _mapped(chat: list[Message], dialect: str) -> Callable[[], object]:
    plan = Plan(blocks=tuple(Block.of_message(each) for each in chat), dialects=DIALECTS)
    return lambda: plan.source_map(dialect)
