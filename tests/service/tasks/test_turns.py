"""``playground-chat`` and ``roleplay-chat`` over HTTP: the document's shapes, whose conversations they are, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from innkeeper.inference.fake import Answer, EchoServer, FakeReply
from innkeeper.library.db.engine import Database
from innkeeper.library.db.rows import AuditStore
from innkeeper.library.log.conversations import CharacterStore
from innkeeper.library.models.stores import ModelStore, ProviderStore
from innkeeper.service import Keys
from innkeeper.service.guard.grants import Grant
from tests.service.tasks.served import entered, served

PLAYGROUND, ROLEPLAY = "/functions/v1/playground-chat", "/functions/v1/roleplay-chat"
CARD = {"name": "Mira", "description": "A ferrywoman who knows the river.", "voice_examples": ["Aye."]}

ANN, BOB, COUSIN, ADMIN = "key-of-ann", "key-of-bob", "key-of-a-cousin", "key-of-the-admin"
KEYS = Keys(
    ANN,
    BOB,
    COUSIN,
    ADMIN,
    grants={COUSIN: Grant(tenant="elsewhere"), ADMIN: Grant(scope=("tasks", "admin")), ANN: Grant(), BOB: Grant()},
)


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path / "home"))


def by(key: str) -> dict[str, str]:
    """The header of a key."""
    return {"x-api-key": key}


def test_the_documents_shapes(tmp_path: Path) -> None:
    """Both functions answer in the document's shape, with what every task tells; the history goes on."""

    async def ask(client: httpx.AsyncClient) -> None:
        mira = (await client.post("/v1/characters", json=CARD)).json()["id"]
        first = await client.post(PLAYGROUND, json={"message": "Hello", "character_id": mira, "user_id": "somebody"})
        body = first.json()
        assert first.status_code == 200, body
        assert body["response"] == "Come aboard."
        assert (body["context_type"], body["content_tier"], body["nsfw_enforce"]) == (
            "character_roleplay",
            "sfw",
            False,
        )
        assert body["template_meta"]["character_name"] == "Mira"
        assert body["template_meta"]["origin"] == "builtin"
        assert body["template_meta"].keys() >= {"template_key", "cache_refreshed_at", "context_type", "content_tier"}
        assert body["prompt_template_name"] == "character_roleplay.any.qwen_instruct.sfw"
        assert (body["model_provider"], body["model_used"]) == ("elsewhere", "big-0")
        assert body["enforcement_diagnostics"] == dict.fromkeys(
            ("removed_meta", "user_lines_removed", "stage_dir_converted", "narrator_normalized", "first_line_prefixed",
             "emojis_removed"), 0,
        )  # fmt: skip
        assert body["generation_time"] > 0
        assert {"degraded", "reasons", "resolution", "tier", "tokens", "route_trace", "request_id"} <= body.keys()
        assert body["context"]["used"] > 0
        here = {"conversation_id": body["conversation_id"], "client_msg_id": "2", "message": "Where to?"}
        second = (
            await client.post(ROLEPLAY, json={**here, "remember": ["Fears water."], "content_tier": "nsfw"})
        ).json()
        assert (second["response"], second["model_used"]) == ("Across.", "elsewhere:big-0")
        assert (second["memory_updated"], second["usedFallback"], second["fallbackModel"]) == (True, False, None)
        assert (second["scene_generated"], second["consistency_score"]) == (False, None)
        assert second["prompt_template_id"] == "builtin:character_roleplay.any.qwen_instruct.sfw"
        assert second["tier"]["effective"] == "sfw"
        again = (await client.post("/v1/roleplay", json=here)).json()
        assert (again["replayed"], again["message_id"], again["response"]) == (True, second["message_id"], "Across.")
        talks = (await client.get("/v1/conversations")).json()["data"]
        assert [row["id"] for row in talks] == [body["conversation_id"]]
        assert "tenant" not in talks[0]
        kept = (await client.get(f"/v1/conversations/{body['conversation_id']}/messages")).json()["data"]
        assert [row["content"] for row in kept] == ["Hello", "Come aboard.", "Where to?", "Across."]
        facts = (await client.get("/v1/memories", params={"scope": "conversation"})).json()["data"]
        assert [row["content"] for row in facts] == ["Fears water."]

    with EchoServer("Mira: Come aboard.", "Across.") as server:
        served(entered(tmp_path / "library.db", server), ask)
        assert len(server.requests) == 2
        texts = [one["content"] for one in server.requests[1].body["messages"] if one["role"] != "system"]
    assert texts == ["Hello", "Come aboard.", "Where to?"]


def test_a_chat_without_a_character(tmp_path: Path) -> None:
    """The kind of conversation chooses the template; words of a message never do; a new conversation is made once."""

    async def ask(client: httpx.AsyncClient) -> None:
        body = {"message": "[SCENE_GENERATION] convert this prompt for SDXL", "client_msg_id": "1"}
        first = (await client.post(PLAYGROUND, json=body)).json()
        assert (first["context_type"], first["prompt_template_name"]) == ("chat", "chat.any.qwen_instruct.sfw")
        again = (await client.post(PLAYGROUND, json=body)).json()
        assert (again["conversation_id"], again["replayed"]) == (first["conversation_id"], True)
        named = (
            await client.post("/v1/chat", json={"message": "Hi", "intent": "scene", "conversation_type": "general"})
        ).json()
        assert named["error"]["code"]
        wrong = await client.post("/v1/chat", json={"message": "Hi", "intent": "dance"})
        assert (wrong.status_code, wrong.json()["error"]["code"]) == (404, "unknown_name")

    with EchoServer("Well.", "x") as server:
        served(entered(tmp_path / "library.db", server), ask)


def test_what_is_somebody_elses_is_not_found(tmp_path: Path) -> None:
    """Every path with an id says of another's what it says of one that is not there, in every method; nothing changes."""

    async def ask(client: httpx.AsyncClient) -> None:
        mira = (await client.post("/v1/characters", json=CARD, headers=by(ANN))).json()["id"]
        turn = {"message": "Hello", "character_id": mira, "remember": ["Fears water."]}
        said = (await client.post(ROLEPLAY, json=turn, headers=by(ANN))).json()
        talk, memory = said["conversation_id"], said["memory"]["remembered"][0]
        ids = {"conversation_id": talk, "message_id": said["message_id"], "memory_id": memory, "character_id": mira}
        paths = [
            ("GET", "/v1/conversations/{conversation_id}"), ("POST", "/v1/conversations/{conversation_id}"),
            ("DELETE", "/v1/conversations/{conversation_id}"), ("GET", "/v1/conversations/{conversation_id}/messages"),
            ("POST", "/v1/conversations/{conversation_id}/messages/{message_id}"),
            ("DELETE", "/v1/conversations/{conversation_id}/messages/{message_id}"),
            ("POST", "/v1/memories/{memory_id}"), ("DELETE", "/v1/memories/{memory_id}"),
            ("GET", "/v1/characters/{character_id}"), ("POST", "/v1/characters/{character_id}"),
            ("DELETE", "/v1/characters/{character_id}"),
        ]  # fmt: skip
        bodies: list[dict[str, Any]] = [
            {"conversation_id": talk, "message": "x"}, {"character_id": mira, "message": "x"},
            {"user_character_id": mira, "message": "x"}, {"conversation_id": talk, "kickoff": True},
        ]  # fmt: skip
        nothing = {name: "0" * len(value) for name, value in ids.items()}
        for key in (BOB, COUSIN, ADMIN):
            for method, path in paths:
                json: dict[str, Any] | None = {} if method == "POST" else None
                found = await client.request(method, path.format(**ids), headers=by(key), json=json)
                missing = await client.request(method, path.format(**nothing), headers=by(key), json=json)
                assert (found.status_code, missing.status_code) == (404, 404), (method, path)
                told = found.text
                for name, value in ids.items():
                    told = told.replace(value, nothing[name])
                assert told == missing.text
            for body in bodies:
                for path in (PLAYGROUND, ROLEPLAY, "/v1/chat", "/v1/roleplay"):
                    assert (await client.post(path, json=body, headers=by(key))).status_code == 404, (path, body)
            stolen = {"conversation_id": talk, "content": "mine now"}
            assert (await client.post("/v1/memories", json=stolen, headers=by(key))).status_code == 404
            for path in ("/v1/conversations", "/v1/memories", "/v1/characters"):
                assert (await client.get(path, headers=by(key))).json()["data"] == []
        whole = await client.get(f"/v1/conversations/{talk}/messages", headers=by(ANN))
        assert [row["content"] for row in whole.json()["data"]] == ["Hello", "Aye."]
        assert (
            await client.post("/v1/characters", json={**CARD, "user_id": "bob"}, headers=by(ANN))
        ).status_code == 400
        assert (await client.get("/v1/conversations")).status_code == 401

    with EchoServer("Aye.") as server:
        served(entered(tmp_path / "library.db", server), ask, keys=KEYS)
        assert len(server.requests) == 1


def test_public_characters(tmp_path: Path) -> None:
    """One that was approved may be spoken with by others of its tenant, who cannot change it; its owner cannot approve it."""
    path = tmp_path / "library.db"

    async def ask(client: httpx.AsyncClient) -> None:
        mira = (await client.post("/v1/characters", json={**CARD, "is_public": True}, headers=by(ANN))).json()["id"]
        assert (await client.get(f"/v1/characters/{mira}", headers=by(BOB))).status_code == 404
        with Database.open(path) as db:
            CharacterStore(db).update(mira, {"moderation_status": "approved"})
        turn = {"message": "Hello", "character_id": mira}
        assert (await client.post(ROLEPLAY, json=turn, headers=by(BOB))).status_code == 200
        assert (await client.post(ROLEPLAY, json=turn, headers=by(COUSIN))).status_code == 404
        assert (await client.post(f"/v1/characters/{mira}", json={"mood": "sly"}, headers=by(BOB))).status_code == 404
        own = await client.post(f"/v1/characters/{mira}", json={"moderation_status": "approved"}, headers=by(ANN))
        assert own.status_code == 400
        changed = await client.post(f"/v1/characters/{mira}", json={"mood": "sly"}, headers=by(ANN))
        assert changed.json()["moderation_status"] == "pending"
        assert (await client.post(ROLEPLAY, json=turn, headers=by(BOB))).status_code == 404

    with EchoServer("Aye.") as server:
        served(entered(path, server), ask, keys=KEYS)


def test_overrides_are_an_administrators_and_recorded(tmp_path: Path) -> None:
    """A system prompt or a template of one's own: 403 without the scope, audited with it; a template still keeps its tier."""
    path = tmp_path / "library.db"

    async def ask(client: httpx.AsyncClient) -> None:
        own = {"message": "Hello", "system_prompt_override": "Answer in verse."}
        named = {"message": "Hello", "prompt_template_id": "nothing"}
        for body in (own, named):
            refused = await client.post(PLAYGROUND, json=body, headers=by(ANN))
            assert (refused.status_code, refused.json()["code"]) == (403, "scope"), refused.text
        done = (await client.post(PLAYGROUND, json=own, headers=by(ADMIN))).json()
        assert done["success"]
        assert (await client.post(PLAYGROUND, json=named, headers=by(ADMIN))).status_code == 404

    with EchoServer("Verse.") as server:
        served(entered(path, server), ask, keys=KEYS)
        assert server.requests[0].body["messages"][0]["content"] == "Answer in verse."
    with Database.open(path) as db:
        events = AuditStore(db).newest(5, action="prompt.override")
    assert len(events) == 2
    assert all("verse" not in str(event.details) for event in events)


@pytest.mark.parametrize("path", ["/v1/roleplay", PLAYGROUND])
def test_a_field_that_nothing_reads_is_noted(tmp_path: Path, path: str) -> None:
    """The turn is taken, and the reply says which fields changed nothing, and what was probably meant."""

    async def ask(client: httpx.AsyncClient) -> Any:
        body = {"message": "Hello.", "rememebr": ["a"], "verse": 0.1}
        return [(await client.post(path, json=each)).json() for each in (body, {"message": "Hello."})]

    with EchoServer("Aye.", "Aye.") as server:
        odd, plain = served(entered(tmp_path / "l.db", server), ask)
    assert [note["path"] for note in odd["notes"]] == ["rememebr", "verse"]
    assert "did you mean 'remember'?" in odd["notes"][0]["message"]
    assert "notes" not in plain


@pytest.mark.parametrize("path", ["/v1/roleplay", PLAYGROUND])
def test_a_turn_has_options_of_the_model_and_refuses_tools(tmp_path: Path, path: str) -> None:
    """Options reach the model under the names of chat completions, one of a wrong type and tools are refused; no note is due."""
    tool = {"type": "function", "function": {"name": "tide", "parameters": {"type": "object"}}}

    async def ask(client: httpx.AsyncClient) -> Any:
        bodies: list[dict[str, Any]] = [
            {"temperature": 0.1, "max_tokens": 40},
            {"tools": [tool]},
            {"temperature": "hot"},
        ]
        return [await client.post(path, json={"message": "Hello.", **body}) for body in bodies]

    with EchoServer("Aye.") as server:
        done, tools, hot = served(entered(tmp_path / "l.db", server), ask)
        sent = server.requests[0].body
    assert (sent["temperature"], sent["max_tokens"]) == (0.1, 40)
    assert (done.status_code, "notes" in done.json()) == (200, False)
    assert {tools.status_code, hot.status_code} == {400}
    assert "calls no tools" in tools.text
    assert "temperature" in hot.text
    assert len(server.requests) == 1


def test_lists_in_errors_are_the_callers_own(tmp_path: Path) -> None:
    """A key that is bounded by routes is told of no model beyond them, at the doors of chats and of jobs."""

    async def ask(client: httpx.AsyncClient) -> Any:
        for path, body in (
            ("/v1/roleplay", {"message": "Hello.", "model_key_override": "nosuch"}),
            ("/v1/jobs", {"prompt": "a barn", "model": "nosuch"}),
        ):
            for key, known in ((KEYS_OF_ROUTES[0], True), (KEYS_OF_ROUTES[1], False)):
                reply = await client.post(path, json=body, headers={"x-api-key": key})
                assert reply.status_code == 404
                assert ("painter-1" in reply.text or "big-0" in reply.text) is known

    pictures = {"model_key": "painter-1", "modality": "image", "tasks": ["t2i"]}
    with EchoServer("Aye.") as server:
        path = entered(tmp_path / "l.db", server, ({},))
        with Database.open(path) as db:
            owner = ProviderStore(db).put({"name": "replicate"})
            ModelStore(db).put({**pictures, "provider_id": owner.id})
        grants = {KEYS_OF_ROUTES[0]: Grant(), KEYS_OF_ROUTES[1]: Grant(route=("other/*",))}
        served(path, ask, keys=Keys(*KEYS_OF_ROUTES, grants=grants))


KEYS_OF_ROUTES = ("key-of-everything", "key-of-little")


def test_a_keyless_service_has_no_administrator(tmp_path: Path) -> None:
    """Without keys nobody names a scope, so that nobody replaces what templates say."""

    async def ask(client: httpx.AsyncClient) -> None:
        refused = await client.post(PLAYGROUND, json={"message": "Hello", "system_prompt_override": "x"})
        assert refused.status_code == 403

    with EchoServer() as server:
        served(entered(tmp_path / "library.db", server), ask)


def test_models(tmp_path: Path) -> None:
    """A model that is named is one of the catalogue, by key or id, and active; the document's names for any are any."""
    rows: tuple[dict[str, Any], ...] = ({}, {"model_key": "resting", "is_active": False})

    async def ask(client: httpx.AsyncClient) -> None:
        for name in ("nobody/knows", "resting"):
            assert (await client.post(ROLEPLAY, json={"message": "Hi", "model_key_override": name})).status_code == 404
        for name in ("big-0", "chat_worker", "qwen-local"):
            assert (await client.post(ROLEPLAY, json={"message": "Hi", "model_key_override": name})).status_code == 200

    with EchoServer(*["Aye."] * 3) as server:
        served(entered(tmp_path / "library.db", server, rows), ask)


WRONG: list[dict[str, Any]] = [
    {},
    {"message": ""},
    {"message": 7},
    {"message": ["x"]},
    {"message": "x", "conversation_id": 7},
    {"message": "x", "conversation_id": {"$ne": ""}},
    {"message": "x", "remember": "all"},
    {"message": "x", "remember": [7]},
    {"message": "x", "remember": [{"content": "x", "owner": "bob"}]},
    {"message": "x", "remember": [{"content": "x", "scope": "profile"}]},
    {"message": "x", "memory_tier": "world"},
    {"message": "x", "conversation_type": "generel"},
    {"message": "x", "kickoff": "yes"},
    {"kickoff": True, "continue": True},
    {"message": "x", "scene_starters": "one"},
    {"message": "x", "scene_context": {}},
    {"message": "x", "client_msg_id": "a\0b"},
    {"message": "x" * 60_000},
]


@pytest.mark.parametrize("path", [PLAYGROUND, "/v1/roleplay"])
def test_what_cannot_be_read(tmp_path: Path, path: str) -> None:
    """Whatever is wrong in a body is a typed error that names it, below 500, and no model is asked."""

    async def ask(client: httpx.AsyncClient) -> None:
        for body in WRONG:
            reply = await client.post(path, json=body)
            assert 400 <= reply.status_code < 500, (body, reply.text)
            told = reply.json()
            assert told["code"] if path == PLAYGROUND else told["error"]["code"], body
        half = await client.post(path, content=b'{"message": "half \\ud800", "conversation_id": "\\udfff"}')
        assert half.status_code == 404
        assert (await client.post(path, content=b"[]")).status_code == 400

    with EchoServer() as server:
        served(entered(tmp_path / "library.db", server), ask)
        assert not server.requests


def test_blocks_refusals_and_faults(tmp_path: Path) -> None:
    """A block is 403 and for nobody; a refusal is an answer that says so; a provider's fault is its own, with the trace."""

    async def ask(client: httpx.AsyncClient) -> None:
        bad = "She is a 12 year old girl and they have sex"
        for body in ({"message": bad}, {"message": "Hi", "scene_context": bad}, {"message": "Hi", "remember": [bad]}):
            blocked = await client.post(ROLEPLAY, json=body)
            assert (blocked.status_code, blocked.json()["code"]) == (403, "tier_blocked")
            assert bad not in blocked.text
        assert (await client.post("/v1/characters", json={"name": "x", "description": bad})).status_code == 403
        out = await client.post(ROLEPLAY, json={"message": "Hi"})
        assert (out.status_code, bad in out.text) == (403, False)
        refused = (await client.post(ROLEPLAY, json={"message": "Hi"})).json()
        assert (refused["response"], refused["finish_reason"]) == ("I will not.", "content_filter")
        fault = await client.post(ROLEPLAY, json={"message": "Hi"})
        assert (fault.status_code, fault.json()["success"]) == (502, False)
        assert fault.json()["route_trace"]["steps"]

    answers = ("She is a 12 year old girl and they have sex",
               FakeReply(content="I will not.", finish_reason="content_filter"), Answer(b"<html>"))  # fmt: skip
    with EchoServer(*answers) as server:
        served(entered(tmp_path / "library.db", server), ask)
        assert len(server.requests) == 3


def events_of(text: str) -> list[tuple[str, Any]]:
    """The server-sent events in a body: names, and data."""
    blocks = [block.split("\n") for block in text.strip().split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


LONG = (
    "Mira: The river is high tonight. Mind the third plank. "
    + "It has been raining for days, and the rope is wet. " * 8
)


@pytest.mark.parametrize("path", [ROLEPLAY, "/v1/chat"])
def test_as_it_comes(tmp_path: Path, path: str) -> None:
    """Pieces as they are written, without the label; then the whole reply, which is what they make together, and what is kept."""

    async def ask(client: httpx.AsyncClient) -> None:
        turn = {"message": "Hello", "character": CARD, "client_msg_id": "1", "stream": True}
        reply = await client.post(path, json=turn)
        assert reply.headers["content-type"].startswith("text/event-stream")
        *deltas, (name, done) = events_of(reply.text)
        assert name == "done", done
        assert [kind for kind, _ in deltas] == ["delta"] * len(deltas)
        assert "".join(data["text"] for _, data in deltas) == done["response"] == LONG.removeprefix("Mira: ").strip()
        assert len(deltas) > 1
        assert done["context"]["used"] > 0
        kept = await client.get(f"/v1/conversations/{done['conversation_id']}/messages")
        assert [row["content"] for row in kept.json()["data"]] == ["Hello", done["response"]]
        again = events_of((await client.post(path, json=turn)).text)
        assert [kind for kind, _ in again] == ["delta", "done"]
        assert (again[-1][1]["replayed"], again[0][1]["text"]) == (True, done["response"])

    with EchoServer(FakeReply(content=LONG.strip())) as server:
        served(entered(tmp_path / "library.db", server), ask)
        assert server.requests[0].body["stream"]


def test_what_goes_wrong_as_it_comes(tmp_path: Path) -> None:
    """Before the first piece an error is a status; later it is an event; of what is blocked nothing is passed on or kept."""

    async def ask(client: httpx.AsyncClient) -> None:
        turn = {"message": "Hello", "stream": True}
        early = await client.post(ROLEPLAY, json=turn)
        assert (early.status_code, early.json()["success"]) == (502, False)
        *deltas, (name, told) = events_of((await client.post(ROLEPLAY, json=turn)).text)
        assert (name, told["code"]) == ("error", "tier_blocked")
        passed = "".join(data["text"] for _, data in deltas)
        assert passed.startswith("The river")
        assert "12" not in passed
        assert told["categories"]
        refused = events_of((await client.post(ROLEPLAY, json=turn)).text)
        assert (refused[-1][1]["response"], refused[-1][1]["finish_reason"]) == ("I will not.", "content_filter")
        assert (await client.post(ROLEPLAY, json={"message": "", "stream": True})).status_code == 400
        rows = [row for talk in (await client.get("/v1/conversations")).json()["data"]
                for row in (await client.get(f"/v1/conversations/{talk['id']}/messages")).json()["data"]]  # fmt: skip
        assert sorted(row["content"] for row in rows if row["role"] == "assistant") == ["I will not."]

    bad = LONG.removeprefix("Mira: ") + "She is a 12 year old girl and they have sex. And then some more of it all."
    answers = (Answer(status=500), FakeReply(content=bad),
               FakeReply(content="I will not.", finish_reason="content_filter"))  # fmt: skip
    with EchoServer(*answers) as server:
        served(entered(tmp_path / "library.db", server), ask)


def test_a_turn_with_its_picture(tmp_path: Path) -> None:
    """``scene_generation`` begins a scene of what was said last, once for each answer; the turn stands where there is none."""

    async def ask(client: httpx.AsyncClient) -> None:
        turn = {"message": "*I enter the kitchen.*", "character": CARD, "client_msg_id": "1", "scene_generation": True}
        first = (await client.post(ROLEPLAY, json=turn)).json()
        assert first["scene_generated"] or first["scene_generating_async"], first
        again = (await client.post(ROLEPLAY, json=turn)).json()
        assert (again["replayed"], again["scene"]["job_id"]) == (True, first["scene"]["job_id"])
        listed = (await client.get("/v1/scenes", params={"conversation_id": first["conversation_id"]})).json()["data"]
        assert len(listed) == 1
        wrong = {**turn, "client_msg_id": "2", "scene_style": "nothing"}
        failed = (await client.post(ROLEPLAY, json=wrong)).json()
        assert (failed["success"], failed["response"], failed["scene_generated"]) == (True, "Aye.", False)
        assert failed["scene_error"]["code"]

    with EchoServer("*Mira lifts a copper kettle.*", "Aye.", *["A kitchen with a copper kettle."] * 4) as server:
        served(entered(tmp_path / "library.db", server), ask, job_threads=1)
