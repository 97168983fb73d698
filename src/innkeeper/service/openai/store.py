"""Stored responses: what `retrieve`, `delete` and ``previous_response_id`` go back to: in the library's database, or in memory.

A response is its owner's: for any other there is none of that id.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.lazy import require
from innkeeper.prompt.data import EMPTY, parse_json, to_json
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

    def __init__(
        self, response_id: str, param: str = "response_id", code: str = "response_not_found", *, what: str = "response"
    ) -> None:
        message = f"no {what} {response_id!r:.80} is stored"
        super().__init__(
            message, where=Where(path=param), hint="the oldest go first; send the whole conversation", code=code
        )


_ITEM_ID: Final = re.compile(r"(?:msg|rs|fc)_(?P<response>[0-9A-Z]{26})_\d+|resp_(?P<asked>[0-9A-Z]{26})_in_\d+")
"""The ids that items are given here, with the response's own in them; a provider's lead to it by a row of their own."""

_OF: Final = "of"
"""The field of such a row."""


def input_items(response_id: str, items: Sequence[Any]) -> list[dict[str, Any]]:
    """What a response was asked, as OpenAI lists it: each with an id, its content a list of parts."""
    return [{"type": "message", "id": f"{response_id}_in_{at}", **_listed(item)} for at, item in enumerate(items)]


def _listed(item: Any) -> dict[str, Any]:
    fields = dict(item) if isinstance(item, Mapping) else {"role": "user", "content": str(item)}
    content, own = fields.get("content"), fields.get("role") == "assistant"
    if isinstance(content, str):
        content = [{"type": "output_text" if own else "input_text", "text": content}]
    if not isinstance(content, (list, tuple)):
        return fields
    parts = [{**_REQUIRED.get(str(part.get("type")), EMPTY), **part} for part in content if isinstance(part, Mapping)]
    return {**({"status": "completed"} if own else EMPTY), **fields, "content": parts}


_REQUIRED: Final[Mapping[str, Mapping[str, Any]]] = {
    "input_image": {"detail": "auto"},
    "output_text": {"annotations": []},
}
"""Fields of parts that OpenAI always gives and a client may leave out."""


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
        names = [str(item.get("id")) for item in stored.response["output"]]
        alias = to_json({_OF: response_id}).decode()

        def put(rows: StoredResponses) -> None:
            rows.put(owner, response_id, content)
            for name in names:
                if not _ITEM_ID.fullmatch(name):
                    rows.put(owner, name, alias)

        await self._rows.ask(put)

    async def get(self, owner: str, response_id: str) -> StoredResponse:
        """A response. Raises `ResponseMissingError`, `DatabaseError`."""
        facts = await self._facts(owner, response_id)
        if facts is None or _OF in facts:
            raise ResponseMissingError(response_id)
        return StoredResponse(
            response=facts["response"], input=tuple(facts["input"]), conversation=messages_of(facts["conversation"])
        )

    async def item(self, owner: str, item_id: str) -> Mapping[str, Any] | None:
        """An item of a stored response, or of what it was asked; None where there is none. Raises `DatabaseError`."""
        known = _ITEM_ID.fullmatch(item_id)
        response_id = f"resp_{known['response'] or known['asked']}" if known else ""
        if known is None and (alias := await self._facts(owner, item_id)) is not None:
            response_id = str(alias.get(_OF))
        facts = await self._facts(owner, response_id) if response_id else None
        if facts is None or _OF in facts:
            return None
        items = [*facts["response"]["output"], *input_items(response_id, facts["input"])]
        named = next((item for item in items if item.get("id") == item_id), None)
        if named is None or known is None:
            return named
        return {
            name: value for name, value in named.items() if name not in ("id", "status")
        }  # no provider knows this id

    async def _facts(self, owner: str, name: str) -> dict[str, Any] | None:
        content = await self._rows.ask(lambda rows: rows.get(owner, name))
        return None if content is None else parse_json(content, asset="stored_responses")

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
        from innkeeper.library.db.private import PrivateDatabase
        from innkeeper.library.db.tables.logs import stored_responses
        from innkeeper.library.log.stored_responses import StoredResponses

        table = stored_responses
        return StoredResponses(PrivateDatabase(table, size=volume, rows=most, age=table.c.created_at))

    return ResponseStore(opened)
