"""The library: resolving and rendering from memory, in a small and in a large library, and the first answer of a new process."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.case import Case
from benchmarks.library.inputs import REQUESTS, VALUES, catalogue, filled, page
from innkeeper.library.catalogue.catalogue import Catalogue
from innkeeper.library.catalogue.database_source import DatabaseSource
from innkeeper.library.catalogue.resolver import resolve
from innkeeper.library.catalogue.snapshot import catalogue_of, snapshot_of
from innkeeper.library.catalogue.sources import Sources
from innkeeper.library.db.engine import Database
from innkeeper.library.prepare.conversation import template_values
from innkeeper.library.templates.cache import RenderedCache, RenderedKey, content_digest
from innkeeper.library.templates.publish import problems_of
from innkeeper.library.templates.rendering import render
from innkeeper.library.templates.template import MatchLevel
from innkeeper.tokens import default_counter

SMALL: Final = 200
LARGE: Final = 10_000


def cases() -> Iterator[Case]:
    """From memory first, then cold."""
    small, large = catalogue(SMALL), catalogue(LARGE)
    yield from _resolving(small, large)
    yield from _rendering(large)
    yield Case("catalogue of 10,000 from a snapshot", partial(catalogue_of, snapshot_of(large)))
    yield Case("snapshot of 10,000", partial(snapshot_of, large))
    yield from _cold()


def _resolving(small: Catalogue, large: Catalogue) -> Iterator[Case]:
    for name, request in REQUESTS.items():
        assert resolve(request, large).level is not MatchLevel.PASSTHROUGH
        few = partial(resolve, request, small)
        yield Case(f"resolve: {name}, {LARGE:,} templates", partial(resolve, request, large), few, f"among {SMALL}")
    chain = Sources(_Ready(large), start=lambda work: work())
    yield Case("resolve through the chain, from memory", partial(chain.resolve, REQUESTS["exact"]))
    for request in list(REQUESTS.values()) * 20:
        chain.resolve(request)
    yield Case("the same after mixed requests", partial(chain.resolve, REQUESTS["universal"]), note=_rate(chain))


def _rate(chain: Sources) -> str:
    return f"hit rate {chain.tally.hit_rate:.1%}"


class _Ready:
    """A source that is in memory already."""

    def __init__(self, kept: Catalogue) -> None:
        self.kept = kept

    def load(self) -> Catalogue:
        return self.kept

    def point(self, _request: object) -> Catalogue:
        return self.kept


def _rendering(large: Catalogue) -> Iterator[Case]:
    counter = default_counter()
    for syntax in ("mustache", "liquid"):
        version = page(syntax)
        note = f"{len(version.system_prompt):,} characters, 20 variables"
        yield Case(f"render, {syntax}", partial(render, version, VALUES, lookup=large.version), note=note)
    version = page()
    counted = partial(render, version, VALUES, counter=counter)
    yield Case("render, mustache, every value counted", counted, note="counts are remembered")
    yield Case("check for publication", partial(problems_of, version, window=8_192, counter=counter))
    row = {"name": "Mira", "description": "A clockmaker. " * 40, "traits": "Goals: rest\nQuirks: hums"}
    yield Case("values of a character", partial(template_values, row))
    cache, values = RenderedCache(), template_values(row)
    key = RenderedKey(template_version_id="page@1", character_content_hash=content_digest(values))
    cache.put(key, render(version, VALUES))
    yield Case("rendered text from the cache", partial(cache.get, key))


# ----------------------------------------------------------------------------------------------------------- a cold start


def _cold() -> Iterator[Case]:
    """The first answer from a database of 10,000 that was not open: connect, check the schema, ask, close."""
    from tests.postgres import shared_server

    with tempfile.TemporaryDirectory() as folder, shared_server(Path(folder), lambda _server: None) as server:
        for name, url in (("SQLite", str(Path(folder) / "cold.db")), ("PostgreSQL", server.url())):
            with Database.open(url) as db:
                filled(db, LARGE)
                warm = DatabaseSource(db)
                yield Case(f"point query, {name}", partial(warm.point, REQUESTS["exact"]), note=f"{LARGE:,} templates")
            opening = partial(_open, url)
            yield Case(f"open and resolve, {name}", _start(url), opening, "opening alone", f"{LARGE:,} templates")


def _open(url: str) -> None:
    Database.open(url).close()


def _start(url: str) -> Callable[[], object]:
    def run() -> MatchLevel:
        with Database.open(url) as db:
            return Sources(DatabaseSource(db), start=lambda _work: None).resolve(REQUESTS["exact"]).level

    assert run() is MatchLevel.EXACT
    return run
