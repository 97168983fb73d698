"""Backends against providers as their documentation has them: what is sent, what is read, what is refused."""

import base64
import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import httpx
import pytest

from innkeeper.inference.errors import DecodeError, HttpError
from innkeeper.jobs.backend import (
    BackendCall,
    RefusedByProviderError,
    Submitted,
    WebhookRefusedError,
    failure_of,
)
from innkeeper.jobs.backends.a1111 import A1111
from innkeeper.jobs.backends.comfyui import ComfyUI
from innkeeper.jobs.backends.fal import Fal
from innkeeper.jobs.backends.registry import backend_of, backends
from innkeeper.jobs.backends.replicate import Replicate
from innkeeper.jobs.backends.tiny_seed_picture import TinySeedPicture, drawn
from innkeeper.jobs.backends.wire import MediaWire
from innkeeper.jobs.job import Output
from innkeeper.jobs.media import MediaRequestError
from innkeeper.jobs.signatures import signed_headers
from innkeeper.prompt.machine import Secret
from tests.jobs.fakes import PICTURE
from tests.jobs.test_signatures import BODY, SECRET, fal_hook

KEY = Secret("key-of-a-test")
Answer = Callable[[httpx.Request], httpx.Response]


class Server:
    """A server that answers by its table, and remembers what it was asked."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.asked: list[httpx.Request] = []
        self.wire = MediaWire(transport=httpx.MockTransport(self.answer))

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        path = f"{request.method} {request.url.path}"
        status, body = next((said for name, said in self.answers.items() if path == name), (404, {"detail": "none"}))
        return httpx.Response(status, content=body) if isinstance(body, bytes) else httpx.Response(status, json=body)

    def body(self, place: int = -1) -> Any:
        """What a request brought."""
        return json.loads(self.asked[place].content)


def call(model: str = "fal-ai/flux/dev", **more: Any) -> BackendCall:
    """A call of a model."""
    return BackendCall(
        **{"job_id": "job-1", "model": model, "body": {"prompt": "a barn", "seed": 0}, "key": KEY, **more}
    )


QUEUE = "/fal-ai/flux/requests/req-1"
URLS = {
    "request_id": "req-1",
    "status_url": f"https://queue.fal.run{QUEUE}/status",
    "cancel_url": "https://evil.example/",
}


def test_fal_queue() -> None:
    """A job goes into the queue with its webhook; the key goes to the queue alone; results are read once it is done."""
    images = {"images": [{"url": "https://v3.fal.media/1.png", "file_size": 3}, {"url": "https://v3.fal.media/2.png"}]}
    server = Server(**{
        "POST /fal-ai/flux/dev": (200, URLS),
        f"GET {QUEUE}/status": (200, {"status": "IN_QUEUE"}),
        f"GET {QUEUE}": (200, images),
        f"PUT {QUEUE}/cancel": (400, {"status": "ALREADY_COMPLETED"}),
        "GET /1.png": (200, PICTURE),
    })  # fmt: skip
    fal, asked = Fal(server.wire), call(webhook_url="https://me.example/hook")
    said = fal.submit(asked)
    assert said.reference == {"id": "req-1", "status": URLS["status_url"]}
    assert server.asked[0].url.params["fal_webhook"] == "https://me.example/hook"
    assert server.asked[0].headers["authorization"] == "Key key-of-a-test"
    assert server.body() == {"prompt": "a barn", "seed": 0}
    reference = dict(said.reference or {})
    assert fal.status(asked, reference).stage == "queued"
    server.answers[f"GET {QUEUE}/status"] = (200, {"status": "IN_PROGRESS"})
    assert fal.status(asked, reference).stage == "running"
    server.answers[f"GET {QUEUE}/status"] = (200, {"status": "COMPLETED"})
    done = fal.status(asked, reference)
    assert [(one.url, one.size) for one in done.outputs] == [
        ("https://v3.fal.media/1.png", 3),
        ("https://v3.fal.media/2.png", None),
    ]
    assert fal.fetch(asked, done.outputs[0]) == PICTURE
    assert "authorization" not in server.asked[-1].headers
    fal.cancel(asked, reference)
    assert fal.status(asked, {"id": "gone"}).stage == "lost"


def test_fal_failures() -> None:
    """What fal refuses is told as such: its checker, its policy, a body that does not fit, a key."""
    flagged = {"images": [{"url": "https://a.example/1"}], "has_nsfw_concepts": [False, True]}
    server = Server(**{f"GET {QUEUE}/status": (200, {"status": "COMPLETED"}), f"GET {QUEUE}": (200, flagged)})
    fal = Fal(server.wire)

    def failure(status: int, body: Any) -> tuple[str, bool]:
        server.answers[f"GET {QUEUE}"] = (status, body)
        failed = fal.status(call(), {"id": "req-1"}).failure
        assert failed is not None
        return failed.kind, failed.retryable

    assert failure(200, flagged) == ("provider_policy_refusal", False)
    assert failure(422, {"detail": [{"msg": "field required"}]}) == ("invalid_request", False)
    assert failure(401, {"detail": "no"}) == ("auth", False)
    server.answers[f"GET {QUEUE}"] = (503, {})
    assert fal.status(call(), {"id": "req-1"}).stage == "running"
    server.answers["POST /fal-ai/flux/dev"] = (200, {})
    with pytest.raises(DecodeError):
        fal.submit(call())
    server.answers["POST /fal-ai/flux/dev"] = (200, b"<html>")
    with pytest.raises(DecodeError):
        fal.submit(call(sync=True))
    server.answers["POST /fal-ai/flux/dev"] = (200, {"images": []})
    with pytest.raises(DecodeError):
        fal.submit(call(sync=True))


def test_fal_sync() -> None:
    """A model that answers at once gives its results, also as data addresses."""
    data = f"data:image/png;base64,{base64.b64encode(PICTURE).decode()}"
    server = Server(**{"POST /fal-ai/flux/dev": (200, {"images": [{"url": data}]})})
    assert Fal(server.wire).submit(call(sync=True)).outputs == (Output(data=PICTURE),)


def test_fal_webhooks() -> None:
    """A webhook is checked by fal's published keys, which are fetched once, and not again for each forged one."""
    headers, keys = fal_hook(at=int(time.time()))
    server = Server(**{"GET /keys": (200, {"keys": keys})})
    fal = Fal(server.wire, "https://fal.example/keys")
    hook = fal.webhook(headers, BODY, time.time())
    assert hook.reference == {"id": "req-1"}
    for _ in range(3):
        with pytest.raises(WebhookRefusedError):
            fal.webhook({**headers, "x-fal-webhook-signature": "00"}, BODY, time.time())
    assert len(server.asked) == 1
    with pytest.raises(WebhookRefusedError):
        Fal(Server().wire, "https://fal.example/keys").webhook(headers, BODY, time.time())


PREDICTION = "/v1/predictions/p1"


def test_replicate() -> None:
    """A prediction of a version, or of an official model, is followed to its end and cancelled."""
    model = "stability-ai/sdxl"
    server = Server(**{
        "POST /v1/predictions": (201, {"id": "p1", "status": "starting", "error": None}),
        f"POST /v1/models/{model}/predictions": (201, {"id": "p2"}),
        f"GET {PREDICTION}": (200, {"status": "starting"}),
        f"POST {PREDICTION}/cancel": (200, {}),
    })  # fmt: skip
    replicate = Replicate(server.wire)
    asked = call(model, version="a" * 64, webhook_url="https://me.example/h")
    assert replicate.submit(asked) == Submitted({"id": "p1"})
    assert server.body()["version"] == "a" * 64
    assert server.body()["webhook_events_filter"] == ["start", "completed"]
    assert replicate.submit(call(model)).reference == {"id": "p2"}
    assert server.body() == {"input": {"prompt": "a barn", "seed": 0}}
    stages = []
    for said in (
        {"status": "starting"},
        {"status": "processing", "logs": " 10%|#  |\n 40%|##"},
        {"status": "succeeded", "output": ["https://replicate.delivery/1.png", "https://replicate.delivery/2.png"]},
        {"status": "failed", "error": "NSFW content detected"},
        {"status": "failed", "error": "CUDA out of memory"},
        {"status": "canceled"},
    ):
        server.answers[f"GET {PREDICTION}"] = (200, said)
        stands = replicate.status(asked, {"id": "p1"})
        stages.append((stands.stage, stands.share, len(stands.outputs), stands.failure and stands.failure.kind))
    assert stages == [
        ("queued", None, 0, None),
        ("running", 0.4, 0, None),
        ("done", None, 2, None),
        ("failed", None, 0, "provider_policy_refusal"),
        ("failed", None, 0, "provider_failed"),
        ("cancelled", None, 0, None),
    ]
    replicate.cancel(asked, {"id": "p1"})
    replicate.cancel(asked, {"id": "gone"})
    assert replicate.status(asked, {"id": "gone"}).stage == "lost"
    server.answers[f"GET {PREDICTION}"] = (500, {"detail": "key-of-a-test"})
    with pytest.raises(HttpError) as error:
        replicate.status(asked, {"id": "p1"})
    assert "key-of-a-test" not in str(error.value.to_dict())
    server.answers["POST /v1/predictions"] = (201, {})
    with pytest.raises(DecodeError):
        replicate.submit(asked)


def test_replicate_webhooks() -> None:
    """A webhook is Replicate's with its signature alone; its id names the delivery, its body the prediction."""
    replicate = Replicate(MediaWire(), lambda: SECRET)
    body = b'{"id": "p1", "status": "succeeded"}'
    headers = signed_headers("msg_1", int(time.time()), body, SECRET)
    hook = replicate.webhook(headers, body, time.time())
    assert (hook.delivery, hook.reference) == ("msg_1", {"id": "p1"})
    for secret, sent, said in ((SECRET, headers, body + b" "), (SECRET, {}, body), (Secret(""), headers, body)):
        with pytest.raises(WebhookRefusedError):
            Replicate(MediaWire(), partial(Secret, secret.reveal())).webhook(sent, said, time.time())
    broken = signed_headers("msg_2", int(time.time()), b"{", SECRET)
    with pytest.raises(WebhookRefusedError):
        replicate.webhook(broken, b"{", time.time())


def test_a1111() -> None:
    """A server of one's own waits with its answer; a stored picture goes along as its bytes."""
    encoded = base64.b64encode(PICTURE).decode()
    answer = (200, {"images": [encoded, encoded]})
    server = Server(**{"POST /sdapi/v1/txt2img": answer, "POST /sdapi/v1/img2img": answer})
    backend = A1111(server.wire)
    body = {"prompt": "a barn", "seed": 0, "num_images": 1, "guidance_scale": 6, "num_inference_steps": 20}
    said = backend.submit(call(body=body, base_url="http://127.0.0.1:7860"))
    assert said.outputs == (Output(data=PICTURE),)
    assert server.body() == {"prompt": "a barn", "seed": 0, "batch_size": 1, "cfg_scale": 6, "steps": 20}
    backend.submit(call(body=body, picture=PICTURE))
    assert server.asked[-1].url.path == "/sdapi/v1/img2img"
    assert server.body()["init_images"] == [encoded]
    backend.submit(call(body={**body, "image": "https://a.example/1.png"}))
    assert server.body()["init_images"] == ["https://a.example/1.png"]
    backend.cancel(call(), {})
    assert (backend.status(call(), {}).stage, backend.fetch(call(), Output(data=b"x"))) == ("lost", b"x")
    bad: Any
    for bad in ({"images": []}, {"images": ["!"]}):
        server.answers["POST /sdapi/v1/txt2img"] = (200, bad)
        with pytest.raises(DecodeError):
            backend.submit(call(body=body))
    with pytest.raises(WebhookRefusedError):
        backend.webhook({}, b"", 0)


def test_comfyui() -> None:
    """A workflow gets the request's values, goes into the queue, and its results are fetched from the server itself."""
    workflow = {"3": {"inputs": {"seed": 1}}, "6": {"inputs": {"text": ""}}}
    places = {"prompt": {"node": "6", "input": "text"}, "seed": {"node": "3", "input": "seed"}}
    body = {"prompt": "a barn", "seed": 0, "workflow": workflow, "inputs": places}
    history = {"q1": {"status": {}, "outputs": {"9": {"images": [
        {"filename": "a b.png", "subfolder": "", "type": "output"}, {"filename": "t.png", "type": "temp"}]}}}}  # fmt: skip
    server = Server(**{
        "POST /prompt": (200, {"prompt_id": "q1", "node_errors": {}}),
        "GET /history/q1": (200, {}),
        "GET /queue": (200, {"queue_running": [[0, "q1", {}]], "queue_pending": []}),
        "GET /view": (200, PICTURE),
        "POST /queue": (200, b""),
        "POST /interrupt": (200, b""),
    })  # fmt: skip
    comfy, asked = ComfyUI(server.wire), call(body=body)
    assert comfy.submit(asked).reference == {"id": "q1"}
    assert server.body()["prompt"] == {"3": {"inputs": {"seed": 0}}, "6": {"inputs": {"text": "a barn"}}}
    assert comfy.status(asked, {"id": "q1"}).stage == "running"
    server.answers["GET /queue"] = (200, {"queue_running": [], "queue_pending": [[1, "q1"]]})
    assert comfy.status(asked, {"id": "q1"}).stage == "queued"
    server.answers["GET /queue"] = (200, {})
    assert comfy.status(asked, {"id": "q1"}).stage == "lost"
    server.answers["GET /history/q1"] = (200, history)
    done = comfy.status(asked, {"id": "q1"})
    assert [comfy.fetch(asked, one) for one in done.outputs] == [PICTURE]
    assert server.asked[-1].url.params["filename"] == "a b.png"
    comfy.cancel(asked, {"id": "q1"})
    error = {"status": {"status_str": "error", "messages": [["execution_error", {"exception_message": "no memory"}]]}}
    server.answers["GET /history/q1"] = (200, {"q1": error})
    failed = comfy.status(asked, {"id": "q1"}).failure
    assert failed is not None
    assert failed.message == "no memory"
    server.answers["POST /prompt"] = (200, {"prompt_id": "q1", "node_errors": {"3": {}}})
    with pytest.raises(MediaRequestError) as refused:
        comfy.submit(asked)
    assert failure_of(refused.value).kind == "invalid_request"
    server.answers["POST /prompt"] = (200, {})
    with pytest.raises(DecodeError):
        comfy.submit(asked)
    for bad in ({"prompt": "a"}, {**body, "inputs": {"seed": {"node": "7", "input": "seed"}}}):
        with pytest.raises(MediaRequestError):
            comfy.submit(call(body=bad))
    with pytest.raises(WebhookRefusedError):
        comfy.webhook({}, b"", 0)


def test_tiny_seed_picture() -> None:
    """The tiny one draws the same bytes for the same prompt and seed, others for others, and says what it is."""
    tiny = TinySeedPicture()
    body = {"prompt": "a barn", "seed": 0, "num_images": 2, "width": 64, "height": 128}
    one, two = tiny.submit(call(body=body)).outputs or ()
    assert (tiny.submit(call(body=body)).outputs or ())[0] == one
    assert one.data != two.data
    assert b"tiny-seed-picture" in one.data
    assert b"not by a model" in one.data
    started = tiny.submit(call(body=body, picture=PICTURE)).outputs or ()
    assert started[0].data != one.data
    moving = tiny.submit(call(body={**body, "num_frames": 3})).outputs or ()
    assert moving[0].data.count(b"fcTL") == 3
    assert drawn("a", 1, (50, 30)) != drawn("a", 2, (50, 30))
    assert tiny.status(call(), {}).stage == "lost"
    with pytest.raises(WebhookRefusedError):
        tiny.webhook({}, b"", 0)


def test_names() -> None:
    """A provider of the catalogue is a backend by its name, in any of its spellings."""
    known = [one.name for one in backends(MediaWire(), lambda _: Secret(""))]
    names = {"fal.ai": "fal", "Replicate": "replicate", "Automatic1111": "a1111", "openrouter": None}
    assert {name: backend_of(name, known) for name in names} == names
    assert failure_of(RefusedByProviderError("no")).kind == "provider_policy_refusal"
