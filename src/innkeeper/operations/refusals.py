"""Refusals: errors in the words of the requirement document's functions."""

from __future__ import annotations

from typing import Any, Final

from innkeeper.prompt.errors import InnkeeperError

DETAILS: Final = (
    *("route_trace", "categories", "reasons", "estimate", "left", "skipped", "limit", "allowed", "refusal"),
    "missing_fields",
)
"""Details of an error that callers see."""


def function_facts(error: InnkeeperError) -> dict[str, Any]:
    """An error as the document's functions tell it."""
    facts = error.to_dict()
    known = {"success": False, "error": facts["message"], "code": facts["kind"], "hint": facts.get("hint")}
    return {**known, **error_details(error)}


def error_details(error: InnkeeperError) -> dict[str, Any]:
    """The details of an error that callers see."""
    details = error.to_dict().get("details", {})
    return {name: details[name] for name in DETAILS if name in details}
