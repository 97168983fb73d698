"""What an error is for RPC clients: one word of Connect, which is also gRPC's, for each HTTP status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from innkeeper.prompt.errors import InnkeeperError

CODES: Final[Mapping[int, str]] = {
    400: "invalid_argument",
    401: "unauthenticated",
    403: "permission_denied",
    404: "not_found",
    408: "deadline_exceeded",
    409: "aborted",
    413: "resource_exhausted",
    415: "invalid_argument",
    422: "invalid_argument",
    429: "resource_exhausted",
    431: "resource_exhausted",
    499: "canceled",
    501: "unimplemented",
    502: "unavailable",
    503: "unavailable",
    504: "deadline_exceeded",
}
"""By the ``http_status`` of an error; any other is ``internal``."""


def code_of(error: InnkeeperError) -> str:
    """The code of an error: ``not_found`` for a tool that there is not."""
    return CODES.get(error.http_status, "internal")
