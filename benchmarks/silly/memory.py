"""Peak memory of silly builds, each in a process of its own: ``python -m benchmarks.silly.memory``."""

import resource
import subprocess
import sys

from benchmarks.silly.inputs import names, request
from innkeeper.taverns import silly

__all__ = ["main"]

KIB: int = 1024


def main(words: list[str]) -> int:
    """Print the peak of every input, or, in the process for one, build it and print that."""
    if words:
        if words[0] != "nothing":
            silly.build(request(words[0], depth=1000, budget=100))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // KIB)
        return 0
    for name in ("nothing", *names()):
        peak = subprocess.run(
            [sys.executable, "-m", "benchmarks.silly.memory", name], check=True, capture_output=True, text=True
        ).stdout.strip()
        print(f"{name:<10} {peak} MiB at the peak")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
