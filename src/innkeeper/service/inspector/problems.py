"""Problems: errors as the page shows them."""

from __future__ import annotations

import msgspec

from innkeeper.prompt.errors import InnkeeperError
from innkeeper.service.inspector.views import Problem

__all__ = ["problem_body", "problem_of"]


def problem_of(error: InnkeeperError) -> Problem:
    """An error as the page shows it."""
    facts = error.to_dict()
    where = str(error.where) if error.where is not None and str(error.where) else None
    return Problem(facts["kind"], facts["message"], facts.get("hint"), where)


def problem_body(error: InnkeeperError) -> bytes:
    """The body of a reply that is an error: ``{"error": …}``."""
    return msgspec.json.encode({"error": problem_of(error)})
