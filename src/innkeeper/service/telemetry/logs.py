"""Logs: one line a call, as text or as JSON, on the logger ``innkeeper.service``.

A line says who called what, which model answered, how much and how long. What was said is in none, nor is a query or a key:
``caller`` is a key's name, which is made from its digest, or an address.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from innkeeper.prompt.machine import utc_now
from innkeeper.prompt.text import printable, redact, shorten
from innkeeper.service.guard.grants import PROBES
from innkeeper.service.guard.work import CallRecord

LOG: Final = logging.getLogger("innkeeper.service")

SERVER_LOG: Final = logging.getLogger("uvicorn.error")
"""The server's own lines, which say what is wrong with it and not with a call."""

FORMATS: Final = ("none", "text", "json")
"""How `innkeeper serve` logs, on standard error."""

_SHOWN: Final = 200


def log_call(record: CallRecord) -> None:
    """Log a call that has ended; what watches over the service asks often, and is logged when the answer is no."""
    level = logging.DEBUG if record.path in PROBES and record.status == 200 else logging.INFO  # noqa: PLR2004 - HTTP's
    if LOG.isEnabledFor(level):
        words = f"{record.number} {record.method} {record.status} {record.seconds * 1000:.0f} ms"
        LOG.log(level, "%s", words, extra={"call": facts_of(record)})


def facts_of(record: CallRecord) -> dict[str, Any]:
    """What is logged of a call, without what is not known of it."""
    usage, model = record.usage, record.asked is not None
    facts = {
        "request_id": record.number,
        "caller": record.caller,
        "method": record.method,
        "path": _shown(quote(record.path[: 2 * _SHOWN], errors="replace")),
        "surface": record.surface,
        "status": record.status,
        "error": record.error,
        "upstream": _shown(record.upstream),
        "ms": round(record.seconds * 1000, 1),
        "first_byte_ms": None if record.first is None else round((record.first - record.began) * 1000, 1),
        "route": _shown(record.route),
        "profile": _shown(record.profile),
        "mode": record.mode,
        "body_sha256": record.body_sha256,
        "model": _shown(record.answered_by or record.model),
        "finish_reason": record.finish_reason,
        "input_tokens": usage.input_tokens if model else None,
        "output_tokens": usage.output_tokens if model else None,
        "cached_tokens": usage.cached_tokens if model else None,
        "cost": record.cost or None,
    }
    return {name: value for name, value in facts.items() if value not in (None, "")}


def _shown(text: str) -> str:
    return shorten(redact(printable(text)), _SHOWN)


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, and the facts of the call, or the message where the line is about none."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        facts: Mapping[str, Any] = getattr(record, "call", None) or {"message": record.getMessage()}
        head = {"time": utc_now().isoformat(timespec="milliseconds"), "level": record.levelname.lower()}
        return json.dumps({**head, **facts}, ensure_ascii=False, separators=(",", ":"))


def log_to_stderr(kind: str) -> None:
    """Have the service's lines written to standard error, as ``text`` or ``json``; ``none``: leave logging as it is."""
    if kind == "none":
        return
    handler = logging.StreamHandler()
    handler.setFormatter(
        JsonFormatter() if kind == "json" else logging.Formatter("%(asctime)s %(levelname)s %(message)s")
    )
    for logger in (LOG, SERVER_LOG):
        logger.addHandler(handler)
        logger.propagate = False
    LOG.setLevel(logging.INFO)
