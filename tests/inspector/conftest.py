"""A browser for these tests, and a window at the packaged example."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.inspector.chromium import DESK, Watched, chromium, inspecting, set_up, watched
from tests.shared import ROOT

HERE = Path(__file__).parent

_OPEN = ExitStack()
_BROWSERS: list[Any] = []


@pytest.fixture(scope="module")
def browser() -> Any:
    """A browser without a window, one for the modules of this folder that run one after the other."""
    if not _BROWSERS:
        _BROWSERS.append(_OPEN.enter_context(chromium()))
    return _BROWSERS[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    """Close the browser before tests of other folders: the loop that it is driven by would stand in the way of theirs."""
    yield
    if nextitem is None or nextitem.path.parent != HERE:
        _BROWSERS.clear()
        _OPEN.close()


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
        set_up(page, {"message": "Is the reef safe tonight?"})
        yield window


@pytest.fixture
def page(window: Watched) -> Iterator[Any]:
    """A page of that window; what it changed is taken back, and nothing may have gone wrong in it."""
    page = window.open()
    before = page.evaluate("async () => (await (await fetch('/v1/inspector/workspace')).json()).settings")
    yield page
    page.evaluate(_REVERT)
    set_up(page, before)
    page.set_viewport_size(DESK)
    window.assert_quiet()


_REVERT = """async () => {
  localStorage.clear();
  sessionStorage.clear();
  const { files } = await (await fetch("/v1/inspector/workspace")).json();
  for (const { id, changed } of files) if (changed) await fetch(`/v1/inspector/files/${id}/revert`, { method: "POST" });
}"""
