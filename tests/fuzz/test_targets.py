"""Every parser takes any bytes: a value or an error of ours, never another exception."""

import subprocess
import sys
from pathlib import Path

import pytest

from innkeeper.prompt.errors import InnkeeperError
from tests import shared
from tests.fuzz.engine import Fuzzer
from tests.fuzz.targets import TARGETS, mend_png


@pytest.mark.parametrize("name", TARGETS)
def test_sound_inputs_are_read(name: str) -> None:
    """Each target begins with inputs, and at least one of them is read."""
    target = TARGETS[name]
    read = 0
    for data in target.seeds():
        try:
            target.run(data)
        except InnkeeperError:
            continue
        read += 1
    assert read > 0


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", TARGETS)
def test_a_little_fuzzing(name: str) -> None:
    """A few changed inputs, hundreds where they are quick, cause no crash; the script tries for longer."""
    report = Fuzzer(TARGETS[name], seed=1).run(inputs=TARGETS[name].few)
    assert [crash.detail for crash in report.crashes] == []
    assert report.places


def test_checksums_are_mended() -> None:
    """An image with wrong checksums is put right; a sound one is left as it is."""
    for data in TARGETS["png"].seeds():
        assert mend_png(data) == data
        broken = data[:16] + bytes([data[16] ^ 1]) + data[17:]
        assert mend_png(mend_png(broken)) == mend_png(broken) != broken


def test_the_script(tmp_path: Path) -> None:
    """It runs a target for a time, says what came of it and leaves with 0."""
    script = shared.ROOT / "scripts" / "fuzz.py"
    done = subprocess.run(
        [sys.executable, str(script), "json", "--seconds", "0.2", "--findings", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=shared.ROOT,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("json: ")
    assert list(tmp_path.iterdir()) == []
