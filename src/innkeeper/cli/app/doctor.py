"""``innkeeper doctor``: checks of everything that `innkeeper info` lists; each says what is wrong and how to mend it."""

from __future__ import annotations

import socket
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import click

from innkeeper.cli.app.commands import examples, json_option, print_result


class CheckFinding(NamedTuple):
    """What a check has found: ``state`` is ``ok``, ``warning`` (it works without) or ``failed``."""

    state: str
    message: str
    hint: str = ""


Check = Callable[[], Iterator[CheckFinding]]


def _versions() -> Iterator[CheckFinding]:
    from innkeeper.version import VERSION

    python = ".".join(map(str, sys.version_info[:3]))
    yield CheckFinding("ok", f"Innkeeper {VERSION}, Python {python}, SQLite {sqlite3.sqlite_version}")


def _config() -> Iterator[CheckFinding]:
    from innkeeper.cli.settings.config import check_known
    from innkeeper.cli.settings.settings import UserSettings
    from innkeeper.prompt.machine import config_file

    settings = UserSettings.read()
    for value in settings.values():
        check_known(value.name, value.value, settings.path)
        if isinstance(value.value, Path) and not value.value.exists():
            yield CheckFinding(
                "failed", f"{value.name}: there is no {value.value}", f"innkeeper config set {value.name} FILE"
            )
    yield CheckFinding("ok", f"{config_file()} can be read" if config_file().exists() else "nothing is set")


def _keys() -> Iterator[CheckFinding]:
    from innkeeper.cli.settings.keys import KeyStore

    store = KeyStore()
    for key in store.list():
        store.get(key.name)
        yield CheckFinding("ok", f"{key.name} opens ({key.place})")
    if not store.list():
        yield CheckFinding("ok", "none are stored")


def _log() -> Iterator[CheckFinding]:
    from innkeeper.cli.talk.log import TalkLog, log_path

    if not log_path().exists():
        yield CheckFinding("ok", "nothing has been said yet")
        return
    TalkLog().chats(1)  # raises for another version
    with closing(sqlite3.connect(f"{log_path().resolve().as_uri()}?mode=ro", uri=True)) as db:
        yield _integrity(str(log_path()), db.execute("PRAGMA quick_check").fetchone()[0])


def _integrity(location: str, verdict: str) -> CheckFinding:
    if verdict == "ok":
        return CheckFinding("ok", f"{location} is whole")
    return CheckFinding("failed", f"{location} is damaged: {verdict}", "innkeeper admin restore FILE, from a backup")


def library_findings(*, needed: bool = False) -> Iterator[CheckFinding]:
    """Check the library's database and vault; where it is ``needed``, it must be there, with today's schema."""
    from innkeeper.library.db.connection import find_target
    from innkeeper.library.db.engine import Database, status_of

    target = find_target()
    if target.path is not None and not target.path.exists():
        yield CheckFinding("failed" if needed else "ok", "there is none yet")
        return
    with Database.open(create=False, upgrade=False, check=False) as db:
        status = status_of(db)
        if not status.up_to_date:
            yield CheckFinding(
                "failed" if needed else "warning",
                f"its schema is {status.schema}, not {status.head}",
                "innkeeper admin db upgrade",
            )
        if db.dialect == "sqlite":
            with db.reading() as connection:
                yield _integrity(db.location, connection.exec_driver_sql("PRAGMA quick_check").scalar_one())
        else:
            yield CheckFinding("ok", f"{db.location} answers, with {sum(status.rows.values()):,} rows")
        if status.up_to_date:
            yield from _vault(db)


def _vault(db: Any) -> Iterator[CheckFinding]:
    from innkeeper.library.vault.vault import Vault

    vault = Vault(db)
    if not vault.list():
        yield CheckFinding("ok", "the vault has no secrets")
        return
    for one in vault.doctor():
        state = "ok" if one.ok else "warning" if one.code == "unset" else "failed"
        yield CheckFinding(state, f"vault: {one.name + ': ' if one.name else ''}{one.message}", one.hint)


def _models() -> Iterator[CheckFinding]:
    from innkeeper.inference.local.weights import list_models

    for model in list_models():
        state = {"ok": "ok", "corrupt": "failed"}.get(model.state, "warning")
        hint = (
            "" if state == "ok" else f"innkeeper models install {model.name}{' --force' if state == 'failed' else ''}"
        )
        yield CheckFinding(state, f"{model.name} is {'whole' if state == 'ok' else model.state}", hint)


PORTS: Final = MappingProxyType({8050: "HTTP", 8051: "gRPC"})
"""The ports that `innkeeper serve` listens on where nothing else is said."""


def _ports() -> Iterator[CheckFinding]:
    for port, use in PORTS.items():
        with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                yield CheckFinding(
                    "warning", f"port {port} ({use}) is in use: by a service of yours, or by something else"
                )
            else:
                yield CheckFinding("ok", f"port {port} ({use}) is free")


CHECKS: Final[Mapping[str, Check]] = MappingProxyType(
    {
        "versions": _versions,
        "config": _config,
        "keys": _keys,
        "log": _log,
        "library": library_findings,
        "models": _models,
        "ports": _ports,
    }
)
"""All checks by name."""


def examine(checks: Mapping[str, Check] = CHECKS) -> Iterator[tuple[str, CheckFinding]]:
    """Yield what each check finds; an error that a check meets is a finding, and ends that check alone."""
    from innkeeper.lazy import missing_library
    from innkeeper.prompt.errors import InnkeeperError

    for name, check in checks.items():
        try:
            for finding in check():
                yield name, finding
        except InnkeeperError as error:
            yield name, CheckFinding("failed", error.message, error.hint or "")
        except ModuleNotFoundError as error:
            yield name, CheckFinding("warning", *missing_library(error.name or ""))
        except (OSError, sqlite3.Error) as error:
            yield name, CheckFinding("failed", f"cannot be read: {error}"[:500])


_SIGNS: Final = {"ok": "ok", "warning": "--", "failed": "!!"}


@click.command(epilog=examples("innkeeper doctor", "innkeeper doctor --role serve"))
@click.option(
    "--role",
    type=click.Choice(["serve", "grpc", "worker", "jobs"]),
    help="Ask the process of this role on this machine whether it is well, and nothing else: for health checks.",
)
@click.option("--port", type=click.IntRange(1, 65_535), help="Where it listens (default: as its command does).")
@json_option
def doctor(*, role: str | None, port: int | None, as_json: bool) -> int:
    """Check settings, keys, log, library, vault, models and ports. Exits with 1 if something is broken.

    A line that begins with "--" is of what is missing but not needed, with "!!" of what is to be mended.
    """
    if port is not None and role in {None, "jobs"}:
        raise click.UsageError("--port is of a --role that listens")
    findings = list(examine(CHECKS if role is None else _role_checks(role, port)))
    broken = any(finding.state == "failed" for _, finding in findings)
    lines = []
    for name, finding in findings:
        lines.append(f"{_SIGNS[finding.state]}  {name:<8}  {finding.message}")
        lines += [f"              hint: {finding.hint}"] if finding.hint else []
    facts = {"ok": not broken, "findings": [{"check": name, **finding._asdict()} for name, finding in findings]}
    print_result(facts, "\n".join(lines), as_json=as_json)
    return int(broken)


def _role_checks(name: str, port: int | None) -> dict[str, Check]:
    from innkeeper.cli.app.roles import ROLES

    role = ROLES[name]
    return {name: lambda: role.check(port or role.port)}
