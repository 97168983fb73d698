"""Reading a text-completions request. A model of chats gets its prompt as the one message of a user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.inference.requests.request import Fields, GenerationRequest, option_fields
from innkeeper.prompt.data import freeze
from innkeeper.prompt.errors import UnsupportedError, Where
from innkeeper.prompt.message import Message
from innkeeper.prompt.text import scalar_text

_OPTIONS: Final = (
    *("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "seed", "max_tokens", "stop"),
    *("frequency_penalty", "presence_penalty", "logit_bias"),
)


def read_completion(body: Mapping[str, Any]) -> GenerationRequest:
    """The request that a body of ``/v1/completions`` is.

    Raises:
        UsageError: a field of the wrong type.
        UnsupportedError: several prompts, tokens in place of a text, or more answers made than given.
        LimitError: too many answers are asked for.
    """
    fields = Fields(body)
    model, stream = fields.model(), bool(fields.flag("stream"))
    usage = fields.fields("stream_options").flag("include_usage")
    choices, best = fields.choices(), fields.number("best_of")
    if best not in (None, choices):
        raise UnsupportedError("all answers that are made are given: best_of is n", where=Where(path="best_of"))
    prompt, user = _prompt(fields.take("prompt")), fields.text("user")
    options = option_fields(fields, _OPTIONS) | ({} if user is None else {"user": user})
    return GenerationRequest(
        surface="text-completion",
        model=model,
        messages=(Message("user", prompt),),
        options=freeze(options),
        stream=stream,
        include_usage=bool(usage),
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
