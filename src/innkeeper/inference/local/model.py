"""LocalModel: a language model in this process, with the face of `innkeeper.inference.client.clients.Client`."""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from innkeeper.inference.client.clients import Client
from innkeeper.inference.local.gguf import read_gguf_head
from innkeeper.inference.local.weights import DEFAULT_MODEL, LocalModelFile, find_model
from innkeeper.lazy import require
from innkeeper.prompt import UsageError, Where, fresh_seed
from innkeeper.prompt.errors import UnavailableError
from innkeeper.tokens.counter import Counter
from innkeeper.tokens.engines.server import AskServer
from innkeeper.tokens.framing import Framing

__all__ = ["DEFAULT_WINDOW", "LocalModel", "default_threads"]

DEFAULT_WINDOW: Final = 4096
"""Tokens that a model is loaded for unless more are asked for: memory grows with it."""

MOST_THREADS: Final = 8
"""Threads that help a small model; more only wait for one another."""

CHATML: Final = Framing(
    name="chatml",
    per_message=4,
    reply=3,
    fields=("role", "content", "tool_calls", "tool_call_id"),
    basis="<|im_start|>, two line breaks, <|im_end|>; equal to llama.cpp's own count of chats with a system message",
)
"""What a message of a ChatML template costs beside its text and role."""

SPARE: Final = 64
"""Tokens the engine has beyond the window: a template may add a system message of its own."""

PROMPT_BATCH: Final = 128
"""Tokens of a prompt that are read between two looks at whether to stop."""

_CGROUP: Final = Path("/sys/fs/cgroup/cpu.max")
_ANSWER_SECONDS: Final = 86_400.0


class LocalModel(Client):
    """A model in this process. Load it with `open`, use it like a `Client`, close it when done.

    It answers one request at a time, in order; leaving a stream early stops it. A request with a ``seed``, or with
    ``temperature`` 0 and a ``seed``, gets the same answer each time on the same machine.
    ``context_window`` is in tokens, ``framing`` is how its messages are counted.
    """

    def __init__(
        self, engine: Any, *, name: str = DEFAULT_MODEL, context_window: int = DEFAULT_WINDOW, key: str = ""
    ) -> None:
        from innkeeper.inference.local.transport import LocalTransport

        super().__init__(
            "http://localhost",
            api_key="",
            timeout=_ANSWER_SECONDS,
            total_timeout=_ANSWER_SECONDS,
            transport=LocalTransport(engine, name),
        )
        self.name = name
        self.context_window = context_window
        self.framing = CHATML
        self._asked = AskServer(self._ask_tokenizer, "llama.cpp", label="local", model=name)
        self._door: tuple[str, str] | None = (engine.listening_address, key) if key else None

    @classmethod
    def open(
        cls, name: str = DEFAULT_MODEL, *, context_window: int | None = None, threads: int | None = None
    ) -> LocalModel:
        """Load an installed model, after a look at its checksum.

        ``context_window`` is cut to what the model was trained for. Raises `UnavailableError`.
        """
        require("xllamacpp")
        file = find_model(name)
        window = min(context_window or DEFAULT_WINDOW, _trained_window(file) or DEFAULT_WINDOW)
        if window < PROMPT_BATCH:
            raise UsageError(f"a context window of {window} tokens is too small", hint=f"give at least {PROMPT_BATCH}")
        key = "".join(f"{fresh_seed():08x}" for _ in range(4))
        engine = _engine(file.path, window, threads or default_threads(), key)
        return cls(engine, name=name, context_window=window, key=key)

    def __repr__(self) -> str:
        return f"LocalModel({self.name!r}, context_window={self.context_window})"

    def close(self) -> None:
        """Stop the answer under way and free the model. A closed local model stays closed."""
        self._door = None
        self._transport.close()
        super().close()

    def counter(self) -> Counter:
        """A token counter that asks this model's own tokenizer, whatever model is named: for ``Ports(token_counter=...)``.

        It brings the model's way of framing messages along, so that builds count as the model does.

        Special tokens in a text count as plain text. Once the model is closed, counts are estimates.
        """
        return Counter(lambda _hint: self._asked, default="heuristic:generic", framing=self.framing)

    def _ask_tokenizer(self, path: str, body: Mapping[str, Any], seconds: float) -> Any:
        if self._door is None:
            raise UsageError("the local model is closed", hint="open it again")
        address, key = self._door
        return _post(address, path, key, body, seconds)


def default_threads(environ: Mapping[str, str] = os.environ) -> int:
    """Threads to compute with: 1 in CI, where cores are shared and waiting threads starve it; else all cores but one."""
    if environ.get("CI"):
        return 1
    return max(1, min(_cores() - 1, MOST_THREADS))


def _cores() -> int:
    """The cores that this process may use, a container's share counted."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = _CGROUP.read_text("ascii").split()
        return max(1, min(allowed, int(quota) // int(period)))
    except (OSError, ValueError, ZeroDivisionError):
        return allowed


def _trained_window(file: LocalModelFile) -> int | None:
    return file.context_window or read_gguf_head(file.path).context_window


def _engine(path: Path, window: int, threads: int, key: str) -> Any:
    xllamacpp = _library()
    params = xllamacpp.CommonParams()
    params.model.path, params.model_alias = str(path), {path.stem}
    params.n_ctx, params.n_batch, params.n_parallel = window + SPARE, PROMPT_BATCH, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.warmup, params.verbosity = False, -1
    # The library opens a port on this machine whether we use it or not: no pages, no listing of prompts, and a key.
    params.ui, params.endpoint_slots, params.api_keys = False, False, [key]
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        hint = "check that there is memory enough, and that llama.cpp knows this kind of model"
        raise UnavailableError(
            f"the model cannot be loaded: {error}", where=Where(asset=str(path)), hint=hint
        ) from error


def _library() -> Any:
    try:
        import xllamacpp
    except ModuleNotFoundError as error:
        message = "local models need the library xllamacpp, which is not installed"
        raise UnavailableError(message, hint="pip install 'innkeeper[local]'") from error
    except ImportError as error:
        gomp = "libgomp" in str(error)
        hint = "install the system's OpenMP library (on Debian: apt-get install libgomp1)" if gomp else None
        raise UnavailableError(f"the library xllamacpp cannot be loaded: {error}", hint=hint) from error
    return xllamacpp


def _post(address: str, path: str, key: str, body: Any, seconds: float) -> Any:
    """Ask the engine's own port. Not through `httpx`, so that no proxy of the environment comes between."""
    place = urlsplit(address)
    line = http.client.HTTPConnection(place.hostname or "", place.port, timeout=seconds)
    try:
        headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
        line.request("POST", path, json.dumps(body), headers)
        return json.loads(line.getresponse().read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise UnavailableError(f"the model's tokenizer does not answer: {type(error).__name__}") from error
    finally:
        line.close()
