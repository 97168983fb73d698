"""Services in processes of their own, for tests: the command, or one with operations that take long."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import httpx

COMMAND = "from innkeeper.cli import main; raise SystemExit(main())"
DOCUMENT: dict[str, Any] = {
    "history": [{"role": "system", "content": "系统开场"}, {"role": "user", "content": "你好艾拉"}],
    "presets_in_chat": [
        {
            "position": "in-chat",
            "enabled": True,
            "role": "system",
            "depth": 0,
            "order": 98,
            "identifier": "示例",
            "content": "系统注入示例",
        }
    ],
    "world_books": [
        [
            {
                "id": 2,
                "name": "艾拉的背景",
                "condition": "<<keywords:艾拉,工程师>>",
                "content": "艾拉是机械工程师",
                "mode": "conditional",
                "position": "user",
                "depth": 0,
                "order": 101,
                "enabled": True,
            }
        ]
    ],
}
"""The document's own request (3-smarttavern-in-chat-constructor, *call example*)."""

CONSTRUCT = "/api/modules/smarttavern/in_chat_constructor/construct"
SLOW = Path(__file__).parent / "slow_service.py"


class LazyModule:
    """A module that is imported when something of it is wanted."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # as the collection of tests looks for
            raise AttributeError(name)
        return getattr(import_module(self._name), name)


class Service:
    """A running service, ended with SIGTERM when the ``with`` block is left. ``program`` is run by Python."""

    def __init__(self, *words: str, program: Path | None = None, environment: Mapping[str, str] | None = None) -> None:
        start = [str(program)] if program else ["-c", COMMAND]
        self.process = subprocess.Popen(
            [sys.executable, *start, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(environment or {})},
        )
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.communicate()[1])
        self.url: str = json.loads(line)["listening"]
        self.port = urlsplit(self.url).port or 0

    @classmethod
    def command(cls, *words: str, environment: Mapping[str, str] | None = None) -> Self:
        """``innkeeper serve`` on a free port."""
        return cls("serve", "--port", "0", "--json", *words, environment=environment)

    def post(self, path: str, body: Any, **options: Any) -> httpx.Response:
        """One call."""
        return httpx.post(self.url + path, json=body, timeout=60, **options)

    def healthy(self) -> bool:
        """Whether it answers."""
        return bool(httpx.get(f"{self.url}/api/health", timeout=10).json()["status"] == "healthy")

    def wait_ready(self) -> None:
        """Wait until it says that it takes calls: its workers start beside it."""
        until = time.monotonic() + 60
        while (answer := httpx.get(f"{self.url}/ready", timeout=10)).status_code != 200:
            assert time.monotonic() < until, answer.text
            time.sleep(0.05)
        assert answer.json() == {"status": "ready"}

    def stop(self) -> int:
        """Tell it to stop; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)
        return self.process.returncode

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.stop()
