"""Sources: where the rows of a dataset come from, in shards of a fixed number of rows, always in the same order.

JSON lines, Parquet, Arrow files and streams, and CSV are read piece by piece, so that memory does not grow with them. A folder is
the assets in it, one row for each; several sources give every combination of their rows, the last one changing fastest.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.content.errors import MissingFileError
from innkeeper.data.rows import ID, KINDS, LINE, REQUEST, whole_request, without_gaps
from innkeeper.data.tables import arrow
from innkeeper.prompt import FormatError, InnkeeperError, LimitError, UsageError, Where
from innkeeper.prompt.text import shorten
from innkeeper.taverns.asset_fields import AssetFields

if TYPE_CHECKING:
    import pyarrow as pa

MAX_ROW_BYTES: Final = 32 * 1024 * 1024
"""Bytes of one line of a dataset (`LimitError`)."""

MAX_CROSSED_ROWS: Final = 100_000
"""Rows of every source that is crossed with others, but of the first (`LimitError`): they are kept in memory."""

STDIN: Final = "-"

_READ_ROWS: Final = 1_024


class RowSource(msgspec.Struct, frozen=True):
    """A dataset: its name, the folders that its rows may name files in, how many rows it has if that is known.

    ``identity`` is a digest of what it consists of: a run that was stopped goes on only with the same dataset.
    """

    name: str
    roots: tuple[str, ...]
    identity: str
    read: Callable[[], Iterator[pa.Table]]
    total: int | None = None

    def shards(self, rows: int) -> Iterator[pa.Table]:
        """Yield tables of ``rows`` rows, the last one with what is left; each row has an id, its number from 0 by default."""
        pa: Any = arrow()
        waiting: list[Any] = []
        number = count = 0
        for table in self.read():
            waiting.append(table)
            count += table.num_rows
            while count >= rows:
                whole = pa.concat_tables(waiting, promote_options="permissive")
                yield _named(whole.slice(0, rows), number)
                waiting, count, number = [whole.slice(rows)], count - rows, number + rows
        if count:
            yield _named(pa.concat_tables(waiting, promote_options="permissive"), number)


def _named(table: Any, first: int) -> Any:
    """The table with an id for each row, as text."""
    pa = arrow()
    if ID in table.column_names:
        column = table[ID].cast(pa.string())
        return table.set_column(table.column_names.index(ID), ID, column)
    return table.append_column(ID, pa.array([str(first + index) for index in range(table.num_rows)], pa.string()))


def open_rows(names: Sequence[str], *, stdin: IO[bytes] | None = None, roots: Iterable[str] = ()) -> RowSource:
    """Open datasets by their names: files, folders, or ``-`` for JSON lines of standard input; several are crossed.

    Raises:
        UsageError: no name, or a file of a kind that is not read.
        MissingFileError: a name that is not there.
        FormatError: a file that is not what its name says.
        LimitError: `MAX_CROSSED_ROWS`.
        UnavailableError: pyarrow is not installed.
    """
    if not names:
        raise UsageError("there are no rows", hint="name a file of build requests, a folder of cards, or - for a pipe")
    first, *others = [_open(name, stdin or sys.stdin.buffer) for name in names]
    source = _crossed(first, others) if others else first
    extra = tuple([str(Path(root).resolve()) for root in roots])
    return msgspec.structs.replace(source, roots=tuple(dict.fromkeys((*source.roots, *extra))))


def _open(name: str, stdin: IO[bytes]) -> RowSource:
    if name == STDIN:
        return RowSource("standard input", (str(Path.cwd()),), "-", lambda: _json_lines(stdin, "standard input"))
    path = Path(name)
    if path.is_dir():
        return _folder(path)
    if not path.is_file():
        raise MissingFileError(f"there is no file {name!r}", hint="name a file or a folder that is there")
    kind = _FILES.get(path.suffix.lower())
    if kind is None:
        raise UsageError(f"{name!r} is of no kind that is read", hint=f"kinds: {', '.join(_FILES)}, or a folder")
    facts = path.stat()
    identity = _digest([f"{path.name} {facts.st_size}", _ends(path, facts.st_size)])
    total, read = kind(path)
    return RowSource(path.name, (str(path.resolve().parent),), identity, read, total)


def _ends(path: Path, size: int) -> str:
    """A digest of a file's first and last bytes, which a changed file of the same size differs in most often."""
    with path.open("rb") as file:
        head = file.read(_END_BYTES)
        file.seek(max(size - _END_BYTES, 0))
        return hashlib.sha256(head + file.read(_END_BYTES)).hexdigest()


_END_BYTES: Final = 1024 * 1024

Opened = tuple[int | None, Callable[[], Iterator[Any]]]
"""How many rows a file has, if that is known, and what reads them."""


def _digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode("utf-8", "replace")).hexdigest()


# -------------------------------------------------------------------------------------------------------------- files


def _lines_file(path: Path) -> Opened:
    def read() -> Iterator[Any]:
        with path.open("rb") as file:
            yield from _json_lines(file, path.name)

    return None, read


def _json_lines(file: IO[bytes], name: str) -> Iterator[Any]:
    """Lines as they are, with their numbers; each is read as JSON where its prompt is built, so that a bad one is one row's."""
    pa = arrow()
    lines: list[bytes] = []
    numbers: list[int] = []
    number = 0
    while line := file.readline(MAX_ROW_BYTES + 1):
        number += 1
        if len(line) > MAX_ROW_BYTES:
            where = Where(asset=name, line=number)
            raise LimitError("a row", limit="MAX_ROW_BYTES", allowed=MAX_ROW_BYTES, where=where)
        if not line.isspace():
            lines.append(line.rstrip(b"\r\n"))
            numbers.append(number)
        if len(lines) == _READ_ROWS:
            yield pa.table({REQUEST: pa.array(lines, pa.large_binary()), LINE: pa.array(numbers, pa.int64())})
            lines, numbers = [], []
    if lines:
        yield pa.table({REQUEST: pa.array(lines, pa.large_binary()), LINE: pa.array(numbers, pa.int64())})


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Have what pyarrow says of a file be an error of ours."""
    pa = arrow()
    try:
        yield
    except (pa.ArrowException, OSError, EOFError) as error:
        problem = shorten(str(error).splitlines()[0] if str(error) else type(error).__name__, 200)
        hint = "the file is cut or damaged; whole again it is another dataset, with an output of its own"
        raise FormatError(f"the dataset cannot be read: {problem}", where=Where(asset=path.name), hint=hint) from error


def _parquet_file(path: Path) -> Opened:
    arrow()
    from pyarrow import parquet

    def read() -> Iterator[Any]:
        with _readable(path), parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(_READ_ROWS):
                yield arrow().Table.from_batches([batch])

    with _readable(path):
        return parquet.read_metadata(path).num_rows, read


def _arrow_file(path: Path) -> Opened:
    ipc: Any = arrow().ipc

    def read() -> Iterator[Any]:
        with _readable(path), path.open("rb") as file:
            is_file = file.read(6) == b"ARROW1"
            file.seek(0)
            reader = ipc.open_file(file) if is_file else ipc.open_stream(file)
            batches = map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader
            for batch in batches:
                yield arrow().Table.from_batches([batch])

    return None, read


def _csv_file(path: Path) -> Opened:
    arrow()
    from pyarrow import csv

    def read() -> Iterator[Any]:
        with _readable(path):
            parsed = csv.ParseOptions(newlines_in_values=True)
            # every column is text, so that no row decides what the others are
            with path.open("rb") as file:
                names = csv.open_csv(file, parse_options=parsed).schema.names
            types = csv.ConvertOptions(
                column_types=dict.fromkeys(names, arrow().string()),
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            )
            with csv.open_csv(path, parse_options=parsed, convert_options=types) as reader:
                for batch in reader:
                    yield arrow().Table.from_batches([batch])

    return None, read


_FILES: Final[dict[str, Callable[[Path], Opened]]] = {
    ".jsonl": _lines_file,
    ".ndjson": _lines_file,
    ".parquet": _parquet_file,
    ".arrow": _arrow_file,
    ".feather": _arrow_file,
    ".csv": _csv_file,
}


# ------------------------------------------------------------------------------------------------------ folders, crossing


def _folder(path: Path) -> RowSource:
    """The cards, chats, presets, lorebooks and personas of a folder, each a row; of a SillyTavern folder the characters."""
    rows = list(_install_rows(path)) if (path / "characters").is_dir() else list(_asset_rows(path))
    if not rows:
        raise UsageError(f"no asset is in the folder {str(path)!r}", hint="cards are PNG, JSON, CHARX or BYAF files")
    texts = [f"{row} {[Path(value).stat().st_size for value in row.values() if Path(value).is_file()]}" for row in rows]
    return RowSource(path.name, (str(path.resolve()),), _digest(texts), lambda: _tables(rows), len(rows))


def _asset_rows(path: Path) -> Iterator[dict[str, Any]]:
    from innkeeper.content.files.loading import load_asset

    for file in sorted(path.rglob("*")):
        if file.suffix.lower() not in _ASSETS or not file.is_file():
            continue
        try:
            assets = AssetFields()
            assets.put(load_asset(file), file.name)
        except InnkeeperError:
            continue  # other files lie in folders, too
        for field in KINDS.keys() & assets.fields.keys():
            yield {ID: str(file.relative_to(path)), field: str(file.resolve())}


_ASSETS: Final = frozenset({".png", ".json", ".jsonl", ".charx", ".byaf", ".webp"})


def _install_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Every character of a SillyTavern user folder with each chat of hers, or without one where she has none."""
    for card in sorted((path / "characters").glob("*.png")):
        chats = sorted((path / "chats" / card.stem).glob("*.jsonl"))
        for chat in chats or (None,):
            row = {ID: card.stem, "character": str(card.resolve()), "tavern": "silly"}
            yield row if chat is None else {**row, ID: f"{card.stem}/{chat.stem}", "history": str(chat.resolve())}


def _tables(rows: Iterable[dict[str, Any]]) -> Iterator[Any]:
    """Rows as tables, each row one JSON object, so that no row's shape is another's matter."""
    pa = arrow()
    waiting = list(rows)
    for start in range(0, len(waiting), _READ_ROWS):
        part = waiting[start : start + _READ_ROWS]
        texts = [msgspec.json.encode({name: value for name, value in row.items() if name != ID}) for row in part]
        ids = [str(row.get(ID, start + index)) for index, row in enumerate(part)]
        yield pa.table({REQUEST: pa.array(texts, pa.large_binary()), ID: pa.array(ids, pa.string())})


def _crossed(first: RowSource, others: Sequence[RowSource]) -> RowSource:
    """Every row of the first with every combination of rows of the others; a later source's fields replace an earlier one's."""
    held = [_rows_in_memory(source) for source in others]
    times = 1
    for rows in held:
        times *= len(rows)

    def read() -> Iterator[Any]:
        for row in _plain_rows(first):
            combined = [row]
            for rows in held:
                combined = [{**one, **other, ID: f"{one[ID]}+{other[ID]}"} for one in combined for other in rows]
            yield from _tables(combined)

    sources = (first, *others)
    return RowSource(
        " × ".join(source.name for source in sources),
        tuple(dict.fromkeys(root for source in sources for root in source.roots)),
        _digest(source.identity for source in sources),
        read,
        None if first.total is None else first.total * times,
    )


def _rows_in_memory(source: RowSource) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for row in _plain_rows(source):
        if len(rows) >= MAX_CROSSED_ROWS:
            raise LimitError("the rows of a source that is crossed", limit="MAX_CROSSED_ROWS", allowed=MAX_CROSSED_ROWS)
        rows.append(row)
    return rows


def _plain_rows(source: RowSource) -> Iterator[dict[str, Any]]:
    """Rows as mappings of fields. Raises `FormatError` for a line that is none."""
    for table in source.shards(_READ_ROWS):
        for row in table.to_pylist():
            fields = {name: value for name, value in row.items() if name not in {REQUEST, LINE} and value is not None}
            line = row.get(REQUEST)
            yield {**without_gaps(fields), **(whole_request(line) if line is not None else {})}
