"""``innkeeper admin worker run``: a pure-inference worker on this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from innkeeper.cli.app.commands import examples, json_option, print_result

if TYPE_CHECKING:
    from innkeeper.inference.routing.route import Route
    from innkeeper.jobs.worker.media_engine import ServedModel
    from innkeeper.service.workers.agent import Membership


INVITATION: Final = "INNKEEPER_WORKER_INVITATION"
"""The environment variable that holds an invitation."""


@click.command(
    "run",
    epilog=examples(
        "innkeeper admin worker run",
        "innkeeper admin worker run --model big=http://127.0.0.1:8080:qwen --slots 4",
        "innkeeper admin worker run --kind image --model sdxl=a1111:http://127.0.0.1:7860",
        "INNKEEPER_WORKER_INVITATION=... innkeeper admin worker run --join http://inn.lan:8050 --host 10.0.0.5",
    ),
)
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on; any but this machine's needs a key."
)
@click.option("--port", type=click.IntRange(0, 65_535), default=7861, show_default=True, help="0 picks a free port.")
@click.option(
    "--kind", type=click.Choice(["chat", "image", "video"]), default="chat", show_default=True, help="What to generate."
)
@click.option(
    "--model",
    "models",
    metavar="NAME=PROVIDER:MODEL",
    multiple=True,
    help="A model to serve (default: the one on this machine); repeatable. For images and videos "
    "NAME=BACKEND:URL with a1111 or comfyui (default: the built-in tiny picture).",
)
@click.option("--slots", type=click.IntRange(1, 1000), default=1, show_default=True, help="Requests to run at once.")
@click.option("--join", "service", metavar="URL", help="The service to join; the first time needs an invitation.")
@click.option("--url", help="The address at which the service reaches this worker (default: its own).")
@click.option(
    "--membership",
    type=click.Path(path_type=Path),
    help="The file with the enrolment (default: in Innkeeper's folder).",
)
@json_option
def run(  # noqa: PLR0913 - one argument an option
    *,
    host: str,
    port: int,
    kind: str,
    models: tuple[str, ...],
    slots: int,
    service: str | None,
    url: str | None,
    membership: Path | None,
    as_json: bool,
) -> None:
    """Execute requests exactly as sent, confirmed by their hash: /chat, /enhance, /generate, /health, /worker/info.

    With --kind image or video it generates images or videos from exactly the input it is sent: /generate.
    A worker has no templates, presets or defaults of its own, and refuses unknown fields. Callers need the key in
    INNKEEPER_SERVICE_KEY; with --join they need the membership's key, and INNKEEPER_SERVICE_KEY authenticates to the service.
    """
    from innkeeper.cli.settings.routes import provider_addresses, secrets_of
    from innkeeper.cli.settings.settings import UserSettings
    from innkeeper.inference.local.shared import LocalModels
    from innkeeper.inference.routing.models import RouteModels
    from innkeeper.inference.routing.route import Routes
    from innkeeper.jobs.worker.engine import WorkerEngine
    from innkeeper.jobs.worker.media_engine import MediaEngine
    from innkeeper.service.guard.grants import read_keys
    from innkeeper.service.settings import Settings
    from innkeeper.service.workers.app import serve_worker

    user = UserSettings.read()
    local = LocalModels(bare=True)
    engine: WorkerEngine | MediaEngine
    if kind == "chat":
        backends = _backends(models, provider_addresses(user))
        routes = RouteModels(Routes(), secrets_of(user, Routes(*backends.values())), local=local)
        engine = WorkerEngine(backends, routes, slots=slots, revisions=_revisions(backends))
    else:
        engine = MediaEngine(kind, _media_models(kind, models), slots=slots)
    settings = Settings(host=host, port=port, keys=read_keys(None, os.environ))

    def ready(at: str) -> None:
        words = f"The worker listens on {at}. Ctrl-C stops it."
        print_result({"listening": at}, words, as_json=as_json)

    def join(at: str) -> Membership:
        report = {"state": "starting", "slots": engine.slots, "kind": kind}
        return _membership(str(service).rstrip("/"), (url or at).rstrip("/"), membership, report)

    try:
        serve_worker(engine, settings, ready, None if service is None else join)
    finally:
        local.close()


def _backends(assignments: tuple[str, ...], addresses: dict[str, str]) -> dict[str, Route]:
    from innkeeper.inference.local.shared import LOCAL
    from innkeeper.inference.routing.route import Route

    targets = [text.partition("=")[::2] if "=" in text else (text, text) for text in assignments or (LOCAL,)]
    return {name.strip(): Route.of(name.strip(), target.strip(), addresses) for name, target in targets}


def _media_models(kind: str, assignments: tuple[str, ...]) -> dict[str, ServedModel]:
    """Return the models of an image or video worker, at your own servers. Raises `ConfigError`."""
    from innkeeper.jobs.backends.registry import backend_of, backends
    from innkeeper.jobs.backends.tiny_seed_picture import NAME
    from innkeeper.jobs.backends.wire import MediaWire
    from innkeeper.jobs.worker.media_engine import ServedModel
    from innkeeper.prompt.errors import ConfigError
    from innkeeper.prompt.machine import Secret

    known = {one.name: one for one in backends(MediaWire(), lambda _: Secret("")) if one.name in _OWN}
    tasks = ("t2i", "i2i") if kind == "image" else ("t2v", "i2v")
    media_models = {}
    for text in assignments or (NAME,):
        name, sign, target = text.partition("=")
        backend, _, url = (target if sign else name).partition(":")
        matching = backend_of(backend, known)
        if matching is None or (url and "://" not in url) or bool(url) is (matching == NAME):
            hint = f"write it like NAME=a1111:http://127.0.0.1:7860; backends: {', '.join(sorted(known))}"
            raise ConfigError(f"{text!r:.80} is no model of a worker for {kind}s", hint=hint)
        media_models[name.strip()] = ServedModel(known[matching], name.strip(), tasks, url.rstrip("/"))
    return media_models


_OWN: Final = ("a1111", "comfyui", "tiny-seed-picture")
"""Backends that a worker may serve: your own servers."""


def _revisions(backends: dict[str, Route]) -> dict[str, str]:
    """Return the revisions of models on this machine: the beginning of their checksum."""
    from innkeeper.inference.local.weights import find_model

    local = {key: route for key, route in backends.items() if route.is_local}
    files = {key: route.model for key, route in local.items()}
    return {key: (find_model(file, check=False).sha256 or "")[:16] for key, file in files.items()}


def _membership(service: str, url: str, path: Path | None, report: dict[str, Any]) -> Membership:
    """Return the stored membership for this service and address, else enrol with the invitation in the environment."""
    from innkeeper.prompt.errors import UsageError
    from innkeeper.prompt.machine import home
    from innkeeper.service.workers.agent import Membership, enrol

    file = path or home() / "worker.json"
    membership = Membership.read(file, service, url)
    if membership is not None:
        return membership
    invitation = os.environ.get(INVITATION, "").strip()
    if not invitation:
        hint = f"`innkeeper admin worker invite` makes one; put it into {INVITATION}"
        raise UsageError("an invitation is needed to join a service", hint=hint)
    made = enrol(service, url, invitation, report)
    made.keep(file)
    return made
