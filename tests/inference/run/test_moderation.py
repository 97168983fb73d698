"""Moderation models as second readers: each is asked in its own way, and an answer that is none is a failure."""

from __future__ import annotations

import json

import httpx
import pytest

from innkeeper.inference.routing.route import Routes
from innkeeper.inference.run.moderation import ModerationKind, ModerationReader
from innkeeper.prompt.errors import InnkeeperError

ROUTE = Routes.read(("guard=http://127.0.0.1:9:judge",))["guard"]
TEXT = "Mia is fifteen. A romantic evening follows."


def score(kind: ModerationKind, answer: object) -> float:
    """What a reader makes of an answer."""

    def provide(request: httpx.Request) -> httpx.Response:
        assert TEXT in request.content.decode()
        if kind == "openai":
            return httpx.Response(200, json=answer)
        message = {"role": "assistant", "content": answer}
        return httpx.Response(200, json={"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    return ModerationReader(ROUTE, kind, transport=httpx.MockTransport(provide)).score(TEXT)


CASES: list[tuple[ModerationKind, object, float]] = [
    ("llama-guard", "safe", 0.0),
    ("llama-guard", "unsafe\nS1,S4", 1.0),
    ("llama-guard", "unsafe\nS1", 0.5),
    ("shieldgemma", "No", 0.0),
    ("shieldgemma", "Yes", 1.0),
    ("schema", json.dumps({"minor_in_romance": False}), 0.0),
    ("schema", json.dumps({"minor_in_romance": True}), 1.0),
    ("openai", {"results": [{"category_scores": {"sexual/minors": 0.25}}]}, 0.25),
]


@pytest.mark.parametrize(("kind", "answer", "expected"), CASES)
def test_an_answer_has_a_score(kind: ModerationKind, answer: object, expected: float) -> None:
    """A text that the gate blocks reaches the model that judges it."""
    assert score(kind, answer) == expected


@pytest.mark.parametrize(
    ("kind", "answer"),
    [("llama-guard", "maybe"), ("shieldgemma", ""), ("schema", "{}"), ("schema", "no"), ("openai", {"results": []})],
)
def test_what_is_no_answer_fails(kind: ModerationKind, answer: object) -> None:
    """Then the doubt stays."""
    with pytest.raises(InnkeeperError):
        score(kind, answer)
