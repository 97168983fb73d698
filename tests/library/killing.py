"""Writers that are killed: a program that forks writers on one library, kills each at a moment of its own, and counts.

Run as ``killing.py URL KILLS SEED``. Each writer says what was acknowledged, over a pipe, after the library has said so. What the
parent has heard is therefore acknowledged; it prints all of it at the end as one line of JSON.
"""

import itertools
import json
import os
import random
import select
import signal
import sys
import time

from innkeeper.library.db.engine import Database
from innkeeper.library.errors import DatabaseError
from innkeeper.library.log.logs import LogStore
from innkeeper.library.templates.store import TemplateStore
from tests.library.drafts import draft

LONGEST = 0.012
"""Seconds that a writer lives after its first acknowledged write, at most."""


def write_for_ever(db: Database, writer: int, pipe: int) -> None:
    """Publish and log, one after the other, until killed. ``writer`` names what it writes."""
    for number in itertools.count(1):
        os.write(pipe, f"{write(db, writer, number)}\n".encode())


def write(db: Database, writer: int, number: int) -> str:
    """One acknowledged write, and how it is told."""
    name, mark = f"template_{writer % 4}", f"{writer}.{number}"
    if number % 2 == 0:
        (row,) = LogStore(db).add({"request_id": mark, "template_name": name})
        return f"l {row} {mark}"
    made = draft(name, f"text of {mark} " * 40, job_type=name, note=mark)
    version = TemplateStore(db).publish(made, who=mark, why=mark)
    return f"v {name} {version.version} {mark}"


def kill_one(db: Database, writer: int, moment: float) -> list[str]:
    """Start a writer, kill it ``moment`` seconds after its first acknowledged write, and return what it acknowledged."""
    heard, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(heard)
        try:
            write_for_ever(db, writer, told)
        except DatabaseError as error:
            os.write(told, f"x {error}\n".encode())
        finally:
            os._exit(0)
    os.close(told)
    select.select([heard], [], [], 60)
    time.sleep(moment)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(heard, "rb") as file:
        lines = file.read().decode().split("\n")
    return lines[:-1]  # after the last line break stands what it did not come to say


def main(url: str, kills: int, seed: int) -> None:
    """Kill that many writers and print what was acknowledged."""
    chance, said = random.Random(seed), []  # noqa: S311 - only moments are drawn
    with Database.open(url, create=False) as db:
        said += [
            write(db, seed * 1_000_000, number) for number in (1, 2)
        ]  # statements are compiled once, not in each writer
        db.close()  # no connection is shared: each writer makes its own
        for number in range(1, kills + 1):
            said += kill_one(db, seed * 1_000_000 + number, chance.uniform(0, LONGEST))
    print(json.dumps(said))  # noqa: T201 - the answer


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
