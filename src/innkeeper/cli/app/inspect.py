"""``innkeeper inspect``: the inspector on this machine, which shows and explains a prompt while its files are edited."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from innkeeper.cli.app.commands import examples, json_option, print_result
from innkeeper.cli.prompt.asset_options import install_options
from innkeeper.cli.settings.completion import files as offered_files

if TYPE_CHECKING:
    from innkeeper.service.inspector.session.messages import WorkspaceOptions
    from innkeeper.service.inspector.session.session import WorkspaceSession
    from innkeeper.service.inspector.talking import InspectorTalk


@click.command(
    "inspect", epilog=examples("innkeeper inspect", "innkeeper inspect card.png book.json", "innkeeper inspect cards")
)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), shell_complete=offered_files)
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=0, help="The port to listen on (default: any free one)."
)
@click.option("--no-browser", is_flag=True, help="Print the address without opening a browser.")
@install_options
@click.option("--chat", metavar="NAME", help="The chat to open in that folder.")
@json_option
def inspect(files: tuple[Path, ...], *, port: int, no_browser: bool, as_json: bool, **installed: Any) -> None:
    """Open FILES or a FOLDER in the inspector, a page that shows and explains the prompt while you type.

    Files are cards, lorebooks, presets, personas, a chat or a build request, recognised by their content. The default is the
    packaged example. Of a SillyTavern folder one character with a chat is open, and the prompt
    is what SillyTavern would send next. The page is served to this
    machine only, loads nothing from elsewhere, and opens with an address that works once. Nothing is written before you save,
    and the previous version is backed up. Ctrl-C ends it.
    """
    from innkeeper.service.inspector.library.library_access import LibraryAccess
    from innkeeper.service.inspector.server import serve_inspector

    def ready(address: str) -> None:
        text = f"The inspector is at {address}\nIt opens once, in one browser. Ctrl-C ends it."
        print_result({"address": address}, text, as_json=as_json)
        if not no_browser:
            _show(address)

    talk = _talk()
    serve_inspector(open_session(files, talk, installed), ready, port=port, talk=talk, library_access=LibraryAccess())


def _show(address: str) -> None:
    """Open a browser in a thread, since some systems wait for it."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def open_session(
    files: tuple[Path, ...], talk: InspectorTalk | None, installed: Mapping[str, Any] | None = None
) -> WorkspaceSession:
    """The workspace of files, of a folder, or of the packaged example; ``installed`` are `install_options` and ``chat``.

    Raises `UsageError`, `UnavailableError`, `LimitError`, and what `Install.prepare` raises.
    """
    from msgspec import structs

    from innkeeper.cli.talk.demo import QUESTION, TIME, examples_dir
    from innkeeper.prompt import UsageError
    from innkeeper.prompt.machine import utc_now
    from innkeeper.service.inspector.session.messages import WorkspaceOptions
    from innkeeper.service.inspector.session.session import WorkspaceSession
    from innkeeper.service.inspector.workspace.disk import read_files, read_folder

    routes = () if talk is None else talk.routes
    now = utc_now().replace(microsecond=0).isoformat()
    options = WorkspaceOptions(now=now, talk=talk is not None, routes=routes, library=True)
    folders = [path for path in files if path.is_dir()]
    named = dict(installed or {})
    if len(files) + bool(named.get("sillytavern")) > 1 and (folders or named.get("sillytavern")):
        raise UsageError("a folder goes alone", hint="name one folder, or files")
    if folders and _is_install(folders[0]):
        named["sillytavern"] = folders[0]
    if any(named.get(name) is not None for name in ("sillytavern", "character", "group", "user")):
        return _installed_session(named, options)
    if not files:
        options, settings = structs.replace(options, now=TIME), {"message": QUESTION}
        return WorkspaceSession("Skerrow", read_folder(examples_dir(), writable=False), options, settings=settings)
    if folders:
        folder = folders[0].resolve()
        return WorkspaceSession(folder.name, read_folder(folder), options, folder=folder)
    options = structs.replace(options, every=True)
    return WorkspaceSession(files[0].stem, read_files(files), options, folder=files[0].resolve().parent)


def _installed_session(named: Mapping[str, Any], options: WorkspaceOptions) -> WorkspaceSession:
    """The workspace of a SillyTavern folder. Raises `UsageError` for names without one, and what `Install.prepare` raises."""
    from innkeeper.prompt import UsageError
    from innkeeper.service.inspector.session.messages import InstallSource
    from innkeeper.service.inspector.session.session import WorkspaceSession
    from innkeeper.service.inspector.views.installed import InstallChoice
    from innkeeper.service.inspector.workspace.installed import Installed
    from innkeeper.taverns.silly.install import user_folder

    if named.get("sillytavern") is None:
        word = next(name for name in ("character", "group", "user") if named.get(name) is not None)
        raise UsageError(f"--{word} names something in a SillyTavern folder", hint="add --sillytavern FOLDER")
    linked = tuple(named.get("linked") or ())
    folder = user_folder(named["sillytavern"], named.get("user"), linked=linked)
    choice = InstallChoice(character=named.get("character"), group=named.get("group"), chat=named.get("chat"))
    source = InstallSource(str(folder.root), linked, choice)
    session = WorkspaceSession("", (), options, install=source)
    session.open_install(source, Installed(source).opening())
    return session


def _is_install(folder: Path) -> bool:
    """Whether SillyTavern's own data are in a folder, with a character."""
    from innkeeper.prompt import InnkeeperError
    from innkeeper.taverns.silly.install import Install

    try:
        return bool(Install.open(folder).folder.names("characters", suffix=".png"))
    except InnkeeperError:
        return False


def _talk() -> InspectorTalk | None:
    """Return the configured routes, or the model on this machine."""
    from innkeeper.cli.settings.routes import read_routes, route_models
    from innkeeper.cli.settings.settings import UserSettings
    from innkeeper.service.inspector.talking import InspectorTalk

    settings = UserSettings.read()
    routes = read_routes(settings, ())
    if not routes:
        return None
    return InspectorTalk(route_models(settings, routes), "local" if "local" in routes else next(iter(routes)))
