"""A browser for a module of tests, and a window at the packaged example."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.inspector.chromium import DESK, Watched, chromium, inspecting, watched
from tests.shared import ROOT


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser without a window."""
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packaged example, as files that may be written."""
    copy = tmp_path_factory.mktemp("opened") / "Skerrow"
    shutil.copytree(ROOT / "examples", copy, ignore=shutil.ignore_patterns("*.py", "*.md"))
    return copy


@pytest.fixture(scope="module")
def window(browser: Any, folder: Path) -> Iterator[Watched]:
    """A window that has opened it."""
    with inspecting(folder) as address, watched(browser, address) as window:
        page = window.open()
        page.evaluate(_TAKE_BACK, {"message": "Is the reef safe tonight?"})
        yield window


@pytest.fixture
def page(window: Watched) -> Iterator[Any]:
    """A page of that window; what it changed is taken back, and nothing may have gone wrong in it."""
    page = window.open()
    before = page.evaluate("async () => (await (await fetch('/v1/inspector/workspace')).json()).settings")
    yield page
    page.evaluate(_TAKE_BACK, before)
    page.set_viewport_size(DESK)
    window.assert_quiet()


_TAKE_BACK = """async (settings) => {
  localStorage.clear();
  const { files } = await (await fetch("/v1/inspector/workspace")).json();
  for (const { id, changed } of files) if (changed) await fetch(`/v1/inspector/files/${id}/revert`, { method: "POST" });
  await new Promise((done) => {
    const socket = new WebSocket(`ws://${location.host}/v1/inspector/live`);
    socket.onopen = () => socket.send(JSON.stringify({ serial: 1, settings }));
    socket.onmessage = ({ data }) => "serial" in JSON.parse(data) && (socket.close(), done());
  });
}"""
