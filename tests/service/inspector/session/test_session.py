"""What the server keeps of a workspace, and what becomes of a lost process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from innkeeper.content.character import Character
from innkeeper.content.files.formats import open_card
from innkeeper.content.files.png import blank_png, embed_in_png
from innkeeper.service.errors import WorkerLostError
from innkeeper.service.inspector.session import session as module
from innkeeper.service.inspector.session.messages import EngineCall, EngineReply, WorkspaceOptions
from innkeeper.service.inspector.session.process import EngineHere, EngineProcess
from innkeeper.service.inspector.session.session import WorkspaceSession
from innkeeper.service.inspector.workspace.beginnings import BEGINNINGS
from innkeeper.service.inspector.workspace.disk import ChangedFileError, read_folder
from tests.service.inspector.opened import EXAMPLES, OPTIONS, SETTINGS, session_of

BOOK = {"name": "B", "entries": {"0": {"uid": 0, "key": ["reef"], "content": "Reef."}}}


class Losing(EngineHere):
    """An engine that can be lost."""

    made: int = 0

    def lose(self) -> None:
        """Have nothing open."""
        self._opened = False


def losing_session(files: dict[str, Any]) -> tuple[WorkspaceSession, Losing]:
    """A workspace and its engine."""
    engines: list[Losing] = []

    def engine(opening: Callable[[], bytes]) -> Losing:
        engines.append(Losing(opening))
        return engines[-1]

    given = [(name, json.dumps(data).encode(), None) for name, data in files.items()]
    return WorkspaceSession("t", given, WorkspaceOptions(every=True), engine), engines[0]


def edit(path: list[Any], value: Any = None, **more: Any) -> bytes:
    """An edit of the first file."""
    return json.dumps({"file": "f1", "path": path, "value": value, **more}).encode()


def document(session: WorkspaceSession) -> Any:
    """The first file as it is edited."""
    answer, body = asyncio.run(session.ask(EngineCall("file", "f1")))
    assert answer.status == 200
    return json.loads(body)["document"]


@pytest.mark.parametrize("most", [0, 2, 500])
def test_a_new_process_has_every_edit_and_setting(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each once, also those that insert and remove, however many are kept apart."""
    monkeypatch.setattr(module, "MAX_EDITS", most)
    session, engine = losing_session({"book.json": BOOK})
    edits = [
        edit(["entries", "0", "key", 0], "a", insert=True),
        edit(["entries", "0", "key", 0], "b", insert=True),
        edit(["entries", "0", "content"], "n"),
        edit(["entries", "0", "content"], "new"),
        edit(["entries", "0", "key", 2], remove=True),
        edit(["nowhere", "0", "key", 2], 1),
    ]

    async def live() -> None:
        for one in edits:
            await session.ask(EngineCall("live", "c"), b'{"edits":[' + one + b'],"settings":{"seed":9}}')
            session.note([one], {"seed": 9})
            await session.settle()

    asyncio.run(live())
    before = document(session)
    assert before["entries"]["0"] == {"uid": 0, "key": ["b", "a"], "content": "new"}
    engine.lose()
    assert document(session) == before
    view = json.loads(asyncio.run(session.ask(EngineCall("view")))[1])
    assert view["settings"]["seed"] == 9
    assert view["files"][0]["changed"]


def test_what_was_saved_is_not_edited_again(tmp_path: Path) -> None:
    """A save writes the file, keeps what was there, and a new process begins with what is saved."""
    session = session_of({"book.json": json.dumps(BOOK).encode()}, tmp_path)

    async def save() -> tuple[EngineReply, bytes]:
        one = edit(["entries", "0", "content"], "new")
        await session.ask(EngineCall("live", "c"), b'{"edits":[' + one + b"]}")
        session.note([one], None)
        return await session.save("f1")

    answer, body = asyncio.run(save())
    assert answer.status == 200
    assert json.loads(body)["backup"] == "book.json.bak"
    assert json.loads((tmp_path / "book.json").read_bytes())["entries"]["0"]["content"] == "new"
    assert json.loads((tmp_path / "book.json.bak").read_bytes()) == BOOK
    assert not json.loads(body)["file"]["changed"]
    assert session.files["f1"].data == (tmp_path / "book.json").read_bytes()


def test_dropped_files_are_in_memory_until_saved(tmp_path: Path) -> None:
    """Then they are in the folder, under the name that they had."""
    session = session_of({}, tmp_path)

    def there() -> list[str]:
        return [path.name for path in tmp_path.iterdir()]

    async def drop() -> EngineReply:
        answer, body = await session.add("new.json", json.dumps(BOOK).encode())
        assert json.loads(body)["kind"] == "lorebook"
        assert there() == []
        return (await session.save(json.loads(body)["id"]))[0] if answer.status == 200 else answer

    assert asyncio.run(drop()).status == 200
    assert there() == ["new.json"]


class Dying(EngineProcess):
    """A process that ends in the middle of one kind of call."""

    async def _asked(self, call: EngineCall, body: bytes) -> tuple[EngineReply, bytes]:
        if call.name == "inspection" and self._child is not None:
            self._child.process.kill()
        return await super()._asked(call, body)


def test_a_process_that_is_lost_is_started_again() -> None:
    """With its workspace; the call that it was lost with is told."""

    async def lose() -> None:
        session = WorkspaceSession("Skerrow", read_folder(EXAMPLES, writable=False), OPTIONS, Dying, settings=SETTINGS)
        try:
            answer, body = await session.ask(EngineCall("view"))
            assert answer.status == 200
            with pytest.raises(WorkerLostError):
                await session.ask(EngineCall("inspection"))
            answer, again = await session.ask(EngineCall("view"))
            assert again == body
        finally:
            await session.close()

    asyncio.run(lose())


# ------------------------------------------------------------------------------------------------------- other programs

BASE = {"name": "Ada", "description": "A keeper.", "personality": "Calm.", "tags": ["coast"]}


class Watcher:
    """A page that keeps what it is told."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []

    def tell(self, message: bytes) -> None:
        """Keep it."""
        self.messages.append(message)


def card(**fields: Any) -> bytes:
    """A card as another program would write it."""
    return json.dumps({"spec": "chara_card_v2", "spec_version": "2.0", "data": {**BASE, **fields}}).encode()


async def typed(session: WorkspaceSession, **fields: str) -> None:
    """Edit fields of the first file."""
    edits = [edit(["data", name], value) for name, value in fields.items()]
    answer, _ = await session.ask(EngineCall("live", "page"), b'{"edits":[' + b",".join(edits) + b"]}")
    assert answer.status == 200
    session.note(edits, None)


async def view(session: WorkspaceSession) -> Any:
    """The view of the first file, and its card."""
    _, body = await session.ask(EngineCall("file", "f1"))
    content = json.loads(body)
    return content["file"], content["document"]["data"]


def test_what_another_program_writes_is_taken_in(tmp_path: Path) -> None:
    """A file that nobody edits is read again, and pages are told; a second look does nothing."""

    async def run() -> None:
        session, page = session_of({"ada.json": card()}, tmp_path), Watcher()
        session.pages.add(page)
        (tmp_path / "ada.json").write_bytes(card(scenario="The pier."))
        await session.look()
        file, data = await view(session)
        assert (data["scenario"], file["changed"], file["conflict"]) == ("The pier.", False, False)
        await session.look()
        assert page.messages == [module.RELOAD]

    asyncio.run(run())


RESOLUTIONS = {
    "theirs": ({"take": "theirs"}, {"description": "Theirs.", "scenario": "The pier."}),
    "mine": ({"take": "mine"}, {"description": "Mine.", "personality": "Loud."}),
    "merge, theirs": ({"take": "merge"}, {"description": "Theirs.", "personality": "Loud.", "scenario": "The pier."}),
    "merge, mine": (
        {"take": "merge", "mine": [["data", "description"]]},
        {"description": "Mine.", "personality": "Loud.", "scenario": "The pier."},
    ),
}


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("name", RESOLUTIONS)
def test_a_conflict_ends_as_it_is_chosen(name: str, restarted: bool, tmp_path: Path) -> None:
    """What was edited here is kept beside what is on the disk; then it is saved, and their file is beside it."""
    resolution, expected = RESOLUTIONS[name]
    theirs = card(description="Theirs.", scenario="The pier.")

    async def run() -> None:
        session = session_of({"ada.json": card()}, tmp_path)
        await typed(session, description="Mine.", personality="Loud.")
        (tmp_path / "ada.json").write_bytes(theirs)
        with pytest.raises(ChangedFileError):
            await session.save("f1")
        file, data = await view(session)
        assert (file["conflict"], data["description"]) == (True, "Mine.")
        _, body = await session.ask(EngineCall("conflict", "f1"))
        field = {"path": ["data", "description"], "mine": "Mine.", "theirs": "Theirs."}
        assert json.loads(body) == {"fields": [field], "mine": 1, "theirs": 1, "readable": True}
        with pytest.raises(ChangedFileError):
            await session.save("f1")
        answer, _ = await session.resolve("f1", json.dumps(resolution).encode())
        assert answer.is_ok
        if restarted:
            await session.ask(EngineCall("open"), session.opening())
        file, data = await view(session)
        assert (data, file["conflict"]) == ({**BASE, **expected}, False)
        answer, _ = await session.save("f1")
        assert answer.is_ok
        assert json.loads((tmp_path / "ada.json").read_bytes())["data"] == {**BASE, **expected}
        if name != "theirs":
            assert (tmp_path / "ada.json.bak").read_bytes() == theirs

    asyncio.run(run())


def test_what_cannot_be_merged_is_written_over_or_taken(tmp_path: Path) -> None:
    """A file that is no card any more is no dead end: mine is saved over it, and it is kept beside it."""

    async def run() -> None:
        session = session_of({"ada.json": card()}, tmp_path)
        await typed(session, description="Mine.")
        (tmp_path / "ada.json").write_bytes(b"{broken")
        await session.look()
        _, body = await session.ask(EngineCall("conflict", "f1"))
        assert not json.loads(body)["readable"]
        await session.resolve("f1", b'{"take":"mine"}')
        answer, _ = await session.save("f1")
        assert answer.is_ok
        assert json.loads((tmp_path / "ada.json").read_bytes())["data"]["description"] == "Mine."
        assert (tmp_path / "ada.json.bak").read_bytes() == b"{broken"

    asyncio.run(run())


def test_reverting_takes_what_is_on_the_disk(tmp_path: Path) -> None:
    """Edits that are taken back leave the file as another program wrote it."""

    async def run() -> None:
        session = session_of({"ada.json": card()}, tmp_path)
        await typed(session, description="Mine.")
        (tmp_path / "ada.json").write_bytes(card(description="Theirs."))
        await session.look()
        await session.revert("f1")
        file, data = await view(session)
        assert (data["description"], file["changed"], file["conflict"]) == ("Theirs.", False, False)

    asyncio.run(run())


# ------------------------------------------------------------------------------------------------------------ beginnings


@pytest.mark.parametrize("kind", BEGINNINGS)
def test_a_file_is_begun_and_saved(kind: str, tmp_path: Path) -> None:
    """It is of its kind, has nothing to find fault with, is to be saved, and has a name that nobody has."""

    async def run() -> None:
        session = session_of({}, tmp_path)
        name = BEGINNINGS[kind][0]
        (tmp_path / name).write_bytes(b"")
        answer, body = await session.begin(kind)
        assert answer.is_ok
        file = json.loads(body)
        assert (file["kind"], file["changed"], file["findings"]) == (kind, True, [])
        assert file["name"] == f"{name.partition('.')[0]}-2.json"
        await session.ask(EngineCall("open"), session.opening())
        await session.save(file["id"])
        assert (tmp_path / file["name"]).read_bytes() == session.files[file["id"]].data
        _, body = await session.ask(EngineCall("file", file["id"]))
        assert not json.loads(body)["file"]["changed"]

    asyncio.run(run())


WORLD = {"entries": {"4": {"uid": 4, "key": ["fog"], "content": "Fog.", "order": 7, "position": 4, "sticky": 2}}}
IN_CARD = {"keys": ["reef"], "content": "Reef.", "insertion_order": 9, "enabled": True, "extensions": {"depth": 2}}


def test_entries_go_into_another_book_in_its_words(tmp_path: Path) -> None:
    """Between a file and a card, in both ways; what the edits make is read as the same entry."""
    book = {"extensions": {}, "entries": [IN_CARD]}
    files = {"world.json": json.dumps(WORLD).encode(), "ada.json": card(character_book=book)}

    async def run() -> None:
        session = session_of(files, tmp_path)
        for file, path, to in (("f1", ["entries", "4"], "f2"), ("f2", ["data", "character_book", "entries", 0], "f1")):
            body = json.dumps({"file": file, "paths": [path], "to": to}).encode()
            answer, body = await session.ask(EngineCall("entries"), body)
            assert answer.is_ok, body
            answer, _ = await session.ask(EngineCall("live", "page"), body)
            assert answer.is_ok
        _, body = await session.ask(EngineCall("file", "f2"))
        copied = json.loads(body)["document"]["data"]["character_book"]["entries"][1]
        assert (copied["keys"], copied["insertion_order"]) == (["fog"], 7)
        assert (copied["extensions"]["position"], copied["extensions"]["sticky"]) == (4, 2)
        _, body = await session.ask(EngineCall("file", "f1"))
        copied = json.loads(body)["document"]["entries"]["5"]
        assert (copied["key"], copied["order"], copied["depth"]) == (["reef"], 9, 2)

    asyncio.run(run())


def test_a_card_gets_another_picture(tmp_path: Path) -> None:
    """It is shown at once and written with the card, edits and all, also by a process that came later; no other file is one."""
    image = blank_png(4, 6, 20)
    png = embed_in_png(blank_png(), Character.of(card()))

    async def run() -> None:
        session = session_of({"ada.png": png}, tmp_path)
        answer, _ = await session.repaint("f1", b"no picture")
        assert not answer.is_ok
        await typed(session, description="Mine.")
        answer, _ = await session.repaint("f1", image)
        assert answer.is_ok
        await session.ask(EngineCall("open"), session.opening())
        answer, _ = await session.save("f1")
        assert answer.is_ok
        saved = open_card((tmp_path / "ada.png").read_bytes())
        assert saved.character.description == "Mine."
        assert saved.image is not None
        assert saved.image[16:24] == image[16:24]

    asyncio.run(run())
