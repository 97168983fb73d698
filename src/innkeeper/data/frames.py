"""Frames: prompts of a data frame, for notebooks: pandas, Polars or Arrow in, the same kind out."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from innkeeper.data.batch import BatchSettings, build_batch
from innkeeper.data.pool import Builders
from innkeeper.data.run import SHARD, at_one_moment
from innkeeper.data.tables import arrow
from innkeeper.prompt import BuildRequest, UsageError
from innkeeper.prompt.text import kind_of


def build_frame(
    frame: Any,
    settings: BatchSettings | None = None,
    *,
    workers: int | None = None,
    bar: Callable[..., Any] | None = None,
    **fields: Any,
) -> Any:
    """Build a prompt for each row of a frame; the result is a frame of the same kind, with the rows in their order.

    Args:
        frame: a pandas or Polars data frame, or an Arrow table, with a column for each field of a build request.
        settings: what all rows have in common.
        workers: processes that build; one for each core by default.
        bar: makes a progress bar, such as ``tqdm.auto.tqdm``: called with ``total`` and ``unit``, then updated and closed.
        **fields: fields of every build request, such as ``model="gpt-4o"``, in the place of settings.

    Raises:
        UsageError: something else than a frame.
        UnavailableError: pyarrow is not installed.
    """
    pa = arrow()
    chosen = at_one_moment(settings or BatchSettings(request=BuildRequest.of(fields).to_dict()))
    table, back = _table(pa, frame)
    shards = (table.slice(start, SHARD) for start in range(0, table.num_rows, SHARD))
    shown = None if bar is None else bar(total=table.num_rows, unit="row")
    builders, results = Builders(chosen, workers), []
    try:
        for result in builders.build(shards):
            results.append(result)
            if shown is not None:
                shown.update(result.num_rows)
    finally:
        builders.close()
        if shown is not None:
            shown.close()
    return back(pa.concat_tables(results) if results else build_batch(table, chosen))


def _table(pa: Any, frame: Any) -> tuple[Any, Callable[[Any], Any]]:
    """A frame as a table, and what makes such a frame of a table."""
    if isinstance(frame, pa.Table):
        return frame, lambda table: table
    home = type(frame).__module__.partition(".")[0]
    if home == "pandas":
        return pa.Table.from_pandas(frame, preserve_index=False), lambda table: table.to_pandas()
    if home == "polars":
        return frame.to_arrow(), import_module(home).from_arrow
    raise UsageError(f"{kind_of(frame)} is no data frame", hint="give a pandas or Polars frame, or an Arrow table")
