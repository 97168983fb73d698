"""The example dialogue of a card as the prompt shows it: blocks under a heading, as turns when instruct mode is on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import msgspec

from innkeeper.macros.environment import MacroEnvironment
from innkeeper.macros.javascript import strip

__all__ = ["ExampleTurn", "example_blocks", "example_turns", "examples_text", "instruct_examples"]

START = "<START>"
"""What begins a block of example dialogue."""

_START = re.compile(re.escape(START), re.IGNORECASE | re.ASCII)
_KEYS = ("input_sequence", "output_sequence", "input_suffix", "output_suffix")
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
    separator = _separator(env, resolve) if blocks else ""
    if env.main_api != "openai" and env.instruct.get("enabled"):
        told = _instructed(blocks, env, resolve)
        if told:
            return told
    heading = f"{START}\n" if env.main_api == "openai" else separator
    return "".join(f"{heading}{block}\n" for block in blocks)


def _separator(env: MacroEnvironment, resolve: Callable[[str], str]) -> str:
    separator = env.context.get("example_separator") or ""
    return f"{resolve(separator)}\n" if separator else ""


def _instructed(blocks: list[str], env: MacroEnvironment, resolve: Callable[[str], str]) -> str:
    """The blocks as turns; empty when nobody known speaks in them. Settings are resolved even where there are none."""
    heading = _separator(env, resolve)
    if env.instruct.get("skip_examples"):
        return ""
    sequences = _sequences(env, resolve)
    turns = (instruct_examples(block, env, sequences) for block in blocks)
    return "".join(f"{heading}{text}" for text in turns if text)


def _sequences(env: MacroEnvironment, resolve: Callable[[str], str]) -> dict[str, str]:
    texts = {key: str(env.instruct.get(key) or "") for key in _KEYS}
    if not env.instruct.get("macro"):
        return texts
    names = {"input": env.user, "output": env.char}
    return {key: _spoken(resolve(text), names[key.partition("_")[0]]) if text else "" for key, text in texts.items()}


def _spoken(text: str, name: str) -> str:
    return _NAME.sub(lambda _found: name, text)


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


def instruct_examples(block: str, env: MacroEnvironment, sequences: Mapping[str, str]) -> str:
    """One block as turns in the (resolved) sequences of instruct mode; empty when nobody known speaks in it."""
    return "".join(_turn(turn, env, sequences) for turn in example_turns(block, env))


def _turn(turn: ExampleTurn, env: MacroEnvironment, sequences: Mapping[str, str]) -> str:
    side = "input" if turn.is_user else "output"
    wrap = "\n" if env.instruct.get("wrap") else ""
    prefix = sequences[f"{side}_sequence"]
    text = f"{turn.name}: {turn.text}" if _named(turn, env) else turn.text
    return (f"{prefix}{wrap}" if prefix else "") + text + (sequences[f"{side}_suffix"] or wrap)


def _named(turn: ExampleTurn, env: MacroEnvironment) -> bool:
    names = env.instruct.get("names_behavior")
    return names == "always" or (names == "force" and (turn.is_user or bool(env.group)))
