"""The protocol of workers that make pictures and videos, version 1: what they are asked and what they answer.

A request says everything: the input goes to the model as it is, word for word and number for number. An answer repeats the hash
of what went there, so that whoever asked can see that nothing was added, changed or left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from innkeeper.prompt.errors import UsageError, Where
from innkeeper.prompt.typed.misfit import Misfit
from innkeeper.prompt.typed.once import decode

_HINT: Final = "a worker makes what it is sent, and has no field beyond its protocol"


class MediaWork(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What ``/generate`` takes. ``input`` are parameters by the model's own names, ``picture`` is where it starts (base64).

    ``model`` is one of the worker's, its only one where left out.
    """

    mode: Literal["t2i", "i2i", "t2v", "i2v"]
    input: dict[str, Any]
    model: str | UnsetType = UNSET
    request_id: Annotated[str, msgspec.Meta(min_length=1, max_length=128)] | UnsetType = UNSET
    picture: bytes | UnsetType = UNSET


class MediaResult(msgspec.Struct, frozen=True):
    """One result: its bytes (base64), and by what they are known to be whole."""

    media_type: str
    sha256: str
    size: int
    data: bytes


class MediaAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a request. ``input_sha256`` is the hash of what went to the model; times in milliseconds."""

    request_id: str
    model: str
    model_revision: str
    results: list[MediaResult]
    input_sha256: str
    timings: dict[str, float]
    success: bool = True


def read_work(body: bytes) -> MediaWork:
    """The request that a body is. Raises `UsageError` for what does not fit, unknown fields among it."""
    try:
        return decode(body, MediaWork)
    except Misfit as error:
        raise UsageError(error.problem, where=Where(path=error.path or "body"), hint=_HINT) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError("the body is no JSON that can be read", where=Where(path="body")) from error


def work_sha256(mode: str, values: Mapping[str, Any], picture: bytes) -> str:
    """The hash of a request: SHA-256 of the JSON of its mode, its input and the hash of its picture, keys sorted.

    >>> from innkeeper.jobs.worker.media_protocol import work_sha256
    >>> work_sha256("t2i", {"prompt": "a red barn", "seed": 0}, b"")[:16]
    'ad51c2ccc08f915d'
    """
    facts = {"input": dict(values), "mode": mode, "picture_sha256": hashlib.sha256(picture).hexdigest()}
    return hashlib.sha256(msgspec.json.encode(facts, order="sorted", enc_hook=dict)).hexdigest()
