"""Many writers at once, threads and processes, on both databases: nothing is lost, nothing is made twice."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from textwrap import indent

import pytest

from innkeeper.library.db.engine import Database
from innkeeper.library.db.owner import Owner
from innkeeper.library.db.queries import query
from innkeeper.library.errors import ConflictError
from innkeeper.library.log.conversations import ConversationStore
from innkeeper.library.log.logs import LogStore
from innkeeper.library.log.memories import MemoryStore
from innkeeper.library.models.stores import ProviderStore
from innkeeper.library.templates.store import TemplateStore
from tests import shared
from tests.library.drafts import draft

THREADS = 6
TIMES = 8


def together(work: Callable[[int], object]) -> None:
    """Run ``work`` in several threads at once, and raise what the first that failed raised."""
    failed: list[BaseException] = []
    start = threading.Barrier(THREADS)

    def run(number: int) -> None:
        try:
            start.wait(120)
            work(number)
        except BaseException as error:  # noqa: BLE001 - shown by the test
            failed.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def test_publish_against_publish_against_log(db: Database) -> None:
    """Threads publish versions of one template while others log: every version, event and row is there."""
    store, logs = TemplateStore(db), LogStore(db)

    def work(number: int) -> None:
        for turn in range(TIMES):
            mark = f"{number}.{turn}"
            if number % 2:
                logs.add({"request_id": mark})
            else:
                store.publish(draft(text=mark), who=mark)

    together(work)
    versions, events = store.versions(draft().name), store.history(draft().name)
    marks = {f"{number}.{turn}" for number in range(0, THREADS, 2) for turn in range(TIMES)}
    assert {version.system_prompt for version in versions} == marks
    assert [version.version for version in versions] == list(range(1, len(marks) + 1))
    assert [event.to_version for event in events] == [version.version for version in versions]
    assert len(logs.newest(1_000)) == THREADS // 2 * TIMES


def test_different_templates_at_once(db: Database) -> None:
    """Publishing several templates in opposite orders ends, with all of them published (no deadlock)."""
    store = TemplateStore(db)

    def work(number: int) -> None:
        names = [f"t{n}" for n in range(4)]
        with db.publishing():
            for name in names if number % 2 else reversed(names):
                store.publish(draft(name, job_type=name))

    together(work)
    assert [entry.latest_version for entry in store.list()] == [THREADS] * 4


def test_sql_against_the_store(db: Database) -> None:
    """UPDATEs of the view and publishes of the store wait for one another; a statement that came too late says so."""
    store, refused = TemplateStore(db), []
    store.publish(draft())

    def work(number: int) -> None:
        for turn in range(TIMES):
            if number % 2:
                store.publish(draft(text=f"{number}.{turn}"))
                continue
            try:
                with db.transaction() as connection:
                    connection.exec_driver_sql(f"UPDATE prompt_templates SET system_prompt = '{number}.{turn}'")
            except ConflictError:
                refused.append(f"{number}.{turn}")

    together(work)
    texts = {version.system_prompt for version in store.versions(draft().name)}
    assert texts | set(refused) >= {f"{number}.{turn}" for number in range(THREADS) for turn in range(TIMES)}
    assert not texts & set(refused)


def test_different_columns_of_one_row(db: Database) -> None:
    """Those who change different columns of a row all have their way."""
    store = ProviderStore(db)
    store.add({"name": "local"})
    columns = ["display_name", "base_url", "docs_url", "auth_scheme", "secret_name", "auth_header_name"]

    def work(number: int) -> None:
        for turn in range(TIMES):
            store.update("local", {columns[number]: f"http://local/{number}.{turn}"})

    together(work)
    row = store.get("local")
    assert [getattr(row, column) for column in columns] == [
        f"http://local/{number}.{TIMES - 1}" for number in range(THREADS)
    ]


def test_messages_are_numbered_without_holes(db: Database) -> None:
    """Messages that are sent at once, some of them twice, get one number each."""
    store = ConversationStore(db)
    here = store.create({}).id

    def work(number: int) -> None:
        for turn in range(TIMES):
            store.append(here, "user", f"{number // 2}.{turn}", client_msg_id=f"{number // 2}.{turn}")

    together(work)
    found = store.newest(here, 1_000)
    assert [message.seq for message in found] == list(range(1, THREADS // 2 * TIMES + 1))


def test_only_one_answers(db: Database) -> None:
    """Of several that publish templates with the same key at once, one gets the label and the others are told."""
    store, failed = TemplateStore(db), []

    def work(number: int) -> None:
        try:
            store.publish(draft(f"t{number}"))
        except Exception as error:  # noqa: BLE001 - its kind is what is looked at
            failed.append(type(error).__name__)

    together(work)
    assert failed == ["AlreadyExistsError"] * (THREADS - 1)
    assert len(store.all_labelled()) == len(store.list()) == 1


def test_one_conversation_and_one_answer(db: Database) -> None:
    """Threads that begin one conversation, and answer one message in it, get one of each."""
    store, made, answers = ConversationStore(db, owner=Owner("ann")), set(), set()
    said = store.append(store.create({"id": "talk"}).id, "user", "Hello")

    def work(number: int) -> None:
        made.add(store.create({"id": "new", "title": str(number)}).title)
        answers.add(store.append("talk", "assistant", f"Answer {number}", reply_to=said.id).content)

    together(work)
    assert (len(made), len(answers)) == (1, 1)
    assert len(store.newest("talk")) == 2


FORKED = """
import os, sys, traceback
{imports}
def work(url, mine):
{work}
made = []
for number in range(int(sys.argv[2])):
    made.append(os.fork())
    if not made[-1]:
        try:
            work(sys.argv[1], str(number))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
sys.exit(sum(os.waitpid(child, 0)[1] for child in made) != 0)
"""
"""A process that has imported what is needed, and copies of it that work at once."""


def processes(imports: str, work: str, url: str, number: int) -> None:
    """Run ``work`` (of ``url`` and ``mine``, its number) in so many processes at once."""
    program = FORKED.format(imports=imports, work=indent(work, "    "))
    subprocess.run([sys.executable, "-c", program, url, str(number)], cwd=shared.ROOT, check=True, timeout=120)


needs_copies = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not copied there")

PUBLISHING = """
from innkeeper.library.db.engine import Database
from innkeeper.library.log.logs import LogStore
from innkeeper.library.templates.store import TemplateStore
from tests.library.drafts import draft
"""
PUBLISH = """
with Database.open(url) as db:
    for turn in range(15):
        mark = f"{mine}.{turn}"
        TemplateStore(db).publish(draft(text=mark), who=mark)
        LogStore(db).add({"request_id": mark})
"""


@needs_copies
@pytest.mark.slow
def test_processes(url: str) -> None:
    """Processes publish and log at once: nothing is lost, and versions, events and audit events agree."""
    processes(PUBLISHING, PUBLISH, url, 4)
    with Database.open(url) as db:
        versions, events = TemplateStore(db).versions(draft().name), TemplateStore(db).history(draft().name)
        assert {version.system_prompt for version in versions} == {
            f"{n}.{turn}" for n in range(4) for turn in range(15)
        }
        assert [event.to_version for event in events] == list(range(1, 61))
        assert query(db, "SELECT count(*) FROM enhancement_logs").rows == ((60,),)
        assert query(db, "SELECT count(*) FROM audit_events").rows == ((60,),)


TALKING = """
from innkeeper.library.db.engine import Database
from innkeeper.library.db.owner import Owner
from innkeeper.library.log.conversations import ConversationStore
from innkeeper.library.log.memories import MemoryStore
from innkeeper.library.memory import NewMemory
from innkeeper.gate.gate import TextKind, TierGate
TierGate.of().check({TextKind.USER_TEXT: "A map."})  # what facts are judged by is made once
"""
TALK = """
with Database.open(url) as db:
    store = ConversationStore(db, owner=Owner("ann"))
    here = store.create({"id": "talk"})
    for turn in range(6):
        same = store.append("talk", "user", f"same {turn}", client_msg_id=f"same {turn}")
        store.append("talk", "assistant", f"{mine} answers {turn}", reply_to=same.id)
        store.append("talk", "user", f"{mine} says {turn}", client_msg_id=f"{mine} {turn}")
        MemoryStore(db, Owner("ann")).add(here, [NewMemory(content=f"fact {turn}")])
"""


@needs_copies
@pytest.mark.slow
def test_processes_in_one_conversation(url: str) -> None:
    """Processes that speak in one conversation at once: numbers without holes, the same message and its answer once."""
    processes(TALKING, TALK, url, 2)
    with Database.open(url) as db:
        store = ConversationStore(db, owner=Owner("ann"))
        rows = store.newest("talk", 1_000)
        assert [row.seq for row in rows] == list(range(1, 6 * 4 + 1))
        said = {row.id: row.content for row in rows if row.role == "user"}
        assert sorted(said.values()) == sorted(
            [*(f"same {turn}" for turn in range(6)), *(f"{n} says {turn}" for n in range(2) for turn in range(6))]
        )
        answers = [row for row in rows if row.role == "assistant"]
        assert sorted(said[str(row.reply_to)] for row in answers) == sorted(f"same {turn}" for turn in range(6))
        assert len(MemoryStore(db, Owner("ann")).list()) == 6
