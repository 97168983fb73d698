"""Results in providers' answers: all of them, wherever they stand."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any, Final

from innkeeper.inference.errors import DecodeError
from innkeeper.jobs.job import Output
from innkeeper.jobs.limits import MAX_OUTPUTS

_FIELDS: Final = ("video", "videos", "images", "image", "output", "outputs")
"""Where results stand, in the order in which they are looked for; the first that holds any counts."""


def outputs_in(answer: Mapping[str, Any]) -> tuple[Output, ...]:
    """The results of an answer: addresses, objects with an address, data addresses, or lists of them."""
    for field in _FIELDS:
        outputs = tuple(_each(answer.get(field)))
        if outputs:
            return outputs[:MAX_OUTPUTS]
    return ()


def flagged(value: Any) -> bool:
    """Whether a safety checker flagged any of the results."""
    return any(value) if isinstance(value, list) else value is True


def of_data(text: str) -> bytes:
    """The bytes of base64, with or without the head of a data address. Raises `DecodeError`."""
    try:
        return base64.b64decode(text.partition(",")[2] if text.startswith("data:") else text, validate=True)
    except (ValueError, binascii.Error):
        raise DecodeError("a result is not base64") from None


def _each(value: Any) -> Iterator[Output]:
    if isinstance(value, list):
        for one in value:
            yield from _each(one)
    elif isinstance(value, Mapping):
        size = value.get("file_size")
        facts = Output(
            url=str(value.get("url") or ""),
            media_type=str(value.get("content_type") or ""),
            sha256=str(value.get("sha256") or ""),
            size=size if isinstance(size, int) and size > 0 else None,
        )
        yield from _placed(facts)
    elif isinstance(value, str):
        yield from _placed(Output(url=value))


def _placed(output: Output) -> Iterator[Output]:
    if output.url.startswith("data:"):
        yield Output(data=of_data(output.url), media_type=output.media_type)
    elif output.url.startswith(("https://", "http://")):
        yield output
