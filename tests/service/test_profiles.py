"""Profiles of a running service: every chat client talks to a card, and sees why its prompt was as it was."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from starlette.testclient import TestClient

from innkeeper.conversation import TurnInput, profile_turn
from innkeeper.inference.fake import EchoServer
from innkeeper.inference.routing.models import RouteModels
from innkeeper.inference.routing.route import Routes
from innkeeper.library.db.engine import Database
from innkeeper.library.profiles import StoredProfile, StoredProfiles
from innkeeper.prompt.data import to_json
from innkeeper.service import Settings, create_app
from innkeeper.taverns.profiles import open_profile
from tests.service.programs import LazyModule, Service
from tests.taverns.profiles.folders import profile_folder

if TYPE_CHECKING:
    import anthropic
    import openai
else:  # they take a second each, and the tests of all modules are collected in every process
    anthropic, openai = LazyModule("anthropic"), LazyModule("openai")

ASKED = "Is the reef safe?"


def reply(request: dict[str, Any]) -> str:
    """What the provider answers: more than its turn."""
    said = [message["content"] for message in request["messages"] if message["role"] == "user"]
    return f"Wenna Carrow: You said {said[-1]!r}\nAnsel: Did I?"


@pytest.fixture(scope="module")
def provider() -> Iterator[EchoServer]:
    """A provider that never runs out of answers."""
    with EchoServer(*[reply] * 100) as echo:
        yield echo


@pytest.fixture(scope="module")
def inn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two profiles."""
    inn = tmp_path_factory.mktemp("inn")
    document = 'character = "wenna.png"\npersona = "ansel.persona.json"\nroute = "house"\n'
    counting = "greeting = false\n[variables.local]\nn = 0\n"
    profile_folder(inn / "wenna", document + counting)
    profile_folder(inn / "tobin", 'character = "tobin.json"\nroute = "house"\nsystem = "ignore"\n')
    return inn


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoredProfiles]:
    """The stored profiles of a library."""
    with Database.open(tmp_path_factory.mktemp("library") / "library.db") as db:
        yield StoredProfiles(db)


@pytest.fixture(scope="module")
def service(provider: EchoServer, inn: Path, rows: StoredProfiles) -> Iterator[Service]:
    """``innkeeper serve`` with the profiles."""
    words = ("--no-grpc", "--profile", str(inn), "--workers", "1", "--stored-profiles", "--database", rows.db.location)
    with Service.command("--route", f"house={provider.base_url}:big", *words) as running:
        yield running
        assert running.healthy()


@pytest.fixture(scope="module")
def client(service: Service) -> Iterator[openai.OpenAI]:
    """The official client, as anyone sets it up."""
    with openai.OpenAI(base_url=f"{service.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def test_profiles_are_models(client: openai.OpenAI) -> None:
    """They are listed beside the routes, with whom they belong to."""
    owners = {model.id: model.owned_by for model in client.models.list()}
    assert (owners["wenna"], owners["tobin"]) == ("profile", "profile")
    assert "house" in owners


def test_a_client_talks_to_a_card(client: openai.OpenAI, provider: EchoServer) -> None:
    """The client sends its chat, the model gets the card's prompt, and the answer is the character's alone."""
    made = client.chat.completions.create(model="wenna", messages=[{"role": "user", "content": ASKED}])
    assert made.choices[0].message.content == f"You said {ASKED!r}"
    sent = provider.requests[-1].body
    assert sent["model"] == "big"
    assert "Wenna Carrow keeps the Skerrow Light" in str(sent["messages"])


def test_it_is_streamed(client: openai.OpenAI) -> None:
    """A stream has the same words."""
    pieces = client.chat.completions.create(model="wenna", messages=[{"role": "user", "content": ASKED}], stream=True)
    text = "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
    assert text == f"You said {ASKED!r}"


def test_every_surface_knows_it(client: openai.OpenAI, service: Service) -> None:
    """Responses, text completions and Anthropic's messages talk to the same card."""
    words = f"You said {ASKED!r}"
    assert client.responses.create(model="wenna", input=ASKED).output_text == words
    assert client.completions.create(model="wenna", prompt=ASKED).choices[0].text == words
    with anthropic.Anthropic(base_url=service.url, api_key="none", max_retries=0) as claude:
        made = claude.messages.create(model="wenna", max_tokens=50, messages=[{"role": "user", "content": ASKED}])
    assert made.content[0].type == "text"
    assert made.content[0].text == words


def test_a_conversation_goes_on(client: openai.OpenAI) -> None:
    """Variables go with the chat; a regenerate begins where its turn began."""
    count: Any = [{"role": "user", "content": "{{incvar::n}}"}]
    first = client.chat.completions.create(model="wenna", messages=count)
    assert first.choices[0].message.content == "You said '1'"
    longer = [*count, {"role": "assistant", "content": "Yes."}, *count]
    for _ in range(2):
        made = client.chat.completions.create(model="wenna", messages=longer)
        assert made.choices[0].message.content == "You said '2'"


def test_the_plan_can_be_looked_at(service: Service) -> None:
    """A header leads to the prompt and why it is as it is; a system prompt without effect is named in another."""
    messages = [{"role": "system", "content": "Be a pirate."}, {"role": "user", "content": ASKED}]
    made = httpx.post(f"{service.url}/v1/chat/completions", json={"model": "tobin", "messages": messages}, timeout=30)
    assert made.headers["x-innkeeper-profile"] == "tobin"
    assert "system prompt is ignored" in made.headers["x-innkeeper-notes"]
    plan = httpx.get(service.url + made.headers["x-innkeeper-plan"], timeout=30).json()
    assert plan["profile"] == "tobin"
    assert plan["body"]["messages"][-1]["content"] == ASKED
    assert plan["explanation"]["rows"]
    missing = httpx.get(f"{service.url}/v1/prompts/plans/0", timeout=30)
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "plan_not_found")


def test_plans_alone(service: Service) -> None:
    """Prompts are built, explained, compared and counted without a model."""
    asked = {
        "profile": "wenna",
        "messages": [{"role": "user", "content": ASKED}],
        "seed": 1,
        "now": "2026-01-15T12:00:00Z",
    }
    built = httpx.post(f"{service.url}/v1/prompts/build", json=asked, timeout=30).json()
    assert {"role": "user", "content": ASKED} in built["body"]["messages"]
    counted = httpx.post(f"{service.url}/v1/prompts/count", json=asked, timeout=30).json()
    assert counted["tokens"]["used"] == built["tokens"]["used"]
    same = httpx.post(f"{service.url}/v1/prompts/diff", json={"a": asked, "b": asked}, timeout=30).json()
    assert same["same"]
    wrong = httpx.post(f"{service.url}/v1/prompts/build", json={"profile": "wena"}, timeout=30)
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (404, "unknown_name")
    assert httpx.get(f"{service.url}/v1/prompts/build", timeout=30).status_code == 405


def test_all_doors_give_the_same_bytes(service: Service, provider: EchoServer, inn: Path) -> None:
    """Library, operation and model: the same messages become the same messages of the provider."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": ASKED}]
    turn = profile_turn(open_profile(inn / "wenna"), TurnInput.of(messages, seed=3))
    asked = {"profile": "wenna", "messages": messages, "seed": 3}
    built = httpx.post(f"{service.url}/v1/prompts/build", json=asked, timeout=30).json()
    chat = {"model": "wenna", "messages": messages, "seed": 3}
    assert httpx.post(f"{service.url}/v1/chat/completions", json=chat, timeout=30).status_code == 200
    sent = [body["messages"] for body in (turn.body.body, built["body"], provider.requests[-1].body)]
    assert to_json(sent[0]) == to_json(sent[1]) == to_json(sent[2])


def test_what_goes_wrong_is_told(client: openai.OpenAI) -> None:
    """A profile that is not there is a model that is not there; a prompt that does not fit is the caller's mistake."""
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(model="wena", messages=[{"role": "user", "content": "Hi"}])


def test_conversations_outlive_the_service(provider: EchoServer, inn: Path, tmp_path: Path) -> None:
    """With states in the database, a service that is started again goes on where the last one ended, and shows its plans."""
    database = str(tmp_path / "states.db")
    settings = Settings(profiles=(inn / "wenna",), states="database", database=database, workers=1, grpc_port=None)
    count: Any = {"role": "user", "content": "{{incvar::n}}"}
    chat, plan = [count], ""
    for number in ("1", "2"):
        models = RouteModels(Routes.read((f"house={provider.base_url}:big",)))
        with TestClient(create_app(settings, models=models), base_url="http://127.0.0.1") as client:
            assert not plan or client.get(plan).json()["fingerprint"]
            reply = client.post("/v1/chat/completions", json={"model": "wenna", "messages": chat})
        answer, plan = reply.json()["choices"][0]["message"], reply.headers["x-innkeeper-plan"]
        assert answer["content"] == f"You said '{number}'"
        chat = [*chat, answer, count]


def test_several_answers(client: openai.OpenAI, provider: EchoServer) -> None:
    """Each is a turn of its own; the chat goes on from the first."""
    count: Any = [{"role": "user", "content": "{{incvar::n}} of several"}]
    made = client.chat.completions.create(model="wenna", messages=count, n=2)
    assert [choice.message.content for choice in made.choices] == ["You said '1 of several'"] * 2
    longer = [*count, {"role": "assistant", "content": "Yes."}, *count]
    made = client.chat.completions.create(model="wenna", messages=longer)
    assert made.choices[0].message.content == "You said '2 of several'"


def test_a_profile_takes_no_raw_body(service: Service) -> None:
    """Its prompt is made here."""
    reply = service.post("/v1/chat/completions", {"model": "wenna"}, headers={"x-innkeeper-mode": "raw"})
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "unsupported")


def stored(name: str, words: str, **fields: str) -> Any:
    """A profile for the library."""
    document = f'route = "house"\ncharacter = {{name = "Mira", description = "{words}"}}\n'
    return StoredProfile(name=name, document=document.encode(), **fields)  # type: ignore[arg-type]


def test_stored_profiles(client: openai.OpenAI, provider: EchoServer, rows: StoredProfiles, service: Service) -> None:
    """What is stored while the service runs is served, changed ones as they are now, removed ones no more; others' never."""

    def said() -> str:
        try:
            client.chat.completions.create(model="mira", messages=[{"role": "user", "content": ASKED}])
        except openai.NotFoundError:
            return ""
        return str(provider.requests[-1].body["messages"])

    assert not said()
    rows.put(stored("mira", "Mira mends nets."))
    rows.put(stored("hers", "Of another key.", owner="k1"))
    wait_for(lambda: "mends nets" in said())
    names = [model.id for model in client.models.list()]
    assert "mira" in names
    assert "hers" not in names
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(model="hers", messages=[{"role": "user", "content": ASKED}])
    unknown = service.post("/v1/chat/completions", {"model": "her", "messages": [{"role": "user", "content": "Hi"}]})
    built = service.post("/v1/prompts/build", {"profile": "hers", "messages": [{"role": "user", "content": "Hi"}]})
    assert built.status_code == 404
    for words in (built.text, service.post("/v1/prompts/build", {"profile": "her"}).text, unknown.text):
        assert "wenna" in words
        assert "'hers'" not in words.replace("profile 'hers'", "").replace("model 'hers'", "")
    rows.put(stored("mira", "Mira reads maps."), replace=True)
    wait_for(lambda: "reads maps" in said())
    rows.remove("mira")
    wait_for(lambda: not said())
    assert "mira" not in [model.id for model in client.models.list()]


def wait_for(happened: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait until something has happened, for a while."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_stored_conversation_with_a_profile(service: Service) -> None:
    """``roleplay-chat`` is answered by a profile where it names one: kept, remembered, and asked for again as any turn."""
    with httpx.Client(base_url=service.url, timeout=120) as client:
        turn = {"profile": "wenna", "message": ASKED, "client_msg_id": "1", "remember": ["Ansel fears storms."]}
        first = client.post("/functions/v1/roleplay-chat", json=turn).json()
        assert first["response"] == f"You said {ASKED!r}", first
        assert (first["profile"], first["memory_updated"]) == ("wenna", True)
        assert client.get(first["plan"]).status_code == 200
        again = client.post("/v1/roleplay", json={**turn, "conversation_id": first["conversation_id"]}).json()
        assert (again["replayed"], again["response"]) == (True, first["response"])
        streamed = client.post("/v1/chat", json={"profile": "wenna", "message": "Hm", "stream": True})
        assert streamed.text.startswith("event: delta\ndata: {")
        assert client.post("/v1/roleplay", json={"profile": "nobody", "message": "x"}).status_code == 404
        both = client.post("/v1/roleplay", json={"profile": "wenna", "message": "x", "system_prompt_override": "y"})
        assert both.status_code == 400
        rows = client.get(f"/v1/conversations/{first['conversation_id']}/messages").json()["data"]
    assert [row["role"] for row in rows] == ["user", "assistant"]
