"""Completion: the words that a shell offers for an option or argument, without heavy imports."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from innkeeper.cli.app.commands import examples

TAVERN_NAMES: Final = ("risu", "silly", "smart", "template", "vibe")
_DIALECTS: Final = (
    "ai21 anthropic cohere gemini google koboldcpp llamacpp mistral ollama openai openai-compatible openrouter "
    "responses sillytavern text xai"
)
DIALECT_NAMES: Final = tuple(_DIALECTS.split())
"""The names of dialects, repeated here so that completion does not load them."""

Complete = Callable[[Any, Any, str], list[CompletionItem]]


def offered(names: Callable[[], Iterable[str]]) -> Complete:
    """Return a completer over names; it offers none if they cannot be read."""

    def complete(_ctx: Any, _param: Any, incomplete: str) -> list[CompletionItem]:
        try:
            return [CompletionItem(name) for name in names() if name.startswith(incomplete)]
        except Exception:  # noqa: BLE001 - a shell that completes a word is no place for an error
            return []

    return complete


def setting_names(_ctx: Any, _param: Any, incomplete: str) -> list[CompletionItem]:
    """Complete the names of settings, with their descriptions."""
    from innkeeper.cli.settings.settings import SETTINGS, TABLES

    items = [CompletionItem(name, help=setting.help) for name, setting in SETTINGS.items()]
    items += [CompletionItem(f"{name}.") for name in TABLES]
    return [item for item in items if item.value.startswith(incomplete)]


def setting_values(ctx: Any, _param: Any, incomplete: str) -> list[CompletionItem]:
    """Complete the values of the setting named before."""
    from pathlib import Path

    from innkeeper.cli.settings.settings import reader_of

    name = ctx.params.get("name") or ""
    lists: dict[str, Callable[[], Iterable[str]]] = {
        "tavern": lambda: TAVERN_NAMES,
        "dialect": lambda: DIALECT_NAMES,
        "model": model_names,
        "base_url": provider_names,
        "logging": lambda: ("true", "false"),
    }
    if name not in lists:
        try:
            wants_file = isinstance(reader_of(name)("."), Path)
        except Exception:  # noqa: BLE001 - as above
            wants_file = False
        return [CompletionItem(incomplete, type="file")] if wants_file else []
    return offered(lists[name])(ctx, _param, incomplete)


def model_names() -> list[str]:
    """Return the names for a model: aliases, ``local``, providers, and installed models."""
    from innkeeper.cli.settings.settings import PROVIDERS, UserSettings
    from innkeeper.prompt.machine import home

    settings = UserSettings.read()
    installed = [f"local:{path.stem}" for path in (home() / "models").glob("*.gguf")]
    providers = {**PROVIDERS, **settings.table("providers")}
    return [*settings.table("aliases.models"), "local", *installed, *(f"{name}:" for name in providers)]


def provider_names() -> list[str]:
    """The names of providers."""
    from innkeeper.cli.settings.settings import PROVIDERS, UserSettings

    return [*PROVIDERS, *UserSettings.read().table("providers")]


def files(_ctx: Any, _param: Any, incomplete: str) -> list[CompletionItem]:
    """A file."""
    return [CompletionItem(incomplete, type="file")]


def folders(_ctx: Any, _param: Any, incomplete: str) -> list[CompletionItem]:
    """A folder."""
    return [CompletionItem(incomplete, type="dir")]


def profiles(ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
    """A folder, or the name of a profile."""
    return [*folders(ctx, param, incomplete), *offered(_profiles)(ctx, param, incomplete)]


def _profiles() -> Iterable[str]:
    from pathlib import Path

    from innkeeper.prompt.machine import home

    directories = (Path(), home() / "profiles")
    return sorted({path.parent.name for directory in directories for path in directory.glob("*/profile.toml")})


def in_folder(kind: str) -> Complete:
    """Return a completer over ``presets``, ``characters`` or ``users`` of the ``--sillytavern`` folder."""

    def complete(ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        folder, user = ctx.params.get("sillytavern"), ctx.params.get("user")
        return offered(lambda: _names(folder, user, kind))(ctx, param, incomplete) if folder else []

    return complete


def presets(ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
    """A file, or a preset of the SillyTavern folder."""
    return [*files(ctx, param, incomplete), *in_folder("presets")(ctx, param, incomplete)]


_PATTERNS: Final = {
    "characters": ("characters/*.png",),
    "presets": tuple(
        f"{name}/*.json"
        for name in ("OpenAI Settings", "TextGen Settings", "instruct", "context", "sysprompt", "reasoning")
    ),
}


def _names(folder: str, user: str | None, kind: str) -> list[str]:
    """Return the names, sorted. The folder is located as by `innkeeper.taverns.silly.install.files`, which loads more slowly."""
    from pathlib import Path

    base = Path(folder).expanduser()
    users = {path.parent.name: path.parent for mark in ("*", "data/*") for path in base.glob(f"{mark}/settings.json")}
    if kind == "users":
        return sorted(users)
    usual = base if (base / "settings.json").exists() else users.get("default-user", next(iter(users.values()), base))
    home = users.get(user, base) if user else usual
    return sorted({path.stem for pattern in _PATTERNS[kind] for path in home.glob(pattern)})


def cards(ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
    """A file, or the alias of a card."""
    return [*files(ctx, param, incomplete), *offered(_cards)(ctx, param, incomplete)]


def _cards() -> Iterable[str]:
    from innkeeper.cli.settings.settings import UserSettings

    return UserSettings.read().table("aliases.cards")


@click.command(
    epilog=examples(
        'eval "$(innkeeper completion bash)"     # in ~/.bashrc',
        'eval "$(innkeeper completion zsh)"      # in ~/.zshrc',
        "innkeeper completion fish | source      # in ~/.config/fish/config.fish",
    )
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), required=False)
def completion(shell: str | None) -> None:
    """Print the script that lets SHELL complete commands, options, files, taverns, models, dialects, settings and aliases.

    SHELL defaults to the current shell.
    """
    from click.shell_completion import get_completion_class

    from innkeeper.cli.app.root import COMPLETE, root

    name = shell or os.path.basename(os.environ.get("SHELL", ""))  # noqa: PTH119 - a word, not a file
    completion = get_completion_class(name)
    if completion is None or name not in ("bash", "zsh", "fish"):
        raise click.UsageError("say which shell it is: bash, zsh or fish")
    click.echo(completion(root, {}, "innkeeper", COMPLETE).source())
