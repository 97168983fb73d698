"""``innkeeper serve`` and ``innkeeper admin call``: the service on this machine, and one operation of its gateway.

An operation is called in this process, or in a running service with ``--url``.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import click

from innkeeper.cli.app.commands import examples, json_option, json_text, print_result
from innkeeper.cli.settings.completion import profiles as offered_profiles
from innkeeper.service.errors import MAX_BODY

if TYPE_CHECKING:
    from innkeeper.inference.routing.models import RouteModels
    from innkeeper.service.inspector.surface import Inspector
    from innkeeper.service.settings import Settings


_PORT = 8050
_LAST_PORT: Final = 65_535


@click.command(epilog=examples("innkeeper serve", "innkeeper serve --profile wenna --port 8050"))
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on; any but this machine's needs a key."
)
@click.option("--port", type=click.IntRange(0, 65_535), default=_PORT, show_default=True, help="0 picks a free port.")
@click.option(
    "--data", type=click.Path(path_type=Path), help="Folder with presets, characters, conversations and so on."
)
@click.option(
    "--database",
    metavar="URL|PATH",
    help="The library's database with the tools to run (default: in Innkeeper's folder).",
)
@click.option("--grpc-port", type=click.IntRange(0, 65_535), help="Port for gRPC (default: one above --port).")
@click.option("--no-grpc", is_flag=True, help="Do not serve gRPC.")
@click.option(
    "--profile",
    "profiles",
    metavar="FOLDER",
    multiple=True,
    shell_complete=offered_profiles,
    help="A profile or a folder of profiles, called as models; repeatable. `smarttavern` selects the original's gateway.",
)
@click.option("--stored-profiles", is_flag=True, help="Also serve the profiles stored in the library's database.")
@click.option(
    "--route",
    "routes",
    metavar="NAME=PROVIDER:MODEL",
    multiple=True,
    help="A model that clients may name, in addition to `local` and the configured aliases; repeatable.",
)
@click.option(
    "--states",
    type=click.Choice(["memory", "database"]),
    default="memory",
    show_default=True,
    help="Where to store conversations with profiles between turns.",
)
@click.option("--key-file", type=click.Path(path_type=Path), help="File of the keys that callers need, one per line.")
@click.option(
    "--cors-origin", "cors_origins", multiple=True, help="A web origin that may call the service; repeatable."
)
@click.option(
    "--allow-host",
    "allow_hosts",
    metavar="HOST[:PORT]",
    multiple=True,
    help="A local or private host that addresses of tools may use; repeatable.",
)
@click.option(
    "--price",
    "prices",
    metavar="ROUTE=INPUT,OUTPUT",
    multiple=True,
    help="Price of a million tokens of a route, for the spending limits of keys; ROUTE may contain *; repeatable.",
)
@click.option(
    "--inspector",
    metavar="[FOLDER]",
    is_flag=False,
    flag_value="",
    help="Also serve the inspector at /inspector/, for a folder's files or the packaged example.",
)
@click.option("--no-python", is_flag=True, help="Disable the {{python:...}} macro.")
@click.option("--max-body", type=click.IntRange(1), help="Maximum bytes of one request.")
@click.option("--max-calls", type=click.IntRange(1), help="Maximum calls at once.")
@click.option(
    "--time-budget", type=click.FloatRange(0, min_open=True), help="Maximum seconds of one call, including waiting."
)
@click.option("--cpu-budget", type=click.FloatRange(0, min_open=True), help="Maximum processor seconds of one call.")
@click.option(
    "--max-answers", type=click.IntRange(1), help="Maximum calls that wait for a model at once, including streams."
)
@click.option(
    "--stop-seconds", type=click.IntRange(1), help="Time for running calls to finish when the service is stopped."
)
@click.option(
    "--log",
    "log_format",
    type=click.Choice(["none", "text", "json"]),
    default="none",
    show_default=True,
    help="Log one line per call to standard error, without prompts and keys.",
)
@click.option(
    "--gate",
    type=click.Choice(["on", "observe"]),
    help="Texts in which the tier gate is in doubt: refuse them (on, the default) or only note them.",
)
@click.option(
    "--second-reader",
    metavar="ROUTE[:KIND]",
    help="Moderation model for texts in doubt; KIND: schema (default), llama-guard, shieldgemma or openai.",
)
@click.option("--reads-always", is_flag=True, help="Ask the second reader about every text.")
@click.option(
    "--job-threads", type=click.IntRange(0), default=4, show_default=True, help="Jobs to run at once in this process."
)
@click.option("--job-budget", type=click.FloatRange(0), help="US dollars that a key may spend on jobs per day.")
@click.option("--public-url", help="Public address of this service, for callbacks of job providers.")
@click.option("--workers", type=click.IntRange(1), help="Maximum number of processes that compute calls.")
@click.option(
    "--start-method",
    type=click.Choice(["fork", "spawn"]),
    help="How those processes start (default: what suits the system).",
)
@click.option("--worker-memory", type=click.IntRange(1), help="Maximum memory of one call, in bytes.")
@click.option(
    "--limit",
    "limits",
    metavar="NAME=NUMBER",
    multiple=True,
    help="A limit of one call: seconds, steps or output (characters); repeatable.",
)
@json_option
def serve(
    *,
    as_json: bool,
    key_file: Path | None,
    no_python: bool,
    grpc_port: int | None,
    no_grpc: bool,
    limits: tuple[str, ...],
    log_format: str,
    **options: Any,
) -> None:
    """Run the HTTP service: models at /v1 with OpenAI's and Anthropic's APIs, and prompt operations.

    Keys are read from INNKEEPER_SERVICE_KEY and --key-file. Without a key the service is open, on this machine only. In the
    file a key's permissions can follow it, as in KEY scope=chat rate=60 seconds=0.5 tier=sfw gate=on.
    """
    from innkeeper.cli.settings.routes import read_routes, route_models
    from innkeeper.cli.settings.settings import UserSettings
    from innkeeper.prompt.allowance import BuildLimits
    from innkeeper.service import Settings
    from innkeeper.service import serve as run
    from innkeeper.service.guard.grants import read_keys
    from innkeeper.service.telemetry import log_to_stderr
    from innkeeper.taverns.profiles import Profiles

    log_to_stderr(log_format)
    route_options: tuple[str, ...] = options.pop("routes")
    folder: str | None = options.pop("inspector")
    chosen = {name: value for name, value in options.items() if value is not None}
    beside = chosen["port"] and min(chosen["port"] + 1, _LAST_PORT)
    user = UserSettings.read()
    settings = Settings(
        keys=read_keys(key_file, os.environ),
        catalogue=user.get("catalogue"),
        python=not no_python,
        limits=BuildLimits.read(limits),
        **_profiles(chosen.pop("profiles")),
        grpc_port=None if no_grpc else beside if grpc_port is None else grpc_port,
        **chosen,
    )

    def ready(address: str) -> None:
        access = "every call needs a key" if settings.keys else "open, for this machine only"
        words = f"Innkeeper listens on {address} ({access}). Ctrl-C stops it."
        print_result({"listening": address, "open": not settings.keys}, words, as_json=as_json)
        if opened is not None:
            from innkeeper.service.inspector.server import entrance

            entry = entrance(address, opened.access)
            print_result({"inspector": entry}, f"The inspector is at {entry} (opens once)", as_json=as_json)
        names = ", ".join(Profiles(settings.profiles))
        if names and not as_json:
            click.echo(f"Clients of OpenAI's and Anthropic's protocols call these models at {address}/v1: {names}")

    def grpc_ready(address: str) -> None:
        print_result({"grpc": address}, f"gRPC: {address}", as_json=as_json)

    models = route_models(user, read_routes(user, route_options))
    opened = None if folder is None else _inspector(folder, settings, models)
    run(settings, ready, grpc_ready=grpc_ready, models=models, inspector=opened)


def _inspector(folder: str, settings: Settings, models: RouteModels) -> Inspector:
    """Return the inspector of a folder, or of the packaged example."""
    from innkeeper.cli.app.inspect import open_session
    from innkeeper.service.inspector.access import Access
    from innkeeper.service.inspector.library.library_access import LibraryAccess
    from innkeeper.service.inspector.surface import Inspector
    from innkeeper.service.inspector.talking import InspectorTalk

    talk = InspectorTalk(models, "local")
    opened = partial(open_session, (Path(folder),) if folder else (), talk)
    return Inspector(opened(), Access(), talk, LibraryAccess(settings.database), another=opened)


def _profiles(words: tuple[str, ...]) -> dict[str, Any]:
    """Return the settings from ``--profile``: a variant of the gateway, and folders of profiles."""
    from innkeeper.cli.prompt.assets import find_profile
    from innkeeper.prompt import ConfigError
    from innkeeper.service.settings import PROFILES

    variants = [word for word in words if word in PROFILES and find_profile(word) is None]
    folders = []
    for word in words:
        folder = find_profile(word) or (Path(word) if any(Path(word).glob("*/profile.toml")) else None)
        if folder is None and word not in variants:
            here = "--profile . is the profile of this folder; else " if find_profile(".") else ""
            hint = f"{here}a folder with a profile.toml, or one that holds some; or {' or '.join(PROFILES)}"
            raise ConfigError(f"unknown profile {word!r}", hint=hint)
        folders += [] if folder is None or word in variants else [folder]
    return {"profiles": tuple(folders), **({"profile": variants[-1]} if variants else {})}


_EXIT: Final = ((500, 70), (413, 65), (400, 2))
_FAILED: Final = 65
_UNAVAILABLE: Final = 69


@click.command(
    epilog=examples(
        "innkeeper admin call smarttavern/macro/process_text request.json",
        "innkeeper admin call smarttavern/macro/list --url http://127.0.0.1:8050",
    )
)
@click.argument("path")
@click.argument("file", type=click.File("rb"), required=False)
@click.option(
    "--namespace", type=click.Choice(["modules", "workflow", "plugins"]), help="Which system the operation belongs to."
)
@click.option("--url", help="Call the service at this address, such as http://127.0.0.1:8050.")
@click.option("--data", type=click.Path(path_type=Path), help="The data folder for operations on files.")
@click.option("--profile", default="fixed", show_default=True, help="fixed, or smarttavern.")
@click.option("--no-python", is_flag=True, help="Disable the {{python:...}} macro.")
@click.option("--now", help="Time of the call, ISO 8601 (default: now).")
@click.option("--seed", type=click.IntRange(0), help="Random seed (default: a new one).")
@click.option("--explain", is_flag=True, help="Report what was left out and why.")
@json_option
def call(path: str, file: IO[bytes] | None, namespace: str | None, *, as_json: bool, **options: Any) -> int:
    """Run the operation at PATH, such as smarttavern/macro/process_text.

    Its arguments are a JSON object in FILE (- for standard input); none if omitted. With --json the reply is printed
    byte for byte as the service sends it.

    Exits with 65 if the operation answers with an error, with 2 for invalid arguments.
    """
    body = b"" if file is None else file.read(MAX_BODY + 1)  # one byte more than is taken tells that it is too large
    status, reply = _answer(path, body, namespace, options)
    click.echo(reply if as_json else _pretty(reply))
    return _exit_code(status, reply)


def _answer(path: str, body: bytes, namespace: str | None, options: dict[str, Any]) -> tuple[int, bytes]:
    from innkeeper.service.client import NAMESPACES, checked_path
    from innkeeper.service.exchange import JSON, Request

    ask = _ask_service if options["url"] else _ask_gateway
    headers = {"content-type": JSON, **_headers(options)}
    names = NAMESPACES if namespace is None else (namespace,)
    requests = [Request("POST", f"/api/{name}/{checked_path(path)}", headers=headers, body=body) for name in names]
    for request in requests:
        status, reply = ask(request, options)
        if status != 404:  # noqa: PLR2004 - the one status that lets the search go on
            break
    return status, reply


def _ask_gateway(request: Any, options: dict[str, Any]) -> tuple[int, bytes]:
    from innkeeper.service import Gateway, Settings

    settings = Settings(data=options["data"], profile=options["profile"], python=not options["no_python"])
    reply = Gateway(settings, ready=False).answer(request)
    return reply.status, reply.body


def _ask_service(request: Any, options: dict[str, Any]) -> tuple[int, bytes]:
    from innkeeper.service.client import exchange, key_headers

    url = options["url"].rstrip("/") + request.path
    return exchange("POST", url, key_headers(request.headers, os.environ), content=request.body)


def _headers(options: dict[str, Any]) -> dict[str, str]:
    from innkeeper.service.gateway.state import EXPLAIN_HEADER, NOW_HEADER, SEED_HEADER

    explain = "1" if options["explain"] else None
    headers = {NOW_HEADER: options["now"], SEED_HEADER: options["seed"], EXPLAIN_HEADER: explain}
    return {name: str(value) for name, value in headers.items() if value is not None}


def _pretty(reply: bytes) -> bytes:
    import json

    try:
        return json_text(json.loads(reply), indent=2).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return reply


def _exit_code(status: int, reply: bytes) -> int:
    import json

    if status == 0:
        return _UNAVAILABLE
    code = next((code for least, code in _EXIT if status >= least), 0)
    if code:
        return code
    try:
        body = json.loads(reply)
    except (ValueError, RecursionError):
        return _FAILED
    return _FAILED if isinstance(body, dict) and body.get("error") else 0
