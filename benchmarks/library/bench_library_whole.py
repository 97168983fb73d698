"""The library as a whole: an answer of the facade from memory, with everything that it decides, and its row in the log."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.case import Case
from benchmarks.library.inputs import REQUESTS, VALUES, filled
from innkeeper.library.library import Library
from innkeeper.library.prepare.request import PrepareRequest
from innkeeper.library.vault.keys import EnvironmentKeys, VaultKey
from innkeeper.library.vault.vault import Vault

TEMPLATES: Final = 1_000
STEADY: Final = 2_000


def cases() -> Iterator[Case]:
    """From memory, with and without the row in the log; the vault; a command as a process."""
    library = Library.open(Path(tempfile.mkdtemp()) / "library.db")
    filled(library.db, TEMPLATES)
    library.refresh()
    given = REQUESTS["exact"]
    names = ("use_case", "job_type", "target_model", "enhancer_model")
    asked = PrepareRequest(text="a lighthouse at dawn", values=VALUES, **{name: getattr(given, name) for name in names})
    for _ in range(STEADY):
        library.resolve(asked)
    rate = library.sources.tally.hit_rate
    assert rate >= 0.95
    yield Case("resolve, tier included", partial(library.resolve, asked), note=f"hit rate {rate:.2%}")
    yield Case(
        "prepare, not logged", partial(library.prepare, asked, log=False), note="tier twice, 2 kB, budget, negatives"
    )
    yield Case("prepare, logged", partial(library.prepare, asked), note="one durable row")
    vault = Vault(library.db, EnvironmentKeys({"INNKEEPER_VAULT_KEY": VaultKey.fresh().text()}))
    vault.set("A", "x" * 64)
    yield Case("reveal a secret", partial(vault.reveal, "A", who="bench", why="bench"), note="one durable audit event")
    yield Case(
        "innkeeper admin template resolve, empty folder", _resolve_as_a_process, note="the first start of a machine"
    )


def _resolve_as_a_process() -> None:
    with tempfile.TemporaryDirectory() as home:
        words = ("template", "resolve", "--use-case", "enhancement", "--job-type", "image", "--target", "sdxl")
        code = "import sys; from innkeeper.cli import main; sys.exit(main(sys.argv[1:]))"
        env = {**os.environ, "INNKEEPER_HOME": home}
        subprocess.run([sys.executable, "-c", code, *words], check=True, capture_output=True, env=env)
