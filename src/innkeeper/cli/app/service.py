"""``innkeeper serve`` and ``innkeeper call``: the service on this machine, and one operation of its gateway.

An operation is called in this process, or in a running service with ``--url``.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import click

from innkeeper.cli.app.commands import json_option
from innkeeper.cli.settings.completion import profiles as offered_profiles
from innkeeper.service.errors import MAX_BODY

if TYPE_CHECKING:
    from innkeeper.inference.routing.models import RouteModels
    from innkeeper.service.inspector.surface import Inspector
    from innkeeper.service.settings import Settings


_PORT = 8050
_LAST_PORT: Final = 65_535


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; others need a key.")
@click.option("--port", type=click.IntRange(0, 65_535), default=_PORT, show_default=True, help="0 takes any free one.")
@click.option("--data", type=click.Path(path_type=Path), help="Folder with presets, characters, conversations ...")
@click.option(
    "--database", metavar="URL|PATH", help="The library's database, whose tools are run; its own place if none."
)
@click.option(
    "--grpc-port", type=click.IntRange(0, 65_535), help="Where gRPC is answered; one above --port where left out."
)
@click.option("--no-grpc", is_flag=True, help="Answer no gRPC.")
@click.option(
    "--profile",
    "profiles",
    metavar="FOLDER",
    multiple=True,
    shell_complete=offered_profiles,
    help="A profile, or a folder of some, that clients call as models; repeatable. smarttavern: the gateway as the original.",
)
@click.option("--stored-profiles", is_flag=True, help="The profiles of the library's database, too.")
@click.option(
    "--route",
    "routes",
    metavar="NAME=PROVIDER:MODEL",
    multiple=True,
    help="A model that clients may name, beside `local` and the aliases of the configuration; repeatable.",
)
@click.option(
    "--states",
    type=click.Choice(["memory", "database"]),
    default="memory",
    show_default=True,
    help="Where conversations with profiles are kept between turns.",
)
@click.option("--key-file", type=click.Path(path_type=Path), help="Keys that callers need, one a line.")
@click.option("--cors-origin", "cors_origins", multiple=True, help="A web origin that may call. May be repeated.")
@click.option(
    "--allow-host",
    "allow_hosts",
    metavar="HOST[:PORT]",
    multiple=True,
    help="A host of this machine or network that addresses in tools may name; repeatable.",
)
@click.option(
    "--price",
    "prices",
    metavar="ROUTE=INPUT,OUTPUT",
    multiple=True,
    help="What a million tokens of a route cost, for the spending of keys; ROUTE may have *; repeatable.",
)
@click.option(
    "--inspector",
    metavar="[FOLDER]",
    is_flag=False,
    flag_value="",
    help="The inspector too, at /inspector/: of the files of a folder, or of the example that comes with Innkeeper.",
)
@click.option("--no-python", is_flag=True, help="Switch the {{python:...}} macro off.")
@click.option("--max-body", type=click.IntRange(1), help="Bytes of one request.")
@click.option("--max-calls", type=click.IntRange(1), help="Calls at once.")
@click.option("--time-budget", type=click.FloatRange(0, min_open=True), help="Seconds of one call, waiting included.")
@click.option("--cpu-budget", type=click.FloatRange(0, min_open=True), help="Seconds that a call may keep a processor.")
@click.option("--max-answers", type=click.IntRange(1), help="Calls that wait for a model at once, streams among them.")
@click.option(
    "--stop-seconds", type=click.IntRange(1), help="What calls under way get when the service is told to stop."
)
@click.option(
    "--log",
    "log_format",
    type=click.Choice(["none", "text", "json"]),
    default="none",
    show_default=True,
    help="A line a call on standard error, without prompts and keys.",
)
@click.option(
    "--job-threads", type=click.IntRange(0), default=4, show_default=True, help="Jobs carried out here at once."
)
@click.option("--job-budget", type=click.FloatRange(0), help="US dollars that a key may spend on jobs in a day.")
@click.option("--public-url", help="Where providers reach this service, to tell of jobs.")
@click.option("--workers", type=click.IntRange(1), help="Processes that compute calls, at most.")
@click.option(
    "--start-method",
    type=click.Choice(["fork", "spawn"]),
    help="How those processes start: as copies, or each from nothing; what suits the system where left out.",
)
@click.option("--worker-memory", type=click.IntRange(1), help="Bytes that one call may take.")
@click.option(
    "--limit",
    "limits",
    metavar="NAME=NUMBER",
    multiple=True,
    help="What one call may take at most: seconds, steps or output (characters made); repeatable.",
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
    """Answer HTTP calls: of models at /v1, as OpenAI and Anthropic have them, and of prompt operations.

    A key is read from INNKEEPER_SERVICE_KEY and --key-file. Without one the service is open, and only on this machine. In the
    file, what a key may do can stand behind it, as in KEY scope=chat rate=60 seconds=0.5.
    """
    import json

    from innkeeper.cli.settings.routes import read_routes, secrets_of
    from innkeeper.cli.settings.settings import UserSettings
    from innkeeper.inference.routing.models import RouteModels
    from innkeeper.prompt.allowance import BuildLimits
    from innkeeper.service import Settings
    from innkeeper.service import serve as run
    from innkeeper.service.settings import read_keys
    from innkeeper.service.telemetry.logs import log_to_stderr
    from innkeeper.taverns.profiles import Profiles

    log_to_stderr(log_format)
    route_options: tuple[str, ...] = options.pop("routes")
    folder: str | None = options.pop("inspector")
    chosen = {name: value for name, value in options.items() if value is not None}
    beside = chosen["port"] and min(chosen["port"] + 1, _LAST_PORT)
    settings = Settings(
        keys=read_keys(key_file, os.environ),
        python=not no_python,
        limits=BuildLimits.read(limits),
        **_profiles(chosen.pop("profiles")),
        grpc_port=None if no_grpc else beside if grpc_port is None else grpc_port,
        **chosen,
    )

    def ready(address: str) -> None:
        who = "every call needs a key" if settings.keys else "open, for this machine only"
        words = f"Innkeeper listens on {address} ({who}). Ctrl-C stops it."
        click.echo(json.dumps({"listening": address, "open": not settings.keys}) if as_json else words)
        if opened is not None:
            from innkeeper.service.inspector.server import entrance

            entry = entrance(address, opened.access)
            click.echo(json.dumps({"inspector": entry}) if as_json else f"The inspector is at {entry} (opens once)")
        names = ", ".join(Profiles(settings.profiles))
        if names and not as_json:
            click.echo(f"Clients of OpenAI's and Anthropic's protocols call these models at {address}/v1: {names}")

    def grpc_ready(address: str) -> None:
        click.echo(json.dumps({"grpc": address}) if as_json else f"gRPC: {address}")

    user = UserSettings.read()
    named = read_routes(user, route_options)
    addresses = {name: str(address) for name, address in user.table("providers").items()}
    models = RouteModels(named, secrets_of(user, named), addresses=addresses)
    opened = None if folder is None else _inspector(folder, settings, models)
    run(settings, ready, grpc_ready=grpc_ready, models=models, inspector=opened)


def _inspector(folder: str, settings: Settings, models: RouteModels) -> Inspector:
    """The inspector of a folder, or of the packaged example."""
    from innkeeper.cli.app.inspect import open_desk
    from innkeeper.service.inspector.access import Access
    from innkeeper.service.inspector.library.room import LibraryRoom
    from innkeeper.service.inspector.surface import Inspector
    from innkeeper.service.inspector.talking import Talk

    talk = Talk(models, "local")
    opened = partial(open_desk, (Path(folder),) if folder else (), talk)
    return Inspector(opened(), Access(), talk, LibraryRoom(settings.database), another=opened)


def _profiles(words: tuple[str, ...]) -> dict[str, Any]:
    """The settings that ``--profile`` gives: a variant of the gateway by its name, and folders of profiles."""
    from innkeeper.cli.prompt.profile import find_profile
    from innkeeper.prompt import ConfigError
    from innkeeper.service.settings import PROFILES

    variants = [word for word in words if word in PROFILES and find_profile(word) is None]
    folders = []
    for word in words:
        folder = find_profile(word) or (Path(word) if any(Path(word).glob("*/profile.toml")) else None)
        if folder is None and word not in variants:
            hint = f"a folder with a profile.toml, or one that holds some; or {' or '.join(PROFILES)}"
            raise ConfigError(f"unknown profile {word!r}", hint=hint)
        folders += [] if folder is None or word in variants else [folder]
    return {"profiles": tuple(folders), **({"profile": variants[-1]} if variants else {})}


_EXIT: Final = ((500, 70), (413, 65), (400, 2))
_FAILED: Final = 65
_UNAVAILABLE: Final = 69


@click.command()
@click.argument("path")
@click.argument("file", type=click.File("rb"), required=False)
@click.option("--namespace", type=click.Choice(["modules", "workflow", "plugins"]), help="Where the operation is.")
@click.option("--url", help="Call the service at this address instead, such as http://127.0.0.1:8050.")
@click.option("--data", type=click.Path(path_type=Path), help="The data folder, for operations on files.")
@click.option("--profile", default="fixed", show_default=True, help="fixed, or smarttavern.")
@click.option("--no-python", is_flag=True, help="Switch the {{python:...}} macro off.")
@click.option("--now", help="The moment of the call, ISO 8601; the machine's where left out.")
@click.option("--seed", type=click.IntRange(0), help="What chance is drawn from; a fresh one where left out.")
@click.option("--explain", is_flag=True, help="Tell what was left out and why.")
@json_option
def call(path: str, file: IO[bytes] | None, namespace: str | None, *, as_json: bool, **options: Any) -> int:
    """Run the operation at PATH, such as smarttavern/macro/process_text.

    Its arguments are a JSON object in FILE (- for standard input), none where it is left out. With --json the reply is printed
    byte for byte as the service sends it.

    Exits with 65 where the operation answers with an error, 2 for arguments that do not fit it.
    """
    body = b"" if file is None else file.read(MAX_BODY + 1)  # one byte more than is taken tells that it is too large
    status, reply = _answer(path, body, namespace, options)
    click.echo(reply if as_json else _pretty(reply))
    return _exit_code(status, reply)


def _answer(path: str, body: bytes, namespace: str | None, options: dict[str, Any]) -> tuple[int, bytes]:
    from innkeeper.service.client import NAMESPACES, checked_path
    from innkeeper.service.exchange import JSON, Request

    ask = _there if options["url"] else _here
    headers = {"content-type": JSON, **_moment(options)}
    names = NAMESPACES if namespace is None else (namespace,)
    requests = [Request("POST", f"/api/{name}/{checked_path(path)}", headers=headers, body=body) for name in names]
    for request in requests:
        status, reply = ask(request, options)
        if status != 404:  # noqa: PLR2004 - the one status that lets the search go on
            break
    return status, reply


def _here(request: Any, options: dict[str, Any]) -> tuple[int, bytes]:
    from innkeeper.service import Gateway, Settings

    settings = Settings(data=options["data"], profile=options["profile"], python=not options["no_python"])
    reply = Gateway(settings, ready=False).answer(request)
    return reply.status, reply.body


def _there(request: Any, options: dict[str, Any]) -> tuple[int, bytes]:
    from innkeeper.service.client import exchange, key_headers

    url = options["url"].rstrip("/") + request.path
    return exchange("POST", url, key_headers(request.headers, os.environ), content=request.body)


def _moment(options: dict[str, Any]) -> dict[str, str]:
    from innkeeper.service.gateway.state import EXPLAIN_HEADER, NOW_HEADER, SEED_HEADER

    explain = "1" if options["explain"] else None
    headers = {NOW_HEADER: options["now"], SEED_HEADER: options["seed"], EXPLAIN_HEADER: explain}
    return {name: str(value) for name, value in headers.items() if value is not None}


def _pretty(reply: bytes) -> bytes:
    import json

    try:
        return json.dumps(json.loads(reply), ensure_ascii=False, indent=2).encode("utf-8", "replace")
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
