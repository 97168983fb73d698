"""Frames: the prompts of a table as a table of the same kind, with a bar that is told how far it is."""

from typing import Any

import pyarrow as pa
import pytest

from innkeeper.data import BatchSettings, build_batch, build_frame, frames
from innkeeper.prompt import UsageError
from tests.data.test_run import ROWS, SETTINGS, expected, here


class HereBuilders:
    """Builds in this process."""

    def __init__(self, settings: BatchSettings, _: int | None) -> None:
        self.settings = settings

    def build(self, shards: Any) -> Any:
        """Build shards."""
        return here(shards, self.settings)

    def close(self) -> None:
        """Nothing is open."""


class Bar:
    """A progress bar by tqdm's protocol."""

    def __init__(self, total: int, unit: str) -> None:
        self.total, self.unit, self.seen, self.closed = total, unit, 0, False

    def update(self, count: int) -> None:
        """Go on."""
        self.seen += count

    def close(self) -> None:
        """End."""
        self.closed = True


@pytest.fixture(autouse=True)
def no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames are built in this process here; `test_run` has the real ones."""
    monkeypatch.setattr(frames, "Builders", HereBuilders)


def test_arrow() -> None:
    """A table gives the rows of a batch, and the bar is told of all of them."""
    bars: list[Bar] = []

    def bar(**facts: Any) -> Bar:
        bars.append(Bar(**facts))
        return bars[-1]

    made = build_frame(pa.Table.from_pylist(ROWS), SETTINGS, bar=bar)
    assert made.drop_columns(["error"]).to_pylist() == expected()
    assert [(one.total, one.unit, one.seen, one.closed) for one in bars] == [(23, "row", 23, True)]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_data_frames(kind: str) -> None:
    """A data frame comes back as one, with the rows in their order; fields may be given as keywords."""
    library = pytest.importorskip(kind, reason=f"{kind} is not installed")
    made = build_frame(library.DataFrame(ROWS), **SETTINGS.request)
    assert type(made).__module__.startswith(kind)
    assert list(made["fingerprint"]) == [row["fingerprint"] for row in expected()]


def test_no_rows_and_no_frame() -> None:
    """An empty table gives an empty table; something else is refused."""
    empty = pa.Table.from_pylist(ROWS).slice(0, 0)
    assert build_frame(empty, SETTINGS).schema == build_batch(empty, SETTINGS).schema
    with pytest.raises(UsageError, match="no data frame"):
        build_frame([{"message": "x"}])
