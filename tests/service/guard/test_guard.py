"""The guard: keys, origins, permissions and request numbers, over ASGI in this process."""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from typing import Any, Final

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette

from innkeeper.service import Keys, Settings, create_app
from innkeeper.service.errors import OriginRefusedError
from innkeeper.service.guard.callers import check_origin
from innkeeper.service.guard.grants import Grant
from innkeeper.service.guard.guard import RESERVED, Guard
from innkeeper.service.guard.work import CallRecord, Gate
from tests.service.programs import CONSTRUCT, DOCUMENT

HERE = "http://127.0.0.1:8050"
OPEN = Settings()
_PARTS = ("limit", "remaining", "reset")
KEYED = Settings(keys=Keys("s3cret-key", "other"), host="0.0.0.0")  # noqa: S104 - with a key, as it must be
FRIEND = "https://friend.example"
FRIENDLY = Settings(cors_origins=(FRIEND,))


_LOOPS: Final[list[asyncio.Runner]] = []
_APPLICATIONS: Final[dict[Settings, Starlette]] = {}


@pytest.fixture(scope="module", autouse=True)
def applications() -> Iterator[None]:
    """The applications of a module, one for each settings and all in one loop: each has processes of its own."""
    with asyncio.Runner() as loop:
        _LOOPS.append(loop)
        yield
        for settings in list(_APPLICATIONS):
            end(settings)
        _LOOPS.remove(loop)


def end(settings: Settings) -> None:
    """End the application with these settings: the next one has counted nothing."""
    if (app := _APPLICATIONS.pop(settings, None)) is not None:
        app.state.pool.close()


def ask(
    settings: Settings, method: str, path: str, headers: Mapping[str, str] | None = None, **options: Any
) -> httpx.Response:
    """One request to the application with these settings."""

    async def exchange() -> httpx.Response:
        if settings not in _APPLICATIONS:
            _APPLICATIONS[settings] = create_app(settings)
        transport = httpx.ASGITransport(app=_APPLICATIONS[settings])
        async with httpx.AsyncClient(transport=transport, base_url=HERE) as client:
            return await client.request(method, path, headers=headers, **options)

    return _LOOPS[-1].run(exchange())


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Basic s3cret-key"}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"Authorization": "Bearer s3cret-key "}, 200),
        ({"authorization": "bearer other"}, 200),
        ({"X-API-Key": "s3cret-key"}, 200),
        ({"X-API-Key": "s3cret-ke\u00ff"}, 401),
    ],
)
@pytest.mark.parametrize("path", ["/api/health", "/docs", "/no/such", CONSTRUCT])
def test_keys(headers: dict[str, str], status: int, path: str) -> None:
    """With a key, every path wants it: a wrong one, or none, is 401 and says how to send it."""
    sent = {name: value.encode("latin-1") for name, value in headers.items()}
    reply = ask(KEYED, "GET", path, sent)  # type: ignore[arg-type]  # httpx takes bytes too
    assert (reply.status_code == 401) == (status == 401)
    if status == 401:
        assert reply.headers["www-authenticate"] == "Bearer"
        assert "X-API-Key" in reply.json()["problem"]["hint"]
        assert "s3cret" not in reply.text


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:8050"}, 200),
        ({"Host": "[::1]:8050"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example:8050"}, 403),
        ({"Host": "[::1"}, 403),
        ({"Host": ""}, 403),
        ({"Origin": HERE}, 200),
        ({"Origin": "http://localhost:8050"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:9999"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
    ],
)
def test_open_door(headers: dict[str, str], status: int) -> None:
    """Without a key a page of another origin gets nothing, be it by rebinding a name or by a simple request."""
    assert ask(OPEN, "GET", "/api/health", headers).status_code == status
    body: dict[str, Any] = {"content": b'{"text": "x"}', "headers": {**headers, "Content-Type": "text/plain"}}
    assert ask(OPEN, "POST", "/api/modules/smarttavern/macro/process_text", **body).status_code == status


@given(
    host=st.text(max_size=30)
    | st.sampled_from(["127.0.0.1", "[::1]:1", "localhost:8050", "[", "a@localhost", "127.1"]),
    origin=st.none() | st.text(max_size=30),
)
def test_any_headers(host: str, origin: str | None) -> None:
    """Whatever the headers say, a request passes or is refused, and a foreign origin never passes."""
    headers = {"host": host} if origin is None else {"host": host, "origin": origin}
    try:
        check_origin(headers, OPEN)
    except OriginRefusedError as error:
        assert error.http_status == 403  # noqa: PT017 - either outcome is right
    else:
        assert origin is None or origin.lower() == f"http://{host.lower()}"


def test_permissions() -> None:
    """Only origins that were allowed at the start may read replies, with and without asking first."""
    asking = {"Access-Control-Request-Method": "POST"}
    allowed = ask(FRIENDLY, "OPTIONS", CONSTRUCT, {"Origin": FRIEND, **asking})
    assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (204, FRIEND)
    assert "x-api-key" in allowed.headers["access-control-allow-headers"]
    refused = ask(FRIENDLY, "OPTIONS", CONSTRUCT, {"Origin": "http://evil.example", **asking})
    assert refused.status_code == 403
    reply = ask(FRIENDLY, "POST", CONSTRUCT, {"Origin": FRIEND, "Sec-Fetch-Site": "cross-site"}, json=DOCUMENT)
    assert (reply.status_code, reply.headers["access-control-allow-origin"]) == (200, FRIEND)
    assert reply.headers["access-control-expose-headers"] == "*"  # rates, request ids, replay: a page may read them
    keyed = ask(KEYED, "GET", "/api/health", {"Origin": "http://evil.example", "X-API-Key": "other"})
    assert keyed.status_code == 200
    assert "access-control-allow-origin" not in keyed.headers


def test_numbers() -> None:
    """Each reply has a number, the caller's own where it is a decent one."""
    assert ask(OPEN, "GET", "/api/health", {"X-Request-Id": "abc-1.2"}).headers["x-request-id"] == "abc-1.2"
    assert "\n" not in ask(OPEN, "GET", "/api/health", {"X-Request-Id": "a b"}).headers["x-request-id"]


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/nothing", 404), ("POST", "/docs", 405), ("DELETE", CONSTRUCT, 405)]
)
def test_missing(method: str, path: str, status: int) -> None:
    """Unknown paths and methods have the bodies of the original."""
    reply = ask(OPEN, method, path)
    detail = "Not Found" if status == 404 else "Method Not Allowed"
    assert (reply.status_code, reply.json()) == (status, {"detail": detail})


def test_docs_page() -> None:
    """The page of operations has no script and lists them."""
    reply = ask(OPEN, "GET", "/docs")
    assert CONSTRUCT in reply.text
    assert "<script" not in reply.text
    assert "default-src 'none'" in reply.headers["content-security-policy"]


def test_log(caplog: pytest.LogCaptureFixture) -> None:
    """The log has neither keys nor texts of prompts, nor the query of a request."""
    path = "/api/modules/smarttavern/macro/process_text?text=hidden-text"
    with caplog.at_level(logging.DEBUG, "innkeeper"):
        ask(KEYED, "GET", path, {"X-API-Key": "s3cret-key"})
    assert "GET 200" in caplog.text
    assert "hidden" not in caplog.text
    assert "s3cret" not in caplog.text


def test_other_protocols() -> None:
    """What is neither HTTP nor a WebSocket is handed on; a body is given once, then what the server says."""
    seen: list[Any] = []

    async def surface(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])
        seen.extend([(await receive())["type"], (await receive())["type"]] if scope["type"] == "http" else [])

    async def run() -> None:
        guard = Guard(surface, settings=OPEN, gate=Gate(calls=1, volume=10))
        events = [{"type": "http.request", "body": b"x"}, {"type": "http.disconnect"}]

        async def receive() -> Any:
            return events.pop(0)

        async def send(event: Any) -> None:
            raise AssertionError

        await guard({"type": "lifespan"}, receive, send)
        await guard({"type": "http", "method": "POST", "path": "/x", "headers": []}, receive, send)

    asyncio.run(run())
    assert seen == ["lifespan", "http", "http.request", "http.disconnect"]


def test_defect_of_a_surface(caplog: pytest.LogCaptureFixture) -> None:
    """A surface that fails gets its caller an answer without its text, and one that has begun is left as it is."""

    async def fails(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError("a prompt")

    async def begins(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("a prompt")

    async def run(app: Any) -> list[Any]:
        gate = Gate(calls=1, volume=10)
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(event: Any) -> None:
            sent.append(event)

        scope = {"type": "http", "method": "GET", "path": "/x", "headers": [(b"host", b"localhost")]}
        await Guard(app, settings=OPEN, gate=gate)(scope, receive, send)
        assert not gate.calls + gate.volume
        return sent

    failed, begun = asyncio.run(run(fails)), asyncio.run(run(begins))
    assert failed[0]["status"] == 500
    assert b"RuntimeError" in failed[1]["body"]
    assert b"a prompt" not in failed[1]["body"]
    assert len(begun) == 1
    assert "a prompt" not in caplog.text


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"Content-Encoding": "gzip"}, 415, "ENCODING"),
        ({"Content-Encoding": "identity"}, 200, None),
        ({"X-Long": "x" * 70_000}, 431, "HEADER_LIMIT"),
        ({f"X-{number}": "x" * 100 for number in range(700)}, 431, "HEADER_LIMIT"),
    ],
    ids=["compressed", "plain", "long", "many"],
)
def test_headers(headers: dict[str, str], status: int, code: str | None) -> None:
    """Compressed bodies and large headers are refused with what to do about it."""
    reply = ask(OPEN, "POST", "/api/modules/smarttavern/macro/process_text", headers, json={"text": "x"})
    assert (reply.status_code, reply.json().get("error_code")) == (status, code)


def test_reserve() -> None:
    """Whether the service is there is answered where no call is let in, and no body waited for."""

    async def surface(scope: Any, receive: Any, send: Any) -> None:
        seen.append((await receive())["body"])

    async def never(*_: Any) -> Any:
        raise AssertionError

    seen: list[bytes] = []
    gate = Gate(calls=1, volume=10)
    gate.enter("a")
    for path in RESERVED:
        scope = {"type": "http", "method": "POST", "path": path, "headers": []}
        asyncio.run(Guard(surface, settings=OPEN, gate=gate)(scope, never, never))
    assert seen == [b""] * len(RESERVED)


GRANTED = Settings(
    keys=Keys("chat", "macros", grants={
        "chat": Grant(scope=("chat",)),
        "macros": Grant(rate=1, operation=("modules/smarttavern/macro/*",)),
    })
)  # fmt: skip


@pytest.mark.parametrize(
    ("key", "path", "status"),
    [
        ("chat", CONSTRUCT, 403),
        ("chat", "/docs", 200),
        ("macros", CONSTRUCT, 403),
        ("macros", "/api/modules/smarttavern/macro/process_text", 200),
    ],
)
def test_scopes(key: str, path: str, status: int) -> None:
    """A key reaches the surfaces and operations that it may use, and is told why where it may not."""
    end(GRANTED)
    reply = ask(GRANTED, "POST" if path.startswith("/api") else "GET", path, {"X-API-Key": key}, json={"text": "x"})
    assert reply.status_code == status
    if status == 403:
        assert reply.json()["error_code"] == "SCOPE"


PACED = Settings(keys=Keys("chat", "free", grants={"chat": Grant(rate=60, tokens=1_000, calls=4)}))


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/v1/models", [f"x-ratelimit-{part}-{what}" for what in ("requests", "tokens") for part in _PARTS]),
        ("/v1/messages", [f"anthropic-ratelimit-{what}-{part}" for what in ("requests", "tokens") for part in _PARTS]),
    ],
)
def test_clients_can_pace_themselves(path: str, names: list[str]) -> None:
    """Replies, errors among them, say what is left of a key's minute in the words of the surface's clients."""
    end(PACED)
    method = "GET" if path == "/v1/models" else "POST"
    for key in ("chat", "free"):
        headers = ask(PACED, method, path, {"X-API-Key": key}, json={}).headers
        assert [name for name in headers if "ratelimit" in name] == (names if key == "chat" else [])
        if key == "chat":
            assert [headers[name] for name in names if "-reset" not in name] == ["60", "59", "1000", "1000"]


def test_rate() -> None:
    """A key that has sent its requests of a minute gets 429 and when to come back; an observer sees every call."""
    seen: list[CallRecord] = []

    async def surface(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x"})

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(event: Any) -> None:
        sent.append(event)

    sent: list[Any] = []
    gate = Gate(calls=1, volume=10, keys=GRANTED.keys)
    gate.observers = (seen.append,)
    guard = Guard(surface, settings=GRANTED, gate=gate)
    scope = {"type": "http", "method": "POST", "path": "/api/modules/x", "headers": [(b"x-api-key", b"macros")]}
    for _ in range(2):
        asyncio.run(guard(dict(scope), receive, send))
    assert [record.status for record in seen] == [200, 429]
    assert [record.error for record in seen] == ["", "rate_limit"]
    assert seen[0].first is not None
    assert seen[0].caller == GRANTED.keys.name(b"macros")
    assert (b"retry-after", b"60") in sent[2]["headers"]


def test_pieces() -> None:
    """A large reply goes out in pieces, whose bytes are its own."""
    body, sent = bytes(range(256)) * 4_000, []

    async def surface(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(event: Any) -> None:
        sent.append(event)

    scope = {"type": "http", "method": "GET", "path": "/x", "headers": []}
    asyncio.run(Guard(surface, settings=OPEN, gate=Gate(calls=1, volume=10))(scope, receive, send))
    assert b"".join(event["body"] for event in sent[1:]) == body
    assert [event["more_body"] for event in sent[1:]] == [True] * (len(sent) - 2) + [False]
    assert len(sent) > 3
