"""request_for: the one place where a plan becomes a request to a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from innkeeper.dialects.options import neutral
from innkeeper.dialects.plan_payload import plan_payload
from innkeeper.inference.adapters.adapter import ModelRequest
from innkeeper.inference.adapters.registry import ADAPTERS

if TYPE_CHECKING:
    from innkeeper.inference.routing.route import Route
    from innkeeper.prompt import Plan


def request_for(plan: Plan, route: Route, *, stream: bool = False, **options: Any) -> ModelRequest:
    """Return what the provider of ``route`` is sent for a plan: its model, messages, tools, options and stop strings.

    The route's dialect writes it. The route's options count where neither the plan nor ``options`` say otherwise. The answer may
    be as long as the tokens that the plan reserved (`plan_payload`). What the provider cannot be told is in the request's
    ``notes``. Raises as `Plan.to_request`.
    """
    adapter = ADAPTERS[route.adapter]
    planned = plan if plan.model == route.model else plan.with_(model=route.model)
    defaults = {name: value for name, value in neutral(route.options).items() if name not in neutral(plan.options)}
    payload = plan_payload(planned, route.dialect or adapter.dialect, **{**defaults, **neutral(options)})
    request = ModelRequest.of(adapter, payload.body, model=route.model, stream=stream)
    return msgspec.structs.replace(request, notes=payload.notes)
