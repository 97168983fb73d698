"""Tables: the library that holds them, how they travel between processes, and the files that results are written to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any, Final, Protocol

from innkeeper.lazy import require
from innkeeper.prompt.data import parse_json, to_json


def arrow() -> Any:
    """Return pyarrow. Raises `UnavailableError` where it is not installed."""
    require("pyarrow")
    import pyarrow as pa

    return pa


def to_bytes(table: Any) -> bytes:
    """A table as an Arrow stream."""
    sink = arrow().BufferOutputStream()
    with arrow().ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def from_bytes(data: bytes) -> Any:
    """The table of an Arrow stream."""
    return arrow().ipc.open_stream(data).read_all()


class TableWriter(Protocol):
    """Writes tables one after the other to one file."""

    def write(self, table: Any) -> None:
        """Write a table; all have the same columns."""
        ...

    def close(self) -> None:
        """End the file."""
        ...


class _TableFile:
    """A file of a library, which is opened with the columns of the first table."""

    def __init__(
        self, path: Path, opened: Callable[[Path, Any], Any], shape: Callable[[Any], Any] = lambda table: table
    ) -> None:
        self._path, self._opened, self._shape = path, opened, shape
        self._writer: Any = None

    def write(self, table: Any) -> None:
        """Write a table."""
        shaped = self._shape(table)
        if self._writer is None:
            self._writer = self._opened(self._path, shaped.schema)
        self._writer.write_table(shaped)

    def close(self) -> None:
        """End the file."""
        if self._writer is not None:
            self._writer.close()


def _parquet(path: Path, schema: Any) -> Any:
    from pyarrow import parquet

    return parquet.ParquetWriter(path, schema, compression="zstd")


def _csv(path: Path, schema: Any) -> Any:
    from pyarrow import csv

    return csv.CSVWriter(path, schema)


def _ipc(path: Path, schema: Any) -> Any:
    return arrow().ipc.new_file(str(path), schema)


def _flat(table: Any) -> Any:
    """The table with lists and objects as JSON texts."""
    pa = arrow()
    for index, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            texts = [None if value is None else to_json(value).decode() for value in table[field.name].to_pylist()]
            table = table.set_column(index, field.name, pa.array(texts, pa.string()))
    return table


class LineWriter:
    """Writes JSON lines: each row as an object, or the line of a provider's batch as it is. A ``shared`` file stays open."""

    def __init__(self, file: IO[bytes], *, only: str = "", nested: bool = False, shared: bool = False) -> None:
        self._file, self._only, self._nested, self._shared = file, only, nested, shared

    def write(self, table: Any) -> None:
        """Write the rows of a table."""
        if self._only:
            self.write_lines([line.encode() for line in table[self._only].to_pylist()])
        else:
            self.write_lines(map(self._line, table.to_pylist()))

    def write_lines(self, lines: Iterable[bytes]) -> None:
        """Write lines as they are."""
        self._file.writelines([line + b"\n" for line in lines])
        self._file.flush()

    def _line(self, row: Mapping[str, Any]) -> bytes:
        """A row without what it has not; texts that are JSON become part of it."""
        known = {name: value for name, value in row.items() if value is not None and value != []}
        for name in ("messages", "plan", "replay", "error") if self._nested else ():
            if isinstance(known.get(name), str):
                known[name] = parse_json(known[name], asset=name)
        return to_json(known, sort=False)

    def close(self) -> None:
        """End the file, unless others write to it, too."""
        if not self._shared:
            self._file.close()


_WRITERS: Final[Mapping[str, Callable[[Path], TableWriter]]] = {
    ".parquet": lambda path: _TableFile(path, _parquet),
    ".arrow": lambda path: _TableFile(path, _ipc),
    ".feather": lambda path: _TableFile(path, _ipc),
    ".csv": lambda path: _TableFile(path, _csv, _flat),
}

KINDS: Final = (*_WRITERS, ".jsonl")
"""The kinds of files that results are written to."""


def writer_of(path: Path, kind: str, *, only: str = "") -> TableWriter:
    """Return what writes tables to a file of one of the `KINDS`; ``only`` is the one column that JSON lines consist of."""
    return LineWriter(open_binary(path), only=only, nested=True) if kind == ".jsonl" else _WRITERS[kind](path)


def open_binary(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a file to write lines into; whoever writes them closes it."""
    return Path(path).open("wb")
