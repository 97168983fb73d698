"""``enhance-prompt`` over HTTP: the document's shapes, special exits, budgets, spend and faults."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from innkeeper.inference.fake import EchoServer, FakeReply, Fault
from innkeeper.library.db.engine import Database
from innkeeper.library.tiers.documents import PolicyStore
from innkeeper.service import Keys
from innkeeper.service.guard.grants import Grant
from tests.service.tasks.served import entered, served

FUNCTION = "/functions/v1/enhance-prompt"
EXAMPLE = {"prompt": "a fox in the snow", "jobType": "sdxl_image", "quality": "high", "selectedModel": "qwen_instruct"}
"""The document's example."""

METADATA = {
    *("original_length", "enhanced_length", "expansion_percentage", "job_type", "format", "quality", "content_mode"),
    *("template_name", "model_used", "token_count", "compression_applied", "execution_time_ms", "cache_hit"),
    "fallback_level",
}


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path / "home"))


def test_the_documents_example(tmp_path: Path) -> None:
    """It is answered in the document's shape, with what the reference adds, from the packaged template."""

    async def ask(client: httpx.AsyncClient) -> None:
        reply = await client.post(FUNCTION, json=EXAMPLE)
        assert reply.status_code == 200, reply.text
        body = reply.json()
        assert (body["success"], body["original_prompt"]) == (True, EXAMPLE["prompt"])
        assert body["enhanced_prompt"] == "a red fox in deep snow, soft light"
        assert body["enhancement_strategy"] == "template_builtin"
        assert body["enhancement_metadata"].keys() >= METADATA
        assert body["enhancement_metadata"]["template_name"] == "enhancement.sdxl.qwen_instruct.sfw"
        assert body["enhancement_metadata"]["quality"] == "high"
        assert body["execution"] == "model"
        assert body["tokens"]["budget"] == 75
        assert body["tokens"]["target"] <= 75
        assert body["tier"]["effective"] == "sfw"
        assert body["route_trace"]["steps"][0]["deployment"] == "elsewhere/big-0"
        assert body["cost_usd"] > 0
        assert {"degraded", "reasons", "resolution", "request_id", "latency_ms"} <= body.keys()
        again = await client.post("/v1/enhance", json=EXAMPLE)
        assert again.json()["enhanced_prompt"] == body["enhanced_prompt"]

    with EchoServer(*(FakeReply(content='Prompt: "a red fox in deep snow, soft light"') for _ in "12")) as server:
        served(entered(tmp_path / "library.db", server), ask)
        sent = server.requests[0].body
    assert [message["role"] for message in sent["messages"]] == ["system", "user"]
    assert sent["messages"][1]["content"] == EXAMPLE["prompt"]
    assert (sent["temperature"], sent["top_p"]) == (0.7, 0.9)


LONG = ", ".join(["a red fox in deep snow", *(f"quiet stones number {n} beside the water" for n in range(30))])


def test_a_second_pass_only_where_the_first_broke_the_budget(tmp_path: Path) -> None:
    """The model is told once how much too long it is; what is too long still loses phrases, each of which is listed."""

    async def ask(client: httpx.AsyncClient) -> None:
        shorter = (await client.post(FUNCTION, json=EXAMPLE)).json()
        assert shorter["enhanced_prompt"] == "a red fox, snow"
        assert shorter["repaired"]
        assert not shorter["dropped"]
        cut = (await client.post(FUNCTION, json=EXAMPLE)).json()
        assert cut["enhanced_prompt"].startswith("a red fox in deep snow, quiet stones")
        assert cut["tokens"]["target"] <= 75
        assert cut["dropped"]
        assert "shortened" in cut["reasons"]
        assert cut["enhancement_metadata"]["compression_applied"]

    with EchoServer(LONG, "a red fox, snow", LONG, LONG) as server:
        served(entered(tmp_path / "library.db", server), ask)
        assert len(server.requests) == 4
        repair = server.requests[1].body["messages"]
    assert [message["role"] for message in repair] == ["system", "user", "assistant", "user"]
    assert "75" in repair[-1]["content"]


def test_special_exits(tmp_path: Path) -> None:
    """Nothing to enhance is refused; a copy is echoed; a modification is put together by rule: no model is asked."""

    async def ask(client: httpx.AsyncClient) -> None:
        for body in ({}, {"prompt": ""}, {"prompt": "  "}, {"prompt": None}, {"metadata": {"exact_copy": True}}):
            reply = await client.post(FUNCTION, json=body)
            assert (reply.status_code, reply.json()["success"]) == (400, False), body
        copied = {"original_prompt": "a barn", "metadata": {"exact_copy": True}}
        reply = (await client.post(FUNCTION, json=copied)).json()
        assert (reply["enhanced_prompt"], reply["enhancement_strategy"], reply["execution"]) == (
            "a barn",
            "skip_for_exact_copy",
            "none",
        )
        long = ", ".join(f"stone {number}" for number in range(200))
        exact = await client.post(FUNCTION, json={"original_prompt": long, "exact_copy": True})
        assert exact.json()["enhanced_prompt"] == long
        modified = {"prompt": "in snow", "metadata": {"reference_mode": "modify", "base_prompt": "a barn"}}
        reply = (await client.post(FUNCTION, json=modified)).json()
        assert (reply["enhanced_prompt"], reply["enhancement_strategy"], reply["execution"]) == (
            "maintain the same subject; in snow",
            "reference_modify_with_prompt",
            "rules",
        )
        reply = (await client.post(FUNCTION, json={**modified, "prompt": ""})).json()
        assert (reply["enhanced_prompt"], reply["enhancement_strategy"]) == ("a barn", "reference_modify_base_only")

    with EchoServer() as server:
        served(entered(tmp_path / "library.db", server), ask)
        assert not server.requests


def test_what_clients_say_of_tiers_only_asks(tmp_path: Path) -> None:
    """Whatever ``contentType`` is, the general tier answers where the operator granted no other; blocks are 403."""

    async def ask(client: httpx.AsyncClient) -> None:
        tiers: tuple[Any, ...] = ("nsfw", "NSFW", "adult", 1, True, [], {}, "x" * 1000)
        for said in tiers:
            reply = await client.post(FUNCTION, json={**EXAMPLE, "contentType": said})
            assert (reply.status_code, reply.json()["tier"]["effective"]) == (200, "sfw"), said
        blocked = await client.post(FUNCTION, json={**EXAMPLE, "prompt": "a nude 15 year old", "contentType": "nsfw"})
        assert (blocked.status_code, blocked.json()["code"]) == (403, "tier_blocked")
        assert blocked.json()["categories"]

    with EchoServer(*["a red fox"] * 8) as server:
        served(entered(tmp_path / "library.db", server), ask)
        assert len(server.requests) == 8


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Fault.html(), "decode"),
        (Fault.status(500), "http"),
        (Fault.status(401), "http"),
        (Fault.cut(20), "stream_cut"),
        (Fault.refuse(), "provider_connection"),
        ("", "decode"),
        (FakeReply(content=None), "decode"),
        ('Prompt: ""', "decode"),
    ],
    ids=["page", "status", "key", "cut", "refused", "empty", "nothing", "marks"],
)
def test_faults(tmp_path: Path, answer: Any, code: str) -> None:
    """Whatever a provider does is a typed error that tells where the request went, and never a prompt."""

    async def ask(client: httpx.AsyncClient) -> None:
        reply = await client.post(FUNCTION, json=EXAMPLE)
        body = reply.json()
        assert (reply.status_code, body["success"]) == (502, False), body
        assert body["code"] == code
        assert body["route_trace"]["steps"]
        assert "enhanced_prompt" not in body
        same = (await client.post("/v1/enhance", json=EXAMPLE)).json()
        assert same["error"]["message"]
        assert "route_trace" in same["innkeeper"]

    with EchoServer(answer, answer) as server:
        served(entered(tmp_path / "library.db", server), ask)


def test_a_refusal_is_told_word_for_word(tmp_path: Path) -> None:
    """It is no prompt, and nobody else is asked."""

    async def ask(client: httpx.AsyncClient) -> None:
        body = (await client.post(FUNCTION, json=EXAMPLE)).json()
        assert (body["success"], body["code"], body["enhanced_prompt"]) == (False, "refusal", None)
        assert (body["refusal"], body["finish_reason"]) == ("I will not.", "content_filter")

    with EchoServer(FakeReply(content="I will not.", finish_reason="content_filter")) as server:
        served(entered(tmp_path / "library.db", server, ({}, {})), ask)
        assert len(server.requests) == 1


def test_spend(tmp_path: Path) -> None:
    """A call that would cost more than the body allows, or than its key has left, is refused with the figure, unasked."""
    poor, rich = "key-of-the-poor", "key-of-the-rich"
    keys = Keys(poor, rich, grants={poor: Grant(spend=0.000001), rich: Grant(spend=5.0)})

    async def ask(client: httpx.AsyncClient) -> None:
        refused = await client.post(FUNCTION, json=EXAMPLE, headers={"x-api-key": poor})
        assert (refused.status_code, refused.json()["code"]) == (402, "budget")
        assert refused.json()["estimate"] > refused.json()["left"]
        dear = await client.post(FUNCTION, json={**EXAMPLE, "max_cost": 0}, headers={"x-api-key": rich})
        assert dear.status_code == 402
        wrongs: tuple[Any, ...] = ("x", -1, True, [])
        for wrong in wrongs:
            bad = await client.post(FUNCTION, json={**EXAMPLE, "max_cost": wrong}, headers={"x-api-key": rich})
            assert bad.status_code == 400
        assert (await client.post(FUNCTION, json=EXAMPLE, headers={"x-api-key": rich})).status_code == 200

    with EchoServer("a red fox") as server:
        served(entered(tmp_path / "library.db", server), ask, keys=keys)
        assert len(server.requests) == 1


def test_an_answer_is_charged_by_the_catalogue(tmp_path: Path) -> None:
    """One answer at a price of millions takes all that the key may spend."""
    keys = Keys("key", grants={"key": Grant(spend=5_000_000.0)})
    dear = {"pricing": {"input": 1_000_000.0, "output": 2_000_000.0}}

    async def ask(client: httpx.AsyncClient) -> list[int]:
        return [(await client.post(FUNCTION, json=EXAMPLE, headers={"x-api-key": "key"})).status_code for _ in range(2)]

    with EchoServer(
        FakeReply(content="a red fox", usage={"prompt_tokens": 6_000_000, "completion_tokens": 1})
    ) as server:
        assert served(entered(tmp_path / "library.db", server, (dear,)), ask, keys=keys) == [200, 429]


def test_scopes_and_routes(tmp_path: Path) -> None:
    """A key that may not use tasks is refused; one that may use other routes alone finds nowhere to go."""
    chat, other = "key-for-chat", "key-for-other"
    keys = Keys(chat, other, grants={chat: Grant(scope=("chat",)), other: Grant(route=("openai/*",))})

    async def ask(client: httpx.AsyncClient) -> None:
        assert (await client.post(FUNCTION, json=EXAMPLE)).status_code == 401
        assert (await client.post(FUNCTION, json=EXAMPLE, headers={"x-api-key": chat})).status_code == 403
        nowhere = await client.post(FUNCTION, json=EXAMPLE, headers={"x-api-key": other})
        assert (nowhere.status_code, nowhere.json()["skipped"]) == (503, {"not_allowed": 1})
        unknown = {**EXAMPLE, "model_id": "nosuch"}
        refused = (await client.post(FUNCTION, json=unknown, headers={"x-api-key": other})).json()
        assert (refused["code"], refused["hint"]) == ("unknown_name", None)  # others' names are not told

    with EchoServer() as server:
        served(entered(tmp_path / "library.db", server), ask, keys=keys)


def test_the_adult_tier_is_the_operators_word(tmp_path: Path) -> None:
    """Where the policy has it, the key's word and the models' rows grant it together; a body alone grants nothing."""
    child, adult = "key-of-anybody", "key-of-an-adult"
    keys = Keys(child, adult, grants={child: Grant(), adult: Grant(tier="nsfw")})

    async def ask(client: httpx.AsyncClient) -> None:
        asked = {**EXAMPLE, "contentType": "nsfw", "selectedModel": "big-0", "model_id": "painter"}
        plain = (await client.post(FUNCTION, json=asked, headers={"x-api-key": child})).json()
        assert plain["tier"]["effective"] == "sfw"
        assert "ceiling:account" in plain["reasons"]
        granted = (await client.post(FUNCTION, json=asked, headers={"x-api-key": adult})).json()
        assert (granted["tier"]["effective"], granted["enhancement_metadata"]["content_mode"]) == ("nsfw", "nsfw")
        assert "tier_lowered" in granted["reasons"], "the packaged template is of the general tier"
        general = (await client.post(FUNCTION, json=EXAMPLE, headers={"x-api-key": adult})).json()
        assert general["tier"]["effective"] == "sfw"
        blocked = {**asked, "prompt": "a nude 15 year old"}
        assert (await client.post(FUNCTION, json=blocked, headers={"x-api-key": adult})).status_code == 403

    with EchoServer(*["a red fox"] * 3) as server:
        painter = {"model_key": "painter", "modality": "image", "tasks": ["t2i"], "model_family": "sdxl"}
        path = entered(tmp_path / "library.db", server, ({"tier_ceiling": "nsfw"}, {**painter, "tier_ceiling": "nsfw"}))
        with Database.open(path) as db:
            PolicyStore(db).add("default", {"adult_enabled": True}, activate=True)
        served(path, ask, keys=keys)


def test_targets_overlays_and_videos(tmp_path: Path) -> None:
    """A video has its own template and limit; what is added later keeps its room; an unknown model is refused."""

    async def ask(client: httpx.AsyncClient) -> None:
        video = (await client.post(FUNCTION, json={**EXAMPLE, "jobType": "wan_video_high"})).json()
        assert video["enhancement_metadata"]["template_name"] == "enhancement.wan.qwen_instruct.sfw"
        assert (video["enhancement_metadata"]["format"], video["tokens"]["budget"]) == ("video", 100)
        styled = (await client.post(FUNCTION, json={**EXAMPLE, "metadata": {"style": "soft film grain"}})).json()
        assert styled["tokens"]["budget"] == 75 - styled["tokens"]["reserved"]["style"]
        unknown = await client.post(FUNCTION, json={**EXAMPLE, "model_id": "nobody/knows"})
        assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown_name")
        other = (await client.post(FUNCTION, json={**EXAMPLE, "selectedModel": "gryphe/mythomax"})).json()
        assert "enhancer_unknown" in other["reasons"]
        named = (await client.post(FUNCTION, json={**EXAMPLE, "selectedModel": "big-0"})).json()
        assert named["enhancement_metadata"]["model_used"] == "big-0"

    with EchoServer(*["a red fox"] * 4) as server:
        served(entered(tmp_path / "library.db", server), ask)


def test_strict(tmp_path: Path) -> None:
    """With ``strict`` the packaged template is an error, and nobody is asked."""

    async def ask(client: httpx.AsyncClient) -> None:
        reply = await client.post(FUNCTION, json={**EXAMPLE, "strict": True})
        assert reply.status_code >= 400
        assert reply.json()["code"] in {"strict_mode", "template_not_found"}

    with EchoServer() as server:
        served(entered(tmp_path / "library.db", server), ask)
        assert not server.requests


BODIES: tuple[Any, ...] = (None, True, -1, 10**30, "", "\ud800", "a\x00b", "x" * 5000, [], ["x"], {}, {"style": 5})
"""What fields hold that somebody has not thought about."""

FIELDS = (
    *("prompt", "original_prompt", "jobType", "selectedModel", "contentType", "model_id", "metadata", "strict"),
    *("max_cost", "negative_prompt", "reference_mode", "exact_copy", "style", "generation_mode", "image"),
)


def test_odd_bodies(tmp_path: Path) -> None:
    """Whatever a field holds, the answer is one, or an error of its own; the tier is never raised."""

    async def ask(client: httpx.AsyncClient) -> None:
        for field in FIELDS:
            for value in BODIES:
                body = json.dumps({"prompt": "a fox", field: value}).encode()
                reply = await client.post(FUNCTION, content=body, headers={"content-type": "application/json"})
                told = reply.json()
                assert reply.status_code in {200, 400, 402, 404}, (field, value, told)
                assert told["success"] is (reply.status_code == 200)
                assert told.get("tier", {"effective": "sfw"})["effective"] == "sfw"
        for raw in (b"", b"null", b"[]", b"{", b'{"prompt": NaN}', b"\xff", b"[" * 100_000):
            reply = await client.post(FUNCTION, content=raw, headers={"content-type": "application/json"})
            assert (reply.status_code in {400, 413}, reply.json()["success"]) == (True, False)
        long = await client.post(FUNCTION, json={"prompt": "a b" * 150_000})
        assert (long.status_code, long.json()["limit"]) == (413, "MAX_TASK_TEXT")
        same = [client.post(FUNCTION, json=EXAMPLE, headers={"x-request-id": "same"}) for _ in range(8)]
        assert {(reply.status_code, reply.json()["request_id"]) for reply in await asyncio.gather(*same)} == {
            (200, "same")
        }

    with EchoServer(*["a red fox"] * 400) as server:
        served(entered(tmp_path / "library.db", server), ask)
