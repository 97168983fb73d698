"""Reading requests for completions, of chats and of texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.inference.requests.request import (
    Fields,
    GenerationRequest,
    option_fields,
    read_message,
    read_tools,
    tool_choice,
)
from innkeeper.prompt.data import freeze
from innkeeper.prompt.errors import UnsupportedError, UsageError, Where
from innkeeper.prompt.message import Message
from innkeeper.prompt.text import scalar_text

_OPTIONS: Final = (
    *("temperature", "top_p", "top_k", "min_p", "top_a", "typical_p", "repetition_penalty", "seed"),
    *("frequency_penalty", "presence_penalty", "stop", "response_format", "parallel_tool_calls"),
    *("logprobs", "top_logprobs", "logit_bias", "reasoning_effort", "verbosity", "service_tier"),
)


def read_chat(body: Mapping[str, Any]) -> GenerationRequest:
    """The request that a body of ``/v1/chat/completions`` is.

    Raises:
        UsageError: a field of the wrong type, or no messages; its place is the field's name.
        LimitError: too many answers are asked for.
    """
    fields = Fields(body)
    model, stream = fields.model(), bool(fields.flag("stream"))
    usage = _usage(fields)
    choices = fields.choices()
    tools = read_tools(fields.items("tools") + [{"function": it} for it in fields.items("functions")])
    user, metadata = fields.text("user"), fields.mapping("metadata")
    messages = read_chat_messages(fields.items("messages"))
    options = _options(fields) | ({} if user is None else {"user": user})
    return GenerationRequest(
        surface="openai-chat",
        model=model,
        messages=messages,
        options=freeze(options),
        **tools._asdict(),
        stream=stream,
        include_usage=usage,
        user=user,
        metadata=freeze(metadata),
        extra=fields.rest(),
        choices=choices,
    )


def _usage(fields: Fields) -> bool:
    """Whether a stream is to tell its usage."""
    asked = fields.fields("stream_options")
    usage = bool(asked.flag("include_usage"))
    fields.restore("stream_options", asked.rest())
    return usage


def _options(fields: Fields) -> dict[str, Any]:
    options = option_fields(fields, _OPTIONS)
    before, now = fields.number("max_tokens"), fields.number("max_completion_tokens")
    if now is not None or before is not None:
        options["max_tokens"] = before if now is None else now
    choice, older = tool_choice(fields), fields.take("function_call")
    if choice is not None or older is not None:
        options["tool_choice"] = older if choice is None else choice
    reasoning = fields.take("reasoning")
    if isinstance(reasoning, Mapping) and isinstance(reasoning.get("effort"), str):
        options.setdefault("reasoning_effort", reasoning["effort"])
        reasoning = {name: value for name, value in reasoning.items() if name != "effort"}
    fields.restore("reasoning", reasoning)
    return options


def read_chat_messages(items: list[Any], path: str = "messages") -> tuple[Message, ...]:
    """Messages as chat completions have them. Raises `UsageError`."""
    if not items:
        raise UsageError("the request has no messages", where=Where(path=path), hint="send at least one")
    return tuple([_message(raw, f"{path}[{index}]") for index, raw in enumerate(items)])


def _message(raw: Any, path: str) -> Message:
    if not isinstance(raw, Mapping):
        raise UsageError("a message must be an object", where=Where(path=path))
    fields = {"content": None, **raw}
    thoughts = _thoughts(fields, path)
    if thoughts:
        fields["reasoning"] = thoughts
    return read_message(fields, path)


def _thoughts(fields: dict[str, Any], path: str) -> Any:
    """The thoughts behind an answer: with their seals where a provider gave them, else their text."""
    text = fields.pop("reasoning_content", None) or fields.pop("reasoning", None)
    fields.pop("reasoning", None)
    details = fields.get("reasoning_details") or []
    if not isinstance(details, (list, tuple)):
        raise UsageError("reasoning_details must be a list", where=Where(path=f"{path}.reasoning_details"))
    details = [detail for detail in details if isinstance(detail, Mapping)]
    sealed = [_detail(detail) for detail in details if detail.get("signature") or detail.get("data")]
    return sealed or text


def _detail(detail: Mapping[str, Any]) -> dict[str, Any]:
    names = {"text": "text", "signature": "signature", "data": "data", "id": "id"}
    texts = {name: detail[field] for name, field in names.items() if isinstance(detail.get(field), str)}
    return {**texts, **({"encrypted_content": texts["data"]} if "data" in texts else {})}


_TEXT_OPTIONS: Final = (
    *("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "seed", "max_tokens", "stop"),
    *("frequency_penalty", "presence_penalty", "logit_bias"),
)


def read_completion(body: Mapping[str, Any]) -> GenerationRequest:
    """The request that a body of ``/v1/completions`` is. A model of chats gets its prompt as the one message of a user.

    Raises:
        UsageError: a field of the wrong type.
        UnsupportedError: several prompts, tokens in place of a text, or more answers made than given.
        LimitError: too many answers are asked for.
    """
    fields = Fields(body)
    model, stream = fields.model(), bool(fields.flag("stream"))
    usage = _usage(fields)
    choices, best = fields.choices(), fields.number("best_of")
    if best not in (None, choices):
        raise UnsupportedError("all answers that are made are given: best_of is n", where=Where(path="best_of"))
    prompt, user = _prompt(fields.take("prompt")), fields.text("user")
    options = option_fields(fields, _TEXT_OPTIONS) | ({} if user is None else {"user": user})
    return GenerationRequest(
        surface="text-completion",
        model=model,
        messages=(Message("user", prompt),),
        options=freeze(options),
        stream=stream,
        include_usage=usage,
        prompt=prompt,
        user=user,
        extra=fields.rest(),
        choices=choices,
    )


def _prompt(value: Any) -> str:
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        value = value[0]
    if not isinstance(value, str):
        hint = "send prompt as one text; tokens and several prompts at once are not read"
        raise UnsupportedError("prompt must be one text", where=Where(path="prompt"), hint=hint)
    return scalar_text(value)
