"""OpenAI's surface over HTTP: its pages below ``/v1``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from starlette.requests import Request as WebRequest
from starlette.responses import Response

from innkeeper.gate.judgement import Judgement
from innkeeper.inference.requests.chat import read_chat, read_completion
from innkeeper.inference.requests.request import Fields, GenerationRequest
from innkeeper.inference.requests.responses import read_responses, response_messages
from innkeeper.inference.response.response import ModelResponse
from innkeeper.inference.response.views.chat import CHAT, envelope
from innkeeper.inference.response.views.completion import COMPLETION
from innkeeper.inference.response.views.responses import RESPONSES
from innkeeper.inference.routing.models import ModelCard, ModelNotFoundError
from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.prompt.errors import UnsupportedError, UsageError, Where
from innkeeper.service.answers import CANONICAL, MODE, CompletionHandler, Surface
from innkeeper.service.openai.store import ResponseMissingError, ResponseStore, StoredResponse, input_items
from innkeeper.service.openapi.document import named, operation, parameter, schemas_of
from innkeeper.service.pages import Page, PageTable
from innkeeper.service.web import json_body, json_response, ticket_of, unless_gone, with_errors

_CHAT: Final = Surface("openai-chat", read_chat, CHAT, envelope)
_RESPONSES: Final = Surface("openai-responses", read_responses, RESPONSES, envelope)
_COMPLETION: Final = Surface("text-completion", read_completion, COMPLETION, envelope)


def openai_pages(answering: CompletionHandler, store: ResponseStore, started: int) -> PageTable:
    """``chat/completions``, ``responses`` and what is stored of them, ``completions``, ``embeddings``, ``models``.

    ``started`` is when the service began, in seconds: what models say of their age.
    """
    stored = _Stored(answering, store)
    listed = _Listed(answering, started)

    async def chat(web: WebRequest) -> Response:
        return await answering.reply(web, _CHAT)

    async def complete(web: WebRequest) -> Response:
        return await answering.reply(web, _COMPLETION)

    async def embed(web: WebRequest) -> Response:
        if web.headers.get(MODE, CANONICAL) != CANONICAL:
            raise UnsupportedError("embeddings have no other mode", where=Where(path=MODE), hint="leave the mode out")
        body, ticket = await json_body(web), ticket_of(web)
        fields = Fields(body)
        name = fields.model()
        if not isinstance(fields.take("input") or None, str | list):
            raise UsageError(
                "there is nothing to embed", where=Where(path="input"), hint="send input: a text or a list of them"
            )
        answering.allow(ticket, name)
        ticket.record.operation = "embeddings"
        return json_response(await unless_gone(web.receive, answering.models.embeddings(body)))

    one = "/v1/responses/{response_id}"
    pages = (
        Page(
            "POST",
            "/v1/chat/completions",
            chat,
            _asked("Answer a chat.", "ChatRequest", "ChatCompletion"),
            Judgement.ASKED,
        ),
        Page(
            "POST",
            "/v1/completions",
            complete,
            _asked("Go on with a text.", "CompletionRequest", "Completion"),
            Judgement.ASKED,
        ),
        Page("POST", "/v1/embeddings", with_errors(embed), _EMBEDDINGS),
        Page(
            "POST",
            "/v1/responses",
            stored.create,
            _asked("Answer, and keep the response.", "ResponsesRequest", "Response"),
            Judgement.ASKED,
        ),
        Page(
            "GET", one, with_errors(stored.get), _looked("A response that was kept.", "Response", _ID), Judgement.STORED
        ),
        Page("DELETE", one, with_errors(stored.delete), _looked("Forget a response.", "DeletedResponse", _ID)),
        Page(
            "POST",
            f"{one}/cancel",
            with_errors(stored.cancel),
            _looked("Stop a response under way.", "Response", _ID),
            Judgement.STORED,
        ),
        Page(
            "GET",
            f"{one}/input_items",
            with_errors(stored.items),
            _looked("What a response was asked.", "InputItems", _ID),
            Judgement.STORED,
        ),
        Page("GET", "/v1/models", listed.all, _looked("The routes and profiles that this key may use.", "ModelList")),
        Page(
            "GET",
            "/v1/models/{name:path}",
            with_errors(listed.one),
            _looked("One of them.", "Model", parameter("name", "its name")),
        ),
    )
    return PageTable(pages, schemas_of("openai"))


def _asked(summary: str, body: str, reply: str, *, streams: bool = True) -> dict[str, Any]:
    return operation(summary, "openai", body=named(body), reply=named(reply), error="OpenAIError", streams=streams)


def _looked(summary: str, reply: str, *parameters: dict[str, Any]) -> dict[str, Any]:
    return operation(summary, "openai", reply=named(reply), error="OpenAIError", parameters=parameters)


_ID: Final = parameter("response_id", "a response's `id`")
_EMBEDDINGS: Final = _asked("Embed texts, where the model can.", "EmbeddingsRequest", "Embeddings", streams=False)


class _Listed:
    """The list of models, in OpenAI's words and Anthropic's at once."""

    def __init__(self, answering: CompletionHandler, started: int) -> None:
        self._answering, self._started = answering, started

    async def all(self, web: WebRequest) -> Response:
        cards = [self._card(card) for card in self._answering.cards(web)]
        ends = {"first_id": cards[0]["id"], "last_id": cards[-1]["id"]} if cards else {}
        return json_response({"object": "list", "data": cards, "has_more": False, **ends})

    async def one(self, web: WebRequest) -> Response:
        cards = {card.name: card for card in self._answering.cards(web)}
        name = web.path_params["name"]
        if name not in cards:
            raise ModelNotFoundError(name, cards)
        return json_response(self._card(cards[name]))

    def _card(self, card: ModelCard) -> dict[str, Any]:
        window = {} if card.context_window is None else {"context_window": card.context_window}
        openai = {"id": card.name, "object": "model", "created": self._started, "owned_by": card.owner}
        return {**openai, "type": "model", "display_name": card.name, **window}


class _Stored:
    """Responses, kept where the request does not say otherwise."""

    def __init__(self, answering: CompletionHandler, store: ResponseStore) -> None:
        self._answering, self._store = answering, store

    async def create(self, web: WebRequest) -> Response:
        owner = ticket_of(web).owner
        before: tuple[Any, ...] = ()
        mine: tuple[Any, ...] = ()
        items: tuple[Any, ...] = ()

        async def prepared(body: Mapping[str, Any]) -> Mapping[str, Any]:
            nonlocal items
            content = body.get("input")
            if not isinstance(content, list):
                items = ({"role": "user", "content": content},) if isinstance(content, str) else ()
                return body
            items = tuple([await self._item(owner, item, f"input[{at}]") for at, item in enumerate(content)])
            return {**body, "input": list(items)}

        async def changed(asked: GenerationRequest) -> GenerationRequest:
            nonlocal before, mine
            if asked.raw is not None:
                return asked
            top = asked.messages[:1] if asked.echo.get("instructions") else ()
            mine = asked.messages[len(top) :]
            if asked.previous_response_id is not None:
                before = await self._before(owner, asked.previous_response_id)
            echo = FrozenDict({**asked.echo, "store": asked.store is not False})
            return msgspec.structs.replace(asked, messages=(*top, *before, *mine), echo=echo)

        async def store(asked: GenerationRequest, response: ModelResponse) -> None:
            if asked.store is not False:  # a raw one is the provider's to keep
                conversation = (*before, *mine, *response_messages(response))
                stored = StoredResponse(response=RESPONSES.whole(response), input=items, conversation=conversation)
                await self._store.put(owner, response.id, stored)

        return await self._answering.reply(web, _RESPONSES, prepared=prepared, changed=changed, finished=store)

    async def _item(self, owner: str, item: Any, path: str) -> Any:
        """An item of a request, or the one that it refers to, answered or asked. Raises `ResponseMissingError`."""
        if not isinstance(item, Mapping) or not isinstance(item.get("id"), str):
            return item
        if item.get("type", "item_reference") != "item_reference" or item.keys() - {"type", "id"}:
            return item
        stored = await self._store.item(owner, item["id"])
        if stored is None:
            raise ResponseMissingError(item["id"], path, "item_not_found", what="item")
        return stored

    async def _before(self, owner: str, response_id: str) -> tuple[Any, ...]:
        try:
            return (await self._store.get(owner, response_id)).conversation
        except ResponseMissingError as error:
            missing = ResponseMissingError(response_id, "previous_response_id", "previous_response_not_found")
            raise missing from error

    async def get(self, web: WebRequest) -> Response:
        return json_response((await self._store.get(*_key(web))).response)

    async def delete(self, web: WebRequest) -> Response:
        owner, response_id = _key(web)
        await self._store.delete(owner, response_id)
        return json_response({"id": response_id, "object": "response", "deleted": True})

    async def cancel(self, web: WebRequest) -> Response:
        owner, response_id = _key(web)
        cancelled = self._answering.cancel(owner, response_id)
        if cancelled is not None:
            return json_response(cancelled.to_dict())
        await self._store.get(owner, response_id)
        raise UsageError(
            f"the response {response_id!r:.80} has ended", hint="only one that is under way can be cancelled"
        )

    async def items(self, web: WebRequest) -> Response:
        owner, response_id = _key(web)
        items = input_items(response_id, (await self._store.get(owner, response_id)).input)
        ends = {"first_id": items[0]["id"], "last_id": items[-1]["id"]} if items else EMPTY
        return json_response({"object": "list", "data": items, "has_more": False, **ends})


def _key(web: WebRequest) -> tuple[str, str]:
    return ticket_of(web).owner, web.path_params["response_id"]
