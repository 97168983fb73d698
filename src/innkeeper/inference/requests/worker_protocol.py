"""The worker's protocol, version 1: what it is asked and what it answers (dynamic-prompting reference, 5).

A request says everything: the worker has no template, preset or default of its own, and refuses what it does not know. A sampler
that is not given is not sent on. An answer repeats the hash of the messages as they went to the model, so that whoever asked can
see that nothing was added, changed or left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from innkeeper.inference.response.response import FinishReason
from innkeeper.prompt.errors import UsageError, Where
from innkeeper.prompt.typed.misfit import Misfit
from innkeeper.prompt.typed.once import decode

PROTOCOL: Final = "v1"
"""The version of the protocol."""

_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
_Share: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1)]
_Penalty: TypeAlias = Annotated[float, msgspec.Meta(ge=-2, le=2)]


class WorkerMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One message. ``content`` is a text, or parts as the backend takes them."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str | list[dict[str, Any]]
    name: str | UnsetType = UNSET


class WorkerRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What ``/chat``, ``/enhance`` and ``/generate`` take. Nothing that is left out has a default.

    ``model`` is one of the worker's, its only one where left out. ``deadline_ms`` is how long the answer is wanted.
    """

    messages: Annotated[list[WorkerMessage], msgspec.Meta(min_length=1)]
    model: str | UnsetType = UNSET
    request_id: Annotated[str, msgspec.Meta(min_length=1, max_length=128)] | UnsetType = UNSET
    deadline_ms: _Count | UnsetType = UNSET
    stream: bool | UnsetType = UNSET
    stream_options: dict[str, Any] | UnsetType = UNSET
    max_tokens: _Count | UnsetType = UNSET
    temperature: Annotated[float, msgspec.Meta(ge=0)] | UnsetType = UNSET
    top_p: _Share | UnsetType = UNSET
    top_k: Annotated[int, msgspec.Meta(ge=0)] | UnsetType = UNSET
    min_p: _Share | UnsetType = UNSET
    typical_p: _Share | UnsetType = UNSET
    frequency_penalty: _Penalty | UnsetType = UNSET
    presence_penalty: _Penalty | UnsetType = UNSET
    repetition_penalty: Annotated[float, msgspec.Meta(gt=0)] | UnsetType = UNSET
    stop: str | list[str] | UnsetType = UNSET
    seed: int | UnsetType = UNSET
    response_format: dict[str, Any] | UnsetType = UNSET

    def sampling(self) -> dict[str, Any]:
        """What is said of the sampling, and nothing else."""
        sampling = {name: getattr(self, name) for name in _SAMPLING}
        return {name: value for name, value in sampling.items() if value is not UNSET}


_SAMPLING: Final = (
    *("max_tokens", "temperature", "top_p", "top_k", "min_p", "typical_p", "frequency_penalty", "presence_penalty"),
    *("repetition_penalty", "stop", "seed", "response_format"),
)


class _LegacyParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    max_new_tokens: _Count | UnsetType = UNSET
    temperature: Annotated[float, msgspec.Meta(ge=0)] | UnsetType = UNSET
    top_p: _Share | UnsetType = UNSET
    do_sample: bool | UnsetType = UNSET
    return_full_text: Literal[False] | UnsetType = UNSET


class LegacyRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What ``/generate`` of the video worker took: one text. It is executed as the one message of a user, word for word."""

    inputs: Annotated[str, msgspec.Meta(min_length=1)]
    parameters: _LegacyParameters = _LegacyParameters()

    def request(self) -> WorkerRequest:
        """The same as a request of the protocol. Without sampling (``do_sample`` false) the likeliest word is taken."""
        parameters = self.parameters
        temperature = 0.0 if parameters.do_sample is False else parameters.temperature
        return WorkerRequest(
            messages=[WorkerMessage("user", self.inputs)],
            max_tokens=parameters.max_new_tokens,
            temperature=temperature,
            top_p=parameters.top_p,
        )


def read_request(body: bytes, *, legacy: bool = False) -> WorkerRequest | LegacyRequest:
    """The request that a body is; with ``legacy`` also one of the old ``/generate``.

    Raises:
        UsageError: what does not fit, unknown fields among it; the place says which.
    """
    try:
        if legacy and "inputs" in decode(body, dict[str, Any]):
            return decode(body, LegacyRequest)
        return decode(body, WorkerRequest)
    except Misfit as error:
        hint = "a worker executes what it is sent, and has no field beyond its protocol"
        raise UsageError(error.problem, where=Where(path=error.path or "body"), hint=hint) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError("the body is no JSON that can be read", where=Where(path="body")) from error


def messages_sha256(messages: Sequence[Mapping[str, Any] | WorkerMessage]) -> str:
    """The hash of messages: SHA-256 of their JSON, keys sorted, without blanks, characters as UTF-8.

    >>> from innkeeper.inference.requests.worker_protocol import messages_sha256
    >>> messages_sha256([{"role": "user", "content": "Hello"}])[:16]
    '013cf0c05f083773'
    """
    return hashlib.sha256(msgspec.json.encode(messages, order="sorted")).hexdigest()


class WorkerAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a request. ``prompt_sha256`` is the hash of the messages as they went to the model; times in milliseconds."""

    request_id: str
    model: str
    model_revision: str
    output: str
    finish_reason: FinishReason | None
    prompt_tokens: int | None
    completion_tokens: int | None
    prompt_sha256: str
    queue_ms: float = 0.0
    load_ms: float = 0.0
    gen_ms: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """As the protocol has it."""
        return {
            "request_id": self.request_id,
            "model": self.model,
            "model_revision": self.model_revision,
            "output": self.output,
            "finish_reason": self.finish_reason,
            "usage": {"prompt_tokens": self.prompt_tokens, "completion_tokens": self.completion_tokens},
            "timings": {"queue_ms": self.queue_ms, "load_ms": self.load_ms, "gen_ms": self.gen_ms},
            "prompt_sha256": self.prompt_sha256,
        }
