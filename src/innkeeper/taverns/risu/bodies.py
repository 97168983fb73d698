"""Bodies: what RisuAI sends to a provider: the messages in the provider's shape, and the options that its model takes.

Addresses, keys and headers are not here, nor what only some of RisuAI's pages add. To send a plan take a dialect: these bodies
are for who must have RisuAI's own bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from innkeeper.prompt.block import Block
from innkeeper.prompt.errors import UnsupportedError
from innkeeper.prompt.plan import Plan
from innkeeper.taverns.risu.history import EXAMPLE_MEMO, NEW_CHAT_MEMO
from innkeeper.taverns.risu.request_flags import RisuModel, model_of

_MARKERS: Final = (NEW_CHAT_MEMO, EXAMPLE_MEMO)
_START: Final = "Start"
"""The user's message that Claude's models get where the chat begins with the assistant."""

_COHERE_ROLES: Final = {"user": "USER", "assistant": "CHATBOT", "system": "SYSTEM"}
_COHERE_OPTIONS: Final = {"top_k": "k", "top_p": "p"}
_UNKNOWN: Final = RisuModel(
    format="OpenAICompatible", parameters=("temperature", "top_p", "frequency_penalty", "presence_penalty")
)


def request_body(plan: Plan, model: str) -> dict[str, Any]:
    """The body for a model by RisuAI's name, of a plan with this model's flags. Raises `UnsupportedError`."""
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
