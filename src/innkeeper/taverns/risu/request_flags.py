"""What a model gets: the flags by which RisuAI changes a prompt for it, its bodies, and its texts for those without roles."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import msgspec

from innkeeper.prompt.block import Block, Origin, OriginAsset, Piece
from innkeeper.prompt.errors import UnknownNameError, UnsupportedError, UsageError
from innkeeper.prompt.message import Message
from innkeeper.prompt.plan import Plan
from innkeeper.prompt.typed.once import decode, once
from innkeeper.taverns.risu.line import EXAMPLE_MEMO, NEW_CHAT_MEMO, PromptLine, joined, line
from innkeeper.text.javascript.values import strip

FULL_SYSTEM: Final = "hasFullSystemPrompt"
FIRST_SYSTEM: Final = "hasFirstSystemPrompt"
ALTERNATES: Final = "requiresAlternateRole"
USER_FIRST: Final = "mustStartWithUserInput"

SLOT: Final = "{{slot}}"
_OWN: Final = Origin(OriginAsset.ENGINE, "request_flags")


class RisuModel(msgspec.Struct, frozen=True):
    """A model RisuAI knows: its flags, the format of its requests, the options it takes, and its provider's name for it."""

    flags: frozenset[str] = frozenset()
    format: str = ""
    parameters: tuple[str, ...] = ()
    internal: str = ""


def model_of(name: str) -> RisuModel | None:
    """What is known of a model, by RisuAI's name or the provider's; `None` for one that RisuAI does not know."""
    return _models().get(name)


def name_in_risu(model: str) -> str:
    """RisuAI's name of a model, which may be written with its provider: what is behind the colon, else the provider's own."""
    provider, _, name = model.rpartition(":")
    return next((each for each in (model, name, provider) if each in _models()), model)


@once
def _models() -> dict[str, RisuModel]:
    families: list[dict[str, Any]] = json.loads(Path(__file__).with_name("models.json").read_text("utf-8"))
    named = {
        name: RisuModel(frozenset(family["flags"]), family["format"], tuple(family["parameters"]), internal or name)
        for family in families
        for name, internal in family["models"].items()
    }
    return {**{model.internal: model for model in reversed(named.values())}, **named}


def logit_biases(
    pairs: Sequence[Any], expand: Callable[[str], str], ids_of: Callable[[str], Sequence[int] | None]
) -> tuple[dict[str, float], list[str]]:
    """Biases by token, of pairs of a text (or ``[[token]]``) and a number; and the texts whose tokens nobody knows."""
    biases: dict[str, float] = {}
    unknown = []
    for written, value in (pair for pair in pairs if isinstance(pair, list) and list(map(type, pair)) in _PAIRS):
        text = expand(written.replace("\\n", "\n").replace("\\r", "\r").replace("\\\\", "\\"))
        token = _TOKEN.fullmatch(text)
        ids = [int(token[1])] if token else ids_of(text)
        unknown += [text] if ids is None else []
        others = _spellings(text) if value < _LEAST_BIAS and not token and ids is not None else ()
        alone = [each[0] for spelling in others if len(each := ids_of(spelling) or ()) == 1]
        biases |= dict.fromkeys(map(str, [*(ids or ()), *alone]), max(value, _LEAST_BIAS))
    return biases, unknown


def _spellings(text: str) -> list[str]:
    """A text in other letter cases, each with a blank before it and without."""
    bare = text.strip()
    forms = dict.fromkeys((bare, bare.lower(), bare.upper(), bare.capitalize()))
    return [f"{blank}{form}" for form in forms if form for blank in ("", " ")]


_TOKEN: Final = re.compile(r"\[\[([0-9]{1,9})\]\]")
_PAIRS: Final = ([str, int], [str, float])
_LEAST_BIAS: Final = -100
"""What providers take at least; RisuAI's -101 bans other spellings of a text as well."""


def flagged(
    lines: Sequence[PromptLine], flags: Collection[str], *, replacement: str = "", role: str = "user"
) -> tuple[PromptLine, ...]:
    """The lines as a model with these flags gets them.

    ``replacement`` is the text of a system line that may not be one, with ``{{slot}}`` for its own, and ``role`` its role.
    """
    rest, first = list(lines), None
    if FULL_SYSTEM not in flags:
        if FIRST_SYSTEM in flags:
            while rest and rest[0].role == "system":
                head = rest.pop(0)
                first = head if first is None else joined((first, head), "\n\n")
        rest = [_without_system(item, replacement or f"system: {SLOT}", role) for item in rest]
    if ALTERNATES in flags:
        rest = _alternating(rest)
    if USER_FIRST in flags and (not rest or rest[0].role != "user"):
        rest.insert(0, line("user", " ", _OWN, "request_flags"))
    return tuple(rest if first is None else [first, *rest])


def _without_system(item: PromptLine, replacement: str, role: str) -> PromptLine:
    if item.role != "system":
        return item
    before, _, after = replacement.partition(SLOT)
    pieces = (Piece(before, _OWN), *item.pieces, Piece(after, _OWN)) if SLOT in replacement else (Piece(before, _OWN),)
    return msgspec.structs.replace(item, role=role, pieces=tuple(piece for piece in pieces if piece.text))


def _alternating(lines: Sequence[PromptLine]) -> list[PromptLine]:
    result: list[PromptLine] = []
    for item in lines:
        if result and result[-1].role == item.role:
            result[-1] = joined((result[-1], item), "\n")
        else:
            result.append(item)
    return result


_MARKERS: Final = (NEW_CHAT_MEMO, EXAMPLE_MEMO)
_START: Final = "Start"
"""The user's message that Claude's models get where the chat begins with the assistant."""

_COHERE_ROLES: Final = {"user": "USER", "assistant": "CHATBOT", "system": "SYSTEM"}
_COHERE_OPTIONS: Final = {"top_k": "k", "top_p": "p"}
_BUDGET: Final = "thinking_tokens"
_GOOGLE_OPTIONS: Final = {
    "max_tokens": "maxOutputTokens",
    "temperature": "temperature",
    "top_k": "topK",
    "top_p": "topP",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
}
_UNKNOWN: Final = RisuModel(
    format="OpenAICompatible", parameters=("temperature", "top_p", "frequency_penalty", "presence_penalty")
)


def request_body(plan: Plan, model: str) -> dict[str, Any]:
    """The body for a model by RisuAI's name, of a plan with this model's flags. Raises `UnsupportedError`.

    Options that RisuAI does not rename for a provider have their own names.
    """
    known = model_of(model) or _UNKNOWN
    shape = _SHAPES.get(known.format)
    if shape is None:
        hint = "build the plan without it, and send it by a dialect"
        raise UnsupportedError(f"RisuAI's bodies of the format {known.format} are not known", hint=hint)
    blocks = plan.sent_blocks()
    body = shape(blocks, known)
    options = {name: plan.options[name] for name in known.parameters if name in plan.options}
    if known.format == "Cohere":
        return {**body, **{_COHERE_OPTIONS.get(name, name): value for name, value in options.items()}}
    limit = "max_completion_tokens" if "OAICompletionTokens" in known.flags else "max_tokens"
    asked = plan.options.get("max_tokens")
    if shape is _google:
        options |= {"max_tokens": asked} if asked else {}
        thinking = {"thinkingConfig": {"thinkingBudget": options.pop(_BUDGET)}} if _BUDGET in options else {}
        renamed = {_GOOGLE_OPTIONS[name]: value for name, value in options.items()}
        return {**body, "generationConfig": {**renamed, **thinking}}
    return {"model": known.internal or model, **body, **({limit: asked} if asked else {}), **options}


def _openai(blocks: Sequence[Block], model: RisuModel) -> dict[str, Any]:
    """Markers are left out, and names but those of examples; the newest answer may be one to go on with."""
    system = "developer" if "DeveloperRole" in model.flags else "system"
    messages = []
    for block in blocks:
        if block.metadata.get("memo") in _MARKERS or not block.content:
            continue
        message: dict[str, Any] = {"role": system if block.role == "system" else block.role, "content": block.content}
        if block.name and block.name.startswith("example_"):
            message["name"] = block.name
        if "deepSeekThinkingInput" in model.flags and (thoughts := block.message_metadata.get("reasoning")):
            message["reasoning_content"] = "\n".join(thought["text"] for thought in thoughts)
        messages.append(message)
    if "deepSeekPrefix" in model.flags and messages and messages[-1]["role"] == "assistant":
        messages[-1] = {**messages[-1], "prefix": True}
    return {"messages": messages}


def _mistral(blocks: Sequence[Block], _model: RisuModel) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    for block in blocks:
        if block.role == "system" and messages:
            messages[-1]["content"] += f"\nSystem:{block.content}"
        else:
            messages.append({"role": block.role, "content": block.content})
    return {"messages": messages}


def _leading_system(blocks: Sequence[Block]) -> tuple[list[str], Sequence[Block]]:
    count = next((index for index, block in enumerate(blocks) if block.role != "system"), len(blocks))
    return [block.content for block in blocks[:count]], blocks[count:]


def _anthropic(blocks: Sequence[Block], _model: RisuModel) -> dict[str, Any]:
    """Leading system texts are the system; messages of one role are one; the user begins."""
    system, rest = _leading_system(blocks)
    messages: list[dict[str, Any]] = []
    for block in rest:
        role, text = ("user", f"System: {block.content}") if block.role == "system" else (block.role, block.content)
        if not messages and role != "user":
            messages.append(_claude_message("user", _START))
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"][-1]["text"] += f"\n\n{text}"
        else:
            messages.append(_claude_message(role, text))
        if block.message_metadata.get("cache_control"):
            messages[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    return {"messages": messages, **({"system": "\n\n".join(system)} if system else {})}


def _claude_message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text}]}


def _google(blocks: Sequence[Block], _model: RisuModel) -> dict[str, Any]:
    system, rest = _leading_system(blocks)
    contents: list[dict[str, Any]] = []
    for block in rest:
        if block.role == "system" and contents:
            contents[-1]["parts"][-1]["text"] += f"\nSystem:{block.content}"
        else:
            role = "model" if block.role == "assistant" else "user"
            contents.append({"role": role, "parts": [{"text": block.content}]})
    return {
        "contents": contents,
        **({"systemInstruction": {"parts": [{"text": "\n\n".join(system)}]}} if system else {}),
    }


def _cohere(blocks: Sequence[Block], _model: RisuModel) -> dict[str, Any]:
    system, rest = _leading_system(blocks)
    history = [{"role": _COHERE_ROLES.get(block.role, "USER"), "message": block.content} for block in rest]
    message = history.pop()["message"] if history else ""
    return {"message": message, "chat_history": history, **({"preamble": "\n\n".join(system)} if system else {})}


_SHAPES: Final[Mapping[str, Callable[[Sequence[Block], RisuModel], dict[str, Any]]]] = {
    "OpenAICompatible": _openai,
    "Mistral": _mistral,
    "Anthropic": _anthropic,
    "AWSBedrockClaude": _anthropic,
    "GoogleCloud": _google,
    "VertexAIGemini": _google,
    "Cohere": _cohere,
}
"""The shapes by the format of RisuAI's table."""


PLAIN: Final = "plain"
"""The template without marks: a blank line between messages, and the character's name at the end."""

_ROLES: Final = ("system", "user", "assistant")


class TextTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """The texts before and after a message of each role, at the beginning, and before the answer.

    ``default_system`` stands where no message is a system message. Without ``has_system`` those are the user's. ``turns`` says
    that user and assistant must take turns, and ``joins`` that messages are joined until they do.
    """

    user: tuple[str, str]
    assistant: tuple[str, str]
    system: tuple[str, str] = ("", "")
    start: str = ""
    reply: str = ""
    default_system: str = ""
    has_system: bool = True
    folds_system: bool = False
    """Whether a system message at the beginning is put into the message behind it."""
    strips: bool = False
    turns: bool = False
    joins: bool = False


TEMPLATES: Final = decode(Path(__file__).with_name("templates.json").read_bytes(), dict[str, TextTemplate])
"""RisuAI's templates by name; the marks and default texts are those of the models' makers."""


def completion_text(messages: Sequence[Message], template: str, *, name: str = "", goes_on: bool = False) -> str:
    r"""The messages of a plan as one text. ``name`` is the character's; with ``goes_on`` the plain text does not end in it.

    Raises `UnknownNameError` for a template that RisuAI does not have, `UsageError` for roles that a template refuses.

    >>> completion_text([Message("user", "Hi")], "chatml")
    '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n'
    """
    spoken = [message for message in messages if message.role in _ROLES]
    if template == PLAIN:
        labels = ["system" if message.role == "system" else message.name for message in spoken]
        texts = [
            f"{label}: {each.content}" if label else each.content for label, each in zip(labels, spoken, strict=True)
        ]
        return "\n\n".join([*texts, *([] if goes_on else [f"{name}:"])])
    if template not in TEMPLATES:
        raise UnknownNameError("template of RisuAI", template, (*TEMPLATES, PLAIN))
    form = TEMPLATES[template]
    turns = [(message.role, message.content) for message in spoken]
    if not form.has_system:
        turns = [("user", f"System: {text}") if role == "system" else (role, text) for role, text in turns]
    if form.joins:  # where the assistant begins, behind an empty turn of the user
        turns = [(role, "\n".join(text for _, text in each)) for role, each in groupby(turns, lambda turn: turn[0])]
        turns = [("user", ""), *turns] if turns[:1] and turns[0][0] != "user" else turns
    clean: Callable[[str], str] = strip if form.strips else str
    folded = turns.pop(0)[1] if form.folds_system and turns and turns[0][0] == "system" else None
    if folded is not None and turns:
        turns[0] = turns[0][0], f"{form.system[0]}{folded}{form.system[1]}{turns[0][1]}"
    if form.turns and any((role == "user") != (index % 2 == 0) for index, (role, _) in enumerate(turns)):
        hint = "send the plan by a template that takes any order, or by a dialect"
        raise UsageError(f"the template {template} wants the user and the assistant to take turns", hint=hint)
    affixes = {"user": form.user, "assistant": form.assistant, "system": form.system}
    if form.default_system and not any(role == "system" for role, _ in turns):
        turns.insert(0, ("system", form.default_system))
    parts = [f"{affixes[role][0]}{clean(text)}{affixes[role][1]}" for role, text in turns]
    return "".join([form.start if turns else "", *parts, form.reply])
