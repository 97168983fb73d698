"""What can go wrong between a prompt and its answer.

::

    ProviderError                    a provider answered with an error, or not at all
    ├── HttpError                    an HTTP status that is not success; knows status, headers, a sample of the body
    ├── ReplyError                   a success status whose body, or one of whose stream events, reports an error
    ├── ProviderTimeoutError         nothing came within the time; ``phase`` says when
    ├── ProviderConnectionError      no connection, or it broke
    │   └── StreamCutError           a stream ended before its answer was complete; ``partial`` is what had arrived
    └── DecodeError                  an answer that is not what the protocol says: HTML, broken JSON, no message
    UnavailableError
    ├── ModelMissingError            a local model that is not installed
    ├── ModelCorruptError            a local model whose file is not what it must be
    ├── ModelInstallError            a local model that cannot be fetched or written
    └── LocalEngineError             the library that runs local models is missing, or refuses a model
    FormatError
    ├── ModelFileError               a file that holds no usable weights
    ├── ToolArgumentsError           a tool call's arguments that cannot be read; ``code`` is the rule
    └── DirectivesError              an answer that is no directives envelope; ``code`` is the rule
    RequestCancelledError            the caller asked a request under way to stop
    UsageError
    └── PreflightError               a request that its model cannot take, refused before it is sent
    ToolUseError                     a tool loop that did not end as its mode demands; ``code`` is the rule
    ├── TurnLimitError               the model still calls tools after the last turn allowed
    └── ToolLoopCancelledError       the caller asked it to stop
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from innkeeper.prompt import FormatError, InnkeeperError, ProviderError, UnavailableError, UsageError

__all__ = [
    "DecodeError",
    "DirectivesError",
    "HttpError",
    "LocalEngineError",
    "ModelCorruptError",
    "ModelFileError",
    "ModelInstallError",
    "ModelMissingError",
    "PreflightError",
    "ProviderConnectionError",
    "ProviderTimeoutError",
    "ReplyError",
    "RequestCancelledError",
    "StreamCutError",
    "ToolArgumentsError",
    "ToolLoopCancelledError",
    "ToolUseError",
    "TurnLimitError",
]


class HttpError(ProviderError):
    """A status that is not success. ``headers`` have lower-case names; ``sample`` is the start of the body, redacted.

    ``retry_after`` is the header of that name in seconds, when it is a number of them.
    """

    def __init__(
        self, message: str, *, status: int, headers: Mapping[str, str], sample: str, body: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(message, status=status, **kwargs)
        self.headers = headers
        self.sample = sample
        self.body = body
        if sample:
            self.details["sample"] = sample

    @property
    def retry_after(self) -> float | None:
        """Seconds that the server asks to wait."""
        text = self.headers.get("retry-after", "")
        return float(text) if text.isascii() and text.isdigit() else None


class ReplyError(ProviderError):
    """An error that came with a success status. ``code`` is the provider's own."""

    def __init__(self, message: str, *, code: str | None = None, status: int | None = None, **kwargs: Any) -> None:
        super().__init__(message, status=status, **kwargs)
        self.code = code
        if code is not None:
            self.details["code"] = code


class ProviderTimeoutError(ProviderError):
    """Nothing came within the time allowed. ``phase`` is ``open``, ``write``, ``read`` or ``total``.

    ``partial`` is the text that had arrived, where a stream was under way.
    """

    http_status = 504

    def __init__(self, message: str, *, phase: str, partial: str = "", **kwargs: Any) -> None:
        super().__init__(message, phase=phase, **({"partial_characters": len(partial)} if partial else {}), **kwargs)
        self.phase = phase
        self.partial = partial


class RequestCancelledError(InnkeeperError):
    """The caller asked a request that was under way to stop; the connection is closed."""

    exit_code = 130
    http_status = 499


class ProviderConnectionError(ProviderError):
    """No connection (name, refusal, TLS), or it broke before the answer was there."""


class StreamCutError(ProviderConnectionError):
    """A stream that ended too early. ``partial`` is the text that had arrived."""

    def __init__(self, message: str, *, partial: str = "", **kwargs: Any) -> None:
        super().__init__(message, partial_characters=len(partial), **kwargs)
        self.partial = partial


class DecodeError(ProviderError):
    """An answer with a success status that is not what the protocol says. ``sample`` is its start, redacted."""

    def __init__(self, message: str, *, sample: str = "", **kwargs: Any) -> None:
        super().__init__(message, **kwargs)
        self.sample = sample
        if sample:
            self.details["sample"] = sample


class ModelMissingError(UnavailableError):
    """A local model that is not installed; the hint is the command that installs it."""


class ModelCorruptError(UnavailableError):
    """A local model whose file has not the checksum it must have, or cannot be read."""


class ModelInstallError(UnavailableError):
    """A local model that cannot be downloaded, or written to its place."""


class LocalEngineError(UnavailableError):
    """The library that runs local models is missing or lacks something, or it refuses a model."""


class ModelFileError(FormatError):
    """A file given as a local model that holds no usable weights."""


class PreflightError(UsageError):
    """A request that contradicts itself or its model's capabilities; nothing was sent."""

    http_status = 422


class ToolArgumentsError(FormatError):
    """A tool call's arguments that cannot be read. ``code`` goes back to the model."""

    def __init__(self, message: str, *, code: str, **kwargs: Any) -> None:
        super().__init__(message, code=code, **kwargs)
        self.code = code


class DirectivesError(FormatError):
    """An answer that is no directives envelope. ``code`` is the rule that it breaks."""

    def __init__(self, message: str, *, code: str, **kwargs: Any) -> None:
        super().__init__(message, code=code, **kwargs)
        self.code = code


class ToolUseError(InnkeeperError):
    """A tool loop that did not end as its mode demands. ``history`` and ``trace`` are as far as it came."""

    exit_code = 69
    http_status = 502

    def __init__(
        self, message: str, *, code: str, history: tuple[Any, ...] = (), trace: tuple[Any, ...] = (), **kwargs: Any
    ) -> None:
        super().__init__(message, code=code, turns=len(trace), **kwargs)
        self.code = code
        self.history = history
        self.trace = trace


class TurnLimitError(ToolUseError):
    """The model still calls tools after the last turn allowed."""


class ToolLoopCancelledError(ToolUseError):
    """The caller's ``cancel`` said stop."""
