"""Anthropic's surface over HTTP: ``/v1/messages``, and how many tokens they are."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request as WebRequest
from starlette.responses import Response

from innkeeper.gate.judgement import Judgement
from innkeeper.inference.requests.messages import read_messages
from innkeeper.inference.response.views.messages import MESSAGES, envelope
from innkeeper.inference.routing.models import ModelNotFoundError
from innkeeper.service.answers import CompletionHandler, Surface
from innkeeper.service.error_facts import facts_of
from innkeeper.service.openapi.document import named, operation, schemas_of
from innkeeper.service.pages import Page, PageTable
from innkeeper.service.web import json_body, json_response, ticket_of, with_errors

_MESSAGES: Final = Surface("anthropic-messages", read_messages, MESSAGES, envelope, ("anthropic-beta",))


def anthropic_pages(answering: CompletionHandler) -> PageTable:
    """``/v1/messages`` and ``/v1/messages/count_tokens``."""

    async def create(web: WebRequest) -> Response:
        return await answering.reply(web, _MESSAGES)

    async def count(web: WebRequest) -> Response:
        asked = read_messages(await json_body(web))
        cards = [card.name for card in answering.cards(web)]
        if asked.model not in cards:
            raise ModelNotFoundError(asked.model, cards)
        tokens = await answering.models.count_tokens(asked, ticket_of(web).caller)
        return json_response({"input_tokens": tokens})

    pages = (
        Page("POST", "/v1/messages", create, _CREATE, Judgement.ASKED),
        Page("POST", "/v1/messages/count_tokens", with_errors(count, lambda error: envelope(facts_of(error))), _COUNT),
    )
    return PageTable(pages, schemas_of("anthropic"))


_CREATE: Final = operation(
    "Answer a chat, as Anthropic has it.",
    "anthropic",
    body=named("MessagesRequest"),
    reply=named("AnthropicAnswer"),
    error="AnthropicError",
    streams=True,
)
_COUNT: Final = operation(
    "How many tokens a request has.",
    "anthropic",
    body=named("CountRequest"),
    reply=named("TokenCount"),
    error="AnthropicError",
)
