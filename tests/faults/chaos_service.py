"""The service's command with a clock that steps: the first word is a file whose number is added to the time, in seconds."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from innkeeper.prompt import machine

STEP = Path(sys.argv[1])


def stepped() -> datetime:
    """The time, so many seconds off."""
    return datetime.now(UTC) + timedelta(seconds=float(STEP.read_text()))


machine.utc_now = stepped  # before whoever takes it from there is imported

if __name__ == "__main__":
    from innkeeper.cli import main

    raise SystemExit(main(sys.argv[2:]))
