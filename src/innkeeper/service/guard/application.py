"""Application: routes behind the guard. The service and `innkeeper inspect` are both made here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute

from innkeeper.service.guard.guard import Guard, missing
from innkeeper.service.guard.work import Gate
from innkeeper.service.settings import Settings

if TYPE_CHECKING:
    from innkeeper.service.inspector.access import Access


def guarded_application(
    routes: Sequence[BaseRoute],
    settings: Settings,
    gate: Gate,
    *,
    lifespan: Any = None,
    access: Access | None = None,
    headers: Mapping[str, str] | None = None,
) -> Starlette:
    """Return an application whose every request passes the guard.

    Args:
        routes: what it answers.
        settings: the limits and the keys.
        gate: what all calls together may take.
        lifespan: what is begun and ended with it.
        access: who may use the inspector's pages; None where it has none.
        headers: the headers of every reply outside the inspector; those of the service where left out.
    """
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, settings=settings, gate=gate, access=access, headers=headers)],
        exception_handlers={404: missing, 405: missing},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return app
