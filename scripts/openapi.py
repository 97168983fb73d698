"""Ask the whole service what its OpenAPI document says, with Schemathesis, and see that it answers so.

``python scripts/openapi.py SCHEMATHESIS [OPTION...]``: the program, and what it is told besides. The service that is asked has a
fake model under every name, so that requests get as far as one; workers are asked for of a second one, which has a library. What
is not asked, and why, stands in ``openapi.toml``.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from innkeeper.inference.fake.provider import EchoServer
from innkeeper.inference.routing.models import RouteModels
from innkeeper.inference.routing.route import Route, Routes
from innkeeper.service.app import serve
from innkeeper.service.settings import Settings

CONFIG: Final = Path(__file__).with_name("openapi.toml")
SERVE: Final = "--serve"
LIBRARY: Final = "--library"
SECONDS: Final = 180
"""How long an answer may take: tasks are carried out by the model on this machine, which may be busy."""

WORKERS: Final = "^/(v1/workers|functions/v1/(get-active-worker-url|register-chat-worker|update-worker-url))"
"""The paths that are nothing without a library."""


class AnyRoute(Routes):
    """One route under every name."""

    __slots__ = ()

    def __contains__(self, name: object) -> bool:
        """There is one."""
        return isinstance(name, str)

    def __getitem__(self, name: str) -> Route:
        """It."""
        return next(iter(self._by_name.values()))


def run_service(*, library: bool) -> None:
    """Answer on any free port, whose address is printed."""
    with EchoServer() as provider, TemporaryDirectory() as folder:
        routes = AnyRoute(Route.of("fake", f"{provider.base_url}:fake"))
        settings = Settings(port=0, database=str(Path(folder) / "library.db") if library else None)
        serve(settings, lambda address: print(address, flush=True), models=RouteModels(routes))


def ask(program: str, words: tuple[str, ...], options: tuple[str, ...]) -> int:
    """The exit code of Schemathesis against one service, which is started with ``words``."""
    service = subprocess.Popen([sys.executable, __file__, SERVE, *words], stdout=subprocess.PIPE, text=True)
    try:
        address = service.stdout.readline().strip() if service.stdout else ""
        asked = [program, "--config-file", str(CONFIG), "run", f"{address}/openapi.json", "--wait-for-schema", "20"]
        asked += ["--request-timeout", str(SECONDS)]
        return subprocess.run([*asked, *options], check=False).returncode
    finally:
        service.terminate()
        service.wait()


def main(program: str, *options: str) -> int:
    """0 where nothing is found."""
    plain = ask(program, (), ("--exclude-path-regex", WORKERS, *options))
    return ask(program, (LIBRARY,), ("--include-path-regex", WORKERS, *options)) or plain


if __name__ == "__main__":
    if sys.argv[1:2] == [SERVE]:
        run_service(library=LIBRARY in sys.argv)
    else:
        sys.exit(main(*sys.argv[1:]))
