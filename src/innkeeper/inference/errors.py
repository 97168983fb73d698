"""Errors and limits of inference: what may be sent and received, how much of it, and what is raised beyond."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final

from innkeeper.prompt import FormatError, InnkeeperError, ProviderError, UsageError, utc_now

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
        """Seconds that the server asks to wait, None where it does not.

        They are in its header ``retry-after`` (seconds, or a date), in OpenAI's ``retry-after-ms``, or in Google's error body.
        """
        if _SECONDS.fullmatch(millis := self.headers.get("retry-after-ms", "")):
            return float(millis) / 1000
        text = self.headers.get("retry-after", "")
        if _SECONDS.fullmatch(text):
            return float(text)
        try:
            when = parsedate_to_datetime(text)
        except ValueError:
            return _retry_delay(self.body)
        return max(0.0, (when - utc_now()).total_seconds()) if when.tzinfo is not None else None


def _retry_delay(body: Any) -> float | None:
    """``retryDelay`` of a ``google.rpc.RetryInfo``: ``"36s"``."""
    body = body[0] if isinstance(body, list) and body else body
    error = body.get("error") if isinstance(body, Mapping) else None
    details = error.get("details") if isinstance(error, Mapping) else None
    rest = (
        [one.get("retryDelay") for one in details or () if isinstance(one, Mapping)]
        if isinstance(details, list)
        else []
    )
    texts = [text.removesuffix("s") for text in rest if isinstance(text, str)]
    return next((float(text) for text in texts if _SECONDS.fullmatch(text)), None)


class ReplyError(ProviderError):
    """An error that came with a success status. ``code`` is the provider's own, ``partial`` the text so far of a stream."""

    partial: str = ""

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
    """No connection (name, refusal, TLS), or it broke before the answer was there.

    ``opened`` says which: whether there was a connection, so that the provider may have had the request.
    """

    def __init__(self, message: str, *, opened: bool = True, **kwargs: Any) -> None:
        super().__init__(message, **kwargs)
        self.opened = opened


class StreamCutError(ProviderConnectionError):
    """A stream that ended too early. ``partial`` is the text that had arrived."""

    def __init__(self, message: str, *, partial: str = "", **kwargs: Any) -> None:
        super().__init__(message, partial_characters=len(partial), **kwargs)
        self.partial = partial


class AddressRefusedError(UsageError):
    """A request may not go to this address, which is of this machine, a private network or the like; nothing was sent."""

    http_status = 403
    HINT = "whoever runs the service can allow a host with --allow-host"


class DecodeError(ProviderError):
    """An answer with a success status that is not what the protocol says. ``sample`` is its start, redacted.

    ``partial`` is the text that a stream gave before.
    """

    partial: str = ""

    def __init__(self, message: str, *, sample: str = "", **kwargs: Any) -> None:
        super().__init__(message, **kwargs)
        self.sample = sample
        if sample:
            self.details["sample"] = sample


class BatchFailedError(ProviderError):
    """A batch that its provider refused after it had taken it, or whose results are not those of its requests."""


class BatchExpiredError(ProviderError):
    """A request of a batch that its provider did not come to within the time that batches have; it costs nothing."""


class BatchCancelledError(ProviderError):
    """A request of a batch that was cancelled at its provider before it was answered; it costs nothing."""


class BatchPendingError(InnkeeperError):
    """Batches are under way at their provider; whoever asked did not want to wait for them."""

    exit_code = 75
    HINT = "the same command fetches what has ended, and waits for the rest without --no-wait"


class TamperedError(ProviderError):
    """A worker that does not say that it executed the very messages it was sent; its answer is thrown away."""


class BudgetError(InnkeeperError):
    """A call or a job that would cost more than it may; nothing was asked. ``estimate`` and ``left`` are in US dollars."""

    exit_code = 65
    http_status = 402

    def __init__(self, what: str, *, estimate: float, left: float) -> None:
        super().__init__(
            f"{what}: it would cost about ${estimate:.4f}, and ${max(left, 0):.4f} is left",
            hint="ask for less, or have the budget raised",
            estimate=estimate,
            left=left,
        )


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
    """A tool loop that did not end as its mode demands, or failed once its tools had run.

    ``history`` and ``trace`` are as far as it came; a run that failed goes on with ``run(None, error.history)``.
    """

    exit_code = 69
    http_status = 502

    def __init__(
        self, message: str, *, code: str, history: tuple[Any, ...] = (), trace: tuple[Any, ...] = (), **kwargs: Any
    ) -> None:
        super().__init__(message, code=code, turns=len(trace), **kwargs)
        self.code = code
        self.history = history
        self.trace = trace


CANCEL_INTERVAL: Final = 0.05
"""Seconds between two looks at whether a request that waits is still wanted, where its caller can cancel it."""

DEFAULT_TIMEOUT: Final = 120.0
"""Seconds that a server may stay silent, before its first byte and between two of them."""

DEFAULT_OPEN_TIMEOUT: Final = 10.0
"""Seconds to reach a server: name, connection, TLS."""

DEFAULT_TOTAL_TIMEOUT: Final = 900.0
"""Seconds that a whole answer may take, from the request to its last byte."""

REST_SECONDS: Final = 0.05
"""Seconds that a server has to end an answer that has said all; its connection is closed where it does not."""

MAX_RESPONSE_BYTES: Final = 64 * 1024 * 1024
"""Bytes of one answer, counted after decompression while reading (`LimitError`)."""

MAX_BATCH_RESULT_BYTES: Final = 1024 * 1024 * 1024
"""Bytes of the results of one batch (`LimitError`)."""

MAX_EVENT_BYTES: Final = 8 * 1024 * 1024
"""Bytes of one server-sent event (`LimitError`)."""

SAMPLE_CHARACTERS: Final = 200
"""How much of an answer an error or a trace quotes."""

MAX_TOOL_CALLS: Final = 128
"""Tool calls in one answer (no error: those past it are ignored and counted)."""

DEFAULT_MAX_TOOL_BYTES: Final = 200_000
"""Bytes of one tool call's arguments, and of one tool's output."""

MAX_OUTPUT_DEPTH: Final = 20
"""Levels of a tool's output (no error: the tool's result says so)."""

MAX_OUTPUT_NODES: Final = 50_000
"""Values in a tool's output, containers included (no error: the tool's result says so)."""

MAX_OUTPUT_ITEMS: Final = 50_000
"""Items of one list, or keys of one mapping, in a tool's output (no error: the tool's result says so)."""

MAX_DIRECTIVE_BYTES: Final = 200_000
"""Bytes of an answer that is read as directives (`AnswerError`)."""

MAX_MODEL_BYTES: Final = 64 * 1024**3
"""Bytes of a local model's file (`LimitError`)."""

MAX_GGUF_FACTS: Final = 65_536
"""Facts in the head of a local model's file, and items of a list there (`LimitError`)."""

MAX_GGUF_TEXT_BYTES: Final = 1024 * 1024
"""Bytes of one text in the head of a local model's file (`LimitError`)."""
