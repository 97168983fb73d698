"""A workspace for each key: apart from the others, bounded in number and bytes, at rest where nobody uses it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from innkeeper.prompt.errors import LimitError
from innkeeper.service.guard.grants import Keys
from innkeeper.service.inspector.access import Access
from innkeeper.service.inspector.live import Live
from innkeeper.service.inspector.session import sessions as module
from innkeeper.service.inspector.session.session import WorkspaceSession
from innkeeper.service.inspector.session.sessions import IDLE_SECONDS, WorkspaceSessions
from innkeeper.service.inspector.surface import Inspector
from innkeeper.service.settings import Settings
from tests.service.inspector.opened import Browser, answer_of, session_of

T = TypeVar("T")
CARD = b'{"spec": "chara_card_v2", "data": {"name": "Ann", "description": "A keeper."}}'


class Clock:
    """Seconds that a test moves on."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Ended(WorkspaceSession):
    """A session that knows how often it was ended."""

    ends = 0

    async def close(self) -> None:
        """End it."""
        self.ends += 1


def _another() -> WorkspaceSession:
    return Ended("test", [("card.json", CARD, None)], engines=lambda _: None)  # type: ignore[arg-type,return-value]


def _ran(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def test_each_key_has_its_own() -> None:
    """The same one each time; who has no name has the own one, and where no other can be opened all have."""

    async def work() -> None:
        own = _another()
        sessions = WorkspaceSessions(own, _another)
        first, second = await sessions.of("k1"), await sessions.of("k2")
        assert len({id(own), id(first), id(second)}) == 3
        assert await sessions.of("k1") is first
        assert await sessions.of("") is own
        assert await WorkspaceSessions(own).of("k1") is own
        await sessions.close()
        assert [session.ends for session in (own, first, second) if isinstance(session, Ended)] == [1, 1, 1]

    _ran(work())


def test_who_comes_twice_at_once_has_one() -> None:
    """Two calls of one key while its workspace is opened."""

    async def work() -> None:
        sessions = WorkspaceSessions(_another(), _another)
        first, second = await asyncio.gather(sessions.of("k1"), sessions.of("k1"))
        assert first is second
        await sessions.close()

    _ran(work())


def test_there_are_not_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all are used, the next key is refused; the one that was idle for longest makes room."""
    monkeypatch.setattr(module, "MAX_WORKSPACES", 2)

    async def work() -> None:
        clock = Clock()
        sessions = WorkspaceSessions(_another(), _another, clock)
        first, second = await sessions.of("k1"), await sessions.of("k2")
        with pytest.raises(LimitError, match="MAX_WORKSPACES"):
            await sessions.of("k3")
        clock.now = IDLE_SECONDS
        first.pages.add(Live(None, first))  # type: ignore[arg-type]
        await sessions.of("k3")
        assert await sessions.of("k1") is first
        assert isinstance(second, Ended)
        assert second.ends == 1
        with pytest.raises(LimitError, match="MAX_WORKSPACES"):
            await sessions.of("k2")
        await sessions.close()

    _ran(work())


def test_they_are_not_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """All files and edits together: neither another workspace nor a further file goes beyond it."""
    monkeypatch.setattr(module, "MAX_WORKSPACE_BYTES", 2 * len(CARD) + 10)

    async def work() -> None:
        sessions = WorkspaceSessions(_another(), _another)
        first = await sessions.of("k1")
        with pytest.raises(LimitError, match="MAX_WORKSPACE_BYTES"):
            await first.add("b.json", b"{}" * 10)
        with pytest.raises(LimitError, match="MAX_WORKSPACE_BYTES"):
            await first.open_replay(b"{}" * 10)
        with pytest.raises(LimitError, match="MAX_WORKSPACE_BYTES"):
            await sessions.of("k2")
        await sessions.close()

    _ran(work())


def test_an_idle_one_rests() -> None:
    """Its process is ended and its edits are kept; one with an open page, or that was just left, goes on."""

    async def work() -> None:
        clock = Clock()
        sessions = WorkspaceSessions(_another(), _another, clock)
        idle, watched, left = [await sessions.of(name) for name in ("idle", "watched", "left")]
        idle.note([b'{"file":"f1","path":["a"],"value":1}'], None)
        watched.pages.add(Live(None, watched))  # type: ignore[arg-type]
        clock.now = IDLE_SECONDS
        sessions.left("left")
        await sessions.rest()
        assert [session.ends for session in (idle, watched, left) if isinstance(session, Ended)] == [1, 0, 0]
        assert await sessions.of("idle") is idle
        assert idle.size > len(CARD)
        await sessions.close()

    _ran(work())


def test_what_one_key_edits_no_other_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over HTTP and the socket: files, settings and edits are the key's own."""
    settings = Settings(keys=Keys("one", "two"))
    inspector = Inspector(
        session_of({"card.json": CARD}), Access(), another=lambda: session_of({"card.json": CARD}), settings=settings
    )
    with Browser(inspector) as browser:
        browser.headers["x-api-key"] = "one"
        browser.post("/v1/inspector/files?name=more.json", content=CARD)
        with browser.live() as live:
            edit = '{"file": "f1", "path": ["data", "description"], "value": "Edited."}'
            live.send_text(f'{{"serial": 1, "edits": [{edit}], "settings": {{"tavern": "vibe"}}}}')
            assert answer_of(live)["inspection"]["tavern"] == "vibe"
        assert "Edited." in str(browser.json("files/f1"))
        for key in ("two", ""):
            browser.headers["x-api-key"] = key
            view = browser.json("workspace")
            assert (len(view["files"]), view["settings"]["tavern"]) == (1, "silly")
            assert "Edited." not in str(browser.json("files/f1"))
        monkeypatch.setattr(module, "MAX_WORKSPACE_BYTES", 10)
        browser.headers["x-api-key"] = "two"
        with browser.live() as live:
            live.send_text(f'{{"serial": 1, "edits": [{edit}]}}')
            assert "MAX_WORKSPACE_BYTES" in answer_of(live)["error"]["message"]
        assert "Edited." not in str(browser.json("files/f1"))
