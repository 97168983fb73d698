"""``innkeeper keys``: set a provider's key once; no command shows it."""

from __future__ import annotations

import click

from innkeeper.cli.app.commands import examples, json_option, print_json, print_result
from innkeeper.cli.settings.completion import offered


def _stored() -> list[str]:
    from innkeeper.cli.settings.keys import KeyStore

    return [key.name for key in KeyStore().list()]


def _providers() -> list[str]:
    from innkeeper.cli.settings.settings import PROVIDERS, UserSettings

    return [*PROVIDERS, *UserSettings.read().table("providers")]


@click.group(epilog=examples("innkeeper keys set openrouter", "innkeeper keys set llm.example.org < key.txt"))
def keys() -> None:
    """Store providers' API keys for all commands.

    A key is stored in the system keyring if the library keyring finds one, else encrypted in a file that only you may read;
    never in the configuration. INNKEEPER_API_KEY overrides all of them.
    """


@keys.command(
    "set",
    context_settings={"ignore_unknown_options": True},
    epilog=examples("innkeeper keys set openrouter", "innkeeper keys set llm.example.org < key.txt"),
)
@click.argument("name", shell_complete=offered(_providers))
@click.argument("more", nargs=-1, type=click.UNPROCESSED, metavar="")
@json_option
def set_(name: str, more: tuple[str, ...], *, as_json: bool) -> None:
    """Store the key of NAME, a provider or the host of an address. It is prompted for, or read from standard input.

    It is sent only to that provider's address, or that host.
    """
    from innkeeper.cli.keep.vault import asked_secret
    from innkeeper.cli.settings.keys import KeyStore

    if more:  # not quoted: it may be the key, and other users of this machine see a command's words already
        raise click.UsageError("a key is never a word of the command: it is asked for, or read from the input")
    store = KeyStore()
    store.require()  # before anything is asked
    key = store.set(name, asked_secret(name))
    print_result({**key._asdict(), "used_for": _used_for(name)}, _description(name, key.place), as_json=as_json)


def _description(name: str, origin: str) -> str:
    used = _used_for(name)
    more = f"it is used for {used}"
    if used == name and "." not in name and name != "localhost":
        more = f"no provider is called so: innkeeper config set providers.{name} URL"
    return f"{name}: stored in {origin}; {more}"


def _used_for(name: str) -> str:
    """Return the address that a key of this name is sent to; for a host, the host."""
    from innkeeper.cli.settings.settings import PROVIDERS, UserSettings

    return str({**PROVIDERS, **UserSettings.read().table("providers")}.get(name, name))


@keys.command("list", epilog=examples("innkeeper keys list"))
@json_option
def list_(*, as_json: bool) -> None:
    """List the names of the stored keys, where each is stored, and what it is used for."""
    from innkeeper.cli.settings.keys import KeyStore

    stored = KeyStore().list()
    if as_json:
        print_json({"keys": [{**key._asdict(), "used_for": _used_for(key.name)} for key in stored]})
        return
    if not stored:
        click.echo("no keys are stored: `innkeeper keys set NAME` stores one", err=True)
    for key in stored:
        click.echo(f"{key.name}: in {key.place}, for {_used_for(key.name)}")


@keys.command(epilog=examples("innkeeper keys remove openrouter"))
@click.argument("name", shell_complete=offered(_stored))
@json_option
def remove(name: str, *, as_json: bool) -> None:
    """Delete the key NAME."""
    from innkeeper.cli.settings.keys import KeyStore

    KeyStore().remove(name)
    print_result({"name": name, "removed": True}, f"{name}: removed.", as_json=as_json)
