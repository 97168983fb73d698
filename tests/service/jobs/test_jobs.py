"""Jobs over HTTP: asked for, followed, read, and seen by their owner alone."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from innkeeper.library.db.engine import Database
from innkeeper.library.tiers.documents import PolicyStore
from innkeeper.service import Keys, Settings, create_app
from innkeeper.service.guard.grants import Grant

Ask = Callable[[httpx.AsyncClient], Awaitable[None]]


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path / "home"))


def served(tmp_path: Path, ask: Ask, **settings: Any) -> None:
    """Ask an application that carries jobs out."""
    checked = Settings(database=str(tmp_path / "jobs.db"), job_threads=2, grpc_port=None, **settings)

    async def run() -> None:
        app = create_app(checked)
        transport = httpx.ASGITransport(app=app)
        client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=30)
        async with app.router.lifespan_context(app), client:
            await ask(client)

    asyncio.run(run())


def test_whole_way(tmp_path: Path) -> None:
    """A picture is asked for and waited for; its events, its result and the list of jobs are there; a repeat is the same job."""

    async def ask(client: httpx.AsyncClient) -> None:
        wanted = {"prompt": "a red barn at dawn", "seed": 0, "width": 64, "height": 64}
        headers = {"idempotency-key": "one", "prefer": "wait=20"}
        first = await client.post("/v1/jobs", json=wanted, headers=headers)
        job = first.json()
        assert (first.status_code, job["state"], job["seed"], job["model"]) == (
            200,
            "succeeded",
            0,
            "tiny-seed-picture",
        )
        assert (await client.post("/v1/jobs", json=wanted, headers=headers)).json()["id"] == job["id"]
        other = await client.post("/v1/jobs", json={**wanted, "seed": 1}, headers=headers)
        assert (other.status_code, other.json()["error"]["code"]) == (409, "conflict")
        picture = await client.get(job["results"][0]["url"])
        assert picture.headers["content-type"] == "image/png"
        assert b"not by a model" in picture.content
        events = (await client.get(f"/v1/jobs/{job['id']}/events")).text
        assert [line[7:] for line in events.splitlines() if line.startswith("event: ")] == [
            *("created", "queued", "dispatched", "running", "storing", "succeeded", "job")
        ]
        after = [line[4:] for line in events.splitlines() if line.startswith("id: ")][3]
        rest = (await client.get(f"/v1/jobs/{job['id']}/events", headers={"last-event-id": after})).text
        assert rest.count("event: ") == 3
        listed = (await client.get("/v1/jobs", params={"state": "succeeded"})).json()["data"]
        assert [one["id"] for one in listed] == [job["id"]]
        assert (await client.post(f"/v1/jobs/{job['id']}/cancel")).status_code == 409
        assert (await client.post(f"/v1/jobs/{job['id']}/retry")).status_code == 409
        assert (await client.get("/v1/jobs", params={"state": "no"})).status_code == 400
        for index in ("7", "-7"):
            assert (await client.get(f"/v1/jobs/{job['id']}/results/{index}")).status_code == 404

    served(tmp_path, ask)


def test_priority_at_every_path(tmp_path: Path) -> None:
    """Each path that makes a job reads its priority, one changes it, and none takes one beyond the limit."""

    async def ask(client: httpx.AsyncClient) -> None:
        picture: dict[str, Any] = {"prompt": "a barn", "width": 64, "height": 64}
        asked: dict[str, dict[str, Any]] = {
            "/v1/jobs": picture,
            "/functions/v1/queue-job": {**picture, "job_type": "sdxl_image"},
            "/functions/v1/fal-image": picture,
            "/functions/v1/generate-scene": {"message": "She opens the door.", "character": {"name": "Mira"}},
        }
        for path, body in asked.items():
            made = (await client.post(path, json={**body, "priority": 4})).json()
            job_id = made.get("job_id") or made["id"]
            assert (await client.get(f"/v1/jobs/{job_id}")).json()["priority"] == 4, path
            assert (await client.post(path, json={**body, "priority": 11})).status_code == 400, path
        changed = await client.post("/v1/jobs/nobodys/priority", json={"priority": 1})
        assert (changed.status_code, changed.json()["error"]["code"]) == (404, "job_missing")
        assert (await client.post(f"/v1/jobs/{job_id}/priority", json={"priority": 11})).status_code == 400
        ended = await client.post("/v1/jobs", json=picture, headers={"prefer": "wait=20"})
        assert (await client.post(f"/v1/jobs/{ended.json()['id']}/priority", json={"priority": 1})).status_code == 409

    served(tmp_path, ask)


def test_refused(tmp_path: Path) -> None:
    """What does not pass the gate, fits no model or is no request is refused with its own status, and makes no job."""

    async def ask(client: httpx.AsyncClient) -> None:
        for body, status in (
            ({"prompt": " "}, 400),
            ({"prompt": "a barn", "mode": "t3i"}, 400),
            ({"prompt": "a barn", "unknown": 1}, 400),
            ({"prompt": "a barn", "model": "nobody/knows"}, 404),
            ({"prompt": "a barn", "mode": "i2i"}, 400),
            ({"prompt": "a barn", "count": 99}, 413),
            ({"prompt": "a barn", "callback_url": "http://127.0.0.1:1/x"}, 400),
        ):
            assert (await client.post("/v1/jobs", json=body)).status_code == status, body
        blocked = await client.post("/v1/jobs", json={"prompt": "a nude 15 year old", "content_mode": "nsfw"})
        assert blocked.status_code == 403
        assert (await client.get("/v1/jobs")).json()["data"] == []
        job = (await client.post("/v1/jobs", json={"prompt": "a barn", "width": 64, "height": 64})).json()["id"]
        for backend in ("fal", "replicate", "tiny-seed-picture", "nobody"):
            unsigned = [await client.post(f"/v1/jobs/webhooks/{backend}/{one}", json={}) for one in (job, "no-job")]
            assert [one.status_code for one in unsigned] == [401, 401]
            facts = [one.json()["error"] for one in unsigned]
            assert facts[0] == facts[1], "whoever cannot sign learns nothing of which jobs there are"

    served(tmp_path, ask)


def test_owners(tmp_path: Path) -> None:
    """A key sees its own jobs alone: another's are as if they were not there; webhooks need a signature and no key."""

    async def ask(client: httpx.AsyncClient) -> None:
        mine, theirs = {"x-api-key": "key-of-one"}, {"x-api-key": "key-of-two"}
        job = (await client.post("/v1/jobs", json={"prompt": "a barn", "width": 64}, headers=mine)).json()["id"]
        paths = [("GET", ""), ("POST", "/cancel"), ("POST", "/retry"), ("GET", "/events"), ("GET", "/results/0")]
        for method, path in paths:
            assert (await client.request(method, f"/v1/jobs/{job}{path}", headers=theirs)).status_code == 404
            assert (await client.request(method, f"/v1/jobs/{job}{path}")).status_code == 401
        assert (await client.get("/v1/jobs", headers=theirs)).json()["data"] == []
        hook = await client.post(f"/v1/jobs/webhooks/tiny-seed-picture/{job}", content=b"{}")
        assert (hook.status_code, "webhook" in hook.text) == (401, True)

    served(tmp_path, ask, keys=Keys("key-of-one", "key-of-two"))


def test_the_adult_tier_is_the_operators_word(tmp_path: Path) -> None:
    """Where the policy has the adult tier, a body alone does not grant it: the key has to say so."""
    plain, adult = "key-of-anybody", "key-of-an-adult"

    async def ask(client: httpx.AsyncClient) -> None:
        for key, tier in ((plain, "sfw"), (adult, "nsfw")):
            for path, said in (("/v1/jobs", "content_mode"), ("/functions/v1/queue-job", "contentType")):
                body = {"prompt": "a barn", "job_type": "sdxl_image", "width": 64, "height": 64, said: "nsfw"}
                wanted = body if path.startswith("/f") else {k: v for k, v in body.items() if k != "job_type"}
                job = (await client.post(path, json=wanted, headers={"x-api-key": key})).json()
                assert job.get("contentType", job.get("tier")) == tier

    with Database.open(tmp_path / "jobs.db") as db:
        PolicyStore(db).add("default", {"adult_enabled": True}, activate=True)
    served(tmp_path, ask, keys=Keys(plain, adult, grants={plain: Grant(), adult: Grant(tier="nsfw")}))


def test_functions(tmp_path: Path) -> None:
    """The document's functions take their fields and answer with the names under which clients look for a job."""

    async def ask(client: httpx.AsyncClient) -> None:
        body = {"prompt": "a barn", "job_type": "sdxl_image_fast", "seed": 0, "num_images": 2, "contentType": "nsfw"}
        wanted = {**body, "width": 64, "height": 64}
        reply = (await client.post("/functions/v1/queue-job", json=wanted, headers={"prefer": "wait=20"})).json()
        assert reply["success"] is True
        assert reply["jobId"] == reply["job_id"] == reply["id"]
        assert (reply["status"], reply["seed"], reply["contentType"], len(reply["images"])) == (
            "completed",
            0,
            "sfw",
            2,
        )
        missing = await client.post("/functions/v1/queue-job", json={"prompt": "a barn"})
        assert (missing.status_code, missing.json()["success"]) == (400, False)
        replicate = await client.post("/functions/v1/replicate-image", json={"prompt": "a barn"})
        assert (replicate.status_code, "apiModelId" in replicate.json()["error"]) == (400, True)
        video = {"prompt": "waves", "job_type": "wan_video_fast", "width": 64, "height": 64}
        moving = await client.post("/functions/v1/queue-job", json=video, headers={"prefer": "wait=20"})
        job = (await client.get(moving.json()["statusUrl"])).json()
        assert (job["mode"], job["state"]) == ("t2v", "succeeded")
        assert json.dumps(job["notes"])

    served(tmp_path, ask)
