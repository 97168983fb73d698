"""Completion: the words that a shell offers behind an option or in the place of an argument. Nothing heavy is imported for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from click.shell_completion import CompletionItem

__all__ = ["model_names", "offered", "setting_names", "setting_values"]

Complete = Callable[[Any, Any, str], list[CompletionItem]]


def offered(names: Callable[[], Iterable[str]]) -> Complete:
    """What completes a word by names; where they cannot be asked for, none are offered."""

    def complete(_ctx: Any, _param: Any, incomplete: str) -> list[CompletionItem]:
        try:
            return [CompletionItem(name) for name in names() if name.startswith(incomplete)]
        except Exception:  # noqa: BLE001 - a shell that completes a word is no place for an error
            return []

    return complete


def setting_names(_ctx: Any, _param: Any, incomplete: str) -> list[CompletionItem]:
    """The names of settings, each with what it is."""
    from innkeeper.cli.settings.settings import SETTINGS, TABLES

    items = [CompletionItem(name, help=setting.help) for name, setting in SETTINGS.items()]
    items += [CompletionItem(f"{name}.") for name in TABLES]
    return [item for item in items if item.value.startswith(incomplete)]


def setting_values(ctx: Any, _param: Any, incomplete: str) -> list[CompletionItem]:
    """The values that the setting named before may have."""
    from pathlib import Path

    from innkeeper.cli.settings.settings import PROVIDERS, SETTINGS, reader_of

    name = ctx.params.get("name") or ""
    setting = SETTINGS.get(name)
    if setting is not None and setting.known is not None:
        names: Iterable[str] = setting.known()
    elif name == "base_url":
        names = PROVIDERS
    elif name == "logging":
        names = ("true", "false")
    else:
        try:
            wants_file = isinstance(reader_of(name)("."), Path)
        except Exception:  # noqa: BLE001 - as above
            wants_file = False
        return [CompletionItem(incomplete, type="file")] if wants_file else []
    return [CompletionItem(value) for value in names if value.startswith(incomplete)]


def model_names() -> list[str]:
    """What may be said for a model: aliases, ``local``, providers, and the models that are installed."""
    from innkeeper.cli.settings.settings import PROVIDERS, Settings
    from innkeeper.prompt.machine import home

    settings = Settings.read()
    installed = [f"local:{path.stem}" for path in (home() / "models").glob("*.gguf")]
    providers = {**PROVIDERS, **settings.table("providers")}
    return [*settings.table("aliases.models"), "local", *installed, *(f"{name}:" for name in providers)]
