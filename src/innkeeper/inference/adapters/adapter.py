"""Adapter: how one wire protocol is spoken: where a body goes, what asks for a stream, and what an answer says.

An adapter translates answers only. Bodies come from a dialect (`Adapter.dialect`), or from a caller who wants his own sent
untouched; `Adapter.body` adds nothing but what asks for a stream, and not even that to a caller's own bytes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from innkeeper.inference.adapters.fields import others, text
from innkeeper.inference.response.events import ModelEvent, Started
from innkeeper.prompt.data import EMPTY, FrozenDict, Registry


class Reading(ABC):
    """One answer as it is read: JSON values in, events out.

    What has no event of its own is an `OtherOutput`, or a fact of `Started`; only what `Adapter.ignored` names is passed over.
    """

    finished: bool = False
    """Whether the provider has said that the answer is whole."""

    _said: Started = Started()
    _told: Mapping[frozenset[str], Mapping[str, Any]] = MappingProxyType({})

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
        told = {name: value for name, value in data.items() if value is not None and name not in known}
        if told == self._told.get(known):
            return EMPTY
        self._told = {**self._told, known: told}
        return others(told, known)

    def started(self, answer_id: Any = None, model: Any = None, facts: FrozenDict = EMPTY) -> Iterator[ModelEvent]:
        """`Started`, where that says something that was not said before."""
        before = self._said
        if not facts and answer_id in (None, before.id) and model in (None, before.model):
            return
        new = FrozenDict({name: fact for name, fact in facts.items() if before.facts.get(name) != fact})
        now = Started(id=text(answer_id) or before.id, model=text(model) or before.model, facts=new)
        if new or (now.id, now.model) != (before.id, before.model):
            self._said = Started(id=now.id, model=now.model, facts=FrozenDict({**before.facts, **new}))
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
    ignored: ClassVar[frozenset[str]] = frozenset()
    """The fields of an answer that are not kept: what repeats the request, and what is only for the transport."""

    def headers(self, key: str) -> dict[str, str]:
        """The headers that carry a key, and those that the protocol wants; ``key`` may be empty."""
        return {"authorization": f"Bearer {key}"} if key else {}

    @abstractmethod
    def path(self, model: str, *, stream: bool) -> str:
        """Where a body for this model goes, after the prefix."""

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
