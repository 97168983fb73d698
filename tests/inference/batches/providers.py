"""Providers of batches in this process, one for each wire: they keep what they are sent, and answer when they are told to."""

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs

import httpx

from innkeeper.inference import RouteClient
from innkeeper.inference.batches.batch import BatchWire
from innkeeper.inference.batches.wires import GeminiBatches, batches_of
from innkeeper.inference.routing.route import Route

MOMENT = 1_768_478_400
"""2026-01-15T12:00:00Z."""
DATE = "2026-01-15T12:00:00Z"

Answer = Callable[[str], str | int]
"""From the last message to an answer; a number is the status of a failure, ``expired`` and ``cancelled`` are no answers."""


class FakeBatches:
    """What the providers have in common. ``looks`` are those after which a batch has ended, ``outcome`` how.

    ``cut`` has the connection break after so many batches were created, ``refused`` is a status in the place of a batch.
    """

    prefix = "/v1"

    def __init__(self, answer: Answer = lambda text: f"Yes: {text}", *, looks: int = 0, outcome: str = "ended") -> None:
        self.answer, self.looks, self.outcome = answer, looks, outcome
        self.batches: dict[str, list[tuple[str, dict[str, Any]]]] = {}
        self.names: dict[str, str] = {}
        self.files: dict[str, bytes] = {}
        self.cut = self.refused = 0
        self.keys: set[str] = set()
        self.requests: list[tuple[str, str]] = []

    def wire(self, model: str = "m") -> BatchWire:
        """The wire to it."""
        route = Route.of("r", f"{self.provider}:{model}")
        return batches_of(RouteClient(route, "secret-key-1", transport=httpx.MockTransport(self._handle)), route)

    provider = ""

    @property
    def prompts(self) -> list[str]:
        """The last messages of all requests, in the order of their batches."""
        return [self.last(body) for requests in self.batches.values() for _, body in requests]

    def created(self, name: str, requests: list[tuple[str, dict[str, Any]]]) -> str:
        """A new batch's id. Raises `httpx.ReadError` where the connection is to break."""
        batch = f"batch_{len(self.batches) + 1}"
        self.batches[batch], self.names[batch] = requests, name
        if self.cut:
            self.cut -= 1
            raise httpx.ReadError("broken")
        return batch

    def is_over(self, *, look: bool) -> bool:
        """Whether batches have ended, after one more look."""
        self.looks -= look
        return self.looks < 0

    def results(self, batch: str) -> Iterator[tuple[str, str | int]]:
        """Names and answers, the last first; none of a batch that failed."""
        for name, body in reversed(self.batches[batch] if self.outcome != "failed" else []):
            yield name, self.answer(self.last(body))

    def last(self, body: dict[str, Any]) -> str:
        """The last message of a request."""
        return str(body["messages"][-1]["content"])

    def _handle(self, request: httpx.Request) -> httpx.Response:
        self.requests.append((request.method, request.url.path))
        path = request.url.path.removeprefix(self.prefix)
        if self.refused and path in self.pages and request.method == "POST":
            return httpx.Response(self.refused, json={"error": {"message": "no, secret-key-1"}})
        body = self.page(request.method, path, request)
        if body is None:
            return httpx.Response(404, json={"error": {"message": path}})
        return httpx.Response(200, content=body if isinstance(body, bytes) else json.dumps(body).encode())

    pages: frozenset[str] = frozenset()

    def page(self, method: str, path: str, request: httpx.Request) -> Any:
        """The body of a page; None where there is none."""


def _lines(items: Iterator[Any]) -> bytes:
    return b"".join(json.dumps(item).encode() + b"\n" for item in items)


class FakeOpenAI(FakeBatches):
    """OpenAI: files, and batches of them."""

    provider = "openai"
    pages = frozenset({"/batches"})

    def page(self, method: str, path: str, request: httpx.Request) -> Any:
        """Files and batches."""
        self.keys.add(request.headers["authorization"])
        match method, path.split("/")[1:]:
            case "POST", ["files"]:
                file = f"file_{len(self.files) + 1}"
                _, _, rest = request.content.partition(b'filename="')
                self.files[file] = rest.partition(b"\r\n\r\n")[2].rpartition(b"\r\n--")[0]
                return {"id": file, "purpose": "batch"}
            case "POST", ["batches"]:
                asked = json.loads(request.content)
                lines = [json.loads(line) for line in self.files[asked["input_file_id"]].splitlines()]
                assert {line["url"] for line in lines} == {asked["endpoint"]}
                name = asked["metadata"]["innkeeper"]
                return self._batch(
                    self.created(name, [(line["custom_id"], line["body"]) for line in lines]), look=False
                )
            case "GET", ["batches"]:
                after = parse_qs(request.url.query.decode()).get("after", [""])[0]
                left = [batch for batch in reversed(self.batches) if not after or batch < after]
                page = [self._batch(batch, look=False) for batch in left[:1]]
                return {"data": page, "has_more": len(left) > 1, "last_id": left[0] if left else None}
            case "GET", ["batches", batch]:
                return self._batch(batch, look=True)
            case "GET", ["files", file, "content"]:
                kind, _, batch = file.partition("-")
                return _lines(self._results(batch, kind == "out"))
        return None

    def _results(self, batch: str, good: bool) -> Iterator[Any]:
        for name, answer in self.results(batch):
            line = {"id": f"r_{name}", "custom_id": name, "response": None, "error": None}
            is_whole = isinstance(answer, str) and answer not in {"expired", "cancelled"}
            if is_whole and good:
                yield {**line, "response": {"status_code": 200, "body": chat(str(answer))}}
            elif isinstance(answer, int) and not good:
                yield {**line, "response": {"status_code": answer, "body": {"error": {"message": "failed"}}}}
            elif not is_whole and not good:
                yield {**line, "error": {"code": f"batch_{answer}", "message": f"This request {answer}."}}

    def _batch(self, batch: str, *, look: bool) -> dict[str, Any]:
        over = self.is_over(look=look)
        total = len(self.batches[batch])
        outcome = "completed" if self.outcome == "ended" else self.outcome
        files = {"output_file_id": f"out-{batch}", "error_file_id": f"bad-{batch}"} if over else {}
        return {
            "id": batch,
            "status": outcome if over else "in_progress",
            "created_at": MOMENT,
            "metadata": {"innkeeper": self.names[batch]},
            "request_counts": {"total": total, "completed": total if over else 0, "failed": 0},
            "errors": {"data": [{"message": "line 1 is no request"}]} if self.outcome == "failed" and over else None,
            **(files if self.outcome != "failed" else {}),
        }


class FakeAnthropic(FakeBatches):
    """Anthropic: batches, and lines of results."""

    provider = "anthropic"
    pages = frozenset({"/messages/batches"})

    def page(self, method: str, path: str, request: httpx.Request) -> Any:
        """Batches."""
        self.keys.add(request.headers["x-api-key"])
        assert request.headers["anthropic-version"]
        match method, path.split("/")[3:]:
            case "POST", []:
                requests = json.loads(request.content)["requests"]
                return self._batch(
                    self.created("", [(each["custom_id"], each["params"]) for each in requests]), look=False
                )
            case "GET", []:
                return {"data": [self._batch(batch, look=False) for batch in reversed(self.batches)], "has_more": False}
            case "GET", [batch]:
                return self._batch(batch, look=True)
            case "GET", [batch, "results"]:
                return _lines(
                    {"custom_id": name, "result": self._result(answer)} for name, answer in self.results(batch)
                )
        return None

    def last(self, body: dict[str, Any]) -> str:
        """The last message of a request."""
        content = body["messages"][-1]["content"]
        return str(content if isinstance(content, str) else content[-1]["text"])

    def _result(self, answer: str | int) -> dict[str, Any]:
        if isinstance(answer, int):
            error = {"type": "error", "error": {"type": "invalid_request_error", "message": "failed"}}
            return {"type": "errored", "error": error}
        if answer in {"expired", "cancelled"}:
            return {"type": answer.replace("cancelled", "canceled")}
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "stop_reason": "end_turn",
            "content": [{"type": "text", "text": answer}],
            "usage": {"input_tokens": 12, "output_tokens": 100},
        }
        return {"type": "succeeded", "message": message}

    def _batch(self, batch: str, *, look: bool) -> dict[str, Any]:
        over, total = self.is_over(look=look), len(self.batches[batch])
        counts = {"processing": 0 if over else total, "succeeded": total if over else 0, "errored": 0}
        status = "ended" if over else "in_progress"
        return {"id": batch, "processing_status": status, "created_at": DATE, "request_counts": counts}


class FakeGemini(FakeBatches):
    """Gemini: operations with their requests and answers."""

    provider = "gemini"
    prefix = "/v1beta"
    pages = frozenset({"/models/m:batchGenerateContent"})

    def page(self, method: str, path: str, request: httpx.Request) -> Any:
        """Operations."""
        self.keys.add(request.headers["x-goog-api-key"])
        if method == "POST" and path.endswith(":batchGenerateContent"):
            asked = json.loads(request.content)["batch"]
            pairs = self.pairs(asked["input_config"])
            return self._operation(self.created(asked["display_name"], pairs).replace("_", "es/"), look=False)
        if method == "GET" and path == "/batches":
            names = [batch.replace("_", "es/") for batch in reversed(self.batches)]
            return {"operations": [self._operation(name, look=False) for name in names]}
        if method == "GET" and path.startswith("/batches/"):
            return self._operation(path[1:], look=True)
        return None

    def pairs(self, source: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        """The names and bodies of a batch's requests."""
        return [(each["metadata"]["key"], each["request"]) for each in source["requests"]["requests"]]

    def last(self, body: dict[str, Any]) -> str:
        """The last message of a request."""
        return str(body["contents"][-1]["parts"][-1]["text"])

    def _operation(self, name: str, *, look: bool) -> dict[str, Any]:
        batch = name.replace("es/", "_")
        over, total = self.is_over(look=look), str(len(self.batches[batch]))
        state = {"ended": "SUCCEEDED"}.get(self.outcome, self.outcome.upper()) if over else "RUNNING"
        facts = {
            "displayName": self.names[batch],
            "state": f"BATCH_STATE_{state}",
            "createTime": DATE,
            "batchStats": {"requestCount": total, "pendingRequestCount": "0" if over else total},
        }
        if not over or self.outcome == "failed":
            return {"name": name, "metadata": facts, **({"error": {"message": "line 1 is no request"}} if over else {})}
        return {"name": name, "metadata": facts, "done": True, "response": self.output(batch)}

    def answered(self, batch: str) -> list[tuple[str, dict[str, Any]]]:
        """The names of a batch's requests that were answered, with what became of each."""
        pairs = [(key, answer) for key, answer in self.results(batch) if answer not in {"expired", "cancelled"}]
        return [(key, self._answer(answer)) for key, answer in pairs]

    def output(self, batch: str) -> dict[str, Any]:
        """What a batch that has ended has in the place of answers."""
        answers = [{"metadata": {"key": key}, **answer} for key, answer in self.answered(batch)]
        return {"inlinedResponses": {"inlinedResponses": answers}}

    def _answer(self, answer: str | int) -> dict[str, Any]:
        if isinstance(answer, int):
            return {"error": {"code": answer, "message": "failed", "status": "INVALID_ARGUMENT"}}
        candidate = {"content": {"role": "model", "parts": [{"text": answer}]}, "finishReason": "STOP"}
        usage = {"promptTokenCount": 12, "candidatesTokenCount": 100, "totalTokenCount": 112}
        return {"response": {"candidates": [candidate], "usageMetadata": usage}}


class FakeGeminiFiles(FakeGemini):
    """Gemini, with requests and answers in files."""

    def wire(self, model: str = "m") -> BatchWire:
        """A wire that takes every batch for one that is too large to have its requests in itself."""
        made = super().wire(model)
        assert isinstance(made, GeminiBatches)
        made.most_inline = 0
        return made

    def page(self, method: str, path: str, request: httpx.Request) -> Any:
        """Files, beside the operations."""
        if (method, path) == ("POST", "/upload/v1beta/files"):
            assert request.headers["x-goog-upload-protocol"] == "multipart"
            boundary = request.headers["content-type"].partition("boundary=")[2].encode()
            _, about, lines, end = request.content.split(b"--" + boundary)
            assert (json.loads(about.partition(b"\r\n\r\n")[2])["file"]["mime_type"], end) == (
                "application/jsonl",
                b"--\r\n",
            )
            file = f"files/in-{len(self.files) + 1}"
            self.files[file] = lines.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")
            return {"file": {"name": file}}
        if method == "GET" and path.startswith("/download/v1beta/files/out-"):
            assert (path.endswith(":download"), request.url.query) == (True, b"alt=media")
            batch = path.partition("out-")[2].removesuffix(":download")
            return _lines({"key": key, **answer} for key, answer in self.answered(batch))
        return super().page(method, path, request)

    def pairs(self, source: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        """Those of an uploaded file."""
        lines = [json.loads(line) for line in self.files[source["file_name"]].splitlines()]
        return [(line["key"], line["request"]) for line in lines]

    def output(self, batch: str) -> dict[str, Any]:
        """The name of a file."""
        return {"responsesFile": f"files/out-{batch}"}


def chat(text: str) -> dict[str, Any]:
    """A chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"id": "c", "model": "m", "choices": [choice], "usage": {"prompt_tokens": 12, "completion_tokens": 100}}


FAKES: tuple[type[FakeBatches], ...] = (FakeOpenAI, FakeAnthropic, FakeGemini, FakeGeminiFiles)
