"""A program that asks a service how it is, on a new connection every 50 ms, until its input ends; prints each answer's seconds.

It is a process of its own, so that what a test does meanwhile does not count.
"""

import http.client
import json
import sys
import threading
from time import perf_counter, sleep

EVERY = 0.05


def ask(port: int) -> float:
    """Seconds until the service says that it is healthy."""
    began = perf_counter()
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    line.request("GET", "/api/health")
    assert line.getresponse().status == 200
    line.close()
    return perf_counter() - began


def main() -> None:
    """Ask until told to stop."""
    over = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        over.set()

    threading.Thread(target=wait, daemon=True).start()
    times = []
    while not over.is_set():
        times.append(ask(int(sys.argv[1])))
        sleep(EVERY)
    print(json.dumps(times))  # noqa: T201


if __name__ == "__main__":
    main()
