"""A small world for sandboxed code: variables in a dict by whole path, one moment, seeded draws."""

import random
from datetime import UTC, datetime
from typing import Any

from innkeeper.macros.smart import sandbox

__all__ = ["MOMENT", "TableHost", "failure", "value"]

MOMENT = datetime(2024, 5, 17, 13, 45, 30, tzinfo=UTC)


class TableHost:
    """Variables by the whole spelling of their paths; the empty path is the table."""

    def __init__(self, table: dict[str, Any] | None = None, seed: int = 1) -> None:
        self.table = {} if table is None else table
        self.now = MOMENT
        self.random = random.Random(seed)  # noqa: S311 - not for secrets

    def getvar(self, path: str) -> Any:
        return self.table.get(path, f"[UndefinedVar:{path}]") if path else self.table

    def setvar(self, path: str, value: Any) -> None:
        self.table[path] = value


def value(code: str, table: dict[str, Any] | None = None) -> Any:
    """What code gives."""
    return sandbox.run(code, TableHost(table))


def failure(code: str, table: dict[str, Any] | None = None) -> sandbox.SandboxError | None:
    """The error of code whose value is also written as text, or None."""
    try:
        sandbox.run_text(code, TableHost(table))
    except sandbox.SandboxError as error:
        return error
    return None
