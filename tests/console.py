"""Console: the ``console`` blocks of the pages are run, as their Python blocks are.

A page has one shell: a folder with the examples, a home of its own with ``~/cards`` and ``~/SillyTavern``, and models that
answer at once in the place of every provider and of the model on this machine. ``innkeeper`` runs in this process, all else in
bash; ``innkeeper serve`` answers until the page ends, and its usual ports are read as those it has. What is typed is two lines.

A block that cannot run says why in a comment before it: ``<!-- console: REASON -->``. A Python block that begins with a
file's name as a comment is that file.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from msgspec.structs import replace
from sybil import Document, Example, Region
from sybil.parsers.myst import CodeBlockParser

from innkeeper.inference.adapters.providers import PROVIDERS
from innkeeper.inference.client import model_clients
from innkeeper.inference.client.model_clients import client_options
from innkeeper.inference.local.model import LocalModel
from tests.inference.adapters.answers import WIRES, Said
from tests.inference.local.test_transport import FakeEngine, delta
from tests.shared import ROOT

REASON: Final = re.compile(r"<!-- console: (.+?) -->\s*\Z")
REASON_OF_ALL: Final = re.compile(r"<!-- console, all blocks: (.+?) -->")
FILE: Final = re.compile(r"^```python\n# (\w+\.py)\n(.+?)^```", re.DOTALL | re.MULTILINE)
KEY: Final = "sk-lantern-0123456789\n"
TYPED: Final = "Is the reef safe?\n/quit\n"
PROGRAMS: Final = ("cat", "curl", "echo")
"""What else runs: all of it on this machine."""

WAITING: Final = ("inspect", "mcp", "worker")
"""Commands that answer until they are told to stop."""

SHELL: Final = "console shell"


def console_blocks(document: Document) -> Iterable[Region]:
    """The console blocks of a page that are to run."""
    if REASON_OF_ALL.search(document.text):
        return
    for region in CodeBlockParser(language="console", evaluator=_evaluate)(document):
        if not REASON.search(document.text, 0, region.start):
            yield region


def commands(block: str) -> list[str]:
    """The commands of a block: the lines that begin with ``$``, with those that they are continued on."""
    return re.findall(r"^\$ (.*)$", block.replace("\\\n", " "), re.MULTILINE)


def close_shell(namespace: dict[str, Any]) -> None:
    """Close the shell of a page, if it has one."""
    shell = namespace.pop(SHELL, None)
    if shell is not None:
        shell.close()


def _evaluate(example: Example) -> None:
    shell = example.namespace.get(SHELL) or example.namespace.setdefault(SHELL, Shell(example.document.text))
    for command in commands(example.parsed):
        shell.run(command)


class Shell:
    """The shell of one page."""

    def __init__(self, page: str) -> None:
        self._open = ExitStack()
        root = Path(self._open.enter_context(tempfile.TemporaryDirectory()))
        self._home, self._folder = root / "home", root / "inn"
        for folder in (self._folder, self._home / "cards"):
            shutil.copytree(ROOT / "examples", folder)
        for name, text in FILE.findall(page):
            (self._folder / name).write_text(text, "utf-8")
        shutil.copytree(ROOT / "tests" / "vectors" / "silly" / "folder" / "data", self._home / "SillyTavern" / "data")
        (self._home / ".curlrc").write_text("silent\nshow-error\nfail-with-body\n")
        self._variables = {
            "CURL_HOME": str(self._home),
            "HOME": str(self._home),
            "INNKEEPER_HOME": str(self._home / ".innkeeper"),
            "INNKEEPER_CONFIG": str(self._home / "config.toml"),
            "INNKEEPER_API_KEY": "sk-lantern-0123456789",
            "INNKEEPER_LOGGING": "on",
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }
        self._ports: dict[str, str] = {}

    def close(self) -> None:
        """End the service, and forget the folder."""
        self._open.close()

    def run(self, line: str) -> None:
        """Run a line; one that fails fails the test."""
        for usual, port in self._ports.items():
            line = line.replace(usual, port)
        with self._patched():
            *before, last = re.split(r"\s*\|\s*(?=innkeeper )", line)
            typed = self._bash(" | ".join(before)) if before else TYPED
            for part in re.split(r"\s*&&\s*", last):
                words = shlex.split(part, comments=True)
                if words[:1] == ["cd"]:
                    self._folder = (self._folder / words[1]).resolve(strict=True)
                    os.chdir(self._folder)
                elif words[:2] == ["innkeeper", "serve"]:
                    self._serve(words[1:])
                elif words[:1] == ["innkeeper"] and "|" not in words:
                    self._innkeeper(self._expanded(words[1:]), KEY if {"keys", "vault"} & {*words} else typed)
                else:
                    self._bash(part)

    def _expanded(self, words: list[str]) -> list[str]:
        paths = (word.replace("~", str(self._home), 1) if word.startswith("~/") else word for word in words)
        return [found for word in paths for found in (sorted(map(str, Path().glob(word))) if "*" in word else [word])]

    def _innkeeper(self, words: list[str], typed: str) -> None:
        assert words[0] not in WAITING, f"innkeeper {words[0]} waits for requests"
        from innkeeper.cli.app.root import main

        out = io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(out):
            patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(typed.encode())))
            code = main(words)
        assert code == 0, f"innkeeper {shlex.join(words)}\n{out.getvalue()}"

    def _bash(self, line: str) -> str:
        """Run a line in bash; variables that it sets are there for the next."""
        assert re.match(rf"([A-Z]+=\$\()?({'|'.join(PROGRAMS)}) ", line), f"no program that a page runs here: {line}"
        assigned = re.match(r"([A-Z]+)=", line)
        script = f"set -eo pipefail\n{line}\n" + (f'echo "${assigned[1]}"' if assigned else "")
        done = subprocess.run(
            ["/bin/bash", "-c", script], cwd=self._folder, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        if assigned:
            self._variables[assigned[1]] = done.stdout.strip()
        return done.stdout

    def _serve(self, words: list[str]) -> None:
        """Start the service beside this thread, and wait until it listens."""
        from innkeeper import service
        from innkeeper.service import app

        servers: list[Any] = []
        listening = threading.Event()

        def kept(*arguments: Any) -> Any:
            servers.append(server_of(*arguments))
            return servers[-1]

        def served(settings: Any, _: Any, **more: Any) -> None:
            def ready(address: str) -> None:
                self._ports[":8050"] = f":{address.rpartition(':')[2]}"
                listening.set()

            def grpc_ready(address: str) -> None:
                self._ports[":8051"] = f":{address.rpartition(':')[2]}"

            here = replace(settings, port=0, grpc_port=None if settings.grpc_port is None else 0, workers=1)
            more["grpc_ready"] = grpc_ready
            thread = threading.Thread(target=serve, args=(here, ready), kwargs=more, daemon=True)
            thread.start()
            self._open.callback(thread.join, 30)
            self._open.callback(lambda: setattr(servers[0], "should_exit", True))

        server_of, serve = app.server_of, app.serve
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(app, "server_of", kept)
            patch.setattr(service, "serve", served)
            self._innkeeper([*words], "")
            assert listening.wait(60), "the service does not listen"

    @contextmanager
    def _patched(self) -> Iterator[None]:
        """The folder, the variables and the models of this shell, while a line runs."""
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self._folder)
            for name, value in self._variables.items():
                patch.setenv(name, value)
            patch.setattr(LocalModel, "open", lambda *_, **__: LocalModel(FakeEngine(_PIECES)))
            transport = httpx.MockTransport(_provider)
            patch.setattr(
                model_clients, "client_options", lambda given: {**client_options(given), "transport": transport}
            )
            yield


_SAID: Final = Said(text=("The reef ", "is safe."))
_SUGGESTED: Final = Said(text=('{"suggestedTraits": ["calm", ', '"exact", "dry"]}'))
_PIECES: Final = [delta("The reef "), delta("is safe."), delta(None, "stop")]


def _provider(request: httpx.Request) -> httpx.Response:
    """The answer of whichever provider is at the address."""
    host = request.url.netloc.decode()
    adapter = next((it.adapter for it in PROVIDERS.values() if host in it.base_url), "openai-chat")
    wire = WIRES[adapter]
    streams = json.loads(request.content).get("stream") or "stream" in request.url.path
    said = _SUGGESTED if b"suggestedTraits" in request.content else _SAID
    content = wire.stream(said) if streams else wire.whole(said)
    return httpx.Response(200, headers={"content-type": wire.kind if streams else "application/json"}, content=content)
