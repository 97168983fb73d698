"""LocalEngine: llama.cpp in a process of its own, which can be stopped at every moment, loading included.

The library keeps the interpreter's lock while it loads a model, waits for ever where a signal comes meanwhile, and takes its
process down with it where it fails. So the process is another one: `LocalEngine` starts it, asks it over a port of this machine
that it opens anyway, behind a key, and kills it. `main` is that process: it is
told what to load, says where it listens, or what went wrong, and ends when its input does.
"""

from __future__ import annotations

import http.client
import json
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from innkeeper.lazy import install_line
from innkeeper.processes import child
from innkeeper.prompt.errors import UnavailableError, Where
from innkeeper.prompt.typed.once import unpack

PROMPT_BATCH: Final = 128
"""Tokens of a prompt that are read between two looks at whether to stop."""

SPARE: Final = 64
"""Tokens the engine has beyond the window: a template may add a system message of its own."""

PROMPT_CACHE: Final = 256
"""Mebibytes of earlier prompts that the engine keeps, so that chats which take turns are not read anew each time."""

_ANSWER_SECONDS: Final = 86_400.0
_LINE_BYTES: Final = 16 * 1024 * 1024


class Load(msgspec.Struct, frozen=True, array_like=True):
    """What the process is to load, and the key it is to ask for."""

    path: str
    window: int
    threads: int
    key: str
    bare: bool = False
    prompt_cache: int = PROMPT_CACHE


class Loaded(msgspec.Struct, frozen=True, array_like=True):
    """Where the model listens, or why it does not."""

    address: str = ""
    error: str | None = None
    hint: str | None = None


class LocalEngine:
    """A model that is loaded in another process. `close` ends the process."""

    def __init__(self, process: subprocess.Popen[Any], address: str, key: str) -> None:
        self._process, self._key = process, key
        self.address = address

    @classmethod
    def start(
        cls, path: Path, window: int, threads: int, key: str, *, bare: bool = False, prompt_cache: int = PROMPT_CACHE
    ) -> LocalEngine:
        """Load the model in the file ``path``, with a window in tokens. Raises `UnavailableError`.

        ``bare``: a template of the ChatML kind adds no system message of its own, where the messages have none.
        ``prompt_cache`` are mebibytes for earlier prompts; with 0 only the last one is known.
        """
        command = child.python_command(f"{__name__}:main")
        process = child.start(command, stderr=subprocess.DEVNULL, session=True)
        loaded = Loaded()
        try:
            loaded = _loaded(child.Child(process), Load(str(path), window, threads, key, bare, prompt_cache))
        finally:
            if not loaded.address:
                child.end(process)
        if not loaded.address:
            message = loaded.error or f"the process of the model ended with {process.returncode}"
            raise UnavailableError(message, where=Where(asset=str(path)), hint=loaded.hint)
        return cls(process, loaded.address, key)

    def handle_chat_completions(self, request: dict[str, Any], on_chunk: Callable[[dict[str, Any]], bool], /) -> None:
        """Answer a request that asks for a stream; ``on_chunk`` gets each piece, in this thread, until it returns true."""
        line = self._line(_ANSWER_SECONDS)
        try:
            reply = self._sent(line, "/v1/chat/completions", request)
            if reply.status != http.client.OK:
                on_chunk(json.loads(reply.read()))
                return
            while raw := reply.readline(_LINE_BYTES):
                name, _, data = raw.partition(b":")
                if name in (b"data", b"error") and data.strip() not in (b"", b"[DONE]"):
                    chunk = json.loads(data)
                    if on_chunk(chunk if name == b"data" else {"error": chunk}):
                        return
        except (OSError, http.client.HTTPException, ValueError) as error:
            message = f"the process of the local model does not answer: {type(error).__name__}"
            on_chunk({"error": {"code": 503, "message": message}})
        finally:
            line.close()

    def post(self, path: str, body: Mapping[str, Any], seconds: float) -> Any:
        """What another address of the engine answers, as data. Raises `UnavailableError`."""
        line = self._line(seconds)
        try:
            return json.loads(self._sent(line, path, body).read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise UnavailableError(f"the model's tokenizer does not answer: {type(error).__name__}") from error
        finally:
            line.close()

    def close(self) -> None:
        """End the process, whatever it does."""
        child.end(self._process)

    def _line(self, seconds: float) -> http.client.HTTPConnection:
        """Not through `httpx`, so that no proxy of the environment comes between."""
        parts = urlsplit(self.address)
        return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=seconds)

    def _sent(self, line: http.client.HTTPConnection, path: str, body: Mapping[str, Any]) -> http.client.HTTPResponse:
        headers = {"content-type": "application/json", "authorization": f"Bearer {self._key}"}
        line.request("POST", path, json.dumps(body), headers)
        return line.getresponse()


def _loaded(process: child.Child, load: Load) -> Loaded:
    """What the process says to what it is to load; nothing where it ended before."""
    with suppress(OSError, EOFError):
        process.hello()
        return unpack(process.ask(load)[0], Loaded)
    return Loaded()


def main() -> None:
    """The other process. It leaves at once: nothing is left to tidy up, and the library takes its time."""
    child.leave_after(_run)


def _run() -> None:
    source, target = child.take_pipes()  # what the library prints is not our answer
    servers: list[Any] = []

    def answer(head: bytes, _body: bytes) -> child.Answer:
        try:
            servers.append(_server(unpack(head, Load)))
        except UnavailableError as error:
            return Loaded(error=error.message, hint=error.hint), b"", False
        return Loaded(servers[-1].listening_address), b"", False

    def send(part: bytes) -> None:
        target.write(part)
        target.flush()

    child.say_hello(target)
    child.answer_frames(source, send, answer)


def _server(load: Load) -> Any:
    xllamacpp, path = _library(), Path(load.path)
    params = xllamacpp.CommonParams()
    params.model.path, params.model_alias = str(path), {path.stem}
    params.n_ctx, params.n_batch, params.n_parallel = load.window + SPARE, PROMPT_BATCH, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = load.threads
    params.warmup, params.verbosity, params.cache_ram_mib = False, -1, load.prompt_cache
    if load.bare and _writes_chatml(path):
        params.chat_template = "chatml"
    params.ui, params.endpoint_slots, params.api_keys = False, False, [load.key]  # no pages, no listing of prompts
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        hint = "check that there is memory enough, and that llama.cpp knows this kind of model"
        raise UnavailableError(f"the model cannot be loaded: {error}", hint=hint) from error


def _writes_chatml(path: Path) -> bool:
    """Whether the model's own template frames messages as ChatML does."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    start = head.find(b"tokenizer.chat_template")
    return start >= 0 and b"<|im_start|>" in head[start : start + _TEMPLATE_BYTES]


_HEAD_BYTES: Final = 32 * 1024 * 1024
_TEMPLATE_BYTES: Final = 64 * 1024


def _library() -> Any:
    try:
        import xllamacpp
    except ModuleNotFoundError as error:
        message = "local models need the library xllamacpp, which is not installed"
        raise UnavailableError(message, hint=install_line("'innkeeper[local]'")) from error
    except ImportError as error:
        gomp = "libgomp" in str(error)
        hint = "install the system's OpenMP library (on Debian: apt-get install libgomp1)" if gomp else None
        raise UnavailableError(f"the library xllamacpp cannot be loaded: {error}", hint=hint) from error
    return xllamacpp
