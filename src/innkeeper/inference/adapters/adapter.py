"""Adapter: how one wire protocol is spoken: where a body goes, what asks for a stream, and what an answer says.

An adapter translates answers only. Bodies come from a dialect (`Adapter.dialect`), or from a caller who wants his own sent
untouched; `Adapter.body` adds nothing but what asks for a stream, and not even that to a caller's own bytes. A `ModelRequest` is
one call: what is sent, as bytes and their hash, so that nothing is added unseen.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final, Self

import msgspec

from innkeeper.inference.client.endpoint import encoded
from innkeeper.inference.response.events import ModelEvent, Started
from innkeeper.prompt import Message, UsageError
from innkeeper.prompt.data import EMPTY, FrozenDict, Registry, freeze
from innkeeper.prompt.note import Note
from innkeeper.prompt.payload.dialect import Dialect, Tool

MAX_REPORTED_TOKENS: Final = 2**31 - 1
"""The largest number of tokens that a provider is believed (no error: a larger one counts as not told)."""


def count(value: Any) -> int | None:
    """A number of tokens, or None for anything else."""
    return value if type(value) is int and 0 <= value <= MAX_REPORTED_TOKENS else None


def total(*figures: int | None) -> int | None:
    """The sum of the figures that are known; None where none is."""
    known = [figure for figure in figures if figure is not None]
    return sum(known) if known else None


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """The mappings in a list; none where it is no list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, (list, tuple)) else []


def mapping(value: Any) -> Mapping[str, Any]:
    """A mapping, or an empty one for anything else."""
    return value if isinstance(value, Mapping) else EMPTY


def text(value: Any) -> str:
    """A text, or an empty one for anything else."""
    return value if isinstance(value, str) else ""


def others(data: Mapping[str, Any], known: frozenset[str]) -> FrozenDict:
    """The fields that are not ``known`` and say something: what is kept as the provider wrote it."""
    if data.keys() <= known:
        return EMPTY
    rest = {name: value for name, value in data.items() if name not in known and value not in (None, "", [], {})}
    return freeze(rest) if rest else EMPTY


def arguments_text(value: Any) -> str:
    """A call's arguments as text: itself where it is one, nothing for null, else as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def is_whole(arguments: Any) -> bool:
    """Whether a call's arguments came whole in one piece: a gateway that numbers calls alike and names none begins the next."""
    try:
        return isinstance(json.loads(arguments_text(arguments)), dict)
    except (ValueError, RecursionError):
        return False


class Reading(ABC):
    """One answer as it is read: JSON values in, events out.

    What has no event of its own is an `OtherOutput`, or a fact of `Started`; only what `Adapter.ignored` names is passed over.
    """

    protocol: ClassVar[str] = ""
    """The adapter's name, where a surface speaks its protocol too."""
    finished: bool = False
    """Whether the provider has said that the answer is whole."""
    has_message: bool = False
    """Whether there was a message to read, empty as it may be."""

    _reported: Started = Started()
    _seen: Mapping[frozenset[str], Mapping[str, Any]] = MappingProxyType({})

    @abstractmethod
    def chunk(self, data: Mapping[str, Any], kind: str) -> Iterator[ModelEvent]:
        """The events of one piece of a stream; ``kind`` is the type of the server-sent event, ``message`` where it has none."""

    @abstractmethod
    def whole(self, body: Mapping[str, Any]) -> Iterator[ModelEvent]:
        """The events of an answer that came at once. Raises `DecodeError` for a body that is none of this protocol."""

    def end(self, *, marked: bool) -> Iterator[ModelEvent]:
        """The events that only the end of a stream completes; ``marked`` where a ``[DONE]`` said that it is the end."""
        yield from ()

    def failure(self, data: Mapping[str, Any], kind: str) -> Mapping[str, Any] | None:
        """The error that a piece reports in place of an answer, under ``error``; None where it reports none."""
        if data.get("error"):
            return data
        return {"error": data} if kind == "error" else None

    def facts(self, data: Mapping[str, Any], known: frozenset[str]) -> FrozenDict:
        """`others` of ``data``; nothing where they are what they were in the piece before."""
        if data.keys() <= known:
            return EMPTY
        facts = {name: value for name, value in data.items() if value is not None and name not in known}
        if facts == self._seen.get(known):
            return EMPTY
        self._seen = {**self._seen, known: facts}
        return others(facts, known)

    def started(self, answer_id: Any = None, model: Any = None, facts: FrozenDict = EMPTY) -> Iterator[ModelEvent]:
        """`Started`, where that says something that was not said before."""
        before = self._reported
        if not facts and answer_id in (None, before.id) and model in (None, before.model):
            return
        new = FrozenDict({name: fact for name, fact in facts.items() if before.facts.get(name) != fact})
        now = Started(
            id=text(answer_id) or before.id, model=text(model) or before.model, facts=new, protocol=self.protocol
        )
        if new or (now.id, now.model) != (before.id, before.model):
            self._reported = Started(id=now.id, model=now.model, facts=FrozenDict({**before.facts, **new}))
            yield now


class Adapter(ABC):
    """One wire protocol. It has no state: `reading` gives what one answer needs."""

    name: ClassVar[str]
    """``openai-chat``."""
    dialect: ClassVar[str]
    """The dialect that writes its bodies, unless a provider has one of its own."""
    base_url: ClassVar[str]
    """Where its own provider is."""
    prefix: ClassVar[str] = "/v1"
    """What stands between an address and a path."""
    endpoint: ClassVar[str] = ""
    """The path, where it is the same for all models."""
    ignored: ClassVar[frozenset[str]] = frozenset()
    """The fields of an answer that are not kept: what repeats the request, and what is only for the transport."""

    def headers(self, key: str) -> dict[str, str]:
        """The headers that carry a key, and those that the protocol wants; ``key`` may be empty."""
        return {"authorization": f"Bearer {key}"} if key else {}

    def path(self, model: str, *, stream: bool) -> str:
        """Where a body for this model goes, after the prefix."""
        return self.endpoint

    def body(self, body: Mapping[str, Any], *, stream: bool) -> dict[str, Any]:
        """The body as it is sent: as it is given, and whether a stream is wanted."""
        return {**body, "stream": stream} if stream else dict(body)

    @abstractmethod
    def reading(self) -> Reading:
        """What reads one answer."""


class Adapters(Registry[Adapter]):
    """An immutable registry of adapters by name."""

    __slots__ = ()

    WHAT = "adapter"


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request: the model's name, the bytes of its body, and whether they ask for a stream.

    ``raw``: the bytes are the caller's own, and nothing else is ever sent in their place. ``notes`` name what a translation lost.
    ``headers`` go with it beside those of the route.
    """

    model: str
    content: bytes
    stream: bool = False
    raw: bool = False
    notes: tuple[Note, ...] = ()
    headers: FrozenDict = EMPTY

    @classmethod
    def of(cls, adapter: Adapter, body: Mapping[str, Any], *, model: str = "", stream: bool = False) -> Self:
        """A body that a dialect made, and what asks for a stream. Raises `UsageError` for what JSON cannot say.

        ``model`` is for protocols that name it in the address; the body's own where left out.
        """
        sent = adapter.body(body, stream=stream)
        return cls(model=model or str(body.get("model") or ""), content=encoded(sent), stream=stream)

    @classmethod
    def canonical(
        cls,
        adapter: Adapter,
        messages: Sequence[Message],
        *,
        model: str,
        dialect: Dialect | None = None,
        options: Mapping[str, Any] = EMPTY,
        tools: Iterable[Tool] = (),
        stream: bool = False,
    ) -> Self:
        """Messages, options and tools by the rules of a dialect, the adapter's own where left out.

        `body` is what came of it, ``notes`` what was lost or repaired. Raises `ConfigError`, `LimitError`.
        """
        from innkeeper.dialects import DIALECTS

        writer = dialect or DIALECTS[adapter.dialect]
        settings = {name: value for name, value in options.items() if name != "stream"}
        made = writer.request(messages, model=model, options=settings, tools=tuple(tools))
        request = cls.of(adapter, made.body, model=model, stream=stream)
        return msgspec.structs.replace(request, notes=made.notes)

    @classmethod
    def own(cls, content: bytes, *, model: str = "", stream: bool | None = None) -> Self:
        """A caller's own bytes, which are sent as they are, JSON or not.

        ``model`` and ``stream`` are read from them where they are left out; ``stream`` says how the answer is waited for, and
        where it goes in protocols that have another address for streams.
        """
        body: Any = EMPTY
        if not model or stream is None:
            try:
                body = msgspec.json.decode(content)
            except (msgspec.DecodeError, RecursionError):
                body = EMPTY
        body = body if isinstance(body, Mapping) else EMPTY
        name = model or body.get("model")
        streams = bool(body.get("stream")) if stream is None else stream
        return cls(model=name if isinstance(name, str) else "", content=content, stream=streams, raw=True)

    @property
    def sha256(self) -> str:
        """The hash of the bytes that are sent."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def body(self) -> Any:
        """The bytes as data: what a translation made. Raises `UsageError` where they are not JSON."""
        try:
            return msgspec.json.decode(self.content)
        except msgspec.DecodeError as error:
            raise UsageError(f"the body is not JSON: {error}") from error

    def unstreamed(self, adapter: Adapter) -> Self:
        """Return the same request for a whole answer. Raises `UsageError` where the bytes are not JSON."""
        rest = {name: value for name, value in self.body.items() if name not in {"stream", "stream_options"}}
        content = encoded(adapter.body(rest, stream=False))
        return type(self)(model=self.model, content=content, headers=self.headers)
