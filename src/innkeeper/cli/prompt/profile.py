"""``innkeeper profile``: folders that bundle a card with all that it needs, for `serve`, `chat` and `ask`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from innkeeper.cli.app.commands import examples, json_option, print_json, print_result
from innkeeper.cli.app.paging import paged
from innkeeper.cli.prompt.assets import find_profile, placed, profiles_folder, setting
from innkeeper.cli.prompt.stored_profile import (
    COMMANDS,
    owner_options,
    put,
    stored_options,
    stored_profile,
    stored_rows,
)
from innkeeper.cli.settings.completion import TAVERN_NAMES, cards, model_names, offered, profiles
from innkeeper.prompt.errors import InnkeeperError, UsageError, Where
from innkeeper.prompt.text import count_of

if TYPE_CHECKING:
    from innkeeper.taverns.profiles.opened import OpenProfile


TRIED: Final = "Hello."
"""The user's message in a check."""


@click.group(
    epilog=examples(
        "innkeeper profile new wenna wenna.png persona.json --model openrouter:z-ai/glm-4.6",
        "innkeeper profile check wenna",
        "innkeeper serve --profile wenna",
        "innkeeper chat --profile wenna",
        "innkeeper profile import wenna && innkeeper serve --stored-profiles",
    )
)
def profile() -> None:
    """Bundle a card with persona, preset, lorebooks and model under a name that clients use as a model.

    A PROFILE is a folder with a profile.toml, or the name of one below profiles/ in INNKEEPER_HOME; with --stored the name of one
    in the library's database.
    """


for _command in COMMANDS:
    profile.add_command(_command)


@profile.command(epilog=examples("innkeeper profile new wenna wenna.png persona.json --model openrouter:z-ai/glm-4.6"))
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("files", nargs=-1, required=True, shell_complete=cards)
@click.option("--name", metavar="NAME", help="The name that clients use (default: the folder's name).")
@click.option(
    "--tavern", metavar="NAME", shell_complete=offered(lambda: TAVERN_NAMES), help="The tavern that builds prompts."
)
@click.option("--model", metavar="NAME", shell_complete=offered(model_names), help="The model, as PROVIDER:NAME.")
@click.option(
    "--system", metavar="WHERE", help="How to use a client's own system prompt: append, prepend, chat or ignore."
)
@click.option(
    "--context-window", type=click.IntRange(min=0), metavar="TOKENS", help="The model's context window, in tokens."
)
@click.option("--reserve", type=click.IntRange(min=0), metavar="TOKENS", help="Tokens reserved for the reply.")
@click.option("--set", "settings", metavar="KEY=JSON", multiple=True, help="Any key, such as options.temperature=0.8.")
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@owner_options
@stored_options
@json_option
def new(
    folder: Path, files: tuple[str, ...], url: str | None, *, force: bool, stored: bool, as_json: bool, **options: Any
) -> None:
    """Write a profile: copies of FILES, recognised by their content, and a profile.toml that names them.

    With --stored it is written to the library's database under the name FOLDER.
    """
    from innkeeper.content.files.saving import save_bytes
    from innkeeper.taverns.profiles.opened import PROFILE_FILE, open_profile
    from innkeeper.taverns.profiles.profile import Profile

    copies, keys = _sorted(files)
    owner = {"tenant": options.pop("tenant"), "owner": options.pop("owner")}
    values = {key: value for key, value in options.items() if value is not None and key != "settings"}
    document = {**values, **keys}
    for names, value in map(setting, options["settings"]):
        document = placed(document, names, value)
    made = Profile.of({"name": folder.resolve().name, **document}, asset=PROFILE_FILE)
    open_profile(made, copies)
    if stored or url is not None:
        put(url, force=force, name=made.name, document=_toml(document), files=copies, **owner)
        print_result({"name": made.name, "files": [*copies]}, f"stored {made.name}", as_json=as_json)
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in copies.items():
        save_bytes(folder / name, data, force=force)
    save_bytes(folder / PROFILE_FILE, _toml(document), force=force)
    if as_json:
        print_json({"name": made.name, "folder": str(folder), "files": [*copies, PROFILE_FILE]})
        return
    click.echo(f"wrote {folder / PROFILE_FILE} and {count_of(len(copies), 'file')} beside it")
    click.echo(f"innkeeper profile check {folder}; innkeeper serve --profile {folder}", err=True)


@profile.command("list", epilog=examples("innkeeper profile list", "innkeeper profile list --stored"))
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path))
@stored_options
@json_option
def list_(folders: tuple[Path, ...], url: str | None, *, stored: bool, as_json: bool) -> None:
    """List the profiles in FOLDERS (default: the current folder and INNKEEPER_HOME)."""
    if stored or url is not None:
        _list_stored(stored_rows(url), as_json=as_json)
        return
    rows = [_row(path) for path in _profile_files(folders)]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        facts = row.get("error") or f"{row['characters']}, {row['model'] or 'any model'}"
        click.echo(f"{row['name']}  {facts}  ({row['folder']})")
    if not rows:
        click.echo("there is no profile; innkeeper profile new FOLDER CARD writes one", err=True)


def _list_stored(rows: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        print_json(rows)
        return
    for row in rows:
        owner = ", ".join(f"{column} {row[column]}" for column in ("tenant", "owner") if row[column]) or "for all"
        click.echo(f"{row['name']}  {owner}, {row['digest'][:12]}, {row['updated_at']}")
    if not rows:
        click.echo("there is no stored profile; innkeeper profile import FOLDER stores one", err=True)


@profile.command(epilog=examples("innkeeper profile show wenna"))
@click.argument("profile_", metavar="PROFILE", shell_complete=profiles)
@stored_options
@json_option
@paged
def show(profile_: str, url: str | None, *, stored: bool, as_json: bool) -> None:
    """Show the contents of a profile."""
    opened = stored_profile(profile_, url) if stored or url is not None else named_profile(profile_)
    facts = _facts(opened)
    if as_json:
        print_json(facts)
        return
    for name, value in facts.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        click.echo(f"{name}: {text}")


@profile.command(epilog=examples("innkeeper profile check wenna"))
@click.argument("profile_", metavar="PROFILE", shell_complete=profiles)
@click.option("--message", default=TRIED, show_default=True, help="The user's message for the check.")
@stored_options
@json_option
def check(profile_: str, url: str | None, *, message: str, stored: bool, as_json: bool) -> int:
    """Read a profile, build one turn, and report what is missing, what has no effect, and how many tokens it uses.

    Exits with 1 on warnings, with the code of the error on an error.
    """
    report = _checked(stored_profile(profile_, url) if stored or url is not None else _whole(profile_), message)
    if as_json:
        print_json(report._asdict())
    else:
        used, window = report.tokens["used"], report.tokens["window"]
        of = f" of {window:,}" if window else ""
        click.echo(f"{report.name}: {report.messages} messages, {used:,}{of} tokens, for {report.model or 'any model'}")
        for word in (*report.warnings, *report.notes):
            click.echo(word)
    return int(bool(report.warnings))


def _whole(name: str) -> OpenProfile:
    """Read a profile in a folder. If several of its files cannot be read, all are named; the last error is raised."""
    path = profile_path(name)
    missing = list(_missing(path))
    if len(missing) > 1:
        for error in missing[:-1]:
            click.echo(f"innkeeper: {error.render()}", err=True)
        raise missing[-1]
    return named_profile(str(path))


class ProfileCheck(NamedTuple):
    """The result of a check. ``warnings`` need attention; ``notes`` are informational."""

    name: str
    model: str
    messages: int
    tokens: dict[str, Any]
    warnings: list[str]
    notes: list[str]


def profile_path(name: str) -> Path:
    """Return the folder of a profile, by path or by name in Innkeeper's folder.

    Raises `UnavailableError` if there is none.
    """
    from innkeeper.prompt.errors import UnavailableError

    path = find_profile(name)
    if path is not None:
        return path
    hint = f"innkeeper profile new {name} CARD writes one; innkeeper profile list shows those that are there"
    raise UnavailableError(f"there is no profile {name!r}: no folder with a profile.toml", where=Where(name), hint=hint)


def named_profile(name: str) -> OpenProfile:
    """Open the profile with this path or name. Raises as `profile_path` and `open_profile`."""
    from innkeeper.taverns.profiles.opened import open_profile

    return open_profile(profile_path(name))


# --------------------------------------------------------------------------------------------------------------- writing

_KEYS: Final = {
    "Character": "character",
    "Persona": "persona",
    "Lorebook": "lorebooks",
    **dict.fromkeys(("PresetFile", "RisuModule"), "preset"),
}
"""The keys that name files of each kind."""

_SEVERAL: Final = ("lorebooks",)


def _sorted(files: Iterable[str]) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Return the bytes of files by their new names, and the keys that name them."""
    from innkeeper.cli.settings.settings import UserSettings
    from innkeeper.content.files.loading import load_asset
    from innkeeper.taverns.profiles.files import checked_parts

    settings = UserSettings.read()
    copies: dict[str, bytes] = {}
    named: dict[str, list[str]] = {}
    for name in files:
        path = Path(settings.card(name))
        key = _KEYS.get(type(load_asset(path)).__name__)
        if key is None:
            raise UsageError("this is a chat, not a part of a profile", where=Where(name), hint="leave it out")
        if path.name in copies:
            raise UsageError(f"two files are called {path.name}", where=Where(name), hint="rename one of them")
        checked_parts(path.name)
        copies[path.name] = path.read_bytes()
        named.setdefault(key, []).append(path.name)
    return copies, {key: names if len(names) > 1 or key in _SEVERAL else names[0] for key, names in named.items()}


def _toml(document: dict[str, Any]) -> bytes:
    """Return the document as TOML, tables last."""
    import tomlkit

    plain = {key: value for key, value in document.items() if not isinstance(value, dict)}
    tables = {key: value for key, value in document.items() if isinstance(value, dict)}
    return tomlkit.dumps({**plain, **tables}).encode()


# --------------------------------------------------------------------------------------------------------------- looking


def _profile_files(folders: tuple[Path, ...]) -> Iterator[Path]:
    """Return the profiles in folders, by default the usual ones."""
    from innkeeper.taverns.profiles.opened import is_profile, profile_folders

    for folder in folders:
        yield from profile_folders(folder)
    if not folders:
        for directory in (Path(), profiles_folder()):
            yield from sorted(path for path in directory.glob("*") if is_profile(path)) if directory.is_dir() else ()


def _row(path: Path) -> dict[str, Any]:
    """Return the row of a profile in the list; for a broken one its error."""
    try:
        opened = named_profile(str(path))
    except InnkeeperError as error:
        return {"name": path.name, "folder": str(path), "error": error.message}
    return {
        "name": opened.name,
        "folder": str(path),
        "characters": ", ".join(_characters(opened)),
        "model": opened.profile.model_name,
    }


def _characters(opened: OpenProfile) -> tuple[str, ...]:
    from innkeeper.taverns.participants import members_of, name_of

    request = opened.request
    names = () if request.character is None else (name_of(request.character, "Assistant"),)
    return names or members_of(request.group)


def _facts(opened: OpenProfile) -> dict[str, Any]:
    from innkeeper.taverns.participants import name_of

    return {
        "name": opened.name,
        "characters": list(_characters(opened)),
        "user": name_of(opened.request.user, "User"),
        "lorebooks": [getattr(book, "name", "") for book in opened.request.lorebooks],
        "digest": opened.digest,
        "profile": opened.profile.to_dict(),
    }


def _missing(folder: Path) -> Iterator[InnkeeperError]:
    """Return an error for each file that cannot be read."""
    from innkeeper.taverns.profiles.files import FolderFiles
    from innkeeper.taverns.profiles.opened import PROFILE_FILE
    from innkeeper.taverns.profiles.profile import parse_profile

    files = FolderFiles(folder)
    document = parse_profile(files.read(PROFILE_FILE), name=folder.resolve().name, asset=str(folder / PROFILE_FILE))
    for name in document.files:
        try:
            files.read(name)
        except InnkeeperError as error:
            yield error


def _checked(opened: OpenProfile, message: str) -> ProfileCheck:
    from innkeeper.budget import accounting
    from innkeeper.cli.app.render import note_lines
    from innkeeper.conversation.client_turn import TurnInput, profile_turn
    from innkeeper.prompt import utc_now

    turn_input = TurnInput.of([{"role": "user", "content": message}], now=utc_now().isoformat())
    turn = profile_turn(opened, turn_input)
    figures = accounting(turn.plan)
    warnings = [f"{name}: {finding}" for name, finding in opened.findings if finding.level != "info"]
    warnings += note_lines(turn.plan.warnings)
    if not _characters(opened) and opened.profile.tavern != "template":
        warnings.append('no character is named: character = "card.png"')
    return ProfileCheck(
        opened.name,
        opened.profile.model_name,
        len(turn.plan.sent_blocks()),
        {"used": figures.total, "reserved": figures.reserve, "window": figures.window, "exact": figures.exact},
        warnings,
        note_lines((*turn.plan.notes, *turn.notes, *turn.body.notes)),
    )
