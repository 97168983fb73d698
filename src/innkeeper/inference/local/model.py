"""LocalModel: a language model on this machine, with the face of `innkeeper.inference.client.clients.Client`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from innkeeper.inference.client.blocking import Client
from innkeeper.inference.local.engine import PROMPT_BATCH, PROMPT_CACHE, LocalEngine
from innkeeper.inference.local.gguf import read_gguf_head
from innkeeper.inference.local.shared import DEFAULT_MODEL, LOCAL, LOCAL_WINDOW, loaded_window
from innkeeper.inference.local.weights import find_model
from innkeeper.lazy import require
from innkeeper.prompt import UnavailableError, UsageError, fresh_seed
from innkeeper.tokens.counter import Counter
from innkeeper.tokens.engines.server import AskServer
from innkeeper.tokens.framing import Framing

if TYPE_CHECKING:
    from innkeeper.inference.local.transport import ChatEngine


MOST_THREADS: Final = 8
"""Threads that help a small model; more only wait for one another."""

CHATML: Final = Framing(
    name="chatml",
    per_message=4,
    reply=4,
    fields=("role", "content", "tool_calls", "tool_call_id"),
    basis="<|im_start|>, two line breaks, <|im_end|>; a role of up to two tokens before the answer",
)
"""What a message of a ChatML template costs beside its text and role, where the model does not say it: `measured_framing`."""

_CGROUP: Final = Path("/sys/fs/cgroup/cpu.max")
_ANSWER_SECONDS: Final = 86_400.0
_PROBE_SECONDS: Final = 30.0


class LocalModel(Client):
    """A model in a process beside this one. Load it with `open`, use it like a `Client`, close it when done.

    It answers one request at a time, in order; leaving a stream early stops it. A request with a ``seed``, or with
    ``temperature`` 0 and a ``seed``, gets the same answer each time on the same machine.
    ``context_window`` is in tokens, ``framing`` is how its messages are counted. ``transport`` is what further clients
    reach it by; closing one of those leaves the model open.
    """

    def __init__(
        self,
        engine: ChatEngine,
        *,
        name: str = DEFAULT_MODEL,
        context_window: int = LOCAL_WINDOW,
        framing: Framing = CHATML,
    ) -> None:
        from innkeeper.inference.local.transport import LocalTransport

        self.transport = LocalTransport(engine, name)
        super().__init__(
            "http://localhost",
            api_key="",
            timeout=_ANSWER_SECONDS,
            total_timeout=_ANSWER_SECONDS,
            transport=self.transport,
        )
        self.name = name
        self.context_window = context_window
        self.framing = framing
        self._asked = AskServer(self._ask_tokenizer, "llama.cpp", label="local", model=name)
        self._engine: ChatEngine | None = engine

    @classmethod
    def open(
        cls,
        name: str = DEFAULT_MODEL,
        *,
        context_window: int | None = None,
        threads: int | None = None,
        bare: bool = False,
        prompt_cache: int = PROMPT_CACHE,
    ) -> LocalModel:
        """Load an installed model, after a look at its checksum.

        ``context_window`` is cut to what the model was trained for; the others are `LocalEngine.start`'s. Raises
        `UnavailableError`.
        """
        require("xllamacpp")
        file = find_model(name)
        trained = file.context_window or read_gguf_head(file.path).context_window
        window = loaded_window(trained, context_window)
        if window < PROMPT_BATCH:
            raise UsageError(f"a context window of {window} tokens is too small", hint=f"give at least {PROMPT_BATCH}")
        key = "".join(f"{fresh_seed():08x}" for _ in range(4))
        engine = LocalEngine.start(
            file.path, window, threads or default_threads(), key, bare=bare, prompt_cache=prompt_cache
        )
        return cls(engine, name=name, context_window=window, framing=measured_framing(engine))

    def __repr__(self) -> str:
        return f"LocalModel({self.name!r}, context_window={self.context_window})"

    def close(self) -> None:
        """Stop the answer under way and free the model. A closed local model stays closed."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()
        self.transport.let_go()
        super().close()

    def counter(self) -> Counter:
        """A token counter that asks this model's own tokenizer, whatever model is named: for ``Ports(token_counter=...)``.

        It brings the model's way of framing messages along, so that builds count as the model does.

        Special tokens in a text count as plain text. Once the model is closed, counts are estimates.
        """
        source = f"{LOCAL}:{self.name}"
        return Counter(lambda _hint: self._asked, default="heuristic:generic", framing=self.framing, source=source)

    def prompt_of(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """Return the text that the model reads of messages, in its own template. Raises `UnavailableError`, `UsageError`."""
        return str(self._ask_tokenizer("/apply-template", {"messages": list(messages)}, _PROBE_SECONDS)["prompt"])

    def pieces_of(self, text: str, *, special: bool = True) -> list[tuple[int, bytes]]:
        """Return the tokens of a prompt, each as its number and its bytes; without ``special`` all of it is plain text.

        Raises `UnavailableError`, `UsageError`.
        """
        body = {"content": text, "add_special": special, "parse_special": special, "with_pieces": True}
        tokens = self._ask_tokenizer("/tokenize", body, _PROBE_SECONDS)["tokens"]
        # llama.cpp gives the bytes of a token that is no text by itself as numbers
        pieces = [(token["id"], token["piece"]) for token in tokens]
        return [(number, piece.encode() if isinstance(piece, str) else bytes(piece)) for number, piece in pieces]

    def _ask_tokenizer(self, path: str, body: Mapping[str, Any], seconds: float) -> Any:
        if self._engine is None:
            raise UsageError("the local model is closed", hint="open it again")
        return self._engine.post(path, body, seconds)


def measured_framing(engine: ChatEngine) -> Framing:
    """Measure what a model's own template adds to a message's text and role, and to the prompt; `CHATML` if it does not say."""

    def tokens(text: str) -> int:
        return len(engine.post("/tokenize", {"content": text}, _PROBE_SECONDS)["tokens"])

    def prompt(*roles: str) -> int:
        messages = [{"role": role, "content": "a"} for role in roles]
        added = tokens(engine.post("/apply-template", {"messages": messages}, _PROBE_SECONDS)["prompt"])
        return added - sum(tokens(role) + tokens("a") for role in roles)

    try:
        short, long = prompt("system", "user"), prompt("system", "user", "assistant", "user")
    except (UnavailableError, KeyError, TypeError):
        return CHATML
    each = max(-((short - long) // 2), 0)
    basis = "the model's template, of two and of four messages"
    return Framing(name="template", per_message=each, reply=max(short - 2 * each, 0), fields=CHATML.fields, basis=basis)


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
