"""``innkeeper admin vault``: secrets that can be set and used, but never shown."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from innkeeper.cli.app.commands import examples, print_json
from innkeeper.cli.keep.library import database_options, opened, print_table, who_option

if TYPE_CHECKING:
    from innkeeper.library.vault.vault import Vault
    from innkeeper.prompt.machine import Secret


_KINDS = click.Choice(["environment", "file", "keyring"])


@click.group(
    epilog=examples("innkeeper admin vault init", "innkeeper admin vault set openrouter", "innkeeper admin vault check")
)
def vault() -> None:
    """Manage encrypted secrets in the library's database. No command shows one.

    The key comes from $INNKEEPER_VAULT_KEY, the file $INNKEEPER_VAULT_KEY_FILE (`keyring:` is the system keyring), else from the
    file vault.key in Innkeeper's folder.
    """


@contextmanager
def _opened(url: str | None, kind: str | None = None) -> Iterator[Vault]:
    from innkeeper.library.vault.keys import find_keys

    with opened(url, keys=find_keys(kind=kind)) as library:
        yield library.vault


@vault.command(epilog=examples("innkeeper admin vault init"))
@click.option("--keys", "kind", type=_KINDS, help="Where to store the key.")
@database_options
def init(url: str | None, *, kind: str | None, as_json: bool) -> None:
    """Create the first key. Store a copy apart from the database's backups: without it no secret can be opened."""
    with _opened(url, kind) as secrets:
        key_id, location = secrets.init(), secrets.keys.location
    print_json({"key_id": key_id, "place": location}) if as_json else click.echo(f"{location}: made the key {key_id}.")


@vault.command(
    "set",
    context_settings={"ignore_unknown_options": True},
    epilog=examples("innkeeper admin vault set openrouter < key.txt"),
)
@click.argument("name")
@click.argument("more", nargs=-1, type=click.UNPROCESSED, metavar="")
@who_option
@database_options
def set_(name: str, more: tuple[str, ...], url: str | None, *, who: str, as_json: bool) -> None:
    """Set the secret NAME. Its value is prompted for, or read from standard input; it is never an argument."""
    if more:  # not quoted: it may be the secret, and other users of this machine see a command's words already
        raise click.UsageError("a secret is never a word of the command: it is asked for, or read from the input")
    value = asked_secret(name)
    with _opened(url) as secrets:
        entry = secrets.set(name, value, who=who)
    facts = {"name": entry.name, "is_set": True, "key_id": entry.key_id, "updated_at": entry.updated_at}
    print_json(facts) if as_json else click.echo(f"{name}: set.")


def asked_secret(name: str) -> Secret:
    """Read a secret from the terminal, typed twice and hidden, or else the whole standard input. Raises `FormatError`."""
    from innkeeper.prompt.errors import FormatError
    from innkeeper.prompt.machine import Secret

    if _is_terminal():
        return Secret(click.prompt(f"Value of {name}", hide_input=True, confirmation_prompt=True, err=True))
    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError("the value is not UTF-8") from None
    return Secret(text.removesuffix("\n").removesuffix("\r"))


def _is_terminal() -> bool:
    return sys.stdin.isatty()


@vault.command(epilog=examples("innkeeper admin vault remove openrouter"))
@click.argument("name")
@who_option
@database_options
def remove(name: str, url: str | None, *, who: str, as_json: bool) -> None:
    """Delete the secret NAME."""
    with _opened(url) as secrets:
        secrets.unset(name, who=who)
    print_json({"name": name, "is_set": False}) if as_json else click.echo(f"{name}: forgotten.")


@vault.command("list", epilog=examples("innkeeper admin vault list"))
@database_options
def list_(url: str | None, *, as_json: bool) -> None:
    """List the secrets that are set or needed, with key and time. Needs no key."""
    import msgspec

    with _opened(url) as secrets:
        entries = secrets.list()
    if as_json:
        print_json({"secrets": msgspec.to_builtins(entries)})
        return
    print_table(
        ("name", "set", "key", "changed", "by", "wanted by"),
        [(one.name, one.is_set, one.key_id, one.updated_at, one.updated_by, one.providers) for one in entries],
    )


@vault.command(epilog=examples("innkeeper admin vault status"))
@database_options
def status(url: str | None, *, as_json: bool) -> None:
    """Show where the key is, whether it can be used, and how many secrets there are."""
    import msgspec

    with _opened(url) as secrets:
        facts = secrets.status()
    if as_json:
        print_json(msgspec.to_builtins(facts))
        return
    rows = [
        ("keys from", facts.place),
        ("key", facts.key_id or f"none: {facts.problem}"),
        ("older keys", facts.keys[1:]),
        ("secrets", facts.secrets),
        ("sealed by keys that are not there", facts.sealed_by_others),
    ]
    print_table(("", ""), rows)


@vault.command(epilog=examples("innkeeper admin vault check"))
@database_options
def check(url: str | None, *, as_json: bool) -> int:
    """Check that every secret opens and every provider has one. Exits with 69 if something must be done."""
    import msgspec

    with _opened(url) as secrets:
        findings = secrets.doctor()
    well = all(finding.ok for finding in findings)
    if as_json:
        print_json({"ok": well, "findings": msgspec.to_builtins(findings)})
    else:
        print_table(
            ("", "secret", "what", "mend"),
            [("ok" if one.ok else "!!", one.name, one.message, one.hint) for one in findings],
        )
    return 0 if well else 69


@vault.command(epilog=examples("innkeeper admin vault rotate"))
@click.option("--drop-old", is_flag=True, help="Delete older keys. Earlier backups cannot be opened without them.")
@who_option
@database_options
def rotate(url: str | None, *, drop_old: bool, who: str, as_json: bool) -> None:
    """Create a new key and seal every secret with it; older keys remain for backups.

    Keys in $INNKEEPER_VAULT_KEY are not created here: put a new one in front of the others, then rotate.
    """
    import msgspec

    with _opened(url) as secrets:
        done = secrets.rotate(who=who, drop_old=drop_old)
    if as_json:
        print_json(msgspec.to_builtins(done))
        return
    gone = f"; let go: {', '.join(done.dropped)}" if done.dropped else ""
    click.echo(f"{done.secrets:,} secrets sealed with the key {done.key_id}{gone}.")
