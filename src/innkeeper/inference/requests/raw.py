"""Raw requests: bodies that a provider gets byte for byte, as far as they have to be understood here.

A route is one model at one provider with a key of the operator's, so a raw body is read strictly: it must name the model of its
route, and nothing in it may mean one thing here and another to whoever reads it next.
"""

from __future__ import annotations

from typing import Final

from innkeeper.inference.adapters.adapter import ModelRequest
from innkeeper.inference.requests.request import Fields, GenerationRequest
from innkeeper.prompt.data import parse_json
from innkeeper.prompt.errors import UnsupportedError, UsageError, Where

_UNDERSTOOD: Final = ("model", "stream", "stream_options", "n", "best_of", "background")
"""The keys that are looked at; some providers read keys whatever their case."""


def read_raw(content: bytes, surface: str, route: str = "") -> GenerationRequest:
    """The request that a caller's own bytes are. ``surface`` is the adapter whose protocol they are written in.

    ``route`` is who is to answer; where it is left out, the route that is called like the model which the body names.

    Raises:
        FormatError: the body is not JSON that all read alike: UTF-8, without NaN, no key twice in one object.
        LimitError: it is nested too deep.
        UsageError: it is no object, names no model, or a key that counts here is spelled in another case.
        UnsupportedError: several answers are asked for, or one in the background.
    """
    body = parse_json(content, asset="body", strict=True)
    if not isinstance(body, dict):
        raise UsageError("the body must be a JSON object")
    for name in body:
        if name not in _UNDERSTOOD and name.casefold() in _UNDERSTOOD:
            raise UsageError(f"the key {name!r:.60} is spelled otherwise", where=Where(path=name.casefold()))
    fields = Fields(body)
    model, stream = fields.model(), bool(fields.flag("stream"))
    usage = fields.fields("stream_options").flag("include_usage")
    for name in ("n", "best_of"):
        if fields.number(name) not in (None, 1):
            raise UnsupportedError("a raw body gets one answer", where=Where(path=name), hint=f"leave {name} out")
    if fields.flag("background"):
        raise UnsupportedError("a raw body is answered while it waits", where=Where(path="background"))
    return GenerationRequest(
        surface=surface,
        model=route or model,
        messages=(),
        stream=stream,
        include_usage=bool(usage),
        store=False,
        raw=ModelRequest.own(content, model=model, stream=stream),
    )


def refuse_raw(request: GenerationRequest, what: str) -> None:
    """Refuse a raw body where the prompt is made here. Raises `UnsupportedError`."""
    if request.raw is not None:
        raise UnsupportedError(
            f"{what} {request.model!r:.60} takes no raw body", where=Where(path="model"), hint="name a route"
        )
