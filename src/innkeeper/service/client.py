"""The client of the gateway: `call_api`, as the document shows it (3-smarttavern-in-chat-constructor; reference, 9).

As there::

from innkeeper.service import client as core

res = core.call_api("smarttavern/in_chat_constructor/construct", {...}, method="POST", namespace="modules")
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from innkeeper.service.errors import NameFormatError
from innkeeper.service.guard.grants import KEY_VARIABLE
from innkeeper.service.settings import DEFAULT_PORT

BASE_URL: Final = f"http://127.0.0.1:{DEFAULT_PORT}"
"""Where the gateway is unless said otherwise."""

URL_VARIABLE: Final = "INNKEEPER_URL"
"""The environment variable that says otherwise."""

NAMESPACES: Final = ("modules", "workflow", "plugins")
"""Where an operation is looked for, in order."""

CONNECT_SECONDS: Final = 5.0
"""How long to wait for a connection."""

CALL_SECONDS: Final = 15.0
"""How long to wait for the reply, as the original's client does."""


def call_api(  # noqa: PLR0913 - the original's signature
    name: str,
    payload: Mapping[str, Any] | None = None,
    method: str = "POST",
    headers: Mapping[str, str] | None = None,
    files: Mapping[str, Any] | None = None,
    *,
    namespace: str | None = None,
    base_url: str | None = None,
    timeout: float = CALL_SECONDS,
) -> Any:
    """Call an operation and return the reply's body.

    A reply of 400 and above is returned too, with ``error_code`` and ``status`` filled in where it lacks them. Nothing that
    happens on the way raises: a failed connection is ``{"error_code": "NETWORK_ERROR", "message"}``.

    Args:
        name: the path with slashes, such as ``smarttavern/macro/process_text``.
        payload: the arguments; a GET sends them as its query.
        method: ``POST`` or ``GET``.
        headers: further headers. The key in ``INNKEEPER_SERVICE_KEY`` is sent where they bring none.
        files: further texts, bytes, open files or tuples of httpx, by name; they and the arguments are sent as a form. Of the
            gateway here an operation takes a form's texts; a file's content is the text of its argument.
        namespace: where the operation is; without it modules, workflow and plugins are tried, going on only on 404.
        base_url: the gateway; ``INNKEEPER_URL``, or port 8050 of this machine, where left out.
        timeout: seconds to wait for the reply.

    Raises:
        NameFormatError: dots or backslashes in the path; a `ValueError`.
    """
    path = checked_path(name)
    base = (base_url or os.environ.get(URL_VARIABLE) or BASE_URL).rstrip("/")
    sent = key_headers(headers or {}, os.environ)
    query: dict[str, Any] = {"params": payload} if method.upper() == "GET" else {"json": payload or {}}
    if files:
        # Open files are read, so that they can be sent to one namespace after the other.
        contents = {name: file.read() if hasattr(file, "read") else file for name, file in files.items()}
        query = {"data": payload or {}, "files": contents}
    for namespace_name in NAMESPACES if namespace is None else (namespace,):
        url = f"{base}/api/{quote(namespace_name)}/{quote(path)}"
        status, body = exchange(method.upper(), url, sent, timeout=timeout, **query)
        if status != HTTPStatus.NOT_FOUND:
            break
    return _filled(status, body)


def checked_path(name: str) -> str:
    """An operation's path, without slashes at its ends. Raises `NameFormatError`."""
    path = name.strip("/")
    if not path or "." in path or "\\" in path:
        raise NameFormatError(f"not a path of an operation: {name!r}")
    return path


def key_headers(headers: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """``headers``, with the key of the environment where they bring none."""
    key = environment.get(KEY_VARIABLE, "").strip()
    if not key or {name.lower() for name in headers} & {"authorization", "x-api-key"}:
        return dict(headers)
    return {**headers, "Authorization": f"Bearer {key}"}


def exchange(
    method: str, url: str, headers: Mapping[str, str], *, timeout: float = CALL_SECONDS, **content: Any
) -> tuple[int, bytes]:
    """Status and body of one request; status 0, and a body that says why, where there is no reply."""
    import httpx

    try:
        limits = httpx.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS))
        # The machine's proxy settings are no way to a service on this machine.
        with httpx.Client(timeout=limits, trust_env=False) as client:
            reply = client.request(method, url, headers=dict(headers), **content)
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        facts = {"error_code": "NETWORK_ERROR", "message": f"{type(error).__name__}: {error}"}
        return 0, json.dumps(facts, ensure_ascii=False).encode("utf-8", "replace")
    return reply.status_code, reply.content


def _filled(status: int, content: bytes) -> Any:
    try:
        body = json.loads(content)
    except ValueError:
        body = {"message": content.decode("utf-8", "replace")}
    if status < HTTPStatus.BAD_REQUEST:
        return body
    facts = body if isinstance(body, dict) else {"message": body}
    return {"error_code": f"HTTP_{status}", "status": status, **facts}
