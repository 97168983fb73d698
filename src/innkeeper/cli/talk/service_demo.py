"""The end of the demo: the same card behind the service, in a process of its own, asked over HTTP as any client asks.

The lines that are shown are the ones that a user types to do it himself.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx

from innkeeper.processes import child
from innkeeper.prompt.errors import UnavailableError

PROFILE: Final = "wenna"
"""The profile in the folder of the examples."""

ADDRESS: Final = "http://127.0.0.1:8050"
_CHAT: Final = "/v1/chat/completions"
_SECONDS: Final = 300.0


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A service over the profile in ``folder``, on a free port: its address. Raises `UnavailableError`."""
    words = ["serve", "--profile", str(folder), "--port", "0", "--no-grpc", "--json"]
    process = child.start([sys.executable, "-m", "innkeeper", *words], stderr=subprocess.PIPE)
    try:
        line = process.stdout.readline() if process.stdout else b""
        if not line:
            _, said = process.communicate()
            raise UnavailableError(f"the service did not start: {said.decode().strip()[-300:]}")
        address: str = json.loads(line)["listening"]
        yield address
    finally:
        process.terminate()
        process.communicate()


def ask_service(address: str, text: str, tokens: int) -> str:
    """What the profile's card says to ``text``. Raises `UnavailableError` where it does not answer."""
    body = {**_body(text), "max_tokens": tokens}
    try:
        reply = httpx.post(address + _CHAT, json=body, timeout=_SECONDS, trust_env=False)
        reply.raise_for_status()
    except httpx.HTTPError as error:
        raise UnavailableError(f"the service did not answer: {error}") from error
    said: str = reply.json()["choices"][0]["message"]["content"]
    return said


def lines_of(folder: Path, text: str) -> tuple[str, str]:
    """The two lines of a shell that do the same."""
    place = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
    curl = f"curl {ADDRESS}{_CHAT} -H 'content-type: application/json' -d '{json.dumps(_body(text))}'"
    return f"innkeeper serve --profile {shlex.quote(str(place))}", curl


def _body(text: str) -> dict[str, Any]:
    return {"model": PROFILE, "messages": [{"role": "user", "content": text}]}
