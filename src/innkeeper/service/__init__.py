"""The service: one ASGI application with surfaces beside one another, and the client for the first of them.

Each name is imported from its home when it is first asked for. The application needs the extra ``serve``; the client and
`Gateway`, which answers in this process, do not. Errors are drawn in `innkeeper.service.errors`.
"""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.service.app import create_app as create_app
    from innkeeper.service.app import serve as serve
    from innkeeper.service.client import call_api as call_api
    from innkeeper.service.exchange import HttpReply as HttpReply
    from innkeeper.service.exchange import Request as Request
    from innkeeper.service.gateway.gateway import Gateway as Gateway
    from innkeeper.service.guard.grants import Keys as Keys
    from innkeeper.service.settings import Settings as Settings

_HOMES: Final = {
    "app": ("create_app", "serve"),
    "client": ("call_api",),
    "exchange": ("HttpReply", "Request"),
    "gateway.gateway": ("Gateway",),
    "guard.grants": ("Keys",),
    "settings": ("Settings",),
}

__all__ = ["Gateway", "HttpReply", "Keys", "Request", "Settings", "call_api", "create_app", "serve"]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
