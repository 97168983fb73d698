"""The example dialogue of a card as the prompt shows it: blocks under a heading, as turns when instruct mode is on."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from innkeeper.macros.environment import MacroEnvironment
from innkeeper.macros.javascript import strip

__all__ = ["ExampleTurn", "example_blocks", "example_turns", "examples_text", "instruct_examples"]

START = "<START>"
"""What begins a block of example dialogue."""

_START = re.compile(re.escape(START), re.IGNORECASE | re.ASCII)
_NAME = re.compile(r"\{\{name\}\}", re.IGNORECASE | re.ASCII)


class ExampleTurn(msgspec.Struct, frozen=True):
    """One turn of an example: who speaks, whether that is the user, and the text without the first ``name:``."""

    name: str
    is_user: bool
    text: str


def example_blocks(raw: str) -> list[str]:
    """The blocks of resolved example dialogue, stripped; text before the first ``<START>`` is a block of its own."""
    if not raw or raw == START:
        return []
    text = raw if raw.startswith(START) else f"{START}\n{raw}"
    return [strip(block) for block in _START.split(text)[1:]]


def examples_text(raw: str, env: MacroEnvironment, resolve: Callable[[str], str]) -> str:
    """What ``{{mesExamples}}`` stands for, given the resolved dialogue and how macros of the settings are resolved."""
    blocks = example_blocks(raw)
    if not blocks:
        return ""
    heading = f"{START}\n" if env.main_api == "openai" else _separator(env, resolve)
    if env.main_api != "openai" and env.instruct.get("enabled") and not env.instruct.get("skip_examples"):
        turns = [instruct_examples(block, env, resolve) for block in blocks]
        if any(turns):
            return "".join(f"{heading}{text}" for text in turns if text)
    return "".join(f"{heading}{block}\n" for block in blocks)


def _separator(env: MacroEnvironment, resolve: Callable[[str], str]) -> str:
    separator = env.context.get("example_separator") or ""
    return f"{resolve(separator)}\n" if separator else ""


def example_turns(block: str, env: MacroEnvironment) -> list[ExampleTurn]:
    """The turns of one block. A line that begins with a name and a colon begins that speaker's turn, unless it is theirs.

    Another member of the group who speaks takes the character's place until the end of the block.
    """
    turns: list[ExampleTurn] = []
    lines: list[str] = []
    speaker, said = env.char, ""

    def close(whose: str) -> None:
        name = env.user if whose == "user" else speaker
        text = strip("\n".join(lines).replace(f"{name}:", "", 1))
        turns.append(ExampleTurn(name, whose == "user", text))
        lines.clear()

    others = [name for name in env.group if name != env.char]
    for line in block.split("\n"):
        whose = ""
        for name in others:
            if line.startswith(f"{name}:"):
                speaker = name
        if line.startswith(f"{env.user}:"):
            whose = "user"
        elif line.startswith(f"{speaker}:"):
            whose = "character"
        if whose and said and whose != said:
            close(said)
        said = whose or said
        lines.append(line)
    if said:
        close(said)
    return turns


def instruct_examples(block: str, env: MacroEnvironment, resolve: Callable[[str], str]) -> str:
    """One block as turns in the sequences of instruct mode; empty when nobody known speaks in it."""
    return "".join(_turn(turn, env, resolve) for turn in example_turns(block, env))


def _turn(turn: ExampleTurn, env: MacroEnvironment, resolve: Callable[[str], str]) -> str:
    side = "input" if turn.is_user else "output"
    wrap = "\n" if env.instruct.get("wrap") else ""
    prefix = _sequence(env, f"{side}_sequence", turn, resolve)
    suffix = _sequence(env, f"{side}_suffix", turn, resolve) or wrap
    text = f"{turn.name}: {turn.text}" if _named(turn, env) else turn.text
    return (f"{prefix}{wrap}" if prefix else "") + text + suffix


def _named(turn: ExampleTurn, env: MacroEnvironment) -> bool:
    names = env.instruct.get("names_behavior")
    return names == "always" or (names == "force" and (turn.is_user or bool(env.group)))


def _sequence(env: MacroEnvironment, key: str, turn: ExampleTurn, resolve: Callable[[str], str]) -> str:
    text = str(env.instruct.get(key) or "")
    if not env.instruct.get("macro"):
        return text
    name = env.user if turn.is_user else env.char
    return _NAME.sub(lambda _found: name, resolve(text))
