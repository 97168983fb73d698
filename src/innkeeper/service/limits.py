"""Limits of the service, each with its name in the error that a caller gets."""

from __future__ import annotations

from typing import Final

__all__ = [
    "BODY_SECONDS",
    "HEADER_SECONDS",
    "MAX_BODIES",
    "MAX_BODY",
    "MAX_CALLS",
    "MAX_CONNECTIONS",
    "MAX_DEPTH",
    "MAX_HEADERS",
    "MAX_KEY_FILE",
    "MAX_MACROS",
    "MAX_MACRO_NAME",
    "MAX_SOCKETS",
    "MAX_SOCKET_MESSAGE",
    "RETRY_SECONDS",
    "STOP_SECONDS",
    "TIME_BUDGET",
    "WORKERS",
]

MIB: Final = 1024 * 1024

MAX_BODY: Final = 32 * MIB
"""Bytes of one request's body."""

MAX_BODIES: Final = 256 * MIB
"""Bytes of all bodies that are being read or worked on."""

MAX_DEPTH: Final = 64
"""Objects and lists inside one another in a body."""

MAX_HEADERS: Final = 64 * 1024
"""Bytes of a request's line and headers."""

MAX_CALLS: Final = 128
"""Calls that are being answered at once; the next one is told to come back."""

MAX_CONNECTIONS: Final = 512
"""Open connections."""

MAX_SOCKETS: Final = 32
"""Open WebSockets."""

MAX_SOCKET_MESSAGE: Final = 8 * MIB
"""Bytes of one WebSocket message."""

WORKERS: Final = 4
"""Calls that are computed at once; the others wait for their turn within their time budget."""

TIME_BUDGET: Final = 30.0
"""Seconds that one call may take, waiting included."""

HEADER_SECONDS: Final = 10.0
"""Seconds until a request's headers must be there."""

BODY_SECONDS: Final = 30.0
"""Seconds until a request's body must be there, and until an answer must have been taken."""

STOP_SECONDS: Final = 30
"""Seconds that calls under way get when the service is told to stop."""

RETRY_SECONDS: Final = 1
"""When a caller that was sent away may come back, in seconds."""

MAX_MACROS: Final = 256
"""Custom macros that an application keeps."""

MAX_MACRO_NAME: Final = 64
"""Characters of a custom macro's name."""

MAX_KEY_FILE: Final = 64 * 1024
"""Bytes of a key file."""
