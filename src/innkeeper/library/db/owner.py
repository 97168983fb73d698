"""Owner: whose a row is: a tenant and one of its users. What belongs to somebody else is as if it were not there.

An owner is known by whoever lets callers in (a service by their key), and never read from what a caller sends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Table


class Owner(msgspec.Struct, frozen=True):
    """Whose a row is. Where an installation has one tenant only, its name is empty."""

    user: str
    tenant: str = ""

    def columns(self) -> dict[str, str]:
        """The columns of a row that is theirs."""
        return {"tenant": self.tenant, "user_id": self.user}

    def owns(self, table: Table) -> ColumnElement[bool]:
        """The condition that a row of a table (with ``tenant`` and ``user_id``) is theirs."""
        return (table.c.tenant == self.tenant) & (table.c.user_id == self.user)

    def is_of(self, row: Any) -> bool:
        """Whether a row is theirs."""
        return bool(row.tenant == self.tenant and row.user_id == self.user)
