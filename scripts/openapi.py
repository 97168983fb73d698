"""Ask the whole service what its OpenAPI document says, with Schemathesis, and see that it answers so.

``python scripts/openapi.py SCHEMATHESIS [OPTION...]``: the program, and its options. The service has a library, and a fake model
under every name, so that requests get as far as one. What is not asked, and why, stands in ``openapi.toml``.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from innkeeper.inference.fake.provider import EchoServer
from innkeeper.inference.routing.models import ModelCard, RouteModels
from innkeeper.inference.routing.route import Route, Routes
from innkeeper.library.db.engine import Database
from innkeeper.library.models.stores import ModelStore, ProviderStore
from innkeeper.service.app import serve
from innkeeper.service.settings import Settings

CONFIG: Final = Path(__file__).with_name("openapi.toml")
SERVE: Final = "--serve"
SECONDS: Final = 60
"""How long an answer may take."""

MODEL: Final = {
    "model_key": "fake",
    "modality": "chat",
    "tasks": ["roleplay", "enhancement", "reasoning"],
    "pricing": {"input": 0.0, "output": 0.0},
}
"""The model of the library, which carries tasks out before any other."""


class AnyRoute(Routes):
    """One route under every name."""

    __slots__ = ()

    def __contains__(self, name: object) -> bool:
        """There is one."""
        return isinstance(name, str)

    def __getitem__(self, name: str) -> Route:
        """It."""
        return next(iter(self._by_name.values()))


class AnyModel(RouteModels):
    """The models of one route, which has every name."""

    def card(self, name: str) -> ModelCard | None:
        """The one."""
        return super().card("fake")


def run_service() -> None:
    """Answer on any free port, whose address is printed."""
    with EchoServer() as provider, TemporaryDirectory() as folder:
        database = Path(folder) / "library.db"
        with Database.open(database) as db:
            owner = ProviderStore(db).put({"name": "elsewhere", "base_url": provider.base_url})
            ModelStore(db).put({**MODEL, "provider_id": owner.id})
        routes = AnyRoute(Route.of("fake", f"{provider.base_url}:fake"))
        settings = Settings(port=0, grpc_port=None, database=str(database))
        serve(settings, lambda address: print(address, flush=True), models=AnyModel(routes))


def main(program: str, *options: str) -> int:
    """Return the exit code of Schemathesis, which is 0 where nothing is found."""
    service = subprocess.Popen([sys.executable, __file__, SERVE], stdout=subprocess.PIPE, text=True)
    try:
        address = service.stdout.readline().strip() if service.stdout else ""
        asked = [program, "--config-file", str(CONFIG), "run", f"{address}/openapi.json", "--wait-for-schema", "20"]
        return subprocess.run([*asked, "--request-timeout", str(SECONDS), *options], check=False).returncode
    finally:
        service.terminate()
        service.wait()


if __name__ == "__main__":
    if sys.argv[1:2] == [SERVE]:
        run_service()
    else:
        sys.exit(main(*sys.argv[1:]))
