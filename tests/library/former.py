"""Databases of the schemas before the first release, made by the statements that their migrations ran, as recorded then."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path

from innkeeper.library.db.engine import Database

_RECORDED = Path(__file__).with_name("former_schemas.json.gz")


@cache
def _statements() -> dict[str, dict[str, list[str]]]:
    recorded: dict[str, dict[str, list[str]]] = json.loads(gzip.decompress(_RECORDED.read_bytes()))
    return recorded


def make_former(db: Database, revision: str) -> None:
    """Make an empty database one of ``revision``, step by step from the first."""
    with db.transaction() as connection:
        for step, statements in _statements()[db.dialect].items():
            if step <= revision:
                for statement in statements:
                    connection.exec_driver_sql(statement)
