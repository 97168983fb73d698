"""Options: how a library is opened, and what opens its database when it is first needed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from innkeeper.library.catalogue.sources import Timing
from innkeeper.library.outside import MACHINE, Outside

if TYPE_CHECKING:
    from innkeeper.gate.detector import Detector
    from innkeeper.gate.gate import TierPolicy
    from innkeeper.library.db.engine import Database
    from innkeeper.library.db.sqlite_file import ReadOnly
    from innkeeper.library.vault.keys import KeySource
    from innkeeper.prompt.run.state import TokenCounter


class Options(TypedDict, total=False):
    """How a library is opened; each may be left out.

    ``policy``: the tier policy; else the active one of the database, else the general tier alone. ``detector``: what looks at
    texts; else the packaged list and the active ones of the database. ``outside``: where time and fresh identifiers come from.
    ``timer``: seconds that only go forward, for ages and latencies. ``timing``: when the catalogue is fetched without being told
    that it changed. ``counter``: counts tokens. ``keys``: where the vault's keys are. ``snapshot``: the file of the last good
    catalogue; else beside the database. ``create`` off: a database that is missing is not made. ``read_only``: nothing is
    written, logs included. ``strict``: every makeshift is an error. ``watch`` off: changes are not followed in a thread, and
    `Library.refresh` is for the caller to call.
    """

    policy: TierPolicy | None
    detector: Detector | None
    outside: Outside
    timer: Callable[[], float]
    timing: Timing
    counter: TokenCounter
    keys: KeySource
    snapshot: Path | str
    create: bool
    read_only: ReadOnly
    strict: bool
    watch: bool


def database_opener(url: str | os.PathLike[str] | None, options: Options) -> Callable[[], Database]:
    """Opens the database that a library was opened with. What it gives raises `DatabaseError`."""

    def opener() -> Database:
        from innkeeper.library.db.engine import Database

        return Database.open(
            url,
            create=options.get("create", True),
            read_only=options.get("read_only", False),
            outside=options.get("outside", MACHINE),
        )

    return opener
