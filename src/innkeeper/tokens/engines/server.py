"""AskServer: counts by a server that has the tokenizer: llama.cpp and its kin, or a provider's counting endpoint.

This module opens no connection: the caller hands in ``fetch``. Counts of a server depend on the server, so a build that
uses one is reproducible only as far as the server is; `Counter.describe` says which counts came from where.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote

import msgspec

from innkeeper.tokens.engines.engine import Tokenization, TokenizerUnavailableError

Fetch = Callable[[str, Mapping[str, Any], float], Any]
"""``fetch(path, body, seconds)``: POST ``body`` as JSON to ``path`` of the server and return the decoded JSON reply."""


class ServerRule(msgspec.Struct, frozen=True):
    """How one kind of server counts: path to POST to, body, and where the reply has the number.

    ``body``: ``(text, model) -> JSON``; ``read``: reply -> the number, or a list of as many tokens. ``frame``: tokens the
    server adds around a single text, which are taken off again.
    """

    name: str
    path: str
    body: Callable[[str, str], Mapping[str, Any]]
    read: Callable[[Any], Any]
    frame: int = 0


def _anthropic(text: str, model: str) -> Mapping[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": text}]}


SERVER_RULES: Final[Mapping[str, ServerRule]] = MappingProxyType(
    {
        rule.name: rule
        for rule in (
            ServerRule(
                "llama.cpp",
                "/tokenize",
                lambda text, _model: {"content": text, "add_special": False, "parse_special": False},
                lambda reply: reply["tokens"],
            ),
            ServerRule(
                "vllm",
                "/tokenize",
                lambda text, model: {"model": model, "prompt": text, "add_special_tokens": False},
                lambda reply: reply["count"],
            ),
            ServerRule(
                "koboldcpp",
                "/api/extra/tokencount",
                lambda text, _model: {"prompt": text, "special": False},
                lambda reply: reply["value"],
            ),
            ServerRule(
                "tabby",
                "/v1/token/encode",
                lambda text, _model: {"text": text, "add_bos_token": False, "encode_special_tokens": False},
                lambda reply: reply["length"],
            ),
            ServerRule("anthropic", "/v1/messages/count_tokens", _anthropic, lambda reply: reply["input_tokens"], 7),
            ServerRule(
                "openai",
                "/v1/responses/input_tokens",
                lambda text, model: {"model": model, "input": text},
                lambda reply: reply["input_tokens"],
                7,
            ),
            ServerRule(
                "gemini",
                "/v1beta/models/{model}:countTokens",
                lambda text, _model: {"contents": [{"role": "user", "parts": [{"text": text}]}]},
                lambda reply: reply["totalTokens"],
            ),
        )
    }
)
"""The kinds of servers Innkeeper can ask, by name."""

ASK_SECONDS: Final = 2.0
"""The seconds a server has for one answer."""

ASK_FAILURES: Final = 3
"""After this many failures in a row a server is not asked again until `AskServer.reset`."""


class AskServer:
    """An engine that asks. A failure raises `TokenizerUnavailableError`, on which a `Counter` falls back to an estimate.

    After `ASK_FAILURES` failures in a row it stops asking, so that a server that is down costs a build seconds, not
    minutes; `reset` makes it ask again.

    Args:
        fetch: does the request; it is run with a time limit of its own, whatever it does.
        rule: the kind of server, or its name in `SERVER_RULES`.
        model: the id the server knows the model by.
        label: tells servers of one kind apart, for caches and reports; not the address where that is secret.
        seconds: how long one answer may take.
    """

    backend = "server"
    error_percent = 0.0
    """The server has the model's tokenizer; what is counted without it is not in this figure."""

    def __init__(
        self, fetch: Fetch, rule: ServerRule | str, *, model: str = "", label: str = "", seconds: float = ASK_SECONDS
    ) -> None:
        self._fetch = fetch
        self._rule = SERVER_RULES[rule] if isinstance(rule, str) else rule
        self._model = model
        self._seconds = seconds
        self._failed = 0
        self.name = f"server:{self._rule.name}:{label}:{model}"

    @property
    def given_up(self) -> bool:
        """Whether the server failed too often to be asked again."""
        return self._failed >= ASK_FAILURES

    def reset(self) -> None:
        """Ask again after failures."""
        self._failed = 0

    def count(self, text: str) -> int:
        """Tokens of one text.

        Raises:
            TokenizerUnavailableError: no usable answer in time, or too many failures before.
        """
        if not text:
            return 0
        reply = self._ask(text)
        try:
            answer = self._rule.read(reply)
            tokens = answer if type(answer) is int else len(answer)
        except Exception as error:
            raise self._failure("the answer has no count") from error
        if tokens < 0:
            raise self._failure("the answer is negative")
        self._failed = 0
        return max(0, tokens - self._rule.frame)

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, one request each. Raises `TokenizerUnavailableError`."""
        return [self.count(text) for text in texts]

    def tokenize(self, text: str) -> Tokenization:
        """The count. Raises `TokenizerUnavailableError`."""
        return Tokenization(backend=self.backend, count=self.count(text))

    def _ask(self, text: str) -> Any:
        if self.given_up:
            reason = f"it failed {self._failed} times in a row and is not asked again"
            raise TokenizerUnavailableError(self.name, reason)
        path = self._rule.path.replace("{model}", quote(self._model, safe=""))
        answer: list[Any] = []
        # A thread that is left behind, since nothing in Python stops a call that does not return.
        asked = threading.Thread(target=self._run, args=(path, self._rule.body(text, self._model), answer), daemon=True)
        asked.start()
        asked.join(self._seconds)
        if not answer:
            raise self._failure(f"no answer within {self._seconds:g} s")
        if isinstance(answer[0], BaseException):
            raise self._failure(type(answer[0]).__name__) from answer[0]
        return answer[0]

    def _run(self, path: str, body: Mapping[str, Any], answer: list[Any]) -> None:
        try:
            answer.append(self._fetch(path, body, self._seconds))
        except BaseException as error:  # noqa: BLE001 - it is raised where it was asked for
            answer.append(error)

    def _failure(self, reason: str) -> TokenizerUnavailableError:
        self._failed += 1
        return TokenizerUnavailableError(self.name, reason)
