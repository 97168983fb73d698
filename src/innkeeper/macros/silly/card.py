"""Macros of names, the fields of the card and the persona, and the card's example dialogue.

A field may hold macros. It is resolved when it is asked for, once a text, and inside it the other fields are empty. The rules of
the example dialogue, its blocks, their turns and how ``{{mesExamples}}`` shows them, are SillyTavern's (`sillytavern.md` 50),
measured on 1.19 where it does not say.

Effects are what macros change: variables, the stream of chance, the banned words. A text or a card without effects need not be
expanded where nobody reads what becomes of it. What is asked is the text alone, so the answer may be yes for a macro that turns
out to be malformed, and never no for one that has an effect.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from innkeeper.macros.engine.environment import Field, MacroEnvironment
from innkeeper.macros.engine.macro import Call, Macro
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.text.javascript.values import strip

BARE = "bare"
"""The key of an evaluation's memory that says that card fields are not to be filled in."""

_ORIGINAL = "original"
_NEWLINES = re.compile(r"\n+")


def resolved_field(env: MacroEnvironment, written: Field, resolve: Callable[[str, MacroEnvironment], str]) -> str:
    """A field with its macros resolved: a text, or the parts of a group's members, each on lines of its own.

    Of a member's part both sides come before the text.
    """
    if isinstance(written, str):
        return _clean(strip(written), env, resolve)
    parts = []
    for voice in written:
        own = dataclasses.replace(env, char=voice.char)
        before, after, text = (_clean(text, own, resolve) for text in (voice.before, voice.after, strip(voice.text)))
        parts.append(before + text + after)
    return "\n".join(part for part in parts if part)


def _clean(text: str, env: MacroEnvironment, resolve: Callable[[str, MacroEnvironment], str]) -> str:
    return tidied(env, resolve(text, env)) if text else ""


def tidied(env: MacroEnvironment, text: str) -> str:
    """A resolved field without carriage returns and, where the settings say so, without empty lines."""
    if env.collapse_newlines:
        text = _NEWLINES.sub("\n", text)
    return text.replace("\r", "")


def _resolved(call: Call, name: str, written: Field) -> str:
    memory = call.evaluation.memory
    if memory.get(BARE) or not written:
        return ""
    if name not in memory:
        apart = call.evaluation.apart
        memory[name] = resolved_field(call.env, written, lambda text, env: apart(text, env, {BARE: True}))
    cached: str = memory[name]
    return cached


def _field(name: str) -> Callable[[Call], str]:
    return lambda call: _resolved(call, name, getattr(call.env.card, name))


def _preferred(name: str, switch: str) -> Callable[[Call], str]:
    return lambda call: _resolved(call, name, getattr(call.env.card, name)) if getattr(call.env, switch) else ""


def _greeting(call: Call) -> str:
    index, card = call.whole_number(0, 0), call.env.card
    greetings = (card.first_message, *card.alternate_greetings)
    return _resolved(call, f"greeting {index}", greetings[index]) if 0 <= index < len(greetings) else ""


def _examples(call: Call) -> str:
    raw = _resolved(call, "mes_examples", call.env.card.mes_examples)
    return examples_text(raw, call.env, lambda text: call.evaluation.apart(text, call.env, {}))


def _original(call: Call) -> str:
    memory = call.evaluation.memory
    if memory.get(_ORIGINAL) is None:
        call.keep("there is no original text here")
    text: str = memory[_ORIGINAL]
    memory[_ORIGINAL] = ""
    return text


def group_names(env: MacroEnvironment) -> str:
    """The names of a group's members, muted ones too; outside of groups the character's."""
    return ", ".join(env.group) or env.char


def active_names(env: MacroEnvironment) -> str:
    """The names of those who are not muted."""
    return ", ".join(env.group_active) if env.group else env.char


def _others(call: Call) -> str:
    env = call.env
    return ", ".join(name for name in env.group_active if name != env.char) if env.group else env.user


MACROS = (
    Macro("user", lambda call: call.env.user),
    Macro("char", lambda call: call.env.char),
    Macro("group", lambda call: group_names(call.env), aliases=("charIfNotGroup",)),
    Macro("groupNotMuted", lambda call: active_names(call.env)),
    Macro("notChar", _others),
    Macro("charPrompt", _preferred("system_prompt", "prefer_card_prompt")),
    Macro("charInstruction", _preferred("post_history", "prefer_card_instruction")),
    Macro("charDescription", _field("description"), aliases=("description",)),
    Macro("charPersonality", _field("personality"), aliases=("personality",)),
    Macro("charScenario", _field("scenario"), aliases=("scenario",)),
    Macro("persona", lambda call: _resolved(call, "persona", call.env.persona)),
    Macro("mesExamplesRaw", _field("mes_examples")),
    Macro("mesExamples", _examples),
    Macro("charDepthPrompt", _field("depth_prompt")),
    Macro("charCreatorNotes", _field("creator_notes"), aliases=("creatorNotes",)),
    Macro("charFirstMessage", _greeting, most=1, integers=frozenset({0}), aliases=("greeting",)),
    Macro(
        "charVersion",
        lambda call: "" if call.evaluation.memory.get(BARE) else call.env.card.version,
        aliases=("version", "char_version"),
    ),
    Macro("original", _original),
)
"""Names, card fields, ``mesExamples`` and ``original``."""


START = "<START>"
"""The mark that begins a block of example dialogue."""

_START = re.compile(re.escape(START), re.IGNORECASE | re.ASCII)
_STEPS_A_BLOCK = 60
_KEYS = ("input_sequence", "output_sequence", "input_suffix", "output_suffix")
_NAME = re.compile(r"\{\{name\}\}", re.IGNORECASE | re.ASCII)


class ExampleTurn(msgspec.Struct, frozen=True):
    """One turn of an example: its speaker, whether that is the user, and the text without the first ``name:``."""

    name: str
    is_user: bool
    text: str


def example_blocks(raw: str) -> list[str]:
    """The blocks of resolved example dialogue, stripped; text before the first ``<START>`` is a block of its own.

    Raises `AllowanceError` for more than a build may take, before they are split.
    """
    if not raw or raw == START:
        return []
    charge("macros", _STEPS_A_BLOCK * raw.upper().count(START))
    text = raw if raw.startswith(START) else f"{START}\n{raw}"
    return [strip(block) for block in _START.split(text)[1:]]


def examples_text(raw: str, env: MacroEnvironment, resolve: Callable[[str], str]) -> str:
    """The value of ``{{mesExamples}}``, with the resolved dialogue and a function that resolves macros of the settings."""
    blocks = example_blocks(raw)
    heading = _separator(env, resolve) if blocks else ""
    if env.main_api == "openai":
        heading = f"{START}\n"
    elif env.instruct.get("enabled"):
        heading = _separator(env, resolve)
        instructed = _instructed(blocks, env, resolve, heading)
        if instructed:
            return instructed
    return "".join(f"{heading}{block}\n" for block in blocks)


def _separator(env: MacroEnvironment, resolve: Callable[[str], str]) -> str:
    separator = env.context.get("example_separator") or ""
    return f"{resolve(separator)}\n" if separator else ""


def _instructed(blocks: list[str], env: MacroEnvironment, resolve: Callable[[str], str], heading: str) -> str:
    """The blocks as turns; empty without a known speaker. Settings are resolved even if there are none."""
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
    return {
        key: names[key.partition("_")[0]].join(_NAME.split(resolve(text))) if text else ""
        for key, text in texts.items()
    }


def example_turns(block: str, user: str, char: str, members: Sequence[str] = ()) -> list[ExampleTurn]:
    """The turns of one block. A line that begins with a name and a colon begins that side's turn, unless it is theirs.

    Text before the first name joins the first turn. Another of the group's ``members`` who speaks gives their name to the
    character's turns from then on, to the end of the block; a turn has the name that counts when it ends.
    """
    turns: list[ExampleTurn] = []
    lines: list[str] = []
    names = {True: user, False: char}
    side: bool | None = None
    speakers = tuple(f"{name}:" for name in (char, *members))
    for line in block.split("\n"):
        whose = True if line.startswith(f"{user}:") else False if line.startswith(speakers) else side
        if side is not None and whose is not side:
            turns.append(_turn(names[side], side, lines))
            lines = []
        if whose is False and line.startswith(tuple(f"{name}:" for name in members if name != char)):
            names[False] = line.partition(":")[0]
        side = whose
        lines.append(line)
    return turns if side is None else [*turns, _turn(names[side], side, lines)]


def _turn(name: str, is_user: bool, lines: list[str]) -> ExampleTurn:  # noqa: FBT001 - the field of this name
    return ExampleTurn(name, is_user, strip("\n".join(lines).replace(f"{name}:", "", 1)))


def instruct_examples(block: str, env: MacroEnvironment, sequences: Mapping[str, str]) -> str:
    """One block as turns in the (resolved) sequences of instruct mode; empty without a known speaker."""
    turns = example_turns(block, env.user, env.char, env.group)
    return "".join(_written(turn, env, sequences) for turn in turns)


def _written(turn: ExampleTurn, env: MacroEnvironment, sequences: Mapping[str, str]) -> str:
    side = "input" if turn.is_user else "output"
    wrap = "\n" if env.instruct.get("wrap") else ""
    prefix = sequences[f"{side}_sequence"]
    text = f"{turn.name}: {turn.text}" if _named(turn, env) else turn.text
    return (f"{prefix}{wrap}" if prefix else "") + text + (sequences[f"{side}_suffix"] or wrap)


def _named(turn: ExampleTurn, env: MacroEnvironment) -> bool:
    names = env.instruct.get("names_behavior")
    return names == "always" or (names == "force" and (turn.is_user or bool(env.group)))


_EFFECT: Final = re.compile(
    r"\{\{[\s!?~>#/]*(?:(?:set|add|inc|dec|delete|flush)(?:global)?var|random|roll|banned|[.$][^{}]*(?:\+\+|--|=))",
    re.IGNORECASE | re.ASCII,
)


def has_effects(text: str) -> bool:
    """Whether a macro that is written in ``text`` changes something.

    >>> (
    ...     has_effects("{{char}} has {{getvar::coins}} coins"),
    ...     has_effects("{{incvar::coins}}"),
    ...     has_effects("{{ .hp -= 1 }}"),
    ... )
    (False, True, True)
    """
    return "{{" in text and _EFFECT.search(text) is not None


def card_has_effects(env: MacroEnvironment) -> bool:
    """Whether resolving the card's fields, its greetings or the persona changes something."""
    card = env.card
    fields = (card.description, card.personality, card.scenario, card.mes_examples, card.system_prompt)
    others = (card.post_history, card.depth_prompt, card.creator_notes, card.first_message, env.persona)
    key = (*fields, *others, *card.alternate_greetings)
    cached = _EFFECTS.get(key)
    if cached is not None:
        return cached
    texts = [text for part in key for text in _texts(part)]
    return _EFFECTS.put(key, any(map(has_effects, texts)), sum(map(len, texts)))


_EFFECTS: Final[BoundedCache[tuple[Field, ...], bool]] = BoundedCache(items=64, size=16 * 1024 * 1024)
"""Whether the texts of a card have effects."""


def _texts(part: Field) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    else:
        for voice in part:
            yield from (voice.before, voice.text, voice.after)
