"""A service with operations that tests need: they compute, hold the interpreter's lock, take memory, or return anything."""

import json
import math
import os
import sys
from typing import Any

from innkeeper.service import Settings, serve
from innkeeper.service.gateway.operation import GatewayPath
from innkeeper.service.gateway.operations import OPERATIONS
from innkeeper.service.gateway.state import GatewayCall


def spin(call: GatewayCall, rounds: int) -> dict[str, Any]:
    """Compute without a pause, in Python; a negative number of rounds never ends."""
    total = 0
    while rounds:
        rounds -= 1
        total += rounds % 7
    return {"total": total}


def hold(call: GatewayCall, size: int) -> dict[str, Any]:
    """Keep the interpreter's lock in one call of a library: no step of Python for as long as it takes."""
    return {"total": sum(range(size))}


def grow(call: GatewayCall, size: int) -> dict[str, Any]:
    """Have so many bytes of memory for a moment."""
    return {"size": len(b"x" * size)}


def die(call: GatewayCall, number: int) -> dict[str, Any]:
    """End this process, by a signal."""
    os.kill(os.getpid(), number)
    return {}


def process(call: GatewayCall) -> dict[str, Any]:
    """The number of this process, and the names of what it has in its environment."""
    return {"pid": os.getpid(), "environment": sorted(os.environ)}


def odd(call: GatewayCall, what: str) -> Any:
    """A result that is no data, or no result at all."""
    cycle: list[Any] = []
    cycle.append(cycle)
    values: dict[str, Any] = {
        "nan": math.nan,
        "cycle": cycle,
        "function": {"f": spin},
        "surrogate": {"s": "\ud800"},
        "large": "x" * 20_000_000,
    }
    if what == "defect":
        raise RuntimeError("the text of a prompt")
    if what == "memory":
        raise MemoryError
    return values[what]


MORE = OPERATIONS.with_(
    GatewayPath.of("plugins/test/spin", spin, "Compute.", dict[str, Any], rounds=int),
    GatewayPath.of("plugins/test/hold", hold, "Hold.", dict[str, Any], size=int),
    GatewayPath.of("plugins/test/grow", grow, "Grow.", dict[str, Any], size=int),
    GatewayPath.of("plugins/test/die", die, "Die.", dict[str, Any], number=int),
    GatewayPath.of("plugins/test/process", process, "Which process.", dict[str, Any]),
    GatewayPath.of("plugins/test/odd", odd, "Odd results.", Any, "reads", what=str),
)


def main() -> None:
    """Serve; the words are fields of the settings, as JSON."""
    settings = Settings(port=0, **json.loads(sys.argv[1] if len(sys.argv) > 1 else "{}"))
    serve(settings, lambda address: print(json.dumps({"listening": address}), flush=True), "slow_service:MORE")  # noqa: T201


if __name__ == "__main__":
    main()
