"""Following: a publication is in memory a moment later, on both databases, and outages are made up for."""

from __future__ import annotations

import time

from innkeeper.library.catalogue.database_source import DatabaseSnapshots, DatabaseSource
from innkeeper.library.catalogue.follower import Watcher
from innkeeper.library.catalogue.resolver import ResolveRequest
from innkeeper.library.catalogue.sources import Sources
from innkeeper.library.db.engine import Database
from innkeeper.library.errors import DatabaseUnreachableError
from innkeeper.library.following import Follower
from innkeeper.library.templates.store import TemplateStore
from tests.library.catalogue.test_sources import Shelf
from tests.library.drafts import draft
from tests.library.making import catalogue, made

ASK = ResolveRequest(use_case="enhancement", job_type="image", target_model="sdxl")


class Told:
    """A watch that says what the test told it."""

    def __init__(self, *news: int | Exception | None) -> None:
        self.news = list(news)
        self.closed = False

    def wait(self, _timeout: float) -> int | None:
        said = self.news.pop(0)
        if isinstance(said, Exception):
            raise said
        return said

    def close(self) -> None:
        self.closed = True


def test_steps() -> None:
    """A change is fetched, silence is not; after a failure the next word of any kind is taken for a change."""
    shelf = Shelf(catalogue(made()))
    watch = Told(1, None, DatabaseUnreachableError("down"), None, None)
    follower = Follower(Sources(shelf), watch, pause=0)
    assert [follower.step() for _ in range(5)] == [True, False, False, True, False]
    assert shelf.loads == 2
    follower.close()
    assert watch.closed


def test_a_publication_is_seen_by_all(url: str) -> None:
    """What one process publishes another has in memory within two seconds, without being asked in between."""
    with Database.open(url) as writer, Database.open(url) as reader:
        chain = Sources(DatabaseSource(reader))
        TemplateStore(writer).publish(draft("first"))
        chain.refresh()
        with Follower(chain, Watcher(reader)):
            TemplateStore(writer).publish(draft("first", "Other {{subject}}."))
            until = time.monotonic() + 20
            while chain.current().revision != writer.revision() and time.monotonic() < until:
                time.sleep(0.01)
            found = chain.resolve(ASK).template
    assert found is not None
    assert found.version == 2


def test_a_follower_that_never_started_can_be_closed() -> None:
    """Closing stops what waits, whether the thread runs or not, and nothing is fetched after it."""
    shelf = Shelf(catalogue(made()))
    follower = Follower(Sources(shelf), Told(1))
    follower.close()
    assert (follower.step(), shelf.loads) == (False, 0)


def test_keeping_a_snapshot_is_no_change(db: Database) -> None:
    """Writing the snapshot into the database does not count as a publication, which would never end."""
    TemplateStore(db).publish(draft())
    before = db.revision()
    chain = Sources(DatabaseSource(db), DatabaseSnapshots(db))
    chain.refresh()
    assert chain.unkept is None
    assert (db.revision(), len(DatabaseSnapshots(db).load())) == (before, 1)
