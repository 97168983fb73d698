"""Changes of a large library: how soon a publication is in memory, a page of a list, and what is compressed; as ratios."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

from benchmarks.case import Case
from benchmarks.library.inputs import filled
from innkeeper.library.catalogue.database_source import DatabaseSource
from innkeeper.library.db.engine import Database
from innkeeper.library.library import Library
from innkeeper.library.log.logs import LogStore
from innkeeper.library.models.facts import CLIP
from innkeeper.library.prepare.segments import Role, Segment, compress
from innkeeper.library.templates.store import TemplateStore
from innkeeper.library.templates.template import TemplateDraft, TemplateKey

LARGE: Final = 10_000
SMALL: Final = 1_000
PAGE: Final = 100


def cases() -> Iterator[Case]:
    """A library of 10,000 templates."""
    library = Library.open(Path(tempfile.mkdtemp()) / "library.db")
    filled(library.db, LARGE)
    before, source = library.refresh(), DatabaseSource(library.db)
    yield Case("read what changed, of 10,000 templates", partial(source.update, before), source.load, "all of it")
    yield Case("a checked publication among 10,000", _publishing(library), source.load, "reading all of it")
    yield from _lists(library.db)
    yield from _compressing()
    yield Case(
        "a row of the log, handed over", _logging(library), partial(LogStore(library.db).add, {}), "written at once"
    )


def _publishing(library: Library) -> Callable[[], object]:
    numbers, authoring = count(1), library.authoring
    key = TemplateKey(use_case="benchmark")
    authoring.create(TemplateDraft(name="benchmark", key=key, system_prompt="Hello."))

    def publish() -> object:
        authoring.add_version(TemplateDraft(name="benchmark", key=key, system_prompt=f"Hello {next(numbers)}."))
        return authoring.publish("benchmark")

    return publish


def _lists(large: Database) -> Iterator[Case]:
    store = TemplateStore(large)
    page = partial(store.list, limit=PAGE)
    yield Case(f"a page of {PAGE} among 10,000 templates", page, store.list, "all of them")
    last = partial(page, after=f"t{LARGE - PAGE}")
    yield Case("a later page", last, page, "the first page")
    with Database.open(Path(tempfile.mkdtemp()) / "small.db") as db:
        filled(db, SMALL)
        yield Case("the same", page, partial(TemplateStore(db).list, limit=PAGE), f"among {SMALL:,}")
    yield Case("search 10,000 texts", partial(page, search=f"Template {LARGE}."), page, "a page", "looks at each text")


def _logging(library: Library) -> Callable[[], object]:
    def hand_over() -> object:
        return library._recorder.row({})  # noqa: SLF001 - what an answer waits for

    return hand_over


def _compressing() -> Iterator[Case]:
    measure, roles = CLIP.measure(), list(Role)

    def parts(number: int) -> list[Segment]:
        return [Segment(f"a lantern number {n} on the long oak table", roles[n % len(roles)]) for n in range(number)]

    few, many = (partial(compress, parts(number), 400, measure) for number in (400, 800))
    yield Case("compress 800 segments", many, few, "400", "twice as many: at most 2.5 times")
