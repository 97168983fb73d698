"""``innkeeper tokens``: count the tokens of a text for one model or many, and say how exact the count is."""

import re
import sys
from pathlib import Path
from time import thread_time
from typing import Any, Final

import click

from innkeeper.cli.app.commands import examples, json_option, print_json
from innkeeper.cli.app.paging import paged
from innkeeper.cli.settings.completion import files, model_names, offered
from innkeeper.prompt.allowance import AllowanceError, BuildLimits, allowed
from innkeeper.prompt.text import count_of

_COMPARED: Final = (
    "gpt-4o gpt-4 claude-2.1 claude-sonnet-4-5 claude-sonnet-5 gemini-2.5-pro llama-3.3-70b-instruct "
    "llama-4-maverick qwen3-32b qwen3.5-32b deepseek-chat mistral-nemo mixtral-8x7b glm-4.6 "
    "glm-5 kimi-k2 minimax-m2 grok-4 command-r another-model"
)
COMPARED: Final = tuple(_COMPARED.split())
"""One model of each family, for ``--all``."""

MAX_COUNT_SECONDS: Final = 1.25
"""Seconds of the processor for counting the text by all models together (`AllowanceError`); reading vocabularies is beside it."""

COUNT_LIMITS: Final = BuildLimits(seconds=MAX_COUNT_SECONDS, steps=10**12)
"""The limits of counting: time only, since characters would be steps of a build."""

MAX_TEXT_BYTES: Final = 32 * 1024 * 1024
"""The largest file or input that is counted, in bytes (`LimitError`)."""


@click.command(
    epilog=examples("innkeeper tokens wenna.png --all", 'innkeeper tokens --text "Good evening." --model gpt-4o')
)
@click.argument("text", metavar="[TEXT|FILE|-]", required=False, shell_complete=files)
@click.option(
    "--model",
    "-m",
    "models",
    multiple=True,
    shell_complete=offered(model_names),
    help="A model's id or an alias; repeatable.",
)
@click.option("--all", "compare", is_flag=True, help="Compare one model of each family.")
@click.option("--text", "as_text", is_flag=True, help="Count the argument as text, even if a file has that name.")
@click.option("--limit", "limits", multiple=True, metavar="seconds=N", help="A limit of counting; repeatable.")
@json_option
@paged
def tokens(
    text: str | None, models: tuple[str, ...], limits: tuple[str, ...], *, compare: bool, as_text: bool, as_json: bool
) -> None:
    """Count the tokens of a text, a file, or standard input (-, or no argument).

    Without --model it counts for the configured model, if any. Of several models, those for which no time is left are
    not counted.
    """
    from innkeeper.cli.settings.model_choice import named_model
    from innkeeper.cli.settings.settings import UserSettings
    from innkeeper.prompt.text import scalar_text

    settings = UserSettings.read()
    content = scalar_text(_content(text, as_text=as_text))
    asked: list[str | None] = [named_model(settings, model) or model for model in models]
    asked += COMPARED if compare else ()
    chosen = dict.fromkeys(asked or [named_model(settings)])
    rows = counted(content, list(chosen), BuildLimits.read(limits).with_defaults(COUNT_LIMITS))
    size = {"characters": len(content), "bytes": len(content.encode())}
    if as_json:
        print_json({**size, "counts": rows})
    elif len(rows) == 1:
        (row,) = rows
        whose = f" for {row['model']}" if row["model"] else ""
        how = f"{row['tokenizer']}, {_sure(row)}"
        click.echo(f"{count_of(row['tokens'], 'token')}{whose} ({how}) in {count_of(size['characters'], 'character')}")
        basis = row.get("basis") if row["model"] else None
        for line in filter(None, (basis, *(each["reason"] for each in row.get("fallbacks", ())))):
            click.echo(f"note: {line}", err=True)
    else:
        _table(rows, size)


def counted(text: str, models: list[str | None], limits: BuildLimits) -> list[dict[str, Any]]:
    """Return a row per model; ``tokens`` is None if no time was left. Raises `AllowanceError` for a single model."""
    from innkeeper.tokens.counter import Counter
    from innkeeper.tokens.engines.loading import forget

    rows: list[dict[str, Any]] = []
    spent, failed = 0.0, None
    for model in models:
        if rows:
            forget()  # of many vocabularies one is in memory at a time; the last stays for who asks again
        counter = Counter()
        row = {"tokens": None, **counter.describe(model)}  # its vocabulary is read
        begun = thread_time()
        try:
            with allowed(limits, since=begun - spent):
                row["tokens"] = counter.count(text, model)
        except AllowanceError as error:
            failed = error
        spent += thread_time() - begun
        rows.append(row)
    if failed is not None and len(rows) == 1:
        raise failed
    return rows


def _content(text: str | None, *, as_text: bool) -> str:
    """Return the text itself, or that of a file or standard input. Raises `LimitError` if it is too large."""
    if text is None or (text == "-" and not as_text):
        return _decoded("standard input", sys.stdin.buffer.read(MAX_TEXT_BYTES + 1))
    path = None if as_text else _file(text)
    if path is None:
        if not as_text and _NAME.fullmatch(text):
            click.echo(
                f"there is no file {text!r}: these words are counted (--text says that they are meant)", err=True
            )
        return text
    with path.open("rb") as file:
        return _decoded(text, file.read(MAX_TEXT_BYTES + 1))


_NAME: Final = re.compile(r"(?:\S*[/\\])?[^\s/\\]+\.[A-Za-z0-9]{1,5}")
"""Matches file names."""


def _file(name: str) -> Path | None:
    try:
        path = Path(name)
        return path if path.is_file() else None
    except (OSError, ValueError):  # too long for a name, or with a NUL in it
        return None


def _decoded(name: str, data: bytes) -> str:
    """Decode the text of a file. Raises `JsonError` if it is not text."""
    from innkeeper.content.json.text import decode_text
    from innkeeper.prompt.errors import LimitError, Where

    if len(data) > MAX_TEXT_BYTES:
        raise LimitError("the text", limit="MAX_TEXT_BYTES", allowed=MAX_TEXT_BYTES, where=Where(asset=name))
    return decode_text(data, name, [])


def _sure(row: dict[str, Any]) -> str:
    if row["exact"]:
        return "exact"
    error = row["error_percent"]
    return "unknown error" if error is None else f"estimate ± {error:g} %"


def _table(rows: list[dict[str, Any]], size: dict[str, int]) -> None:
    from innkeeper.cli.app.screen import Grid, GridColumn, Screen
    from innkeeper.prompt.text import printable

    numbers = [GridColumn(name, right=True, wraps=False) for name in ("tokens", "characters a token")]
    texts = [GridColumn(name, wraps=False) for name in ("model", "tokenizer", "how sure")]
    table = Grid(texts[0], *numbers, *texts[1:])
    for row in rows:
        each = f"{size['characters'] / row['tokens']:.2f}" if row["tokens"] else "-"
        count = "not counted" if row["tokens"] is None else f"{row['tokens']:,}"
        cells = (row["model"] or "(none)", count, each, row["tokenizer"], _sure(row))
        table.add(*map(printable, cells))
    Screen().grid(table)
    if any(row["tokens"] is None for row in rows):
        click.echo("not counted: no seconds were left (--limit seconds=60 gives more)", err=True)
