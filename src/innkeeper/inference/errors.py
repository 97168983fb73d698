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
    └── LocalModelError              a local model that is missing, damaged, cannot be fetched, or not be run
    FormatError
    ├── ModelFileError               a file that holds no usable weights
    └── AnswerError                  a part of a model's answer that cannot be used; ``code`` is the rule
    RequestCancelledError            the caller asked a request under way to stop
    UsageError
    └── PreflightError               a request that its model cannot take, refused before it is sent
    ToolUseError                     a tool loop that did not end as its mode demands; ``code`` is the rule
    ├── TurnLimitError               the model still calls tools after the last turn allowed
    └── ToolLoopCancelledError       the caller asked it to stop
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final

from innkeeper.prompt import FormatError, InnkeeperError, ProviderError, UnavailableError, UsageError, utc_now

__all__ = [
    "AnswerError",
    "DecodeError",
    "HttpError",
    "LocalModelError",
    "ModelFileError",
    "PreflightError",
    "ProviderConnectionError",
    "ProviderTimeoutError",
    "ReplyError",
    "RequestCancelledError",
    "StreamCutError",
    "ToolLoopCancelledError",
    "ToolUseError",
    "TurnLimitError",
]

_SECONDS: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


class HttpError(ProviderError):
    """A status that is not success. ``headers`` have lower-case names; ``sample`` is the start of the body, redacted."""

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
        """Seconds that the server asks to wait: its header of that name, which is a number of them or a date."""
        text = self.headers.get("retry-after", "")
        if _SECONDS.fullmatch(text):
            return float(text)
        try:
            when = parsedate_to_datetime(text)
        except ValueError:
            return None
        return max(0.0, (when - utc_now()).total_seconds()) if when.tzinfo is not None else None


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


class LocalModelError(UnavailableError):
    """A local model that is not installed, damaged, or cannot be fetched or run; the hint says what to do."""


class ModelFileError(FormatError):
    """A file given as a local model that holds no usable weights."""


class PreflightError(UsageError):
    """A request that contradicts itself or its model's capabilities; nothing was sent."""

    http_status = 422


class AnswerError(FormatError):
    """A part of an answer (a call's arguments, an envelope) that cannot be used. ``code`` is the rule that it breaks."""

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
