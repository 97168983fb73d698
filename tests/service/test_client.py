"""The client: the document's call, and nothing on the way that raises."""

import json
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from time import sleep
from typing import Any

import pytest

from innkeeper.service import call_api
from innkeeper.service.errors import NameFormatError

SEEN: list[tuple[str, str, str | None, bytes]] = []


ANSWERS = {
    "workflow/yes": (200, b'{"here": true}'),
    "denied": (401, b'{"message": "no"}'),
    "typed": (400, b'{"error_code": "MISSING_REQUIRED"}'),
    "html": (502, b"<html>"),
    "list": (500, b"[1]"),
    "text": (200, b"plain"),
}


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer by what the path asks for."""
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        SEEN.append((self.command, self.path, self.headers.get("authorization"), body))
        status, answer = self.pick()
        self.send_response(status)
        self.end_headers()
        with suppress(ConnectionError):  # who called has stopped waiting
            self.wfile.write(answer)

    do_POST = do_GET  # noqa: N815 - the base's name

    def pick(self) -> tuple[int, bytes]:
        """Status and body."""
        if "slow" in self.path:
            sleep(0.5)
        found = next((answer for words, answer in ANSWERS.items() if words in self.path), None)
        return found or (404, b'{"detail": "Not Found"}')


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server that answers by path, and is the default one."""
    SEEN.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        monkeypatch.setenv("INNKEEPER_URL", address)
        yield address
        server.shutdown()


@pytest.mark.parametrize("name", ["a.b", "smarttavern.macro.list", "a\\b", "", "/"])
def test_names(name: str) -> None:
    """A path with dots or backslashes is a mistake of the caller, and a `ValueError`."""
    with pytest.raises(ValueError, match="not a path") as caught:
        call_api(name, {})
    assert isinstance(caught.value, NameFormatError)


def test_namespaces(url: str) -> None:
    """Without a namespace all are tried in order until one is not 404; with one, only it."""
    assert call_api("yes") == {"here": True}
    assert call_api("only") == {"error_code": "HTTP_404", "status": 404, "detail": "Not Found"}
    assert [path for _, path, _, _ in SEEN] == [
        "/api/modules/yes",
        "/api/workflow/yes",
        *(f"/api/{n}/only" for n in ("modules", "workflow", "plugins")),
    ]
    SEEN.clear()
    assert call_api("denied", namespace="workflow")["status"] == 401
    assert len(SEEN) == 1


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("denied", {"error_code": "HTTP_401", "status": 401, "message": "no"}),
        ("typed", {"error_code": "MISSING_REQUIRED", "status": 400}),
        ("html", {"error_code": "HTTP_502", "status": 502, "message": "<html>"}),
        ("list", {"error_code": "HTTP_500", "status": 500, "message": [1]}),
        ("text", {"message": "plain"}),
    ],
)
def test_failures(url: str, name: str, body: Any) -> None:
    """A failed reply is returned, its code and status filled in where it lacks them."""
    assert call_api(name, namespace="modules", base_url=url) == body


def test_network_errors(url: str) -> None:
    """No connection, no reply in time, no address: the body says so, and nothing raises."""
    for base, seconds in (("http://127.0.0.1:1", 5.0), (url, 0.1), ("nonsense", 5.0), ("http://[::1", 5.0)):
        assert call_api("slow", namespace="modules", base_url=base, timeout=seconds)["error_code"] == "NETWORK_ERROR"


def test_method_and_key(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GET sends its payload as a query; the key of the environment is sent where the call brings none."""
    monkeypatch.setenv("INNKEEPER_SERVICE_KEY", "k")
    call_api("only", {"a": "b c"}, method="GET", namespace="workflow")
    call_api("only", {"a": 1}, headers={"authorization": "Bearer mine"}, namespace="workflow")
    (method, path, key, _), (_, _, own, body) = SEEN
    assert (method, path, key) == ("GET", "/api/workflow/only?a=b+c", "Bearer k")
    assert (own, json.loads(body)) == ("Bearer mine", {"a": 1})


def test_files(url: str) -> None:
    """Files and arguments are sent as one form, to one namespace after the other."""
    from io import BytesIO

    said = call_api("yes", {"text": "t"}, files={"file": BytesIO(b"content")})
    assert said == {"here": True}
    assert len(SEEN) == 2
    assert all(b'name="text"' in body and b"content" in body for _, _, _, body in SEEN)
