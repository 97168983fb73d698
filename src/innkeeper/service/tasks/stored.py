"""``/v1/conversations``, ``/v1/memories`` and ``/v1/characters``: what a caller has stored, to make, look at and take out.

Everything is the caller's own: an id of somebody else's is not found, in the same words as one that there is not
(dynamic-prompting reference 8).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request as WebRequest
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from innkeeper.inference.response.views.chat import envelope
from innkeeper.library.db.owner import Owner
from innkeeper.library.memory import NewMemory
from innkeeper.library.rows import StoredRow
from innkeeper.operations.tasks.opening import Opening, card_columns, opened
from innkeeper.prompt.data import EMPTY, thaw
from innkeeper.prompt.errors import InnkeeperError, UsageError, Where
from innkeeper.service.answers import failure, json_body, json_response, ticket_of
from innkeeper.service.tasks.calls import Opened, flag_of, text_of

if TYPE_CHECKING:
    from innkeeper.library.library import Library


_MOST: Final = 200
_USUAL: Final = 50

Answer = Callable[["Library", Owner, WebRequest, Mapping[str, Any]], Mapping[str, Any]]
"""Waits for the database, so it is called beside the event loop."""


def stored_routes(tasks: Opened) -> list[BaseRoute]:
    """The routes."""

    def told(answer: Answer, *, status: int = 200) -> Callable[[WebRequest], Awaitable[Response]]:
        async def call(web: WebRequest) -> Response:
            try:
                body = await json_body(web) if await web.body() else EMPTY
                ticket, library = ticket_of(web), (await tasks()).library
                owner = Owner(ticket.owner, ticket.grant.tenant)
                return json_response(thaw(await asyncio.to_thread(answer, library, owner, web, body)), status)
            except InnkeeperError as error:
                return failure(error, envelope)

        return call

    talks, one = "/v1/conversations", "/v1/conversations/{conversation_id}"
    message = f"{one}/messages/{{message_id}}"
    return [
        Route(talks, told(_begin, status=201), methods=["POST"]),
        Route(talks, told(_conversations), methods=["GET"]),
        Route(one, told(_conversation), methods=["GET"]),
        Route(one, told(_change), methods=["POST"]),
        Route(one, told(_remove), methods=["DELETE"]),
        Route(f"{one}/messages", told(_messages), methods=["GET"]),
        Route(message, told(_pin_message), methods=["POST"]),
        Route(message, told(_delete_message), methods=["DELETE"]),
        Route("/v1/memories", told(_remember, status=201), methods=["POST"]),
        Route("/v1/memories", told(_memories), methods=["GET"]),
        Route("/v1/memories/{memory_id}", told(_pin_memory), methods=["POST"]),
        Route("/v1/memories/{memory_id}", told(_forget), methods=["DELETE"]),
        Route("/v1/characters", told(_add_character, status=201), methods=["POST"]),
        Route("/v1/characters", told(_characters), methods=["GET"]),
        Route("/v1/characters/{character_id}", told(_character), methods=["GET"]),
        Route("/v1/characters/{character_id}", told(_change_character), methods=["POST"]),
        Route("/v1/characters/{character_id}", told(_remove_character), methods=["DELETE"]),
    ]


def _rows(rows: Iterable[StoredRow]) -> dict[str, Any]:
    return {"object": "list", "data": [_shown(row) for row in rows]}


def _shown(row: StoredRow) -> dict[str, Any]:
    """A row without the name of its tenant, which is the operator's."""
    return {name: value for name, value in row.to_dict().items() if name not in _HIDDEN}


_HIDDEN: Final = frozenset({"tenant", "content_sha256"})


def _limit(web: WebRequest) -> int:
    try:
        return min(_MOST, max(1, int(web.query_params.get("limit", _USUAL))))
    except ValueError:
        raise UsageError("limit is a number", where=Where(path="limit")) from None


# ------------------------------------------------------------------------------------------------------------- conversations

_OPENING: Final = ("character_id", "user_character_id", "conversation_type", "memory_tier", "project_id", "title")


def _begin(library: Library, owner: Owner, web: WebRequest, body: Mapping[str, Any]) -> dict[str, Any]:
    """A new conversation; the same ``Idempotency-Key`` gives the same one."""
    key = web.headers.get("idempotency-key") or text_of(body, "client_conversation_id")
    said: dict[str, Any] = {name: text for name in _OPENING if (text := text_of(body, name))}
    return _shown(opened(library, owner, Opening(**said, key=f"turn:{key}" if key else None)))


def _conversations(library: Library, owner: Owner, web: WebRequest, _body: Mapping[str, Any]) -> dict[str, Any]:
    return _rows(library.conversations_of(owner).list(_limit(web)))


def _conversation(library: Library, owner: Owner, web: WebRequest, _body: Mapping[str, Any]) -> dict[str, Any]:
    return _shown(library.conversations_of(owner).get(web.path_params["conversation_id"]))


_CHANGES: Final = ("title", "status", "memory_tier", "current_location", "user_character_id", "project_id")


def _change(library: Library, owner: Owner, web: WebRequest, body: Mapping[str, Any]) -> dict[str, Any]:
    unknown = sorted(body.keys() - set(_CHANGES))
    if unknown:
        hint = f"fields: {', '.join(_CHANGES)}"
        raise UsageError(f"{unknown[0]!r:.60} is no field to change", where=Where(path=unknown[0][:60]), hint=hint)
    tier = text_of(body, "memory_tier")
    Opening(memory_tier=tier or None)
    changes = {name: text_of(body, name) for name in _CHANGES if name in body}
    return _shown(library.conversations_of(owner).update(web.path_params["conversation_id"], changes))


def _remove(library: Library, owner: Owner, web: WebRequest, _body: Mapping[str, Any]) -> dict[str, Any]:
    row = library.conversations_of(owner).remove(web.path_params["conversation_id"])
    return {"id": row.id, "deleted": True}


def _messages(library: Library, owner: Owner, web: WebRequest, _body: Mapping[str, Any]) -> dict[str, Any]:
    before = web.query_params.get("before")
    if before is not None and not (before.isascii() and before.isdigit() and len(before) < _DIGITS):
        raise UsageError("before is a number", where=Where(path="before"))
    store = library.conversations_of(owner)
    return _rows(store.newest(web.path_params["conversation_id"], _limit(web), before=int(before) if before else None))


_DIGITS: Final = 18


def _pin_message(library: Library, owner: Owner, web: WebRequest, body: Mapping[str, Any]) -> dict[str, Any]:
    _own_message(library, owner, web)
    return _shown(library.conversations_of(owner).pin(web.path_params["message_id"], pinned=flag_of(body, "pinned")))


def _delete_message(library: Library, owner: Owner, web: WebRequest, _body: Mapping[str, Any]) -> dict[str, Any]:
    _own_message(library, owner, web)
    row = library.conversations_of(owner).delete_message(web.path_params["message_id"])
    return {"id": row.id, "deleted_at": row.deleted_at}


def _own_message(library: Library, owner: Owner, web: WebRequest) -> None:
    """Raise `NotFoundError` for a conversation that is not theirs; the store asks the same of the message."""
    library.conversations_of(owner).get(web.path_params["conversation_id"])


# ------------------------------------------------------------------------------------------------------------------ memories


def _remember(library: Library, owner: Owner, _web: WebRequest, body: Mapping[str, Any]) -> dict[str, Any]:
    row = library.conversations_of(owner).get(text_of(body, "conversation_id"))
    wanted = NewMemory(
        content=text_of(body, "content"),
        scope=text_of(body, "scope") or None,
        kind=text_of(body, "kind") or "fact",
        pinned=flag_of(body, "pinned"),
    )
    return _shown(library.memories_of(owner).add(row, [wanted])[0])


def _memories(library: Library, owner: Owner, web: WebRequest, _body: Mapping[str, Any]) -> dict[str, Any]:
    query = web.query_params
    return _rows(library.memories_of(owner).list(query.get("scope"), query.get("scope_id"))[: _limit(web)])


def _pin_memory(library: Library, owner: Owner, web: WebRequest, body: Mapping[str, Any]) -> dict[str, Any]:
    return _shown(library.memories_of(owner).pin(web.path_params["memory_id"], pinned=flag_of(body, "pinned")))


def _forget(library: Library, owner: Owner, web: WebRequest, _body: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": library.memories_of(owner).forget(web.path_params["memory_id"]).id, "deleted": True}


# ---------------------------------------------------------------------------------------------------------------- characters


def _add_character(library: Library, owner: Owner, _web: WebRequest, body: Mapping[str, Any]) -> dict[str, Any]:
    return _shown(library.characters.add({**card_columns(body), **owner.columns()}, who=owner.user))


def _characters(library: Library, owner: Owner, web: WebRequest, _body: Mapping[str, Any]) -> dict[str, Any]:
    return _rows(library.characters.of_owner(owner)[: _limit(web)])


def _character(library: Library, owner: Owner, web: WebRequest, _body: Mapping[str, Any]) -> dict[str, Any]:
    return _shown(library.characters.seen_by(owner, web.path_params["character_id"]))


def _change_character(library: Library, owner: Owner, web: WebRequest, body: Mapping[str, Any]) -> dict[str, Any]:
    """A character that is changed waits for approval again before others see it."""
    key = library.characters.owned(owner, web.path_params["character_id"]).id
    return _shown(
        library.characters.update(key, {**card_columns(body), "moderation_status": "pending"}, who=owner.user)
    )


def _remove_character(library: Library, owner: Owner, web: WebRequest, _body: Mapping[str, Any]) -> dict[str, Any]:
    key = library.characters.owned(owner, web.path_params["character_id"]).id
    return {"id": library.characters.remove(key, who=owner.user).id, "deleted": True}
