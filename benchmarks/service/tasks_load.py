"""``/functions/v1/enhance-prompt`` at 100 requests a second, over a fake provider: ``python -m benchmarks.service.tasks_load``.

As `benchmarks.service.load` measures it: what is *added* is what a call takes through the service beyond what the same provider
takes when it is asked directly, in the same minute. Every prompt is another one, so that nothing is remembered of it. The load of
the machine is printed, for these are times of a machine that others may share.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from benchmarks.service.load import COMMAND, RATE, Answered, Target, added, busy, connected, free_port, running

PATH: Final = "/functions/v1/enhance-prompt"
WARM: Final = 100


def enhance_request(port: int, number: int) -> bytes:
    """The document's example, with a prompt that no other call has."""
    prompt = f"a fox number {number} in the snow beside mill {number * 7}, running towards the birches"
    body = {"prompt": prompt, "jobType": "sdxl_image", "quality": "high", "selectedModel": "qwen_instruct"}
    return _request(port, PATH, body)


def direct_request(port: int, number: int) -> bytes:
    """What the service asks the provider, more or less."""
    messages = [
        {"role": "system", "content": "You turn a short idea into a prompt. " * 15},
        {"role": "user", "content": f"a fox number {number} in the snow"},
    ]
    return _request(port, "/v1/chat/completions", {"model": "m", "messages": messages, "max_tokens": 120})


def _request(port: int, path: str, body: Mapping[str, object]) -> bytes:
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(content)}\r\n\r\n".encode() + content


async def at_rate(target: Target, requests: list[bytes]) -> list[Answered]:
    """Each request begun when it is due, `RATE` a second, whatever became of those before."""
    async with connected(target) as connections:
        calls, start = [], time.perf_counter() + 0.05
        for number, request in enumerate(requests):
            await asyncio.sleep(max(0.0, start + number / RATE - time.perf_counter()))
            calls.append(asyncio.create_task(connections.ask(request)))
        return list(await asyncio.gather(*calls))


def library(path: Path, provider: int) -> None:
    """A database whose catalogue has one model, at the fake provider."""
    from innkeeper.library.db.engine import Database
    from innkeeper.library.models.stores import ModelStore, ProviderStore

    with Database.open(path) as db:
        owner = ProviderStore(db).put({"name": "elsewhere", "base_url": f"http://127.0.0.1:{provider}/v1"})
        model = {"model_key": "m", "provider_id": owner.id, "modality": "chat", "tasks": ["enhancement"]}
        ModelStore(db).put({**model, "pricing": {"input": 1.0, "output": 2.0}})


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="how long it takes")
    count = int(RATE * parser.parse_args().seconds)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        provider, port = free_port(), free_port()
        words = [sys.executable, "-m", "benchmarks.service.load", "--provide", str(provider)]
        stack.enter_context(running(words, provider, "/"))
        library(folder / "library.db", provider)
        serve = [*COMMAND, "serve", "--port", str(port), "--no-grpc", "--database", str(folder / "library.db")]
        process, ready = stack.enter_context(running(serve, port, "/ready", INNKEEPER_HOME=str(folder / "home")))
        print(f"ready after {ready:.2f} s; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors", flush=True)
        service, direct = Target(port, "m"), Target(provider, "m")
        asyncio.run(at_rate(service, [enhance_request(port, -number) for number in range(1, WARM)]))
        base = asyncio.run(at_rate(direct, [direct_request(provider, number) for number in range(count)]))
        before = busy(process.pid)
        told = asyncio.run(at_rate(service, [enhance_request(port, number) for number in range(count)]))
        added(f"enhance-prompt, {RATE} a second", told, base, busy(process.pid) - before)
        print(f"load {os.getloadavg()[0]:.1f}", flush=True)


if __name__ == "__main__":
    main()
