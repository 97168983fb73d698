"""A user's project: its types are known outside of this repository, to mypy and to pyright."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.typing import program

SOURCE = Path(program.__file__)


def test_runs() -> None:
    """What type-checks also runs, and what does not is an error with a hint."""
    said = program.main()
    assert "did you mean 'history'?" in said
    assert "It is late." in said


def test_package_says_that_it_is_typed() -> None:
    """The package has the mark that type checkers look for."""
    import innkeeper

    assert (Path(innkeeper.__file__).parent / "py.typed").exists()


@pytest.mark.endurance
def test_mypy(tmp_path: Path) -> None:
    """``mypy --strict`` has nothing to say of a user's program, in a folder of its own and without our settings."""
    shutil.copy(SOURCE, tmp_path)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", SOURCE.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.endurance
def test_pyright(tmp_path: Path) -> None:
    """Nor has pyright in its strict mode, where it is installed: ``pip install basedpyright`` brings all that it needs."""
    checker = next(filter(None, map(shutil.which, ("pyright", "basedpyright"))), None)
    if checker is None:
        pytest.skip("pyright is not installed")
    shutil.copy(SOURCE, tmp_path)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict"}), encoding="utf-8")
    command = [checker, "--pythonpath", sys.executable, SOURCE.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
