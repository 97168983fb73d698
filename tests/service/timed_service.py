"""The service as it is, which writes down how long the longest step of its event loop kept the processor, in seconds.

That is what health waits for, and it does not depend on what else the machine is doing.
"""

import asyncio.events
import json
import sys
from pathlib import Path
from time import thread_time

from innkeeper.service import Settings, serve

longest = 0.0
step = asyncio.events.Handle._run


def timed(handle: asyncio.events.Handle) -> None:
    """One step."""
    global longest  # noqa: PLW0603 - a program of one idea
    began = thread_time()
    step(handle)
    longest = max(longest, thread_time() - began)


if __name__ == "__main__":
    setattr(asyncio.events.Handle, "_run", timed)  # noqa: B010 - what the loop runs its steps by
    serve(Settings(port=0), lambda address: print(json.dumps({"listening": address}), flush=True))  # noqa: T201
    Path(sys.argv[1]).write_text(str(longest))
