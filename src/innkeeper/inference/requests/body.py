"""The body that a provider gets for a request: by the dialect of its route, and what only the request's own protocol has.

What a route's provider cannot be told is named in a note, never left out unsaid.
"""

from __future__ import annotations

import msgspec

from innkeeper.dialects import DIALECTS
from innkeeper.dialects.options import neutral
from innkeeper.inference.adapters.adapter import Adapter, ModelRequest
from innkeeper.inference.requests.raw import check_raw
from innkeeper.inference.requests.request import GenerationRequest
from innkeeper.inference.routing.route import Route
from innkeeper.prompt.data import thaw
from innkeeper.prompt.dialect import Dialects
from innkeeper.prompt.note import Note, NoteKind

_PROMPTS = frozenset({"instruct", "chat_template"})
"""Options that write a prompt of messages; a text completion brings its own."""


def provider_request(
    request: GenerationRequest, route: Route, adapter: Adapter, dialects: Dialects = DIALECTS
) -> ModelRequest:
    """What goes over the wire for a request on a route; its ``notes`` are the request's and the dialect's.

    A raw body is sent as it is, where route and body fit (`check_raw`). Raises `ConfigError`, `LimitError`, and
    `UnknownNameError` for a dialect that there is not.
    """
    if request.raw is not None:
        return check_raw(request, request.raw, route, adapter)
    same = adapter.name == request.surface
    options = {**neutral(route.options), **neutral(request.options)}
    if request.prompt is not None:
        options = {name: value for name, value in options.items() if name not in _PROMPTS}
    if same and (request.extra or request.hosted):
        options["extra"] = {**(options.get("extra") or {}), **thaw(request.extra)}
    written = dialects[route.dialect or adapter.dialect].request(
        request.messages, model=route.model, options=options, tools=request.tools
    )
    body = written.body
    if same and request.hosted:
        body = {**body, "tools": [*body.get("tools", ()), *thaw(request.hosted)]}
    lost: list[Note] = []
    if not same:
        kinds = [str(tool.get("type")) for tool in request.hosted]
        lost += [Note(NoteKind.LOSS, f"the field {name!r:.60} is not sent") for name in request.extra]
        lost += [Note(NoteKind.LOSS, f"a tool of type {kind!r:.60} is not sent") for kind in kinds]
    sent = ModelRequest.of(adapter, body, model=route.model, stream=request.stream)
    return msgspec.structs.replace(sent, notes=(*request.notes, *written.notes, *lost))
