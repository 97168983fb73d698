"""Operation: something that can be asked of the product, declared once.

The types of request and reply are read from the signature of ``run``. Doors make what they need from them: a route, a reader of
bodies, a description.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from functools import cache, cached_property
from types import UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Generic,
    Literal,
    TypedDict,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import UNSET

from innkeeper.gate.judgement import Judgement
from innkeeper.operations.scope import Scope
from innkeeper.prompt.data import EMPTY, parse_json
from innkeeper.prompt.errors import UsageError, Where
from innkeeper.prompt.near import did_you_mean
from innkeeper.prompt.text import scalar_text
from innkeeper.prompt.typed.json_schema import json_schema
from innkeeper.prompt.typed.misfit import Misfit
from innkeeper.prompt.typed.once import convert

StoredText = Annotated[str, msgspec.Meta(extra_json_schema={"pattern": r"^[^\u0000]*$"})]
"""A text that goes into the database, which holds no U+0000: the store refuses it, and the documents say so."""

S = TypeVar("S", bound=msgspec.Struct)
Request = TypeVar("Request")
Reply = TypeVar("Reply")


class Operation(msgspec.Struct, Generic[Request, Reply], frozen=True, dict=True):
    """One operation.

    ``name`` is a subject and a verb (``tier.evaluate``). ``run`` takes a request, which is a struct, and a `Scope`; it is a
    coroutine function, except where workers compute it. The types are read from its signature, unless ``takes`` and ``gives``
    name them. The first line of its docstring is the summary, unless ``words`` are. ``aliases`` are other
    spellings of a field, which are read where the field's own name has no value; a list that has the own name too is read in its
    order. ``beneath`` names a field that is an object, too: the fields which that has are read there where the body has no value.
    With ``lax`` numbers may be texts. ``whole`` names a field that is all of the body which other fields do not name.
    ``examples`` are bodies that are answered. ``judged`` says when its texts pass the gate; each operation declares it.
    """

    name: str
    run: Callable[[Request, Any], Reply]
    aliases: Mapping[str, tuple[str, ...]] = EMPTY
    beneath: str = ""
    lax: bool = False
    whole: str = ""
    examples: tuple[Mapping[str, Any], ...] = ()
    takes: type[msgspec.Struct] | None = None
    gives: Any = None
    words: str = ""
    judged: Judgement | None = None

    @cached_property
    def request(self) -> type[msgspec.Struct]:
        """The type of the request."""
        if self.takes is not None:
            return self.takes
        hints = get_type_hints(self.run, include_extras=True)
        request: type[msgspec.Struct] = next(iter(hints.values()))
        return request

    @cached_property
    def reply(self) -> Any:
        """The type of the reply; None where it is always given as it comes."""
        return next((kind for kind in self._replies if get_origin(kind) is not AsyncGenerator), None)

    @cached_property
    def streams(self) -> bool:
        """Whether a reply may be given as it comes: ``run`` returns an `AsyncGenerator` of `ServerEvent` then."""
        return any(get_origin(kind) is AsyncGenerator for kind in self._replies)

    @property
    def _replies(self) -> tuple[Any, ...]:
        hint = get_type_hints(self.run, include_extras=True)["return"] if self.takes is None else self.gives
        return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)

    @property
    def path(self) -> str:
        """The path over HTTP: ``/v1/tier:evaluate``."""
        return f"/v1/{self.name.replace('.', ':')}"

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the request, complete in itself."""
        return json_schema(self.request)

    @property
    def summary(self) -> str:
        """What it does, in one line."""
        return self.words or (self.run.__doc__ or self.name).strip().splitlines()[0]

    def read(self, body: Mapping[str, Any], *, lax: bool = False) -> Any:
        """The request in a JSON object. Raises `UsageError`, as `read_body` does."""
        if self.whole:
            rest = {key: value for key, value in body.items() if key not in self.names or key == self.whole}
            body = {**{key: value for key, value in body.items() if key not in rest}, self.whole: rest}
        return read_body(self.request, body, self.aliases, self.beneath, lax=lax or self.lax, empty_is_absent=self.lax)

    @cached_property
    def names(self) -> frozenset[str]:
        """All names under which fields of the request are read."""
        fields = _fields(self.request)
        return frozenset(key for field in fields for key in (field.encode_name, *self.aliases.get(field.name, ())))

    async def __call__(self: Operation[Any, Any], body: Mapping[str, Any], scope: Scope) -> Any:
        """Read a body, run, and return the reply as plain data. Raises `UsageError`, and what ``run`` raises."""
        return plain(await self.run(self.read(body), scope))

    def body(self, request: Request) -> dict[str, Any]:
        """Return a request as the JSON object that `read` reads."""
        facts: dict[str, Any] = plain(request)
        rest = facts.pop(self.whole, None) or {}
        return {**{name: value for name, value in facts.items() if value is not None}, **rest}

    def read_reply(self, content: bytes, media_type: str) -> Any:
        """Return the reply in the body of an answer over HTTP. Raises `FormatError`."""
        if self.reply is Blob:
            return Blob(content, media_type)
        reply = parse_json(content, asset="reply")
        return convert(reply, self.reply) if _is_struct(self.reply) else reply


def plain(reply: Any) -> Any:
    """A reply as plain data."""
    return msgspec.to_builtins(reply, enc_hook=dict)


class Blob(msgspec.Struct, frozen=True):
    """A reply that is bytes, such as a picture; ``sha256`` where it never changes."""

    data: bytes
    media_type: str
    sha256: str = ""


Row = dict[str, Any]
"""A row of the library as its owner sees it."""


class RowList(TypedDict):
    """Rows of the library."""

    object: Literal["list"]
    data: list[Row]


class Deleted(TypedDict):
    """What is gone now."""

    id: str
    deleted: Literal[True]


def listing_limit(limit: int) -> int:
    """How many rows a list gives where so many are asked for."""
    return min(200, max(1, limit))


def read_body(
    kind: type[S],
    body: Mapping[str, Any],
    aliases: Mapping[str, tuple[str, ...]] = EMPTY,
    beneath: str = "",
    *,
    lax: bool = False,
    empty_is_absent: bool | None = None,
) -> S:
    """A struct in a JSON object. Null is left out; keys that no field names are ignored, unless the struct forbids them.

    An empty text counts as absent where a field is a text, and with ``empty_is_absent`` (as ``lax`` where left out) in any.

    Raises `UsageError` with the path of the first field that does not fit.
    """
    values: dict[str, Any] = {}
    absent = lax if empty_is_absent is None else empty_is_absent
    nested, inner = _nested(kind, body, beneath)
    fields = _fields(kind)
    if kind.__struct_config__.forbid_unknown_fields:
        _check_known(body, [field.encode_name for field in fields])
    for field in fields:
        if field.name == beneath:
            continue
        name = field.encode_name
        keys = aliases.get(field.name, ())
        for key in keys if name in keys else (name, *keys):
            value = body.get(key)
            if value is None and field.name in inner:
                value = nested.get(key)
            if field.default is UNSET and key in body:
                value = value or ""  # a field that may be unset is taken away so
            elif value is None or (value == "" and (absent or _is_text(field.type))):
                continue
            values[field.name] = _converted(key, value, field.type, lax=lax)
            break
        if field.required and field.name not in values:
            raise UsageError(f"{name} is needed", where=Where(path=name))
    return kind(**values)


_fields: Final = cache(msgspec.structs.fields)


def _converted(key: str, value: Any, kind: Any, *, lax: bool) -> Any:
    """A value as the type of its field; 5.0 is a whole number, as in JSON Schema. Raises `UsageError` that names ``key``."""
    if isinstance(value, float) and value.is_integer():
        members = (kind, *get_args(kind), *(each for member in get_args(kind) for each in get_args(member)))
        value = int(value) if int in members else value
    try:
        return convert(value if _is_struct(kind) else _without_surrogates(value), kind, strict=not lax)
    except Misfit as error:
        path = key + ("" if not error.path or error.path.startswith("[") else ".") + error.path
        where = Where(path=f"{path}.{error.field:.60}" if error.field else path)
        raise UsageError(f"{path} {error.problem}", where=where) from None


def _check_known(body: Mapping[str, Any], names: list[str]) -> None:
    unknown = next((key for key in body if key not in names), None)
    if unknown is not None:
        hint = did_you_mean(unknown, names, f"fields: {', '.join(names)}")
        raise UsageError(f"there is no field {unknown!r:.60}", where=Where(path=unknown[:60]), hint=hint)


def _nested(
    kind: type[msgspec.Struct], body: Mapping[str, Any], name: str
) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """The object in a field of the body, and the fields that are read there, too."""
    if not name:
        return EMPTY, ()
    nested = body.get(name)
    if not isinstance(nested, (Mapping, type(None))):
        raise UsageError(f"{name} must be an object", where=Where(path=name))
    return nested or EMPTY, _fields_beneath(kind, name)


@cache
def _fields_beneath(kind: type[msgspec.Struct], name: str) -> tuple[str, ...]:
    struct = next(each for each in get_args(get_type_hints(kind)[name]) if each is not type(None))
    names: tuple[str, ...] = struct.__struct_fields__
    return names


def _is_text(kind: Any) -> bool:
    """Whether a field holds a text: ``str``, annotated or with others beside it."""
    return kind is str or (get_origin(kind) in (Annotated, Union, UnionType) and any(map(_is_text, get_args(kind))))


def _is_struct(kind: Any) -> bool:
    """Whether a field holds a struct, which looks at its texts itself."""
    return any(isinstance(each, type) and issubclass(each, msgspec.Struct) for each in (kind, *get_args(kind)))


def _without_surrogates(value: Any) -> Any:
    """A text, or an object's texts, with lone surrogates replaced: nothing below reads them."""
    if isinstance(value, str):
        return scalar_text(value)
    if isinstance(value, Mapping):
        return {scalar_text(name): scalar_text(each) if isinstance(each, str) else each for name, each in value.items()}
    return value
