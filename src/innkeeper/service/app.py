"""The application: surfaces beside one another behind one guard.

The libraries that only the service needs (the extra ``serve``) are imported here, with an error that names what to install.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from innkeeper.prompt.errors import UnavailableError
from innkeeper.service.settings import Settings

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from innkeeper.service.gateway.operation import Operations

__all__ = ["create_app", "library"]


def create_app(settings: Settings | None = None, operations: Operations | None = None) -> Starlette:
    """The service as an ASGI application. A surface is a list of routes; later ones mount beside the gateway.

    The guard stands before all of them: origins, keys, sizes, and how much is done at once.

    Args:
        settings: what to serve and how; the defaults where left out.
        operations: what the gateway answers, `OPERATIONS` with others, for instance; `OPERATIONS` where left out.

    Raises:
        ConfigError: settings that do not go together.
        UnavailableError: the extra ``serve`` is not installed.
    """
    checked = (settings or Settings()).checked()
    starlette, middleware = library("starlette.applications"), library("starlette.middleware")
    from innkeeper.service.gateway.gateway import Gateway
    from innkeeper.service.gateway.routes import routes
    from innkeeper.service.guard import Guard, missing
    from innkeeper.service.work import Gate

    gate = Gate(
        calls=checked.max_calls, volume=checked.max_bodies, workers=checked.workers, seconds=checked.time_budget
    )
    app = starlette.Starlette(
        routes=routes(Gateway(checked, operations), gate),
        middleware=[middleware.Middleware(Guard, settings=checked, gate=gate)],
        exception_handlers={404: missing, 405: missing},
    )
    app.router.redirect_slashes = False
    return app  # type: ignore[no-any-return]  # the library is imported by name


def library(name: str) -> Any:
    """The module ``name`` of a library of the extra ``serve``.

    Raises:
        UnavailableError: the library is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        missing = name.partition(".")[0]
        if error.name != missing:
            raise
        raise UnavailableError(
            f"the service needs the library {missing}, which is not installed", hint="pip install 'innkeeper[serve]'"
        ) from error
