"""ModelRequest: one call of a model, without I/O: what is sent, as bytes and their hash, so that nothing is added unseen."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import msgspec

from innkeeper.inference.adapters.adapter import Adapter
from innkeeper.inference.client.wire import encoded
from innkeeper.prompt import Message, UsageError
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.dialect import Dialect, Tool
from innkeeper.prompt.note import Note


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request: the model's name, the bytes of its body, and whether they ask for a stream.

    ``raw``: the bytes are the caller's own, and nothing else is ever sent in their place. ``notes`` name what a translation lost.
    """

    model: str
    content: bytes
    stream: bool = False
    raw: bool = False
    notes: tuple[Note, ...] = ()

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
        told = {name: value for name, value in options.items() if name != "stream"}
        made = writer.request(messages, model=model, options=told, tools=tuple(tools))
        request = cls.of(adapter, made.body, model=model, stream=stream)
        return msgspec.structs.replace(request, notes=made.notes)

    @classmethod
    def own(cls, content: bytes, *, model: str = "", stream: bool | None = None) -> Self:
        """A caller's own bytes, which are sent as they are, JSON or not.

        ``model`` and ``stream`` are read from them where they are left out; ``stream`` says how the answer is waited for, and
        where it goes in protocols that have another address for streams.
        """
        said: Any = EMPTY
        if not model or stream is None:
            try:
                said = msgspec.json.decode(content)
            except (msgspec.DecodeError, RecursionError):
                said = EMPTY
        said = said if isinstance(said, Mapping) else EMPTY
        name = model or said.get("model")
        streams = bool(said.get("stream")) if stream is None else stream
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
        return type(self)(model=self.model, content=encoded(adapter.body(rest, stream=False)))
