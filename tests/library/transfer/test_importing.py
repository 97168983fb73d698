"""Imports: exports come in to the same bytes, all or nothing, and errors say at which line."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.library.db.engine import Database
from innkeeper.library.db.queries import query
from innkeeper.library.db.rows import AuditStore
from innkeeper.library.errors import AlreadyExistsError, ConflictError, FieldError, TransferError
from innkeeper.library.models.stores import ModelStore, ProviderStore, RoutePolicyStore
from innkeeper.library.templates.store import TemplateStore
from innkeeper.library.transfer.exporting import export_library
from innkeeper.library.transfer.format import Transfer, dumps, parse, typed
from innkeeper.library.transfer.importing import import_library, items_of
from innkeeper.prompt.errors import InnkeeperError, InputError, LimitError, UsageError, Where
from tests.library.conftest import Fresh
from tests.library.drafts import draft
from tests.library.filled import fill

EMPTY = {"format": "innkeeper-library", "schema": 1}


def version(number: int = 1, **fields: Any) -> dict[str, Any]:
    """A version as it stands in a file."""
    return {"version": number, "use_case": "chat", "system_prompt": "Hi.", **fields}


def one(name: str = "a", *versions: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A template as it stands in a file."""
    return {"name": name, "versions": list(versions) or [version()], **fields}


def taken_in(db: Database, asset: str = "file.json", **parts: Any) -> Any:
    """Import a file with these parts."""
    return import_library(db, parse(json.dumps({**EMPTY, **parts}, indent=1).encode(), asset=asset))


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_there_and_back(db: Database, fresh: Fresh, form: str) -> None:
    """What was exported and imported exports to the same bytes; importing it again changes nothing."""
    data = dumps(export_library(fill(db)), form)
    with Database.open(fresh()) as again:
        done = import_library(again, parse(data, asset="a"), who="ann")
        assert (done.templates, done.versions, done.labels) == (2, 3, 3)
        second = export_library(again)
        assert [template.labels for template in second.templates] == [
            {"production": 1, "staging": 2},
            {"production": 1},
        ]
        assert dumps(second, form) == data
        assert [(event.who, event.why) for event in TemplateStore(again).history("header")] == [("ann", "import")]
        assert RoutePolicyStore(again).list()[0].attempts == 6
        assert ModelStore(again).defaults() == {"roleplay": "maker/one"}
        repeated = import_library(again, parse(data, asset="a"))
        assert (repeated.templates, repeated.versions, repeated.labels, repeated.rows) == (0, 0, 0, 0)
        assert repeated.unchanged > 0


def test_no_secrets_and_no_people(db: Database) -> None:
    """An export holds neither secrets nor what people said."""
    data = dumps(export_library(fill(db)))
    assert set(json.loads(data)) == {
        "format", "schema", "templates", "negative_prompts", "providers", "models", "tools", "route_policies",
        "tier_policies", "detection_lists", "settings",
    }  # fmt: skip
    assert b"Wren" not in data
    assert b"Hello" not in data


def test_both_databases_export_the_same(db: Database, tmp_path: Path, empty_file: bytes) -> None:
    """An export of a library that was imported into SQLite is that of the one it came from, whatever that was."""
    data = dumps(export_library(fill(db)))
    path = tmp_path / "copy.db"
    path.write_bytes(empty_file)
    with Database.open(path) as copy:
        import_library(copy, parse(data, asset="a"))
        assert dumps(export_library(copy)) == data


def test_versions_that_sql_made(db: Database) -> None:
    """A version without a hash of its own is exported with one, and compared by it."""
    TemplateStore(db).publish(draft())
    with db.transaction() as connection:
        connection.exec_driver_sql("UPDATE prompt_templates SET system_prompt = 'By hand.'")
    data = dumps(export_library(db))
    assert import_library(db, parse(data, asset="a")).unchanged == 1
    changed = data.replace(b"By hand.", b"By foot.")
    with pytest.raises(TransferError, match="content_sha256"):
        import_library(db, parse(changed, asset="a"))


def test_new_versions_and_moved_labels(db: Database) -> None:
    """A file may add versions, move labels and let two templates change places."""
    taken_in(
        db, templates=[one("a", labels={"production": 1}), one("b", version(job_type="x"), labels={"production": 1})]
    )
    both = [
        one("a", version(), version(2, job_type="x"), labels={"production": 2}, description="told"),
        one("b", version(job_type="x"), version(2), labels={"production": 2}),
    ]
    done = taken_in(db, templates=both)
    assert (done.templates, done.versions, done.labels) == (0, 2, 2)
    store = TemplateStore(db)
    assert [(entry.name, entry.labels, entry.latest_version) for entry in store.list()] == [
        ("a", {"production": 2}, 2),
        ("b", {"production": 2}, 2),
    ]
    assert store.list()[0].description == "told"


def test_dry_run(db: Database) -> None:
    """A dry run tells what would happen, and nothing has."""
    parsed = parse(json.dumps({**EMPTY, "templates": [one()]}).encode(), asset="a")
    before = db.revision()
    done = import_library(db, parsed, dry_run=True)
    assert (done.templates, done.dry_run) == (1, True)
    assert (TemplateStore(db).list(), AuditStore(db).newest(), db.revision()) == ((), (), before)


def test_progress_counts_every_item(db: Database, fresh: Fresh) -> None:
    """What the progress is told adds up to the number of items."""
    parsed = parse(dumps(export_library(fill(db))), asset="a")
    told: list[int] = []
    with Database.open(fresh()) as again:
        import_library(again, parsed, progress=told.append)
    assert sum(told) == items_of(parsed)


@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=pytest.mark.endurance)])
def test_thousands_of_templates(db: Database, count: int) -> None:
    """Thousands of templates come in with one import, and a request still finds its row through the index."""
    many = [one(f"t{n:05}", version(target_model=f"maker/{n}"), labels={"production": 1}) for n in range(count)]
    assert taken_in(db, templates=many).labels == count
    assert query(db, "SELECT count(*) FROM prompt_templates WHERE is_active").rows == ((count,),)
    with db.reading() as connection:
        plan = "EXPLAIN QUERY PLAN" if db.dialect == "sqlite" else "EXPLAIN"
        text = "SELECT * FROM template_labels WHERE label = 'production' AND use_case = 'chat' AND target_model = 'maker/7'"
        told = " ".join(str(row) for row in connection.exec_driver_sql(f"{plan} {text}"))
    assert "SEARCH" in told if db.dialect == "sqlite" else "Index Scan" in told


# ------------------------------------------------------------------------------------------------------ what is wrong with it


@dataclass(frozen=True)
class Wrong:
    id: str
    parts: dict[str, Any]
    error: type[InnkeeperError]
    says: str
    path: str


A = {"name": "a", "versions": [version()]}
WRONG = [
    Wrong("text for a list", {"templates": "x"}, TransferError, "must be a list", "templates"),
    Wrong("no name", {"templates": [{"versions": [version()]}]}, TransferError, "missing", "templates[0]"),
    Wrong(
        "unknown field", {"templates": [A, {**A, "colour": 1}]}, TransferError, "unknown field", "templates[1].colour"
    ),
    Wrong(
        "no prompt",
        {"templates": [one("a", {"version": 1, "use_case": "x"})]},
        TransferError,
        "missing",
        "templates[0].versions[0]",
    ),
    Wrong(
        "number for text",
        {"templates": [one("a", version(system_prompt=1))]},
        TransferError,
        "must be text",
        "templates[0].versions[0].system_prompt",
    ),
    Wrong(
        "tier",
        {"templates": [one("a", version(content_mode="x"))]},
        TransferError,
        "cannot be 'x'",
        "templates[0].versions[0].content_mode",
    ),
    Wrong(
        "label's version",
        {"templates": [one(labels={"x": "y"})]},
        TransferError,
        "must be a whole number",
        "templates[0].labels",
    ),
    Wrong(
        "label of no version",
        {"templates": [one(labels={"x": 3})]},
        TransferError,
        "version 3",
        "templates[0].labels.x",
    ),
    Wrong(
        "label in capitals",
        {"templates": [one(labels={"X": 1})]},
        UsageError,
        "cannot be a label",
        "templates[0].labels.X",
    ),
    Wrong("twice", {"templates": [one(), one()]}, TransferError, "twice", "templates[1].name"),
    Wrong(
        "no versions",
        {"templates": [{"name": "a", "versions": []}]},
        TransferError,
        "without a version",
        "templates[0]",
    ),
    Wrong(
        "versions out of order",
        {"templates": [one("a", version(2), version(1))]},
        TransferError,
        "does not come after",
        "templates[0].versions[1]",
    ),
    Wrong(
        "version zero",
        {"templates": [one("a", version(0))]},
        TransferError,
        "does not come after",
        "templates[0].versions[0]",
    ),
    Wrong(
        "wrong hash",
        {"templates": [one("a", version(content_sha256="x"))]},
        TransferError,
        "content_sha256",
        "templates[0].versions[0]",
    ),
    Wrong("NUL", {"templates": [one("a", version(system_prompt="\0"))]}, FieldError, "NUL", "templates[0].versions[0]"),
    Wrong(
        "huge number",
        {"templates": [one("a", version(token_limit=2**40))]},
        FieldError,
        "out of range",
        "templates[0].versions[0]",
    ),
    Wrong("name", {"templates": [one(" ")]}, FieldError, "cannot be the name", "templates[0].name"),
    Wrong(
        "two answers",
        {"templates": [one("a", labels={"x": 1}), one("b", labels={"x": 1})]},
        AlreadyExistsError,
        "another template",
        "templates[1].labels.x",
    ),
    Wrong(
        "other content",
        {"templates": [one("there", version(system_prompt="Other."))]},
        ConflictError,
        "another content",
        "templates[0].versions[0]",
    ),
    Wrong(
        "answer that is there",
        {"templates": [one("b", labels={"production": 1})]},
        AlreadyExistsError,
        "another template",
        "templates[0].labels.production",
    ),
    Wrong(
        "provider",
        {"models": [{"model_key": "m", "provider": "x", "modality": "chat"}]},
        TransferError,
        "no provider 'x'",
        "models[0]",
    ),
    Wrong(
        "task",
        {
            "providers": [{"name": "p"}],
            "models": [{"model_key": "m", "provider": "p", "modality": "chat", "default_for_tasks": ["t2i"]}],
        },
        FieldError,
        "does not do",
        "models[0]",
    ),
    Wrong("column", {"tools": [{"name": "t", "colour": 1}]}, UsageError, "no column", "tools[0]"),
    Wrong("no key", {"tools": [{}]}, TransferError, "name is needed", "tools[0]"),
    Wrong(
        "negative",
        {"negative_prompts": [{"model_type": "sdxl"}]},
        FieldError,
        "negative_prompt is needed",
        "negative_prompts[0]",
    ),
    Wrong(
        "refused by the database",
        {"negative_prompts": [{"model_type": "s", "negative_prompt": "x", "generation_mode": "y"}]},
        FieldError,
        "generation_mode",
        "negative_prompts[0]",
    ),
    Wrong(
        "document",
        {"tier_policies": [{"name": "p", "version": 3, "body": 1}]},
        TransferError,
        "does not come after",
        "tier_policies[0]",
    ),
    Wrong(
        "other body",
        {"detection_lists": [{"name": "p", "version": 1, "body": 1}, {"name": "p", "version": 1, "body": 2}]},
        InnkeeperError,
        "p",
        "detection_lists[1]",
    ),
    Wrong("setting", {"settings": {"a": None}}, FieldError, "value is needed", "settings.a"),
]


@pytest.mark.parametrize("form", ["json", "yaml"])
@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.id)
def test_wrong_files_say_where(common_db: Database, case: Wrong, form: str) -> None:
    """Each thing that can be wrong has its error, path, line and column in the file, and nothing was imported."""
    db = common_db
    if not TemplateStore(db).list():
        TemplateStore(db).publish(
            draft("there", use_case="chat", job_type=None, target_model=None, text="Hi.", variables=())
        )
    good = {"tools": [{"name": "good"}]} if "tools" not in case.parts else {"settings": {"good": 1}}
    tree = {**EMPTY, **good, **case.parts}
    if form == "json":
        data = json.dumps(tree, indent=1).encode()
    else:
        import yaml

        data = yaml.safe_dump(json.loads(json.dumps(tree))).encode()
    before = dumps(export_library(db)), db.revision()
    with pytest.raises(case.error, match=case.says) as caught:
        import_library(db, parse(data, asset="file", form=form))
    where = caught.value.where
    assert where is not None
    assert (where.asset, where.path) == ("file", case.path)
    assert where.line is not None
    assert where.line > 1
    assert where.column is not None
    assert (dumps(export_library(db)), db.revision()) == before


@pytest.mark.parametrize(
    ("data", "error", "says", "line"),
    [
        (b'{"format": "innkeeper-library",\n "schema": 1,}', TransferError, "JSON", 2),
        (b"{", TransferError, "JSON", 1),
        (b'{"schema": 1, "schema": 1}', TransferError, "more than once", None),
        (b"format: innkeeper-library\nschema: 1\nschema: 1", TransferError, "twice", 3),
        (b"[]", TransferError, "no export", 1),
        (b"", TransferError, "no export", 1),
        (b'{"format": "other"}', TransferError, "no export", 1),
        (b"format: innkeeper-library\nschema: [", TransferError, "not YAML", None),
        (b"\xff\xfe\n", TransferError, "not UTF-8", 1),
        (b'{"a": "x"}\n\xff', TransferError, "not UTF-8", 2),
        (b'{"format": "innkeeper-library", "schema": 99}', TransferError, "version 99", None),
        (b'{"x": ' + b"[" * 5_000 + b"]" * 5_000 + b"}", InputError, "nest", None),
    ],
)
def test_files_that_are_no_export(data: bytes, error: type[InnkeeperError], says: str, line: int | None) -> None:
    """Broken text and other files are refused before the library is looked at, with their line."""
    with pytest.raises(error, match=says) as caught:
        parse(data, asset="file")
    where = caught.value.where
    assert where is not None
    assert where.asset == "file"
    assert line is None or where.line == line


def test_size_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file beyond the limit is refused unread."""
    monkeypatch.setattr("innkeeper.library.transfer.format.MAX_TRANSFER_BYTES", 10)
    with pytest.raises(LimitError, match="MAX_TRANSFER_BYTES"):
        parse(b"{" + b" " * 20 + b"}", asset="a")


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """No file takes the reader down."""
    try:
        parse(data, asset="a")
    except InputError as error:
        assert error.where is not None  # noqa: PT017 - an error is the usual outcome


def test_unknown_form(db: Database) -> None:
    """Other forms are not written."""
    with pytest.raises(UsageError, match="'toml'"):
        dumps(export_library(db), "toml")


def test_a_version_before_the_latest(db: Database) -> None:
    """A version that would come between those that are there is refused."""
    taken_in(db, templates=[one("a", version(5))])
    with pytest.raises(ConflictError, match="before the latest, 5"):
        taken_in(db, templates=[one("a", version(3), version(5))])


def test_a_provider_that_is_there(db: Database) -> None:
    """Rows that differ are changed in what the file says, and keep what it does not."""
    ProviderStore(db).add({"name": "p", "display_name": "P", "base_url": "http://127.0.0.1"})
    assert taken_in(db, providers=[{"name": "p", "display_name": "Q"}]).rows == 1
    row = ProviderStore(db).get("p")
    assert (row.display_name, row.base_url) == ("Q", "http://127.0.0.1")


def test_another_body_of_a_document(db: Database) -> None:
    """A version of a policy that is there with another body is refused."""
    policy = {"name": "p", "version": 1, "body": {"a": 1}}
    assert taken_in(db, tier_policies=[policy]).rows == 1
    with pytest.raises(ConflictError, match="another body"):
        taken_in(db, tier_policies=[{**policy, "body": {"a": 2}}])


def test_a_key_that_is_no_text() -> None:
    """A key is refused at the object that has it."""
    tree = {**EMPTY, "settings": {1: 2}}
    with pytest.raises(TransferError) as caught:
        typed(tree, lambda path: Where(path=repr(path)), Transfer)
    assert caught.value.where == Where(path="('settings',)")
