"""Scenes over HTTP: the document's function and services of our own, whose they are, and errors that say what is wrong."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from innkeeper.inference.fake import EchoServer, FakeReply
from innkeeper.library.db.engine import Database
from innkeeper.library.db.rows import AuditStore
from innkeeper.service import Keys
from innkeeper.service.guard.grants import Grant
from tests.service.tasks.served import entered, served
from tests.shared import ROOT

ANN, BOB, COUSIN = "key-of-ann", "key-of-bob", "key-of-a-cousin"
KEYS = Keys(ANN, BOB, COUSIN, grants={COUSIN: Grant(tenant="elsewhere"), ANN: Grant(), BOB: Grant()})
SCENE = "/functions/v1/generate-scene"
TOLD = '*Mira walks into the old kitchen and lifts a copper kettle.* "Sit down," she says.'
WAIT = {"prefer": "wait=60"}


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path / "home"))


def by(key: str) -> dict[str, str]:
    """The headers of a key."""
    return {"x-api-key": key, **WAIT}


def test_the_whole_way(tmp_path: Path) -> None:
    """A template, a conversation, a scene with its picture, the next that goes on from it, and what is told of all of them."""

    async def ask(client: httpx.AsyncClient) -> None:
        card = {"name": "Mira", "appearance_tags": ["red hair"], "clothing_tags": ["apron"], "declared_age": 30}
        mira = (await client.post("/v1/characters", json=card)).json()["id"]
        here = (await client.post("/v1/conversations", json={"character_id": mira})).json()["id"]
        template = {"name": "Attic", "scene_prompt": "an attic full of clocks", "setting": "attic"}
        added = await client.post("/v1/scenes/templates", json=template)
        assert (added.status_code, added.json()["name"]) == (201, "Attic")
        body = {"conversation_id": here, "scene_template_id": added.json()["id"], "user_id": "somebody"}
        looked = (await client.post("/v1/scenes:compose", json=body)).json()
        assert (looked["text_source"], looked["scene_name"], looked["success"]) == ("template", "Attic", True)
        assert (await client.get("/v1/scenes", params={"conversation_id": here})).json()["data"] == []
        asked = {**body, "consistency_settings": {"seed_value": 0}}
        headers = {**WAIT, "idempotency-key": "one"}
        first = (await client.post(SCENE, json=asked, headers=headers)).json()
        assert (first["status"], first["seed"], first["contentType"]) == ("completed", 0, "sfw")
        assert first["jobId"] == first["job_id"] == first["id"]
        assert first["scene_prompt"] == looked["scene_prompt"]
        again = (await client.post(SCENE, json=asked, headers=headers)).json()
        assert (again["scene_id"], again["jobId"]) == (first["scene_id"], first["jobId"])
        assert again.keys() == first.keys()
        assert first["tier"]["effective"] == "sfw"
        picture = await client.get(first["imageUrl"])
        assert (picture.headers["content-type"], picture.content[:4]) == ("image/png", b"\x89PNG")
        state = (await client.get(f"/v1/scenes/states/{here}")).json()
        edits = {"location": {"value": "attic", "pinned": True}, "version": state["version"]}
        pinned = (await client.post(f"/v1/scenes/states/{here}", json=edits)).json()
        assert pinned["state"]["location"]["pinned"]
        late = await client.post(f"/v1/scenes/states/{here}", json=edits)
        assert (late.status_code, late.json()["error"]["code"]) == (409, "conflict")
        changed = {"current_scene_image_url": first["imageUrl"], "scene_prompt_override": "make it night"}
        second = (await client.post("/v1/scenes", json={"conversation_id": here, **changed}, headers=WAIT)).json()
        assert (second["scene_mode"], second["generation_mode"]) == ("modification", "i2i")
        third = (await client.post("/v1/scenes", json={"conversation_id": here, "message": TOLD}, headers=WAIT)).json()
        assert (third["scene_mode"], third["previous_scene_id"]) == ("continuation", second["scene_id"])
        assert third["state"]["location"]["value"] == "attic", "pinned"
        rows = (await client.get("/v1/scenes", params={"conversation_id": here})).json()["data"]
        assert [row["id"] for row in rows] == [third["scene_id"], second["scene_id"], first["scene_id"]]
        assert (await client.get(first["statusUrl"])).json()["status"] == "succeeded"
        template_page = f"/v1/scenes/templates/{added.json()['id']}"
        assert (await client.get(template_page)).json()["usage_count"] == 1
        assert (await client.post(template_page, json={"max_words": 30})).json()["max_words"] == 30
        assert (await client.get("/v1/scenes/templates")).json()["data"][0]["max_words"] == 30
        assert (await client.delete(template_page)).json()["deleted"]

    with EchoServer("Aye.") as server:
        served(entered(tmp_path / "library.db", server), ask, job_threads=2)


def test_a_bare_machine(tmp_path: Path) -> None:
    """Without a catalogue, a key or a database: a scene is composed, and the tiny backend draws it."""

    async def ask(client: httpx.AsyncClient) -> None:
        body = {"message": TOLD, "character": {"name": "Mira", "appearance_tags": ["red hair"]}}
        made = (await client.post(SCENE, json=body, headers=WAIT)).json()
        assert (made["success"], made["status"], made["model"]) == (True, "completed", "tiny-seed-picture")
        assert "old kitchen" in made["scene_prompt"]
        assert made["figures"] == []

    served(tmp_path / "new.db", ask, job_threads=2)


def test_a_model_tells_the_moment(tmp_path: Path) -> None:
    """Where nothing is done, a model tells it, and what it cost is told; its refusal reaches the caller."""

    async def ask(client: httpx.AsyncClient) -> None:
        body = {"message": '"Sit down."', "character": {"name": "Mira"}}
        told = (await client.post("/v1/scenes:compose", json=body)).json()
        assert (told["text_source"], told["scene_name"]) == ("narrative", "Tea")
        assert told["narrative"]["route_trace"]["ended"] == "answered"
        refused = await client.post(SCENE, json=body)
        assert refused.status_code == 400
        assert refused.json()["code"] == "scene_refused"
        assert refused.json()["refusal"] == "I will not."
        assert (await client.get("/v1/scenes")).json()["data"] == []

    good = "[SCENE_NAME: Tea] A woman stands at the counter of a dim kitchen, with a kettle."
    replies = (FakeReply(content=good), FakeReply(content="I will not.", finish_reason="content_filter"))
    with EchoServer(*replies) as server:
        served(entered(tmp_path / "library.db", server), ask)


def test_whose_they_are(tmp_path: Path) -> None:
    """What is somebody else's is not there, in the same words as what there is not: for all paths and all ids of a body."""

    async def ask(client: httpx.AsyncClient) -> None:
        mira = (await client.post("/v1/characters", json={"name": "Mira"}, headers=by(ANN))).json()["id"]
        here = (await client.post("/v1/conversations", json={"character_id": mira}, headers=by(ANN))).json()["id"]
        made = (await client.post(SCENE, json={"conversation_id": here, "message": TOLD}, headers=by(ANN))).json()
        row = {"name": "Attic", "scene_prompt": "an attic"}
        template = (await client.post("/v1/scenes/templates", json=row, headers=by(ANN))).json()["id"]
        ids = {"talk": here, "scene": made["scene_id"], "template": template, "mira": mira, "job": made["jobId"]}
        nothing = {name: "0" * len(value) for name, value in ids.items()}
        paths = [
            ("GET", "/v1/scenes/{scene}"), ("GET", "/v1/scenes/{scene}/image"), ("GET", "/v1/scenes/states/{talk}"),
            ("POST", "/v1/scenes/states/{talk}"), ("GET", "/v1/scenes/templates/{template}"),
            ("POST", "/v1/scenes/templates/{template}"), ("DELETE", "/v1/scenes/templates/{template}"),
            ("GET", "/v1/scenes?conversation_id={talk}"), ("GET", "/v1/jobs/{job}"),
        ]  # fmt: skip
        bodies = [
            {"conversation_id": "{talk}"}, {"character_id": "{mira}", "message": TOLD},
            {"user_character_id": "{mira}", "message": TOLD}, {"scene_template_id": "{template}"},
            {"previous_scene_id": "{scene}", "message": TOLD},
            {"current_scene_id": "{scene}", "scene_prompt_override": "x"},
            {"current_scene_image_url": "/v1/scenes/{scene}/image", "scene_prompt_override": "x"},
        ]  # fmt: skip
        for key in (BOB, COUSIN):
            for method, path in paths:
                json: dict[str, Any] | None = {} if method == "POST" else None
                answers = [
                    await client.request(method, path.format(**known), headers=by(key), json=json)
                    for known in (ids, nothing)
                ]
                assert [one.status_code for one in answers] == [404, 404], (method, path)
                assert _without(answers[0].text, ids, nothing) == answers[1].text
            for body in bodies:
                for path in (SCENE, "/v1/scenes", "/v1/scenes:compose"):
                    answers = [
                        await client.post(path, headers=by(key), json={n: v.format(**known) for n, v in body.items()})
                        for known in (ids, nothing)
                    ]
                    assert [one.status_code for one in answers] == [404, 404], (path, body)
                    assert _without(answers[0].text, ids, nothing) == answers[1].text
            for path in ("/v1/scenes", "/v1/scenes/templates"):
                assert (await client.get(path, headers=by(key))).json()["data"] == []
        assert (await client.get("/v1/scenes")).status_code == 401
        shown = {"is_public": True}
        assert (await client.post(f"/v1/scenes/templates/{template}", json=shown, headers=by(ANN))).status_code == 200
        assert (await client.get(f"/v1/scenes/templates/{template}", headers=by(BOB))).status_code == 200
        assert (await client.get(f"/v1/scenes/templates/{template}", headers=by(COUSIN))).status_code == 404
        stolen = {"name": "x", "scene_prompt": "x", "user_id": "ann"}
        assert (await client.post("/v1/scenes/templates", json=stolen, headers=by(BOB))).status_code == 400

    with EchoServer("Aye.") as server:
        served(entered(tmp_path / "library.db", server), ask, keys=KEYS, job_threads=2)


def _without(text: str, ids: dict[str, str], nothing: dict[str, str]) -> str:
    for name, value in ids.items():
        text = text.replace(value, nothing[name])
    return text


WRONG: tuple[tuple[Any, int], ...] = (
    ([], 400),
    ({}, 400),
    ({"message": 5}, 400),
    ({"scene_style": "crowd", "message": TOLD}, 400),
    ({"message": "x" * 20_000}, 413),
    ({"character": {"name": "Mira", "appearance_tags": ["x"] * 500}, "message": TOLD}, 413),
    ({"scene_clothing_overrides": {str(n): "x" for n in range(500)}, "message": TOLD}, 413),
    ({"conversation_id": "nul \0", "message": TOLD}, 400),
    ({"conversation_id": "x" * 9_000}, 413),
    ({"message": TOLD, "selected_image_model": "no/such"}, 404),
    ({"message": TOLD, "scene_preview_image_url": "file:///etc/passwd"}, 400),
    ({"message": TOLD, "consistency_settings": {"seed_value": -1}}, 400),
    ({"message": TOLD, "consistency_settings": 5}, 400),
    ({"message": TOLD, "strict": "yes"}, 400),
    ({"message": TOLD, "max_cost": "much"}, 400),
    ({"message": TOLD, "width": 10**12}, 400),
    ({"message": f"a 12 year old girl, erotic, naked {TOLD}"}, 403),
)


def test_hostile(tmp_path: Path) -> None:
    """What does not fit is an error of the caller's in the shape of the path, a block leaves an event, and nothing is a 500."""
    path = tmp_path / "library.db"

    async def ask(client: httpx.AsyncClient) -> None:
        for body, status in WRONG:
            for page in (SCENE, "/v1/scenes"):
                reply = await client.post(page, json=body)
                assert reply.status_code == status, (body, reply.text)
                assert ("code" in reply.json()) is (page == SCENE)
        half = b'{"message": "half \\ud800", "character": {"name": "\\udfff"}}'
        for page in (SCENE, "/v1/scenes:compose"):
            assert (await client.post(page, content=half)).status_code in {200, 400}
        for page in (
            "/v1/scenes/%00",
            "/v1/scenes/states/%ed%a0%80",
            "/v1/scenes/templates/%2e%2e",
            "/v1/scenes?limit=x",
        ):
            assert (await client.get(page)).status_code in {400, 404}, page
        wrong = await client.post("/v1/scenes/templates", json={"name": "x", "scene_prompt": "x", "max_words": 5})
        assert wrong.status_code == 400, wrong.text
        assert (await client.get("/v1/scenes")).json()["data"] == []

    served(path, ask)
    with Database.open(path) as db:
        assert len(AuditStore(db).newest(50, action="tier.block")) == 2


def test_a_service_without_the_library() -> None:
    """A service whose extra ``library`` is not installed starts all the same."""
    code = (
        "import sys; sys.modules['sqlalchemy'] = None; from innkeeper.service import Settings, create_app\n"
        "create_app(Settings(grpc_port=None)); print('made', 'innkeeper.jobs.media_jobs' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("made False\n", 0), done.stderr


_EXAMPLE = re.compile(
    r"^\$ curl -s localhost:8050(?P<path>/\S+)(?: -H '(?P<header>[^']+)')?(?: -d '(?P<body>[^']+)')?$", re.MULTILINE
)


def test_the_examples_of_the_page(tmp_path: Path) -> None:
    """Every example of the page that needs nothing from another runs as written, on a machine without a key."""
    text = (ROOT / "docs" / "scenes.md").read_text("utf-8")
    examples = [one for one in _EXAMPLE.finditer(text) if "$TALK" not in one["path"]]
    assert len(examples) == 5

    async def ask(client: httpx.AsyncClient) -> None:
        for one in examples:
            headers = dict([one["header"].split(": ")]) if one["header"] else {}
            method = "POST" if one["body"] else "GET"
            reply = await client.request(method, one["path"], content=one["body"], headers=headers)
            assert reply.status_code < 300, (one[0], reply.text)
            if "Prefer" in headers:
                assert reply.json()["status"] == "completed"
        assert len((await client.get("/v1/scenes")).json()["data"]) == 2

    served(tmp_path / "new.db", ask, job_threads=2)


def test_the_state_follows_the_talk(tmp_path: Path) -> None:
    """Each turn is read by the rules, without a model; what was said long before a picture is in it."""
    turns = ["*We walk into the old kitchen.*", *["And then?"] * 8, "*I step out onto the quay in the rain.*", "Hm."]
    seen: list[Any] = []

    async def ask(client: httpx.AsyncClient) -> Any:
        here = None
        for text in turns:
            body = {"message": text, "conversation_type": "roleplay", "conversation_id": here}
            here = (await client.post("/v1/roleplay", json=body)).json()["conversation_id"]
            state = (await client.get(f"/v1/scenes/states/{here}")).json()["state"]
            seen.append((state.get("location") or {}).get("value"))

    with EchoServer(*["Aye."] * len(turns)) as server:
        served(entered(tmp_path / "l.db", server), ask)
        assert len(server.requests) == len(turns)
    assert "kitchen" in seen[0]
    assert "kitchen" in seen[8]
    assert "quay" in seen[9]
    assert "quay" in seen[10]
