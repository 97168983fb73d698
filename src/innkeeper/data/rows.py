"""Rows: what one row of a dataset says becomes a build request.

A row is a build request: a line of JSON in the column ``request``, or one column for each field. Assets may be given inline, by a
path inside the folders of the dataset, or by ``@name`` where the settings share one under that name. Text of untrusted datasets
can name no file outside of those folders.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from innkeeper.prompt import BuildRequest, FormatError, InnkeeperError, UsageError, Where
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.data import check_depth, parse_json
from innkeeper.prompt.near import did_you_mean
from innkeeper.taverns.asset_fields import AssetFields, load_as

KINDS: Final[Mapping[str, str]] = {
    "character": "card",
    "user": "persona",
    "preset": "preset",
    "lorebooks": "lorebook",
    "history": "chat",
}
"""The fields that a file may fill, with the kind of asset that it holds."""

REQUEST: Final = "request"
"""The column with a whole build request as JSON."""

ID: Final = "id"
"""The column with a row's own name."""

LINE: Final = "line"
"""The column with the line of the file that a row stands in, from 1."""

_FIELDS: Final = frozenset(BuildRequest.__struct_fields__)
_OURS: Final = frozenset({REQUEST, LINE})
_TEXTS: Final = frozenset(
    {"tavern", "profile", "message", "system", "generation", "provider", "model", "dialect", "now", "locale"}
)
"""Fields that are text, which is never read as JSON."""

_OPENED: Final[BoundedCache[tuple[str, str, int, int], Any]] = BoundedCache()
"""Assets by their kind, path, time of change and size."""

_WEIGHT: Final = 8
"""Bytes that an asset takes in memory for each of its file."""


class RowReader:
    """Reads rows over the fields that all have in common.

    ``roots`` are the folders that a path may lead into; a relative one begins at the first in which it is. ``shared`` are assets
    by name, ``keep`` are columns that are not fields of a request.
    """

    def __init__(
        self, base: BuildRequest, shared: Mapping[str, Any], roots: Iterable[str], keep: Iterable[str]
    ) -> None:
        self.base, self.shared = base, shared
        check_depth(dict(shared), "the shared assets")
        self.roots = tuple([Path(root).resolve() for root in roots])
        self.keep = frozenset((*keep, ID))
        self._path = lru_cache(maxsize=_PATHS)(self._resolved)

    def fields(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a row says: the fields of its request, its id and other columns. Raises `FormatError` for bad JSON."""
        line = row.get(REQUEST)
        columns = {name: value for name, value in row.items() if name not in _OURS and value is not None}
        for name, value in columns.items():
            if isinstance(value, str) and name not in _TEXTS and value[:1] in ("{", "["):
                columns[name] = parse_json(value, asset=name)
            elif not isinstance(value, str):
                check_depth(value, name)
                columns[name] = without_gaps(value)
        return {**columns, **whole_request(line)} if line is not None else columns

    def request(self, fields: Mapping[str, Any]) -> BuildRequest:
        """Return the build request of a row's fields. Raises what reading a request and its assets raises."""
        for name in fields.keys() - _FIELDS - self.keep:
            hint = "what is no field of a request is kept beside the prompts with --keep NAME"
            raise UsageError(f"a build request has no field {name!r:.80}", hint=did_you_mean(name, _FIELDS, hint))
        return self.base.with_fields(
            self._opened({name: fields[name] for name in fields.keys() & _FIELDS}), checked=True
        )

    def _opened(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """The fields with the assets that they name."""
        assets, opened = AssetFields(), dict(fields)
        for name in KINDS.keys() & fields.keys():
            items = opened.pop(name)
            several = isinstance(items, (list, tuple)) and name == "lorebooks"
            read = [self._asset(name, item, assets) for item in (items if several else (items,))]
            inline = [item for item in read if item is not None]
            if inline:
                opened[name] = tuple(inline) if name == "lorebooks" else inline[0]
        books = (*opened.get("lorebooks", ()), *assets.fields.pop("lorebooks", ()))
        return {**opened, **assets.fields, **({"lorebooks": books} if books else {})}

    def _asset(self, name: str, item: Any, assets: AssetFields) -> Any:
        """An asset that is given inline; one that is named is put among the ``assets``."""
        if not isinstance(item, str) or not item:
            return item
        if item.startswith("@"):
            if item[1:] not in self.shared:
                raise UsageError(f"no asset is shared as {item!r:.80}", hint=f"shared: {', '.join(self.shared) or '-'}")
            item = self.shared[item[1:]]
            if not isinstance(item, str):
                return item
        path = self._path(item)
        if path is None:
            return item
        assets.put(_opened_file(KINDS[name], path), path.name)
        return None

    def _resolved(self, text: str) -> Path | None:
        """The file that a text names; None for a text that is no path. Raises `UsageError` outside of the folders."""
        if "\n" in text or "\0" in text or len(text) > _LONGEST_PATH or not Path(text).suffix:
            return None
        paths = [(root / text).resolve() for root in self.roots]
        inside = [path for path in paths if any(path.is_relative_to(root) for root in self.roots)]
        if not inside:
            hint = "name files inside the dataset's folder, or add theirs with --root"
            raise UsageError(f"{text!r:.120} lies outside the folders of the dataset", hint=hint)
        return next(filter(Path.exists, inside), inside[0])


_LONGEST_PATH: Final = 1_024
_PATHS: Final = 16_384


def whole_request(value: Any) -> Mapping[str, Any]:
    """The fields of a whole request, JSON or a mapping."""
    fields = value if isinstance(value, Mapping) else parse_json(value, asset="row")
    if fields is value:
        check_depth(value, "row")
    if not isinstance(fields, Mapping):
        raise FormatError("a row must be a JSON object", where=Where(asset="row"), hint="one build request a line")
    return fields


def without_gaps(value: Any) -> Any:
    """Data without the empty fields that a table's columns force on each object."""
    if isinstance(value, dict):
        return {key: without_gaps(item) for key, item in value.items() if item is not None}
    return [without_gaps(item) for item in value] if isinstance(value, list) else value


def _opened_file(kind: str, path: Path) -> Any:
    """An asset from its file, known as long as the file stays as it is."""
    try:
        facts = path.stat()
    except OSError:
        return load_as(kind, path)
    key = (kind, str(path), facts.st_mtime_ns, facts.st_size)
    known = _OPENED.get(key)
    return known if known is not None else _OPENED.put(key, load_as(kind, path), _WEIGHT * facts.st_size)


def error_of(error: InnkeeperError, source: str, line: int | None) -> dict[str, Any]:
    """An error as data, with the line of the dataset that it is about."""
    facts = error.to_dict()
    return {**facts, "at": {"asset": source, **({} if line is None else {"line": line})}}
