"""Transfer: what an operator maintains, as one file, JSON or YAML, the same bytes from equal libraries.

That is templates, negative prompts, providers, models, tools, policies of routes and tiers, detection lists and settings; no
secrets, people's data or logs: for those there are backups. Reading is strict: a field that is not known is an error at its line.
A draft file is one template as people write it, before it is a version.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from innkeeper.content.errors import LIMITS as CONTENT_LIMITS
from innkeeper.content.finding import Finding
from innkeeper.content.json.document import locate
from innkeeper.content.json.text import decode_json
from innkeeper.library.errors import TransferError
from innkeeper.library.limits import MAX_TRANSFER_BYTES
from innkeeper.library.templates.template import FlatTemplate, TemplateDraft, TemplateVersion, flat_fields
from innkeeper.library.transfer.yamltext import parse_yaml, write_yaml
from innkeeper.prompt.data import to_json
from innkeeper.prompt.errors import FormatError, LimitError, UsageError, Where
from innkeeper.prompt.typed.misfit import Misfit
from innkeeper.prompt.typed.once import convert

FORMAT: Final = "innkeeper-library"
SCHEMA: Final = 1
"""The version of the file's form; grows when older readers would misread it."""

Row = dict[str, Any]
T = TypeVar("T")


class TransferredVersion(FlatTemplate, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A version as it stands in a file: the fields of `TemplateVersion` that are its own."""

    version: int
    author: str = ""
    created_at: str = ""
    content_sha256: str = ""


class TransferredTemplate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A template with its versions, oldest first, and the labels that they hold."""

    name: str
    description: str = ""
    versions: list[TransferredVersion]
    labels: dict[str, int] = {}


class TransferredDocument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A version of a tier policy or detection list."""

    name: str
    version: int
    body: Any
    note: str = ""
    author: str = ""
    is_active: bool = False


class Transfer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole file. Rows have the columns of their tables, without ids and dates; models name their provider."""

    format: str
    schema: int
    templates: list[TransferredTemplate] = []
    negative_prompts: list[Row] = []
    providers: list[Row] = []
    models: list[Row] = []
    tools: list[Row] = []
    route_policies: list[Row] = []
    tier_policies: list[TransferredDocument] = []
    detection_lists: list[TransferredDocument] = []
    settings: dict[str, Any] = {}


Locate = Callable[[tuple[str | int, ...]], Where]


class Parsed(NamedTuple):
    """A file that was read, and a way to say where in it something stands."""

    transfer: Transfer
    locate: Locate


_STEP: Final = re.compile(r"\.?([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_LIMITS: Final = msgspec.structs.replace(
    CONTENT_LIMITS, file_bytes=MAX_TRANSFER_BYTES, json_keys=50_000_000, json_values=50_000_000
)


def dumps(transfer: Transfer, form: str = "json") -> bytes:
    """A file's bytes, ``json`` or ``yaml``: keys sorted, one value a line, so that differences can be read."""
    if form == "yaml":
        return write_yaml(msgspec.to_builtins(transfer))
    if form != "json":
        raise UsageError(f"an export is not written as {form!r}", hint="json or yaml")
    plain = json.loads(to_json(msgspec.to_builtins(transfer)))
    return json.dumps(plain, indent=2, sort_keys=True, ensure_ascii=False).encode() + b"\n"


def parse(data: bytes, *, asset: str, form: str | None = None) -> Parsed:
    """Read a file; ``form`` is guessed from its first character where it is not given.

    Raises:
        TransferError: it is not JSON or YAML, or has something that does not belong; with line and column.
        TransferError: it is of another version.
        LimitError: it is too large or too deep.
    """
    tree, locate = read_tree(data, asset=asset, form=form)
    _check_version(tree, asset)
    return Parsed(typed(tree, locate, Transfer), locate)


def read_tree(data: bytes, *, asset: str, form: str | None = None) -> tuple[Any, Locate]:
    """Plain data from JSON or YAML, and a way to say where in it something stands. Raises `TransferError`, `LimitError`."""
    if len(data) > MAX_TRANSFER_BYTES:
        raise LimitError(
            "the file", limit="MAX_TRANSFER_BYTES", allowed=MAX_TRANSFER_BYTES, found=len(data), where=Where(asset)
        )
    text = _text(data, asset)
    is_json = form == "json" or (form is None and text.lstrip()[:1] in {"{", "["})
    return _json(text, asset) if is_json else _yaml(text, asset)


def _text(data: bytes, asset: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        where = Where(asset, line=before.count(b"\n") + 1, column=error.start - before.rfind(b"\n"))
        raise TransferError("the file is not UTF-8", where=where) from error


def _json(text: str, asset: str) -> tuple[Any, Locate]:
    findings: list[Finding] = []
    try:
        tree = decode_json(text, _LIMITS, name=asset, findings=findings)
    except LimitError:
        raise
    except FormatError as error:
        raise TransferError(error.message, where=error.where) from error
    if findings:  # a key that stands twice, or half a character
        raise TransferError(findings[0].message, where=findings[0].where(asset))

    def position(path: tuple[str | int, ...]) -> Where:
        span = locate(text, path)
        start = 0 if span is None else span.start
        line = text.count("\n", 0, start) + 1
        return Where(asset, path=shown(path), line=line, column=start - text.rfind("\n", 0, start))

    return tree, position


def _yaml(text: str, asset: str) -> tuple[Any, Locate]:
    tree, positions = parse_yaml(text, asset=asset)

    def position(path: tuple[str | int, ...]) -> Where:
        known = next(path[:end] for end in range(len(path), -1, -1) if path[:end] in positions or not end)
        line, column = positions.get(known, (1, 1))
        return Where(asset, path=shown(path), line=line, column=column)

    return tree, position


def shown(path: tuple[str | int, ...]) -> str:
    """A path as people write it: ``templates[3].name``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def _check_version(tree: Any, asset: str) -> None:
    if not isinstance(tree, dict) or tree.get("format") != FORMAT:
        raise TransferError(
            f"this is no export of a library: it does not say format: {FORMAT}", where=Where(asset, line=1)
        )
    if tree.get("schema") != SCHEMA:
        version = str(tree.get("schema"))[:20]
        message = f"an export of version {version}; this Innkeeper reads version {SCHEMA}"
        hint = "import it with the Innkeeper that wrote it, or a later one"
        raise TransferError(message, where=Where(asset, path="schema"), hint=hint)


def typed(tree: Any, locate: Locate, kind: type[T]) -> T:
    """Plain data as a struct. Raises `TransferError` at the place of what does not fit."""
    try:
        return convert(tree, kind)
    except Misfit as error:
        raise TransferError(error.problem, where=locate(_first_bad(tree, f"{error.path}.{error.field}"))) from error


def _first_bad(tree: Any, place: str) -> tuple[str | int, ...]:
    """The path of what does not fit, as far as msgspec tells: it names no keys of open objects."""
    path: tuple[str | int, ...] = ()
    for match in _STEP.finditer(place):
        if match[2] == "...":
            break
        path = (*path, int(match[2]) if match[2] else match[1])
    return next(known for known in (path, path[:-1], path[:-2], ()) if _at(tree, known) is not _NOWHERE)


_NOWHERE: Final = object()


def _at(tree: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        try:
            tree = tree[part]
        except (KeyError, IndexError, TypeError):
            return _NOWHERE
    return tree


class DraftFile(FlatTemplate, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The fields of `TemplateDraft`, the key's beside the others."""

    name: str = ""
    description: str = ""

    def draft(self, *, author: str = "") -> TemplateDraft:
        """The draft that it describes. Raises `FieldError`."""
        return TemplateDraft(name=self.name, description=self.description, author=author, **self.content())

    @classmethod
    def of(cls, version: TemplateVersion) -> DraftFile:
        """The file that gives a version's content again; its note is left for the next one."""
        return cls(name=version.name, **{**flat_fields(version), "note": ""})


def parse_draft(data: bytes, *, asset: str, form: str | None = None) -> DraftFile:
    """Read a file; whether it is JSON or YAML is seen from its first character.

    Raises:
        TransferError: it is neither, or has something that does not belong; with line and column.
        LimitError: it is too large or too deep.
    """
    try:
        tree, locate = read_tree(data, asset=asset, form=form)
        return typed(tree, locate, DraftFile)
    except TransferError as error:
        error.hint = "nothing was saved; mend the place shown"
        raise


def draft_text(file: DraftFile, form: str = "yaml") -> bytes:
    """The file's bytes, as they are opened in an editor."""
    plain = msgspec.to_builtins(file)
    if form == "yaml":
        return write_yaml(plain)
    return json.dumps(plain, indent=2, ensure_ascii=False).encode() + b"\n"
