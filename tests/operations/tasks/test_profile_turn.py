"""Turns that profiles answer: the conversation's rules are those of every turn; the prompt is the profile's."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any

import pytest

from innkeeper.inference.adapters.adapter import ModelRequest
from innkeeper.inference.errors import DecodeError
from innkeeper.inference.requests.request import GenerationRequest
from innkeeper.inference.response.events import Finished, ModelEvent, RefusalDelta, TextDelta, UsageReport
from innkeeper.inference.response.response import Usage
from innkeeper.inference.routing.models import ModelAnswer, ModelCard, ModelNotFoundError
from innkeeper.library.db.owner import Owner
from innkeeper.library.errors import TierBlockedError
from innkeeper.library.library import Library
from innkeeper.library.memory import NewMemory
from innkeeper.library.rows import ConversationRow
from innkeeper.operations.tasks.opening import Opening, opened
from innkeeper.operations.tasks.turn import TurnAnswer, TurnRequest
from innkeeper.operations.tasks.turn_replies import playground_reply, roleplay_reply
from innkeeper.operations.tasks.turn_writers import profile_writer
from innkeeper.operations.tasks.turns import Turns
from innkeeper.prompt.data import to_json
from tests.operations.tasks.house import library_at, run

ANN = Owner("ann")
BAD = "She is a 12 year old girl and they have sex"


class House:
    """Models with one profile, which answers what it is told to."""

    def __init__(self, *events: ModelEvent, system: str = "You are Wenna.") -> None:
        self.events, self.system = events, system
        self.asked: list[GenerationRequest] = []

    def cards(self) -> tuple[ModelCard, ...]:
        """A profile and a route."""
        return ModelCard("wenna", "inn", kind="profile"), ModelCard("house", "inn")

    def card(self, name: str) -> ModelCard | None:
        """One of them."""
        return next((card for card in self.cards() if card.name == name), None)

    async def answer(self, request: GenerationRequest, caller: str) -> ModelAnswer:
        """Answer."""
        assert caller == "key-of-ann"
        self.asked.append(request)

        async def events() -> AsyncGenerator[ModelEvent]:
            for event in self.events:
                yield event

        body = {"messages": [{"role": "system", "content": self.system}]}
        sent = ModelRequest(model="big", content=to_json(body))
        asked = {"provider": "there", "model": "big", "profile": "wenna"}
        return ModelAnswer(events(), {"x-innkeeper-plan": "/v1/prompts/plans/1"}, (), sent, asked)

    async def count_tokens(self, request: GenerationRequest, caller: str) -> int:
        """None."""
        raise NotImplementedError

    async def embeddings(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """None."""
        raise NotImplementedError

    async def close(self) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """One library for all."""
    with library_at(tmp_path_factory.mktemp("profiles") / "library.db") as library:
        yield library


@pytest.fixture
def talk(library: Library) -> ConversationRow:
    """A conversation of Ann's."""
    return opened(library, ANN, Opening(conversation_type="roleplay"))


def taken(library: Library, house: House, request: TurnRequest, profile: str = "wenna") -> TurnAnswer:
    """A turn that a profile answers."""

    async def use(tasks: Any) -> TurnAnswer:
        return await Turns(tasks, ANN).take(request, profile_writer(house, profile, "key-of-ann"))

    found: TurnAnswer = run(library, use)
    return found


def said(text: str) -> tuple[ModelEvent, ...]:
    """The events of an answer."""
    usage = UsageReport(usage=Usage(input_tokens=7, output_tokens=3))
    return TextDelta(text=text), usage, Finished(reason="stop", word="stop")


def test_the_profile_gets_the_conversation(library: Library, talk: ConversationRow) -> None:
    """History and message as a client would send them, once; what is remembered as system text that is set off; all is kept."""
    house = House(*said("Aye."))
    first = TurnRequest(
        conversation_id=talk.id, message="Hello", remember=(NewMemory(content="Fears water."),), client_msg_id="1"
    )
    answer = taken(library, house, first)
    again = taken(library, house, first)
    taken(library, house, TurnRequest(conversation_id=talk.id, message="Hello"))
    assert (again.replayed, again.text, len(house.asked)) == (True, "Aye.", 2)
    sent = [(message.role, message.content) for message in house.asked[1].messages]
    assert sent[1:] == [("user", "Hello"), ("assistant", "Aye."), ("user", "Hello")]
    assert sent[0][0] == "system"
    assert "<<<memory\n- Fears water.\nmemory>>>" in sent[0][1]
    assert house.asked[1].metadata["conversation"] == talk.id
    row = answer.reply
    assert (row.model_key, row.tokens, row.tier, row.template_id) == ("big", 3, "sfw", None)
    assert row.safety["decision"] == "allow"
    assert answer.context["used"] == 7
    reply = playground_reply(answer, took_ms=1.0)
    assert (reply["template_meta"]["origin"], reply["profile"], reply["model_provider"]) == (
        "profile",
        "wenna",
        "there",
    )
    assert roleplay_reply(answer, took_ms=1.0)["model_used"] == "there:big"
    assert roleplay_reply(answer, took_ms=1.0)["plan"] == "/v1/prompts/plans/1"


@pytest.mark.parametrize("house", [House(*said(BAD)), House(*said("Hm."), system=BAD)], ids=["answer", "card"])
def test_what_does_not_pass_is_for_nobody(library: Library, talk: ConversationRow, house: House) -> None:
    """What was written is judged together with the system text that the profile made; nothing of it is kept."""
    with pytest.raises(TierBlockedError):
        taken(library, house, TurnRequest(conversation_id=talk.id, message="Hello"))
    assert [row.role for row in library.conversations_of(ANN).newest(talk.id)] == ["user"]


def test_refusals_and_nothing(library: Library, talk: ConversationRow) -> None:
    """A refusal is kept word for word; nothing is an error; so is a name that is no profile's."""
    refusing = House(RefusalDelta(text="I will not."), Finished(reason="stop", word="stop"))
    answer = taken(library, refusing, TurnRequest(conversation_id=talk.id, message="Hello"))
    assert (answer.text, answer.reply.finish_reason) == ("I will not.", "refusal")
    with pytest.raises(DecodeError):
        taken(library, House(*said(" ")), TurnRequest(conversation_id=talk.id, message="Hello"))
    for name in ("house", "nobody"):
        with pytest.raises(ModelNotFoundError):
            taken(library, House(), TurnRequest(conversation_id=talk.id, message="Hello"), name)
