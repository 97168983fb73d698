"""Recorder: one row for every call, with hashes and counts of its texts, and who has it written.

The texts themselves are kept only where the operator wants it, in a table of their own and until a date; what is past it goes
with the next row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.gate.tier import TierDecision
from innkeeper.library.catalogue.resolver import Resolution
from innkeeper.library.errors import TierBlockedError
from innkeeper.library.log.queue import LogQueue, QueuedRow
from innkeeper.library.prepare.request import PreparedPrompt, PrepareRequest
from innkeeper.library.templates.template import PRODUCTION
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import InnkeeperError

if TYPE_CHECKING:
    from innkeeper.gate.gate import Checked
    from innkeeper.library.catalogue.library_database import LibraryDatabase
    from innkeeper.library.db.engine import Database
    from innkeeper.library.log.metrics import Metrics
    from innkeeper.library.outside import Outside
    from innkeeper.library.prepare.preparation import Preparation


_DETAIL: Final = 300


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a prepared prompt after a model was asked, for its row in the log."""

    output: str | None = None
    output_tokens: int | None = None
    attempts: Sequence[Mapping[str, Any]] = ()
    used_fallback_model: str | None = None
    latency_ms: Mapping[str, float] = EMPTY
    """``queue``, ``model``, ``post``; added to those of the preparation."""
    usage: Mapping[str, Any] = EMPTY
    cost_usd: float | None = None
    cost_source: str | None = None
    dropped_segments: Sequence[Mapping[str, Any]] = ()
    error: InnkeeperError | None = None


class Recorder:
    """Has rows of calls and audit events of blocks written, for one library. Nobody waits for the database but `call_now`.

    A row that cannot be written changes no decision: it is counted, and a block stands.
    """

    def __init__(
        self, database: LibraryDatabase, queue: LogQueue, metrics: Metrics, outside: Outside, *, read_only: bool
    ) -> None:
        self._database, self._queue, self._metrics = database, queue, metrics
        self._outside, self._read_only = outside, read_only

    def call(self, prepared: PreparedPrompt, done: Done | None) -> str:
        """Have the row of a call written soon. Returns why it may not be, as `LogQueue.put`."""
        return self.row(prepared_row(prepared, done), _contents(prepared, done))

    def call_now(self, prepared: PreparedPrompt, done: Done | None) -> int:
        """Write the row of a call; returns its id. Raises what the database raises."""
        from innkeeper.library.log.logs import EnhancementLog

        row = prepared_row(prepared, done)
        try:
            days = self._database.rules.store_content_days
            return EnhancementLog(self._database.db).add(row, _contents(prepared, done), days=days)
        except InnkeeperError:
            self._metrics.count("library_log_failures_total")
            raise

    def blocked_output(self, prepared: PreparedPrompt, done: Done, error: TierBlockedError) -> None:
        """The row of a call whose output does not pass. It keeps no text."""
        row = prepared_row(prepared, msgspec.structs.replace(done, error=error))
        self.row({**row, "decision": error.decision})

    def failure(self, work: Preparation, error: InnkeeperError) -> None:
        """The row of a call that was blocked or failed on its way, as far as it came."""
        kind = "blocked" if isinstance(error, TierBlockedError) else "error"
        self._metrics.count("library_failures_total", kind=kind, error=error.kind)
        tier, resolution = work.tier, work.resolution
        self.row(
            failed_row(work.request, work.request_id, error, tier=tier, resolution=resolution, latency_ms=work.total())
        )

    def block(self, checked: Checked, request_id: str, actor: str) -> None:
        """The audit event of a block."""
        self._metrics.count("library_blocks_total", categories=",".join(checked.decision.categories))
        at, details = self._now(), {**checked.event, "request_id": request_id}

        def write(db: Database) -> None:
            from innkeeper.library.db.rows import AuditStore

            AuditStore(db).append("tier.block", actor=actor, resource=("request", request_id), details=details, at=at)

        self._put(QueuedRow(write, "audit"))

    def row(self, row: Mapping[str, Any], contents: Mapping[str, str] = EMPTY) -> str:
        """Have a row written soon, with its texts where the operator has texts stored."""
        days, dated = self._database.rules.store_content_days, {"created_at": self._now(), **row}
        texts = contents if days else EMPTY

        def write(db: Database) -> None:
            from innkeeper.library.log.logs import EnhancementLog

            EnhancementLog(db).add(dated, texts, days=days)

        return self._put(QueuedRow(write, chars=sum(map(len, texts.values()))))

    def _put(self, row: QueuedRow) -> str:
        if self._read_only:
            self._metrics.count(f"library_{row.kind}_failures_total")
            return "log_failed"
        return self._queue.put(row)

    def _now(self) -> str:
        from innkeeper.library.db.tables.columns import moment_text

        return moment_text(self._outside.now().now)


def _contents(prepared: PreparedPrompt, done: Done | None) -> dict[str, str]:
    texts = {"input": prepared.request.text, "output": done.output if done else None}
    return {kind: text for kind, text in texts.items() if text}


def text_digest(text: str | None) -> str | None:
    """SHA-256 of a text, in hex; None for None."""
    return None if text is None else sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def prepared_row(prepared: PreparedPrompt, done: Done | None = None) -> dict[str, Any]:
    """The row of a call that came to an answer."""
    outcome = done or Done(output=None if prepared.fitted is None else prepared.fitted.text)
    total = prepared.latency_ms.get("total", 0.0) + sum(outcome.latency_ms.values())
    latency = {**prepared.latency_ms, **outcome.latency_ms, "total": round(total, 3)}
    reserved = {} if prepared.budget is None else prepared.budget.reserved
    dropped = [*msgspec.to_builtins(prepared.evicted), *_cut(prepared), *map(dict, outcome.dropped_segments)]
    return {
        **_request_columns(prepared.request, prepared.request_id),
        **_tier_columns(prepared.tier),
        **_resolution_columns(prepared.resolution),
        "input_tokens": prepared.input_tokens,
        "output_sha256": text_digest(outcome.output),
        "output_tokens": outcome.output_tokens,
        "budget_tokens": None if prepared.budget is None else prepared.budget.target,
        "compressed": bool(dropped),
        "dropped_segments": dropped,
        "ui_tokens": sum(size for name, size in reserved.items() if name != "spec"),
        "cache_age_s": prepared.cache_age_s,
        "attempts": list(map(dict, outcome.attempts)),
        "used_fallback_model": outcome.used_fallback_model,
        "latency_ms": latency,
        "execution_time_ms": latency["total"],
        "usage": dict(outcome.usage),
        "cost_usd": outcome.cost_usd,
        "cost_source": outcome.cost_source,
        **_status_columns(outcome.error, "degraded" if prepared.degraded else "ok"),
        **({"error_code": _OVER} if outcome.error is None and _OVER in prepared.notes else {}),
    }


_OVER: Final = "output_over_budget"
"""The note of an output that is longer than its target reads; its call did not fail, but nobody should have to look for it."""


def failed_row(
    request: PrepareRequest,
    request_id: str,
    error: InnkeeperError,
    *,
    tier: TierDecision | None = None,
    resolution: Resolution | None = None,
    latency_ms: Mapping[str, float] = EMPTY,
) -> dict[str, Any]:
    """The row of a call that was blocked or failed."""
    return {
        **_request_columns(request, request_id),
        **({} if tier is None else _tier_columns(tier)),
        **({} if resolution is None else _resolution_columns(resolution)),
        "execution": "none",
        "latency_ms": dict(latency_ms),
        "execution_time_ms": latency_ms.get("total"),
        **_status_columns(error, "ok"),
    }


def _request_columns(request: PrepareRequest, request_id: str) -> dict[str, Any]:
    names = ("user_id", "conversation_id", "job_id", "use_case", "job_type", "target_model", "enhancer_model")
    fields = {name: getattr(request, name) for name in (*names, "experiment_id", "variant")}
    return {
        **fields,
        "request_id": request_id,
        "template_label": request.label,
        "input_sha256": text_digest(request.text),
    }


def _tier_columns(tier: TierDecision) -> dict[str, Any]:
    return {
        "requested_tier": tier.requested.value,
        "effective_tier": tier.effective.value,
        "tier_reasons": list(tier.reasons),
        "detector_version": tier.detector_version,
        "decision": tier.decision.value,
    }


def _resolution_columns(resolution: Resolution) -> dict[str, Any]:
    template = resolution.template
    facts: dict[str, Any] = {
        "template_source": resolution.source.value,
        "resolution_level": resolution.level.value,
        "resolution_level_int": resolution.level.number,
        "fallback_level": resolution.fallback_level,
        "resolution_trace": [msgspec.to_builtins(step) for step in resolution.trace],
        "execution": resolution.execution.value,
        "cache_hit": resolution.source.value == "memory",
        "cache_layer": resolution.source.value,
    }
    if template is None:
        return facts
    named = {"template_id": template.template_id, "template_name": template.name, "template_version": template.version}
    return {**facts, **named, "provider": template.provider, "template_label": resolution.request.label or PRODUCTION}


def _status_columns(error: InnkeeperError | None, well: str) -> dict[str, Any]:
    if error is None:
        return {"status": well}
    blocked = "blocked" if error.kind == "tier_blocked" else "error"
    return {
        "status": blocked,
        "error_code": error.kind,
        "error_detail_redacted": str(error.to_dict()["message"])[:_DETAIL],
    }


def _cut(prepared: PreparedPrompt) -> Iterator[dict[str, Any]]:
    """What went of the text for the target, without the text itself."""
    if prepared.fitted is None:
        return
    if cut := prepared.fitted.cut:
        yield {"reason": "cut", "chars": len(cut), "sha256": text_digest(cut)}
    for each in prepared.fitted.dropped:
        facts = {"place": each.place, "role": str(each.role), "reason": each.reason, "tokens": each.tokens}
        yield {**facts, "sha256": text_digest(each.text)}
