"""A bare machine for each journey, and the databases of the library's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.journeys.machine import Machine, install
from tests.library.conftest import admin, dialect, empty_file, fresh, server  # noqa: F401 - fixtures


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """Innkeeper as anybody installs it."""
    pytest.importorskip("hatchling", reason="hatchling builds the wheel")
    return install(tmp_path_factory.mktemp("machine"))


@pytest.fixture
def machine(installed: Machine, tmp_path: Path) -> Machine:
    """The machine, with an empty home."""
    return installed.at(tmp_path / "home")
