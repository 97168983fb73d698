"""Stored responses: what `retrieve`, `delete` and ``previous_response_id`` go back to: a port, and two stores behind it.

A response is its owner's: for any other there is none of that id.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from innkeeper.prompt.data import parse_json, to_json
from innkeeper.prompt.errors import UsageError, Where
from innkeeper.prompt.message import Message, messages_of

if TYPE_CHECKING:
    from innkeeper.library.log.stored_responses import StoredResponses


MAX_STORED: Final = 1_000
"""Responses that are kept in memory (no error: the oldest goes)."""

MAX_STORED_BYTES: Final = 64 * 1024 * 1024
"""Bytes of responses and their conversations in memory (no error: the oldest go)."""


class ResponseMissingError(UsageError):
    """There is no stored response of this id, or it is another owner's."""

    http_status = 404

    def __init__(self, response_id: str, param: str = "response_id", code: str = "response_not_found") -> None:
        message = f"no response {response_id!r:.80} is stored"
        super().__init__(
            message, where=Where(path=param), hint="the oldest go first; send the whole conversation", code=code
        )


class StoredResponse(msgspec.Struct, frozen=True, kw_only=True):
    """A response as it was answered, what it was asked with, and the conversation up to it, instructions left out."""

    response: dict[str, Any]
    input: tuple[Any, ...] = ()
    conversation: tuple[Message, ...] = ()

    @property
    def size(self) -> int:
        """About how many bytes it keeps."""
        return len(msgspec.json.encode((self.response, self.input))) + sum(
            [
                len(message.content) + sum([len(media.data or "") for media in message.attachments])
                for message in self.conversation
            ]
        )


class ResponseStore(Protocol):
    """Where responses are kept, by owner and id. Missing ones are `ResponseMissingError`."""

    async def put(self, owner: str, response_id: str, stored: StoredResponse) -> None:
        """Keep a response."""
        ...

    async def get(self, owner: str, response_id: str) -> StoredResponse:
        """A response. Raises `ResponseMissingError`."""
        ...

    async def delete(self, owner: str, response_id: str) -> None:
        """Forget a response. Raises `ResponseMissingError`."""
        ...

    async def close(self) -> None:
        """Let go of what it holds."""
        ...


class MemoryResponses:
    """Responses in memory, so many and so large; those of before go first."""

    def __init__(self, most: int = MAX_STORED, volume: int = MAX_STORED_BYTES) -> None:
        self._most, self._volume = most, volume
        self._stored: OrderedDict[tuple[str, str], tuple[StoredResponse, int]] = OrderedDict()
        self._size = 0

    async def put(self, owner: str, response_id: str, stored: StoredResponse) -> None:
        """Keep a response."""
        size = stored.size
        self._stored[owner, response_id] = stored, size
        self._size += size
        while len(self._stored) > self._most or (self._size > self._volume and self._stored):
            _, (_, gone) = self._stored.popitem(last=False)
            self._size -= gone

    async def get(self, owner: str, response_id: str) -> StoredResponse:
        """A response. Raises `ResponseMissingError`."""
        stored = self._stored.get((owner, response_id))
        if stored is None:
            raise ResponseMissingError(response_id)
        return stored[0]

    async def delete(self, owner: str, response_id: str) -> None:
        """Forget a response. Raises `ResponseMissingError`."""
        await self.get(owner, response_id)
        _, size = self._stored.pop((owner, response_id))
        self._size -= size

    async def close(self) -> None:
        """Nothing is held."""


class DatabaseResponses:
    """Responses in the library's database, where they outlast the service; it is waited for in threads."""

    def __init__(self, rows: StoredResponses) -> None:
        self._rows = rows

    async def put(self, owner: str, response_id: str, stored: StoredResponse) -> None:
        """Keep a response. Raises `DatabaseError`."""
        conversation = [message.to_dict() for message in stored.conversation]
        content = to_json(
            {"response": stored.response, "input": stored.input, "conversation": conversation}, sort=False
        )
        await asyncio.to_thread(self._rows.put, owner, response_id, content.decode())

    async def get(self, owner: str, response_id: str) -> StoredResponse:
        """A response. Raises `ResponseMissingError`, `DatabaseError`."""
        stored = await asyncio.to_thread(self._rows.get, owner, response_id)
        if stored is None:
            raise ResponseMissingError(response_id)
        facts = parse_json(stored, asset="stored_responses")
        return StoredResponse(
            response=facts["response"],
            input=tuple(facts["input"]),
            conversation=messages_of(facts["conversation"]),
        )

    async def delete(self, owner: str, response_id: str) -> None:
        """Forget a response. Raises `ResponseMissingError`, `DatabaseError`."""
        if not await asyncio.to_thread(self._rows.delete, owner, response_id):
            raise ResponseMissingError(response_id)

    async def close(self) -> None:
        """Close the database."""
        await asyncio.to_thread(self._rows.close)
