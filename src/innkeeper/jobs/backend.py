"""Backend: who makes pictures and videos. One small interface for providers, servers of one's own, and this process.

A backend knows how its calls look and what their answers mean; when it is asked, how often, and what becomes of results is for
the runner.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, Protocol, TypeAlias

import msgspec

from innkeeper.inference.client.egress import Egress
from innkeeper.inference.errors import (
    DecodeError,
    HttpError,
    ProviderConnectionError,
    ProviderTimeoutError,
    ReplyError,
    TamperedError,
)
from innkeeper.inference.reasons import reason_of
from innkeeper.jobs.job import Output
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import FormatError, InnkeeperError, ProviderError, UsageError
from innkeeper.prompt.machine import Secret

WORKER: Final = "worker"
"""The name of the backend that is whichever worker holds a lease."""


class BackendCall(msgspec.Struct, frozen=True, kw_only=True):
    """One job as its backend is told of it. ``webhook_url`` is where it may say that something happened; empty: nowhere."""

    job_id: str
    model: str
    version: str = ""
    body: Mapping[str, Any] = EMPTY
    base_url: str = ""
    key: Secret = Secret("")
    webhook_url: str = ""
    sync: bool = False
    picture: bytes = b""
    """The picture that it starts from, where that is a stored one."""
    mode: str = "t2i"
    hosts: tuple[str, ...] | None = None
    """Of a worker: where it may be beside the open internet; None where the operator said the address."""
    egress: Egress = Egress()
    """Where its results may lie."""


class Submitted(msgspec.Struct, frozen=True):
    """What a provider said to a job: its reference for it, or already its results."""

    reference: Mapping[str, Any] | None = None
    outputs: tuple[Output, ...] | None = None
    cost_usd: float | None = None


Stage: TypeAlias = Literal["queued", "running", "done", "failed", "cancelled", "lost"]


class JobFailure(msgspec.Struct, frozen=True):
    """Why a job failed: a kind of the taxonomy (reference 6.10), what may be told, and whether trying again may help.

    ``unknown`` says that the provider may have the job all the same.
    """

    kind: str
    message: str
    retryable: bool = False
    unknown: bool = False
    retry_after: float | None = None


class Progress(msgspec.Struct, frozen=True):
    """Where a provider's job stands. ``share`` is how much is done, from 0 to 1, where that is told."""

    stage: Stage
    share: float | None = None
    outputs: tuple[Output, ...] = ()
    failure: JobFailure | None = None
    cost_usd: float | None = None


class Webhook(msgspec.Struct, frozen=True):
    """A webhook that is a provider's own: ``delivery`` names it, ``reference`` the job that it is about."""

    delivery: str
    reference: Mapping[str, Any]


class WebhookRefusedError(InnkeeperError):
    """A webhook without a signature that holds, or of another time. Nothing of it was looked at."""

    exit_code = 65
    http_status = 401


class RefusedByProviderError(ProviderError):
    """A provider's policy or safety checker refused the request or its result. It is told as it is, and not tried elsewhere."""

    http_status = 422


class Backend(Protocol):
    """Who makes pictures and videos. Everything raises `ProviderError` and its kin."""

    name: str
    repeatable: bool
    """Whether asking twice costs nothing, so that a job whose fate is not known is simply asked again."""
    waits: bool
    """Whether `submit` waits for the result, so that the job runs while it is asked."""

    def submit(self, call: BackendCall) -> Submitted:
        """Hand a job over."""
        ...

    def status(self, call: BackendCall, reference: Mapping[str, Any]) -> Progress:
        """Where a job stands that was handed over."""
        ...

    def cancel(self, call: BackendCall, reference: Mapping[str, Any]) -> None:
        """Tell that a job is no longer wanted. One that has ended already is no error."""
        ...

    def fetch(self, call: BackendCall, output: Output) -> bytes:
        """The bytes of a result."""
        ...

    def webhook(self, headers: Mapping[str, str], body: bytes, now: float) -> Webhook:
        """A webhook, once its signature holds; ``now`` in seconds since 1970. Raises `WebhookRefusedError`."""
        ...


class WaitingBackend:
    """What backends have in common that answer a call with its results: they have no jobs of their own, and ask for nothing."""

    name: str
    repeatable = True
    waits = True

    def status(self, call: BackendCall, reference: Mapping[str, Any]) -> Progress:
        """Never asked: the answer comes with the call."""
        return Progress("lost")

    def cancel(self, call: BackendCall, reference: Mapping[str, Any]) -> None:
        """Nothing to stop."""

    def fetch(self, call: BackendCall, output: Output) -> bytes:
        """The bytes, which came with the answer."""
        return output.data

    def webhook(self, headers: Mapping[str, str], body: bytes, now: float) -> Webhook:
        """It sends none."""
        raise WebhookRefusedError(f"{self.name} sends no webhooks")


_KINDS: dict[str, tuple[str, bool]] = {
    "authentication": ("auth", False),
    "quota": ("quota", False),
    "rate_limit": ("rate_limited", True),
    "overloaded": ("unavailable", True),
    "context_length": ("context_length", False),
    "content_policy": ("provider_policy_refusal", False),
    "bad_request": ("invalid_request", False),
    "not_found": ("not_found", False),
    "conflict": ("unavailable", True),
    "server": ("unavailable", True),
    "timeout": ("timeout", True),
    "connection": ("connection", True),
    "cut_stream": ("cut_stream", True),
    "bad_answer": ("bad_answer", True),
    "too_large": ("too_large", False),
}
"""By the reason of an error: the kind of a failure, and whether trying again may help."""

_LOST_STATUSES = frozenset({408, 502, 504})
"""Statuses of something between us and the provider, which may have the request all the same."""


def failure_of(error: InnkeeperError) -> JobFailure:
    """What an error means for a job. ``unknown``: the provider may have it, so that asking again may cost twice."""
    if isinstance(error, RefusedByProviderError):
        return JobFailure("provider_policy_refusal", error.message)
    if isinstance(error, UsageError):
        return JobFailure("invalid_request", error.message)
    if isinstance(error, FormatError):
        return JobFailure("bad_result", error.message, retryable=True)
    kind, again = _KINDS.get(reason_of(error), ("unknown", False))
    if isinstance(error, TamperedError):
        return JobFailure("tampered", error.message, retryable=True)
    after = error.retry_after if isinstance(error, HttpError) else None
    return JobFailure(kind, error.message, again, _may_have_arrived(error), after)


def _may_have_arrived(error: InnkeeperError) -> bool:
    if isinstance(error, HttpError):
        return error.status in _LOST_STATUSES
    if isinstance(error, ProviderTimeoutError):
        return error.phase != "open"
    if isinstance(error, ProviderConnectionError):
        return error.opened
    return isinstance(error, DecodeError) and not isinstance(error, ReplyError)
