"""Stored responses: what `retrieve`, `delete` and ``previous_response_id`` go back to: in the library's database, or in memory.

A response is its owner's: for any other there is none of that id.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.lazy import require
from innkeeper.prompt.data import parse_json, to_json
from innkeeper.prompt.errors import UsageError, Where
from innkeeper.prompt.message import Message, messages_of
from innkeeper.service.rows import AskedRows

if TYPE_CHECKING:
    from innkeeper.library.log.stored_responses import StoredResponses


MAX_STORED: Final = 1_000
"""Responses that are kept in memory (no error: the oldest goes)."""

MAX_STORED_BYTES: Final = 64 * 1024 * 1024
"""Bytes that responses and their conversations take up in memory (no error: the oldest go)."""


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


class ResponseStore:
    """Where responses are kept, by owner and id. Missing ones are `ResponseMissingError`.

    Args:
        opened: opens the rows when they are first asked for.
    """

    def __init__(self, opened: Callable[[], StoredResponses]) -> None:
        self._rows = AskedRows(opened)

    async def put(self, owner: str, response_id: str, stored: StoredResponse) -> None:
        """Keep a response. Raises `DatabaseError`."""
        conversation = [message.to_dict() for message in stored.conversation]
        content = to_json(
            {"response": stored.response, "input": stored.input, "conversation": conversation}, sort=False
        ).decode()
        await self._rows.ask(lambda rows: rows.put(owner, response_id, content))

    async def get(self, owner: str, response_id: str) -> StoredResponse:
        """A response. Raises `ResponseMissingError`, `DatabaseError`."""
        content = await self._rows.ask(lambda rows: rows.get(owner, response_id))
        if content is None:
            raise ResponseMissingError(response_id)
        facts = parse_json(content, asset="stored_responses")
        return StoredResponse(
            response=facts["response"],
            input=tuple(facts["input"]),
            conversation=messages_of(facts["conversation"]),
        )

    async def delete(self, owner: str, response_id: str) -> None:
        """Forget a response. Raises `ResponseMissingError`, `DatabaseError`."""
        if not await self._rows.ask(lambda rows: rows.delete(owner, response_id)):
            raise ResponseMissingError(response_id)

    async def close(self) -> None:
        """Close the database."""
        await self._rows.close()


def responses_in_memory(most: int = MAX_STORED, volume: int = MAX_STORED_BYTES) -> ResponseStore:
    """A store for this process alone: so many responses, in so many bytes; the oldest go first."""

    def opened() -> StoredResponses:
        require("sqlalchemy")
        from innkeeper.library.db.log_tables import stored_responses
        from innkeeper.library.db.private import PrivateDatabase
        from innkeeper.library.log.stored_responses import StoredResponses

        table = stored_responses
        return StoredResponses(PrivateDatabase(table, size=volume, rows=most, age=table.c.created_at))

    return ResponseStore(opened)
