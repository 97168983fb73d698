"""The one library of an application: opened when it is first needed, once for all threads, and closed for good."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from innkeeper.prompt.errors import UnavailableError
from innkeeper.service.operations.library import SharedLibrary
from innkeeper.service.settings import Settings


def test_opened_once(tmp_path: Path) -> None:
    """All who ask get the same; nobody gets one afterwards."""
    path = tmp_path / "library.db"
    shared = SharedLibrary(Settings(database=str(path)), watch=False)
    assert not shared.is_open
    assert not shared.is_there()
    with ThreadPoolExecutor(4) as threads:
        opened = list(threads.map(lambda _: shared.get(), range(4)))
    assert len({id(library) for library in opened}) == 1
    assert opened[0].db is opened[0].db
    assert shared.is_there()
    assert shared.is_open
    shared.close()
    shared.close()
    with pytest.raises(UnavailableError):
        shared.get()
