"""``innkeeper tokens``: how many tokens a text has, for one model or many, and how sure that is."""

import json
import re
import sys
from pathlib import Path
from typing import Any, Final

import click

from innkeeper.cli.app.commands import json_option
from innkeeper.cli.settings.completion import files, model_names, offered

__all__ = ["tokens"]

COMPARED: Final = (
    "gpt-4o",
    "gpt-4",
    "claude-2.1",
    "claude-sonnet-4-5",
    "claude-sonnet-5",
    "gemini-2.5-pro",
    "llama-3.3-70b-instruct",
    "llama-4-maverick",
    "qwen3-32b",
    "qwen3.5-32b",
    "deepseek-chat",
    "mistral-nemo",
    "mixtral-8x7b",
    "glm-4.6",
    "glm-5",
    "kimi-k2",
    "minimax-m2",
    "grok-4",
    "command-r",
    "another-model",
)
"""One model of each family, for ``--all``."""

FILE_BYTES: Final = 32 * 1024 * 1024
"""The largest file or input that is counted, in bytes."""


@click.command()
@click.argument("text", metavar="[TEXT|FILE|-]", required=False, shell_complete=files)
@click.option(
    "--model",
    "-m",
    "models",
    multiple=True,
    shell_complete=offered(model_names),
    help="A model's id or an alias; may be given several times.",
)
@click.option("--all", "compare", is_flag=True, help="Compare one model of each family.")
@click.option("--text", "as_text", is_flag=True, help="Count the words given, even if a file has that name.")
@json_option
def tokens(text: str | None, models: tuple[str, ...], *, compare: bool, as_text: bool, as_json: bool) -> None:
    """Count the tokens of a text, a file, or what comes in on standard input (-, or nothing).

    Without --model it is for the model that is settled, where one is.
    """
    from innkeeper.cli.settings.model_choice import named_model
    from innkeeper.cli.settings.settings import Settings
    from innkeeper.prompt.text import scalar_text
    from innkeeper.tokens.counter import Counter

    settings = Settings.read()
    content = scalar_text(_content(text, as_text=as_text))
    counter = Counter()
    asked: list[str | None] = [named_model(settings, model) or model for model in models]
    asked += COMPARED if compare else ()
    chosen = dict.fromkeys(asked or [named_model(settings)])
    rows = [{"tokens": counter.count(content, model), **counter.describe(model)} for model in chosen]
    size = {"characters": len(content), "bytes": len(content.encode())}
    if as_json:
        click.echo(json.dumps({**size, "counts": rows}, ensure_ascii=False))
    elif len(rows) == 1:
        (row,) = rows
        whose = f" for {row['model']}" if row["model"] else ""
        how = f"{row['tokenizer']}, {_sure(row)}"
        click.echo(f"{row['tokens']:,} tokens{whose} ({how}) in {size['characters']:,} characters")
    else:
        _table(rows, size)


def _content(text: str | None, *, as_text: bool) -> str:
    """The text itself, or that of a file or of standard input. Raises `LimitError` where it is too large."""
    if text is None or (text == "-" and not as_text):
        return _decoded("standard input", sys.stdin.buffer.read(FILE_BYTES + 1))
    path = None if as_text else _file(text)
    if path is None:
        if not as_text and _NAME.fullmatch(text):
            click.echo(
                f"there is no file {text!r}: these words are counted (--text says that they are meant)", err=True
            )
        return text
    with path.open("rb") as file:
        return _decoded(text, file.read(FILE_BYTES + 1))


_NAME: Final = re.compile(r"(?:\S*[/\\])?[^\s/\\]+\.[A-Za-z0-9]{1,5}")
"""What looks like the name of a file."""


def _file(name: str) -> Path | None:
    try:
        path = Path(name)
        return path if path.is_file() else None
    except (OSError, ValueError):  # too long for a name, or with a NUL in it
        return None


def _decoded(name: str, data: bytes) -> str:
    """The text of a file. Raises `JsonError` where it is none: a picture has no tokens."""
    from innkeeper.content.json.text import decode_text
    from innkeeper.prompt.errors import LimitError, Where

    if len(data) > FILE_BYTES:
        raise LimitError("the text", limit="FILE_BYTES", allowed=FILE_BYTES, where=Where(asset=name))
    return decode_text(data, name, [])


def _sure(row: dict[str, Any]) -> str:
    if row["exact"]:
        return "exact"
    error = row["error_percent"]
    return "unknown error" if error is None else f"estimate ± {error:g} %"


def _table(rows: list[dict[str, Any]], size: dict[str, int]) -> None:
    from rich import box
    from rich.table import Table

    from innkeeper.cli.app.render import console, print_table
    from innkeeper.prompt.text import printable

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("model", no_wrap=True)
    table.add_column("tokens", justify="right", no_wrap=True)
    table.add_column("characters a token", justify="right", no_wrap=True)
    table.add_column("tokenizer", no_wrap=True)
    table.add_column("how sure", no_wrap=True)
    for row in rows:
        each = f"{size['characters'] / row['tokens']:.2f}" if row["tokens"] else "-"
        cells = (row["model"] or "(none)", f"{row['tokens']:,}", each, row["tokenizer"], _sure(row))
        table.add_row(*(printable(cell).replace("[", r"\[") for cell in cells))
    print_table(console(), table)
