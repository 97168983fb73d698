"""A provider on this machine that says when it was asked, and when it said its first word."""

import json
import socket
import threading
import time
from typing import Final

__all__ = ["FIRST", "Provider"]

FIRST: Final = "§"
"""What the provider says first: nothing else on the screen has it."""

THINKING: Final = 0.1
"""Seconds between the head of an answer and its first word, in which everybody waits."""


class Provider:
    """Answers each request with a stream.

    Of the last one, ``asked`` is when all of it was there, and ``sent`` when the first word of its answer went out, both by
    `time.perf_counter`.
    """

    def __init__(self, thinking: float = THINKING) -> None:
        self.asked = self.sent = 0.0
        self._thinking = thinking
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Answer nobody any more."""
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                while self._read(connection):
                    self._answer(connection)

    def _read(self, connection: socket.socket) -> bool:
        """Read one request; whether there was one."""
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(65_536)
            if not more:
                return False
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        size = next(
            int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
        )
        while len(body) < size:
            body += connection.recv(65_536)
        self.asked = time.perf_counter()
        return True

    def _answer(self, connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        time.sleep(self._thinking)
        self.sent = time.perf_counter()
        connection.sendall(_chunk({"delta": {"content": FIRST}, "index": 0, "finish_reason": None}))
        time.sleep(self._thinking)
        connection.sendall(
            _chunk({"delta": {}, "index": 0, "finish_reason": "stop"}) + _framed(b"data: [DONE]\n\n") + _framed(b"")
        )


def _chunk(choice: object) -> bytes:
    return _framed(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n")


def _framed(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)
