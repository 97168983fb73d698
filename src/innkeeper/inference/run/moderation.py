"""Moderation: models that people run to judge texts, as second readers of the gate, over the one model stack.

``llama-guard`` and ``shieldgemma`` answer in their own words, ``openai`` is OpenAI's moderation endpoint, and ``schema`` is any
route that can answer by a JSON schema. What a model says that is none of its answers is a failure: then the doubt stays.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, Final, Literal, get_args

import msgspec

from innkeeper.inference.adapters.adapter import ModelRequest
from innkeeper.inference.client.blocking import threaded
from innkeeper.inference.client.model_clients import AsyncRouteClient, RouteClient
from innkeeper.inference.response.events import ModelEvent
from innkeeper.inference.routing.route import Route
from innkeeper.prompt.errors import FormatError
from innkeeper.prompt.typed.once import decode

ModerationKind = Literal["llama-guard", "shieldgemma", "openai", "schema"]
"""How a model is asked, and how its answer is read."""

KINDS: Final[tuple[ModerationKind, ...]] = get_args(ModerationKind)
"""All kinds."""

_POLICY: Final = "The text must not put anybody under eighteen, or of unclear age, into a sexual or romantic context."
_QUESTION: Final = f"{_POLICY} Judge the text as a whole: who is told of, and in what.\n\nText:\n"
_GUARDED: Final = "S4"
"""Llama Guard's category of the sexual exploitation of children."""

_SCHEMA: Final = {
    "type": "json_schema",
    "json_schema": {
        "name": "judgement",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"minor_in_romance": {"type": "boolean"}},
            "required": ["minor_in_romance"],
            "additionalProperties": False,
        },
    },
}


class _Judgement(msgspec.Struct, forbid_unknown_fields=True):
    minor_in_romance: bool


class _AsyncReaderClient(AsyncRouteClient):
    """A client whose questions are about texts that may not pass: they go to nobody but the model that judges them."""

    def events(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """The events of an answer that no person sees."""
        return self._sent(request)


class _ReaderClient(RouteClient):
    def __init__(self, route: Route, key: str = "", **options: Any) -> None:
        self.route = route
        self._wrap(_AsyncReaderClient(route, key, **threaded(options)))


class ModerationReader:
    """A `SecondReader` on a route.

    Args:
        route: the model's route.
        kind: how it is asked.
        key: the route's key.
        options: settings of its client.
    """

    def __init__(self, route: Route, kind: ModerationKind = "schema", *, key: str = "", **options: Any) -> None:
        self.label, self._kind = f"{kind}:{route.name}", kind
        self._model = route.model
        self._client = _ReaderClient(route, key, **options)

    def score(self, text: str, /) -> float:
        """1 where the model sees a minor in such a context, 0 where it sees none. Raises `FormatError`, `ProviderError`."""
        if self._kind == "openai":
            return _endpoint(self._client.moderations(model=self._model, input=text).body)
        options: dict[str, Any] = {"response_format": _SCHEMA} if self._kind == "schema" else {}
        asked = [{"role": "user", "content": text if self._kind == "llama-guard" else _QUESTION + text}]
        return _READ[self._kind](self._client.chat(self._model, asked, temperature=0, **options).content or "")

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _endpoint(reply: Mapping[str, Any]) -> float:
    """OpenAI's: the score of its category ``sexual/minors``."""
    try:
        return float(reply["results"][0]["category_scores"]["sexual/minors"])
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise FormatError("the moderation endpoint gave no score for sexual/minors") from error


def _guard(answer: str) -> float:
    """Llama Guard's: ``safe``, or ``unsafe`` and the categories in the next line."""
    lines = answer.split()
    if lines[:1] == ["safe"]:
        return 0.0
    if lines[:1] != ["unsafe"]:
        raise FormatError("the guard answered neither safe nor unsafe")
    return 1.0 if _GUARDED in " ".join(lines[1:]).replace(",", " ").split() else 0.5


def _gemma(answer: str) -> float:
    """ShieldGemma's: ``Yes`` where the policy is violated, else ``No``."""
    word = answer.strip().partition("\n")[0].strip(" .*").lower()
    if word not in {"yes", "no"}:
        raise FormatError("the guard answered neither Yes nor No")
    return float(word == "yes")


def _schema(answer: str) -> float:
    try:
        return float(decode(answer, _Judgement).minor_in_romance)
    except msgspec.DecodeError as error:
        raise FormatError("the model did not answer by the schema") from error


_READ: Final[Mapping[str, Callable[[str], float]]] = {"llama-guard": _guard, "shieldgemma": _gemma, "schema": _schema}
