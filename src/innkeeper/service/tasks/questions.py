"""``/v1/tier:evaluate`` and ``/v1/templates:resolve|:render``: what the library would decide, without asking a model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from starlette.routing import BaseRoute, Route

from innkeeper.library.prepare.request import PrepareRequest, tier_facts
from innkeeper.library.tiers.gate import TextKind
from innkeeper.prompt.errors import UsageError, Where
from innkeeper.prompt.text import scalar_text
from innkeeper.service.tasks.calls import Opened, TaskCall, service, text_of


def question_routes(opened: Opened) -> list[BaseRoute]:
    """The routes."""
    return [
        Route("/v1/tier:evaluate", service(opened, "tier", _evaluated), methods=["POST"]),
        Route("/v1/templates:resolve", service(opened, "resolve", _resolved), methods=["POST"]),
        Route("/v1/templates:render", service(opened, "render", _rendered), methods=["POST"]),
    ]


async def _evaluated(call: TaskCall) -> Mapping[str, Any]:
    """The tier of texts; a block is an answer here, and no error."""
    texts = _texts(call.body)
    asked, library = call.body.get("content_mode"), call.tasks.library
    decision = await asyncio.to_thread(library.tier_check, texts, asked, call.ceilings, actor=call.owner)
    return tier_facts(decision)


def _texts(body: Mapping[str, Any]) -> dict[str, str]:
    named = body.get("texts")
    if named is None:
        text = text_of(body, "text", "prompt")
        return {TextKind.USER_TEXT.value: text} if text else {}
    if not isinstance(named, Mapping) or not all(isinstance(text, str) for text in named.values()):
        raise UsageError("texts are texts by where they enter", where=Where(path="texts"))
    kinds = {*TextKind}
    wrong = next((name for name in named if name.partition(":")[0] not in kinds), None)
    if wrong is not None:
        hint = f"names: {', '.join(sorted(kinds))}"
        raise UsageError(f"no text enters at {wrong!r:.60}", where=Where(path="texts"), hint=hint)
    return {scalar_text(name): scalar_text(text) for name, text in named.items()}


async def _resolved(call: TaskCall) -> Mapping[str, Any]:
    return await _asked(call, lambda request: call.tasks.library.resolve(request, strict=call.strict))


async def _rendered(call: TaskCall) -> Mapping[str, Any]:
    return await _asked(call, lambda request: call.tasks.library.render(request, strict=call.strict))


async def _asked(call: TaskCall, ask: Callable[[PrepareRequest], Any]) -> Mapping[str, Any]:
    request = _request(call)
    answer = await asyncio.to_thread(ask, request)
    facts: dict[str, Any] = msgspec.to_builtins(answer.to_dict(), enc_hook=dict)
    return facts


_TEXTS: Final = (
    *("use_case", "job_type", "target_model", "target_family", "enhancer_model", "enhancer_family", "label", "text"),
    *("negative", "generation_mode"),
)


def _request(call: TaskCall) -> PrepareRequest:
    """The request in a body. Raises `UsageError`; `FieldError` for values of a wrong kind."""
    body = call.body
    fields: dict[str, Any] = {name: text for name in _TEXTS if (text := text_of(body, name))}
    if "use_case" not in fields:
        raise UsageError("use_case is needed", where=Where(path="use_case"), hint="such as enhancement, chat")
    values = body.get("values")
    if not isinstance(values, (Mapping, type(None))):
        raise UsageError("values are values by name", where=Where(path="values"))
    return PrepareRequest(
        **fields,
        values=values or {},
        content_mode=body.get("content_mode"),
        ceilings=call.ceilings,
        user_id=call.owner,
    )
