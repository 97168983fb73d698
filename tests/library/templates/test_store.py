"""Templates, versions and labels: what the store keeps, refuses and remembers, on both databases."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from sqlalchemy import event

from innkeeper.library.catalogue.resolver import ResolveRequest
from innkeeper.library.db.engine import Database
from innkeeper.library.db.rows import AuditStore
from innkeeper.library.errors import AlreadyExistsError, ConflictError, DatabaseCorruptError, FieldError, NotFoundError
from innkeeper.library.templates import rows
from innkeeper.library.templates.store import TemplateStore
from innkeeper.library.templates.template import PARTIAL, PRODUCTION, STAGING, Labelled
from innkeeper.prompt.data import FrozenDict
from innkeeper.prompt.errors import InnkeeperError, UsageError
from tests.library.drafts import draft

NAME = "enhancement_sdxl_sfw"


@pytest.fixture
def store(db: Database) -> TemplateStore:
    """The templates of an empty library."""
    return TemplateStore(db)


def test_a_version_comes_back_as_it_was_written(store: TemplateStore) -> None:
    """Everything of a version survives the database, its hash included."""
    made = store.create(
        draft(
            partials=(("header", 2),),
            extends=("base", 1),
            metadata=FrozenDict({"ratio": 1.5, "großes": ("ü", None, 10**17)}),
            provider="openrouter",
            max_output_tokens=90,
            syntax="liquid",
            note="first",
            author="ann",
        )
    )
    assert made.version == 1
    assert made.content_sha256
    assert store.get(NAME) == made


def test_versions_are_numbered_and_kept(store: TemplateStore) -> None:
    """A new version leaves the earlier ones as they were."""
    first = store.create(draft())
    second = store.add_version(draft(text="Better {{subject}}.", description="told anew"))
    assert [version.version for version in store.versions(NAME)] == [1, 2]
    assert store.get(NAME, version=1) == first
    assert store.get(NAME) == store.get(NAME, label="latest") == second
    assert store.list()[0].description == "told anew"


def test_labels_move_and_history_tells(store: TemplateStore, db: Database) -> None:
    """Publishing, rolling back and withdrawing are three events with who and why, and three audit events."""
    store.create(draft())
    store.add_version(draft(text="Better."))
    store.move_label(NAME, PRODUCTION, 2, who="ann", why="better")
    store.move_label(NAME, PRODUCTION, 1, who="bob", why="worse after all")
    store.remove_label(NAME, PRODUCTION, who="ann")
    told = [(event.from_version, event.to_version, event.who, event.why) for event in store.history(NAME)]
    assert told == [(None, 2, "ann", "better"), (2, 1, "bob", "worse after all"), (1, None, "ann", "")]
    assert store.labels(NAME) == {}
    audited = AuditStore(db).newest(action="label.move")
    assert [(event.actor, event.before, event.after) for event in audited] == [
        ("ann", {"label": "production", "version": 1}, None),
        ("bob", {"label": "production", "version": 2}, {"label": "production", "version": 1}),
        ("ann", None, {"label": "production", "version": 2}),
    ]


def test_publish_is_one_step(store: TemplateStore) -> None:
    """A draft becomes a version and gets the label; where validation fails, neither happens."""

    def refuse(version: Any) -> None:
        raise FieldError(f"not version {version.version}")

    assert store.publish(draft()).version == 1
    assert store.publish(draft(text="Better."), label=STAGING, who="ann").version == 2
    with pytest.raises(FieldError, match="not version 3"):
        store.publish(draft(text="Worse."), validate=refuse)
    assert store.labels(NAME) == {PRODUCTION: 1, STAGING: 2}
    assert store.get(NAME).version == 2


def test_a_new_template_that_fails_validation_is_not_there(store: TemplateStore) -> None:
    """A publish that fails leaves no template without a label behind."""

    def refuse(_: Any) -> None:
        raise FieldError("no")

    with pytest.raises(FieldError):
        store.publish(draft(), validate=refuse)
    assert store.list() == ()


@dataclass(frozen=True)
class Refusal:
    id: str
    do: Callable[[TemplateStore], object]
    error: type[InnkeeperError]
    says: str


REFUSALS = [
    Refusal("name taken", lambda store: store.create(draft()), AlreadyExistsError, "already"),
    Refusal("blank name", lambda store: store.create(draft(" ")), FieldError, "cannot be the name"),
    Refusal("name with a line break", lambda store: store.create(draft("a\nb")), FieldError, "cannot be the name"),
    Refusal("long name", lambda store: store.create(draft("x" * 201)), FieldError, "cannot be the name"),
    Refusal("NUL in the text", lambda store: store.create(draft("b", "a\0b")), FieldError, "NUL"),
    Refusal("half a character", lambda store: store.create(draft("b", "a\ud800")), FieldError, "surrogate"),
    Refusal("number too large", lambda store: store.create(draft("b", token_limit=2**31)), FieldError, "out of range"),
    Refusal("number too wide", lambda store: store.create(draft("b", token_limit=2**80)), FieldError, "out of range"),
    Refusal("version of nothing", lambda store: store.add_version(draft("b")), NotFoundError, "no template 'b'"),
    Refusal("old base", lambda store: store.add_version(draft(), base=7), ConflictError, "is 1, not 7"),
    Refusal("label of nothing", lambda store: store.move_label("b", "draft", 1), NotFoundError, "no template"),
    Refusal("label of no version", lambda store: store.move_label(NAME, "draft", 2), NotFoundError, "version 2"),
    Refusal("label latest", lambda store: store.move_label(NAME, "latest", 1), UsageError, "cannot be moved"),
    Refusal("label in capitals", lambda store: store.move_label(NAME, "Draft", 1), UsageError, "cannot be a label"),
    Refusal("label not held", lambda store: store.remove_label(NAME, "draft"), NotFoundError, "does not hold"),
    Refusal("get by label", lambda store: store.get(NAME, label="draft"), NotFoundError, "does not hold"),
    Refusal("get by label of nothing", lambda store: store.get("b", label="draft"), NotFoundError, "'b'"),
    Refusal("get of nothing", lambda store: store.get("b"), NotFoundError, "no template 'b'"),
    Refusal("get by number", lambda store: store.get(NAME, version=9), NotFoundError, "no version 9"),
    Refusal("get by a huge number", lambda store: store.get(NAME, version=2**70), NotFoundError, "no version"),
    Refusal("list by nonsense", lambda store: store.list(colour="red"), UsageError, "not listed by 'colour'"),
    Refusal("describe nothing", lambda store: store.describe("b", "x"), NotFoundError, "no template 'b'"),
]


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case.id)
def test_refused(common_db: Database, case: Refusal) -> None:
    """What cannot be is refused with its reason, and changes nothing."""
    db, store = common_db, TemplateStore(common_db)
    if not store.list():
        store.create(draft())
    before = (store.list(), store.history(NAME), db.revision())
    with pytest.raises(case.error, match=case.says):
        case.do(store)
    assert (store.list(), store.history(NAME), db.revision()) == before


def test_ambiguity_cannot_be_stored(store: TemplateStore) -> None:
    """Two templates with the same key cannot hold the same label, but another label, tier or key is no matter."""
    store.publish(draft())
    store.create(draft("second"))
    with pytest.raises(AlreadyExistsError, match="'second' and 'enhancement_sdxl_sfw' have the same key"):
        store.move_label("second", PRODUCTION, 1)
    store.move_label("second", STAGING, 1)
    store.publish(draft("third", content_mode="nsfw"))
    store.publish(draft("fourth", enhancer_model="qwen_instruct"))
    assert store.labels("second") == {STAGING: 1}


def test_partials_may_share_a_key(store: TemplateStore) -> None:
    """Partials are found by name, so any number of them holds a label."""
    for name in ("header", "footer"):
        store.publish(draft(name, use_case=PARTIAL, job_type=None, target_model=None))
    assert [row.version.name for row in sorted(store.all_labelled(), key=lambda row: row.version.name)] == [
        "footer",
        "header",
    ]


def test_the_same_key_again_after_the_label_is_gone(store: TemplateStore) -> None:
    """A label that was taken off one template is free for another with its key."""
    store.publish(draft())
    store.create(draft("second"))
    store.remove_label(NAME, PRODUCTION)
    assert store.move_label("second", PRODUCTION, 1).to_version == 1


def test_list_filters(store: TemplateStore) -> None:
    """Templates are listed by name, by what their shown version is for, by label and by a part of their name."""
    store.publish(draft("b"))
    store.create(draft("a_100%", target_model="wan", job_type="video"))
    store.create(draft("c", use_case="chat", provider="local"))

    def names(**where: Any) -> list[str]:
        return [entry.name for entry in store.list(**where)]

    assert names() == ["a_100%", "b", "c"]
    assert names(use_case="enhancement") == ["a_100%", "b"]
    assert names(target_model="wan") == ["a_100%"]
    assert names(provider="local") == ["c"]
    assert names(label=PRODUCTION) == ["b"]
    assert names(contains="100%") == ["a_100%"]
    assert names(contains="_") == ["a_100%"]


def test_the_list_shows_the_published_version(store: TemplateStore) -> None:
    """What the list shows of a template is what requests get, not its newest draft."""
    store.publish(draft())
    store.add_version(draft(text="Newer."))
    entry = store.list()[0]
    assert (entry.latest_version, entry.shown.version, entry.labels) == (2, 1, {PRODUCTION: 1})


def test_rows_for_a_request(store: TemplateStore) -> None:
    """A look into the index finds the rows of the target, its family and every target, in all tiers, and no others."""
    store.publish(draft("own", target_model="maker/sdxl-x"))
    store.publish(draft("family"))
    store.publish(draft("universal", target_model=None))
    store.publish(draft("adult", content_mode="nsfw"))
    store.publish(draft("other", target_model="wan"))
    store.publish(draft("elsewhere", use_case="chat"))
    store.publish(draft("staged", job_type="video"), label=STAGING)
    request = ResolveRequest(
        use_case="enhancement", job_type="image", target_model="maker/sdxl-x", target_family="sdxl"
    )
    found = {row.version.name for row in store.rows_for(request)}
    assert found == {"own", "family", "universal", "adult"}
    fewer = ResolveRequest(use_case="enhancement", target_model="maker/sdxl-x")
    assert {row.version.name for row in store.rows_for(fewer)} == {"own", "universal"}
    assert {row.version.name for row in store.rows_for(fewer, families=["sdxl", None])} == found


def test_pinned_versions_with_what_they_pin(store: TemplateStore) -> None:
    """Versions are found by name and number with all that they include or extend; what is missing is left out."""
    store.create(draft("leaf", use_case=PARTIAL))
    store.create(draft("middle", use_case=PARTIAL, partials=(("leaf", 1), ("gone", 3))))
    store.create(draft("base", extends=("middle", 1)))
    assert [version.ref for version in store.pinned([("base", 1)])] == [("base", 1), ("leaf", 1), ("middle", 1)]
    assert store.pinned([]) == ()


def test_a_changed_row_is_found_out(store: TemplateStore, db: Database) -> None:
    """A version whose bytes were changed behind the triggers is refused, not served."""
    store.create(draft())
    with db.transaction() as connection:
        if db.dialect == "sqlite":
            connection.exec_driver_sql("DROP TRIGGER keep_template_versions_update")
        else:
            connection.exec_driver_sql("DROP TRIGGER keep_template_versions ON template_versions")
        connection.exec_driver_sql("UPDATE template_versions SET system_prompt = 'other'")
    with pytest.raises(DatabaseCorruptError, match="not what its checksum says"):
        store.get(NAME)


def test_a_row_that_cannot_be_read(store: TemplateStore, db: Database) -> None:
    """A version that SQL wrote with a wrong shape is an error that names it."""
    with db.transaction() as connection:
        connection.exec_driver_sql("INSERT INTO templates (id, name, latest_version) VALUES ('t', 'odd', 1)")
        connection.exec_driver_sql(
            "INSERT INTO template_versions (template_id, version, use_case, system_prompt, variables) "
            "VALUES ('t', 1, 'chat', 'x', '{\"a\": 1}')"
        )
    with pytest.raises(DatabaseCorruptError, match="odd@1: a template version cannot be read"):
        store.get("odd")


def test_a_clock_that_was_set_back_changes_no_order(store: TemplateStore, db: Database) -> None:
    """History and versions are ordered by counters: an earlier date on a later event is only a date."""
    store.publish(draft())
    db.outside.moment = db.outside.moment.replace(year=2020)  # type: ignore[attr-defined]
    store.publish(draft(text="Better."))
    events = store.history(NAME)
    assert [event.to_version for event in events] == [1, 2]
    assert events[0].at > events[1].at
    assert store.get(NAME, label=PRODUCTION).version == 2


def test_pages(db: Database) -> None:
    """Pages of a list follow one another without a gap, whatever is filtered, each no longer than asked for."""
    store = TemplateStore(db)
    names = [f"t{number:03}" for number in range(23)]
    for number, name in enumerate(reversed(names)):
        store.create(draft(name, f"Text {number}.", job_type=str(number), variables=()))
        if number % 2:
            store.move_label(name, PRODUCTION, 1)
    assert list(store.names()) == names
    filters: tuple[dict[str, Any], ...] = ({}, {"label": PRODUCTION})
    for where in filters:
        whole, paged, after = [one.name for one in store.list(**where)], list[str](), ""
        while page := store.list(limit=5, after=after, **where):
            assert len(page) <= 5
            paged += [one.name for one in page]
            after = paged[-1]
        assert paged == whole
    assert all(one.labels == {PRODUCTION: 1} for one in store.list(limit=3, label=PRODUCTION))


@pytest.mark.parametrize(
    ("search", "found"), [("LANTERN", ["a", "b", "c"]), ("100%", ["b"]), ("_", []), ("brass L", ["b"])]
)
def test_search(db: Database, search: str, found: list[str]) -> None:
    """What is searched for is found in names, descriptions and texts, in whatever case; signs of SQL are plain signs."""
    store = TemplateStore(db)
    store.create(draft("a", "A lantern.", job_type="1", variables=()))
    store.create(draft("b", "x", job_type="2", variables=(), description="A brass lantern, 100% of it"))
    store.create(draft("c", "y", job_type="3", variables=(), description="lanterns"))
    assert [one.name for one in store.list(search=search)] == found


def test_only_what_is_new_is_read(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions that are known by name, number and content are not read again; others are, whatever their number."""
    store = TemplateStore(db)
    for name in ("a", "b", "c"):
        store.publish(draft(name, job_type=name))
    before = store.all_labelled()
    assert store.labelled_after(before) == before
    store.publish(draft("b", "Other {{subject}}.", job_type="b"))
    read: list[str] = []
    opened = rows.VersionRow.opened

    def noted(row: rows.VersionRow) -> Any:
        read.append(row.name)
        return opened(row)

    monkeypatch.setattr(rows.VersionRow, "opened", noted)
    after = store.labelled_after(before)
    assert read == ["b"]
    assert {row.version.ref for row in after} == {("a", 1), ("b", 2), ("c", 1)}
    read.clear()
    changed = [Labelled(row.label, msgspec.structs.replace(row.version, content_sha256="0" * 64)) for row in after]
    assert {row.version for row in store.labelled_after(changed)} == {row.version for row in after}
    assert sorted(read) == ["a", "b", "c"]


def test_who_is_in_the_way_is_found_by_the_index(db: Database) -> None:
    """The holder of the same key under a label is found without a look at any other."""
    store = TemplateStore(db)
    store.publish(draft("a"))
    other = store.create(draft("b"))
    assert [row.version.name for row in store.holders(other, PRODUCTION)] == ["a"]
    assert store.holders(other, "staging") == ()
    assert store.holders(store.get("a"), PRODUCTION) == ()


def test_others_wait_for_few_statements(store: TemplateStore, db: Database) -> None:
    """A label is moved in four statements once others are made to wait; the version is read and checked before."""
    store.create(draft())
    said: list[str] = []

    @event.listens_for(db.engine, "before_cursor_execute")
    def count(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        said.append(statement.split(maxsplit=1)[0] + (" to wait" if "FOR UPDATE" in statement else ""))

    store.move_label(NAME, PRODUCTION, 1, validate=lambda _version: said.append("checked"))
    waiting = ["SELECT to wait"] if db.dialect == "postgresql" else []
    assert said[said.index("checked") + 1 :] == [*waiting, "SELECT", "INSERT", "INSERT", "INSERT"]
    said.clear()
    store.publish(draft(text="Better {{subject}}."), label=STAGING)
    assert said.count("SELECT to wait") == len(waiting)


def test_publishers_wait_again_where_a_savepoint_is_undone(db: Database) -> None:
    """A lock that was taken behind a savepoint goes with it, so it is asked for anew."""
    said: list[str] = []

    @event.listens_for(db.engine, "before_cursor_execute")
    def count(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        said.append(statement)

    with db.transaction():
        with pytest.raises(KeyError), db.publishing():
            raise KeyError
        with db.publishing():
            pass
    assert sum("FOR UPDATE" in statement for statement in said) == (2 if db.dialect == "postgresql" else 0)
