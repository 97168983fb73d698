"""Operation: something that can be asked of the product, declared once.

The types of request and reply are read from the signature of ``run``. Doors make what they need from them: a route, a reader of
bodies, a description.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from types import UnionType
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from innkeeper.operations.scope import Scope
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import UsageError, Where
from innkeeper.prompt.once import convert
from innkeeper.prompt.text import scalar_text

S = TypeVar("S", bound=msgspec.Struct)


class Operation(msgspec.Struct, frozen=True, dict=True):
    """One operation.

    ``name`` is a subject and a verb (``tier.evaluate``). ``run`` takes a request, which is a struct, and a `Scope`; the first
    line of its docstring is the summary. ``aliases`` are other spellings of a field, which are read where the field's own name
    has no value; a list that has the own name too is read in its order.
    """

    name: str
    run: Callable[[Any, Scope], Awaitable[Any]]
    aliases: Mapping[str, tuple[str, ...]] = EMPTY

    @cached_property
    def request(self) -> type[msgspec.Struct]:
        """The type of the request."""
        hints = get_type_hints(self.run, include_extras=True)
        request: type[msgspec.Struct] = next(iter(hints.values()))
        return request

    @cached_property
    def reply(self) -> Any:
        """The type of the reply."""
        return get_type_hints(self.run, include_extras=True)["return"]

    @property
    def path(self) -> str:
        """The path over HTTP: ``/v1/tier:evaluate``."""
        return f"/v1/{self.name.replace('.', ':')}"

    @property
    def summary(self) -> str:
        """The first line of the docstring of ``run``."""
        return (self.run.__doc__ or self.name).strip().splitlines()[0]

    def read(self, body: Mapping[str, Any]) -> Any:
        """The request in a JSON object. Raises `UsageError`, as `read_body` does."""
        return read_body(self.request, body, self.aliases)

    async def __call__(self, body: Mapping[str, Any], scope: Scope) -> Any:
        """Read a body, run, and return the reply as plain data. Raises `UsageError`, and what ``run`` raises."""
        return msgspec.to_builtins(await self.run(self.read(body), scope), enc_hook=dict)


def read_body(kind: type[S], body: Mapping[str, Any], aliases: Mapping[str, tuple[str, ...]] = EMPTY) -> S:
    """A struct in a JSON object. Null is left out; keys that no field names are ignored.

    Raises `UsageError` with the path of the first field that does not fit.
    """
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        name = field.encode_name
        keys = aliases.get(field.name, ())
        for key in keys if name in keys else (name, *keys):
            # An empty text counts as absent, so that the next spelling is read; where no text is expected it is an error.
            value = body.get(key)
            if value is None or (value == "" and _is_text(field.type)):
                continue
            try:
                values[field.name] = convert(_without_surrogates(value), field.type)
            except msgspec.ValidationError as error:
                raise _mismatch(key, error) from None
            break
        if field.required and field.name not in values:
            raise UsageError(f"{name} is needed", where=Where(path=name))
    return kind(**values)


_WORDS: Final = {"str": "a text", "int": "a whole number", "float": "a number", "bool": "true or false",
                 "object": "an object", "array": "a list"}  # fmt: skip


def _mismatch(key: str, error: msgspec.ValidationError) -> UsageError:
    """An error of msgspec (``Expected `str`, got `int` - at `$.x` ``) as one that names the field."""
    text, _, position = str(error).partition(" - at `$")
    path = key + position.rstrip("`")
    if text.startswith("Expected `"):
        kinds = [kind for kind in text.split("`")[1].split(" | ") if kind != "null"]
        bound = text.split("`", 2)[2].partition(", got ")[0]
        text = f"must be {' or '.join(_WORDS.get(kind, kind) for kind in kinds)}{bound}"
    return UsageError(f"{path} {text}", where=Where(path=path))


def _is_text(kind: Any) -> bool:
    """Whether a field holds a text: ``str``, annotated or with others beside it."""
    return kind is str or (get_origin(kind) in (Annotated, Union, UnionType) and any(map(_is_text, get_args(kind))))


def _without_surrogates(value: Any) -> Any:
    """A text, or an object's texts, with lone surrogates replaced: nothing below reads them."""
    if isinstance(value, str):
        return scalar_text(value)
    if isinstance(value, Mapping):
        return {scalar_text(name): scalar_text(each) if isinstance(each, str) else each for name, each in value.items()}
    return value
