"""Limits of jobs: how often, how long and how much."""

from __future__ import annotations

from typing import Final

MAX_ATTEMPTS: Final = 5
"""How often a job is handed to its provider, the first time included (no error: the job fails, and can be retried)."""

DEADLINE_SECONDS: Final = 3_600.0
"""Seconds after which a job that has not ended is given up, unless its request says otherwise."""

LEASE_SECONDS: Final = 30.0
"""Seconds for which a worker holds a job without saying that it is still at it."""

POLL_SECONDS: Final = (0.5, 10.0)
"""Seconds between two looks at a provider's job: at first, and at most."""

LONGEST_WAIT: Final = 900.0
"""Seconds that a job is put off at most. One that is due later than that stands there because the clock was set back."""

MAX_PRIORITY: Final = 10
"""How far a job's priority is from 0 at most, either way (`LimitError`)."""

MAX_CANCEL_TRIES: Final = 5
"""How often a provider is told that a job is cancelled, where it does not answer (no error: the job's events say so)."""

MAX_DELIVERIES: Final = 8
"""How often a message about a job is sent (no error: then it is a dead letter)."""

MAX_OUTPUTS: Final = 16
"""Results of one job (`LimitError`)."""

MAX_PICTURES: Final = 8
"""Pictures that one job starts from (`LimitError`)."""

MAX_PIXELS: Final = 4096
"""Pixels of a side of a picture, where a model says nothing (no error: the nearest is taken, with a note)."""

MAX_RESULT_BYTES: Final = 512 * 1024 * 1024
"""Bytes of one result (`LimitError`)."""

WEBHOOK_SECONDS: Final = 300.0
"""Seconds by which a webhook's own time may differ from ours; what was taken is remembered for twice as long."""
