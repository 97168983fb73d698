"""A real process: the document's lines work as they are, and no client takes it down."""

import asyncio
import json
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from time import sleep
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect

from innkeeper.lazy import install_line
from innkeeper.prompt.errors import ConfigError, UnavailableError
from innkeeper.service import Gateway, Request, Settings, create_app, serve
from innkeeper.service import client as core
from innkeeper.service.app import address, library, listen
from tests.service.programs import CONSTRUCT, DOCUMENT, SLOW, Service

# The document's example of a reply; where it writes "..." more keys follow.
EXCERPT: list[dict[str, Any]] = [
    {"role": "system", "content": "系统开场", "source": {"type": "history.system", "id": "history_0", "index": 0}},
    {"role": "user", "content": "你好艾拉", "source": {"type": "history.user", "id": "history_1", "index": 1}},
    {
        "role": "system",
        "content": "系统注入示例",
        "source": {
            "type": "preset.in-chat",
            "id": "preset_示例",
            "identifier": "示例",
            "depth": 0,
            "order": 98,
            "role": "system",
        },
    },
    {
        "role": "user",
        "content": "艾拉是机械工程师",
        "source": {
            "type": "world_book.in-chat",
            "id": "wb_2",
            "wb_id": 2,
            "name": "艾拉的背景",
            "mode": "conditional",
            "position": "user",
            "depth": 0,
            "order": 101,
            "role": "user",
        },
    },
]


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """``innkeeper serve``."""
    with Service.command() as running:
        yield running
        assert running.healthy()


@pytest.fixture(scope="module")
def impatient() -> Iterator[Service]:
    """A service with short times, small limits and slow operations."""
    times = {"header_seconds": 0.5, "body_seconds": 1.5, "time_budget": 2.0, "max_body": 100_000, "workers": 2}
    with Service(json.dumps(times), program=SLOW) as running:
        yield running
        assert running.healthy()


@pytest.fixture(scope="module")
def patient() -> Iterator[Service]:
    """A service with odd operations, and all the time that a busy machine needs to start a worker anew."""
    with Service(json.dumps({"workers": 1, "time_budget": 120.0}), program=SLOW) as running:
        yield running


def assert_excerpt(body: Any) -> None:
    """The reply is the document's."""
    assert [list(message) for message in body["messages"]] == [["role", "content", "source"]] * 4
    for message, shown in zip(body["messages"], EXCERPT, strict=True):
        assert (message["role"], message["content"]) == (shown["role"], shown["content"])
        assert message["source"].items() >= shown["source"].items()


def test_sdk_example(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The document's Python example works as it is written."""
    monkeypatch.setenv("INNKEEPER_URL", service.url)
    res = core.call_api(
        "smarttavern/in_chat_constructor/construct",
        {
            "history": [{"role": "system", "content": "系统开场"}, {"role": "user", "content": "你好艾拉"}],
            "presets_in_chat": DOCUMENT["presets_in_chat"],
            "world_books": DOCUMENT["world_books"],
        },
        method="POST",
        namespace="modules",
    )
    assert_excerpt(res)


@pytest.mark.parametrize("headers", [["-H", "Content-Type: application/json"], []], ids=["as JSON", "as curl has it"])
def test_curl_line(service: Service, headers: list[str]) -> None:
    """The document's curl line works, with the type of the body said or not."""
    curl = shutil.which("curl")
    if curl is None:
        pytest.skip("curl is not installed")
    words = [curl, "-sS", "--noproxy", "*", "-X", "POST", service.url + CONSTRUCT, *headers, "-d", "@-"]
    done = subprocess.run(words, input=json.dumps(DOCUMENT), capture_output=True, text=True, check=True)
    assert_excerpt(json.loads(done.stdout))


def raw(service: Service, data: bytes, *, finish: bool = True) -> bytes:
    """What the service says to these bytes, until it hangs up."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=120) as door:
        said = b""
        try:
            door.sendall(data)
            if finish:
                door.shutdown(socket.SHUT_WR)
            while chunk := door.recv(65_536):
                said += chunk
        except TimeoutError:
            raise
        except OSError:
            pass  # hung up on, with our bytes unread
        return said


HEAD = f"POST {CONSTRUCT} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n".encode()


def test_requests_in_a_row(service: Service) -> None:
    """Requests that are sent before their predecessors were answered are answered in turn."""
    one = b"GET /api/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    said = raw(service, one * 3 + one.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    assert said.count(b"HTTP/1.1 200 OK") == said.count(b'"healthy"') == 4


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00\xff\x16\x03\x01garbage\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /nothing HTTP/9.9\r\n\r\n",
        b"GET /nothing HTTP/1.1\r\n\r\n",
        b"GET /%ff%00\xc3 HTTP/1.1\r\nHost: x\r\n\r\n",
        HEAD + b"Content-Length: -5\r\n\r\n",
        HEAD + b"Content-Length: 99999999999999999999999\r\n\r\n",
        HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nhello",
        HEAD + b"X: " + b"a" * 300_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 300_000 + b" HTTP/1.1\r\n\r\n",
        HEAD + b"".join(b"X%d: y\r\n" % i for i in range(20_000)) + b"\r\n",
        HEAD + b"Content-Length: 100\r\n\r\n{",
        b"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        b"GET /api/health HTTP/1.1\r\nHost: [::1\r\n\r\n",
    ],
    ids=lambda data: data[-24:].decode("latin-1").encode("unicode_escape").decode(),
)
def test_broken_requests(service: Service, data: bytes) -> None:
    """No bytes bring the service down, and none make a call succeed."""
    said = raw(service, data)
    assert b" 200 " not in said.partition(b"\r\n")[0]
    assert service.healthy()


def drip(door: socket.socket) -> None:
    """Send a byte now and then, for five seconds."""
    for _ in range(100):
        door.sendall(b"T")
        sleep(0.05)


def test_dripping_headers(impatient: Service) -> None:
    """A client whose headers do not arrive is hung up on, also one that sends now and then."""
    with socket.create_connection(("127.0.0.1", impatient.port), timeout=120) as door:
        door.sendall(b"GET /api/health HT")
        with pytest.raises(OSError):  # noqa: PT011 - pipe, reset or abort: as the machine has it
            drip(door)
    assert impatient.healthy()


def test_dripping_body(impatient: Service) -> None:
    """A client whose body does not arrive gets 408 and is hung up on."""
    said = raw(impatient, HEAD + b"Content-Length: 50\r\n\r\n{", finish=False)
    assert said.startswith(b"HTTP/1.1 408")
    assert b"SLOW_BODY" in said


def test_reply_not_taken(impatient: Service) -> None:
    """A client that asks for much and does not take it in time is hung up on; one that pauses gets all of it."""
    body = b'{"what": "large"}'
    head = HEAD.replace(CONSTRUCT.encode(), b"/api/plugins/test/odd")
    head += b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    sizes = []
    for pause in (3, 0.3):
        with socket.create_connection(("127.0.0.1", impatient.port), timeout=120) as door:
            door.sendall(head + body)
            size = 0
            try:
                sleep(pause)
                while chunk := door.recv(1_000_000):
                    size += len(chunk)
                    sleep(0.05 if size < 19_000_000 else 0)
            except ConnectionError:
                size -= 1  # cut, not ended
            sizes.append(size)
    assert sizes[0] < 20_000_000 < sizes[1]


def test_large_bodies(impatient: Service) -> None:
    """A body over the limit is refused by its announcement, and by counting where there is none."""
    announced = impatient.post(CONSTRUCT, {"x": "y" * 200_000})
    counted = httpx.post(impatient.url + CONSTRUCT, content=(b"y" * 10_000 for _ in range(50)), timeout=120)
    for reply in (announced, counted):
        assert reply.status_code == 413
        assert (reply.json()["error_code"], reply.json()["problem"]["details"]["limit"]) == ("BODY_LIMIT", "MAX_BODY")


def test_time_budget(impatient: Service) -> None:
    """A call that never ends is stopped, and its place is free again: twice as many as there are places all end."""
    with ThreadPoolExecutor(4) as pool:
        bodies = list(pool.map(lambda _: impatient.post("/api/plugins/test/spin", {"rounds": -1}), range(4)))
    assert {reply.status_code for reply in bodies} == {504}
    assert {reply.json()["error_code"] for reply in bodies} == {"TIME_BUDGET"}
    again = (impatient.post("/api/plugins/test/spin", {"rounds": 10}).status_code for _ in range(20))
    assert 200 in again  # a worker is started anew, which takes a busy machine some calls


def test_health_during_work(impatient: Service) -> None:
    """The service answers while calls compute."""
    with ThreadPoolExecutor(2) as pool:
        working = [pool.submit(impatient.post, "/api/plugins/test/spin", {"rounds": -1}) for _ in range(2)]
        answers = 0
        while not all(call.done() for call in working):
            answers += impatient.healthy()
        assert answers > 0


@pytest.mark.parametrize(
    ("what", "status", "body"),
    [
        ("nan", 500, {"detail": "Out of range float values are not JSON compliant"}),
        ("cycle", 500, {"error_code": "INTERNAL_ERROR"}),
        ("defect", 500, {"detail": "RuntimeError"}),
        ("memory", 413, {"error_code": "LIMIT"}),
        ("function", 200, {"f": {}}),
        ("surrogate", 200, {"s": "\ufffd"}),
    ],
)
def test_odd_results(patient: Service, what: str, status: int, body: dict[str, Any]) -> None:
    """Whatever an operation returns or raises, the caller gets an answer, and no text of a prompt in it."""
    reply = patient.post("/api/plugins/test/odd", {"what": what})
    assert reply.status_code == status
    assert reply.json().items() >= body.items()


def test_hundred_at_once(service: Service) -> None:
    """A hundred calls at once all get the same answer."""
    with ThreadPoolExecutor(100) as pool:
        replies = list(pool.map(lambda _: service.post(CONSTRUCT, DOCUMENT), range(100)))
    assert {reply.status_code for reply in replies} == {200}
    assert len({reply.content for reply in replies}) == 1
    assert len({reply.headers["x-request-id"] for reply in replies}) == 100


def test_overload() -> None:
    """Beyond the limit callers are told when to come back, those let in are answered, and after it all is as before."""
    with Service(json.dumps({"max_calls": 2, "workers": 1, "time_budget": 1.0}), program=SLOW) as small:
        with ThreadPoolExecutor(8) as pool:
            replies = list(pool.map(lambda _: small.post("/api/plugins/test/spin", {"rounds": -1}), range(8)))
        refused = [reply for reply in replies if reply.status_code == 503]
        assert {reply.status_code for reply in replies} == {503, 504}
        assert {reply.headers["retry-after"] for reply in refused} == {"1"}
        assert 200 in (small.post(CONSTRUCT, DOCUMENT).status_code for _ in range(20))  # a busy machine takes its time


def test_stops_gently() -> None:
    """SIGTERM lets a call under way finish, takes no new ones, and ends with exit code 0."""
    with Service('{"cpu_budget": 20}', program=SLOW) as running:
        assert running.post("/api/plugins/test/spin", {"rounds": 1}).status_code == 200
        with ThreadPoolExecutor(1) as pool:
            call = pool.submit(running.post, "/api/plugins/test/spin", {"rounds": 15_000_000})
            sleep(0.5)
            assert running.stop() == 0
            assert call.result().status_code == 200
        with pytest.raises(httpx.ConnectError):
            running.healthy()


def test_stops_at_once() -> None:
    """SIGTERM is heard also before the first call."""
    with Service("{}", program=SLOW) as running:
        assert running.stop() == 0


def test_websocket(service: Service) -> None:
    """The WebSocket answers pings, runs operations, and survives garbage."""

    async def talk() -> list[Any]:
        calls: list[str | bytes] = [
            json.dumps({"type": "ping"}),
            json.dumps({"type": "function_call", "function": CONSTRUCT.removeprefix("/api/"), "params": DOCUMENT}),
            json.dumps({"type": "function_call", "function": "smarttavern/macro/list"}),
            json.dumps({"type": "function_call", "function": "smarttavern.macro.list", "params": {}}),
            json.dumps({"type": "function_call", "function": 3}),
            json.dumps({"type": "function_call", "function": "no/such"}),
            json.dumps({"type": "function_call", "function": "smarttavern/macro/process_text", "params": []}),
            "{garbage",
            b"\xff\xfe\x00",
            "[" * 100_000,
            "3",
            "{}",
        ]
        async with connect(f"ws://127.0.0.1:{service.port}/ws", proxy=None) as socket_:
            replies = []
            for call in calls:
                await socket_.send(call)
                replies.append(json.loads(await socket_.recv()))
            return replies

    pong, built, listed, dotted, number, absent, missing, *garbage = asyncio.run(talk())
    assert pong == {"type": "pong"}
    assert built["success"] is True
    assert_excerpt(built["result"])
    assert listed["result"] == {"success": True, "items": {}}
    assert [reply["error"] for reply in (dotted, number, absent)] == ["FUNCTION_PATH_FORMAT"] * 2 + ["NOT_FOUND"]
    assert missing["error"]["error_code"] == "MISSING_REQUIRED"
    assert {reply["type"] for reply in garbage} == {"error"}


def test_websocket_garbage(service: Service) -> None:
    """Bytes that are no frames, frames that are too large, and clients that vanish leave the service as it was."""
    hello = (
        b"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    for tail in (b"", b"\xff" * 50, b"\x81\xff" + b"\x7f" * 8 + b"mask", b"\x88\x02\x00\x00"):
        assert raw(service, hello + tail).startswith(b"HTTP/1.1 101")
    foreign = hello.replace(b"Host", b"Origin: http://evil.example\r\nHost")
    assert raw(service, foreign).startswith(b"HTTP/1.1 403")
    assert service.healthy()


def _served(service: Service) -> httpx.Response:
    """A good client's answer: it comes back where it is told to, as it is by a service on a machine that lags behind."""
    for _ in range(60):
        answer = service.post(CONSTRUCT, DOCUMENT)
        if answer.status_code != 503:
            break
        sleep(float(answer.headers["retry-after"]))
    return answer


def test_ten_bad_clients(service: Service) -> None:
    """Ten clients that do their worst at once do not keep a good one from its answer."""
    stop = threading.Event()

    def misbehave(number: int) -> None:
        while not stop.is_set():
            data = [b"GET /api/health HTTP/1.1\r\nHo", HEAD + b"Content-Length: 9\r\n\r\n{", b"\x00" * 1000][number % 3]
            with socket.create_connection(("127.0.0.1", service.port), timeout=120) as door:
                door.sendall(data)
                sleep(0.01)

    with ThreadPoolExecutor(10) as pool:
        clients = [pool.submit(misbehave, number) for number in range(10)]
        try:
            for _ in range(20):
                assert _served(service).status_code == 200
        finally:
            stop.set()
        for client in clients:
            assert client.exception() is None


def test_address() -> None:
    """The address is what people type; one that is taken or unknown is refused before anything starts."""
    with listen(Settings(port=0)) as door:
        assert door.proto == socket.IPPROTO_TCP  # else each reply waits for the client's acknowledgement
        taken = door.getsockname()[1]
        assert address(Settings(), door) == f"http://127.0.0.1:{taken}"
        with pytest.raises(ConfigError, match="cannot listen"):
            serve(Settings(port=taken), lambda _: None)
    with pytest.raises(ConfigError, match="cannot listen"):
        listen(Settings(host="no such host"))


def test_address_of_the_other_kind() -> None:
    """An IPv6 address stands in brackets."""
    with listen(Settings(host="127.0.0.1", port=0)) as door:
        assert address(Settings(host="::1"), door).startswith("http://[::1]:")


@pytest.mark.parametrize("name", ["starlette", "uvicorn", "websockets"])
def test_missing(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A library that is not installed is named, with the extra that brings it."""
    for module in [found for found in sys.modules if found.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "path_importer_cache", {})
    with pytest.raises(UnavailableError) as caught:
        library(f"{name}.applications")
    assert (caught.value.hint, name in caught.value.message) == (install_line("'innkeeper[serve]'"), True)


def test_other_missing_module() -> None:
    """A module that an installed library lacks is not taken for a missing extra."""
    with pytest.raises(ModuleNotFoundError):
        library("starlette.nothing")


def test_settings_are_checked() -> None:
    """No application is made from settings that do not go together."""
    for make in (create_app, Gateway):
        with pytest.raises(ConfigError):
            make(Settings(host="0.0.0.0"))  # noqa: S104 - to be refused


def test_in_process() -> None:
    """The gateway answers without a server."""
    assert Gateway().answer(Request.of("GET", "/api/health")).status == 200
