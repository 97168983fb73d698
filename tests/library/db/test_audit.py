"""Audit events: added, found newest first, never changed."""

from innkeeper.library.db.engine import Database
from innkeeper.library.db.rows import AuditStore
from innkeeper.library.templates.store import TemplateStore
from innkeeper.library.templates.template import TemplateDraft
from tests.library.drafts import draft


def test_events(db: Database) -> None:
    """An event of one's own is kept with who, what, from what and to what."""
    store = AuditStore(db)
    store.append("tier.block", actor="ann", resource=("message", "7"), change=({"a": 1}, None), details={"why": "x"})
    store.append("other")
    assert [event.action for event in store.newest()] == ["other", "tier.block"]
    (event,) = store.newest(actor="ann")
    assert (event.resource_type, event.resource_id, event.before, event.after) == (
        "message",
        "7",
        {"a": 1},
        None,
    )
    assert event.details == {"why": "x"}


def test_a_draft_of_a_version_gives_it_again(db: Database) -> None:
    """A version's content can be drafted again: the same hash under the next number."""
    store = TemplateStore(db)
    first = store.create(draft())
    second = store.add_version(TemplateDraft.of(first, description="again"))
    assert (second.version, second.content_sha256) == (2, first.content_sha256)
