"""``innkeeper batch``: datasets of build requests become datasets of prompts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from innkeeper.cli.app.commands import CommandEntry, LazyGroup, examples, json_option, print_json
from innkeeper.cli.app.progress import progress_line
from innkeeper.cli.prompt.asset_options import asset_options
from innkeeper.cli.settings import completion

if TYPE_CHECKING:
    from innkeeper.data.batch import BatchSettings
    from innkeeper.data.summary import Summary
    from innkeeper.inference.client.model_handle import ModelHandle


def row_options(command: F) -> F:
    """Add the options that say what rows are and where they go."""
    for option in reversed(_ROW_OPTIONS):
        command = option(command)
    return command


F = TypeVar("F", bound=Callable[..., Any])

_ROW_OPTIONS: Final = (
    click.option("--errors", metavar="FILE", help="Where rows with errors go (default: beside the output)."),
    click.option("--shared", metavar="FILE", help="A JSON object of assets that rows name as @name."),
    click.option("--root", "roots", metavar="FOLDER", multiple=True, help="A folder that rows may name files in."),
    click.option("--keep", metavar="COLUMN", multiple=True, help="A column that is passed on; repeatable."),
    click.option("--shard", type=click.IntRange(1), metavar="ROWS", help="Rows that are done, and kept, together."),
    click.option("--force", is_flag=True, help="Overwrite files that exist."),
)


class BuildsByDefault(LazyGroup):
    """A group whose first word may be a dataset instead of a command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read options without a command's name before them as those of ``build``, unless they ask for help."""
        named = not args or args[0] in {"-h", "--help"} or not args[0].startswith("--")
        return super().parse_args(ctx, args if named else ["build", *args])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that ``args`` begin with, ``build`` where they begin with a dataset."""
        return super().resolve_command(ctx, args if args[0] in self.list_commands(ctx) else ["build", *args])


@click.group(
    cls=BuildsByDefault,
    entries={
        "diff": CommandEntry("innkeeper.cli.prompt.batch_answers:diff", "Compare two outputs row by row."),
        "run": CommandEntry(
            "innkeeper.cli.prompt.batch_answers:run", "Send every row's prompt to a model; keep the answers."
        ),
        "submit": CommandEntry(
            "innkeeper.cli.prompt.batch_answers:submit",
            "Have a provider answer every row within a day, at half the price.",
        ),
    },
    epilog=examples(
        "innkeeper batch rows.jsonl --out prompts.parquet",
        "innkeeper batch cards/ chats/ --preset evening.json --out prompts.jsonl",
        "innkeeper batch rows.parquet --form body --provider openai --out batch.jsonl",
    ),
)
def batch() -> None:
    """Build datasets of prompts: `innkeeper batch ROWS... --out FILE` is short for `innkeeper batch build`."""


FORMS: Final = ("messages", "text", "tokens", "plan", "replay", "body", "training")


@batch.command(
    epilog=examples(
        "innkeeper batch build rows.jsonl --out prompts.parquet",
        "innkeeper batch build rows.jsonl --sample 100 --summary look.html",
        "innkeeper batch build cards/ questions.jsonl --model gpt-4o --form body --provider openai --out batch.jsonl",
        "cat rows.jsonl | innkeeper batch build - --out - --errors bad.jsonl",
    )
)
@click.argument("rows", nargs=-1, required=True, metavar="ROWS...", shell_complete=completion.files)
@click.option(
    "--out", "output", metavar="FILE", help="Where prompts go: .parquet, .arrow, .jsonl, .csv, or - for a pipe."
)
@click.option(
    "--form", type=click.Choice(FORMS), default="messages", show_default=True, help="What is made of a prompt."
)
@click.option("--dialect", metavar="NAME", help="The dialect of messages and bodies.")
@click.option("--provider", metavar="NAME", help="Whose batch format --form body has: openai, anthropic, gemini, vllm.")
@click.option(
    "--workers", type=click.IntRange(1), metavar="N", help="Processes that build (default: one for each core)."
)
@click.option("--engine", type=click.Choice(["pool", "ray"]), default="pool", show_default=True, help="Who builds.")
@click.option("--address", metavar="ADDRESS", help="The Ray cluster, such as auto (default: Ray on this machine).")
@click.option(
    "--sample", type=click.IntRange(1), metavar="ROWS", help="Build only the first rows and show what they are."
)
@click.option("--summary", type=click.Path(path_type=Path), help="Write tables and plots to this file: .html or .svg.")
@row_options
@asset_options
@json_option
def build(
    rows: tuple[str, ...], *, output: str | None, summary: Path | None, force: bool, as_json: bool, **options: Any
) -> int:
    """Build a prompt of every row. Exits with 1 where rows could not be built.

    ROWS are files of build requests (JSON lines, Parquet, Arrow, CSV), a folder of cards and chats, a SillyTavern user folder, or
    - for a pipe; several are crossed, every row of the first with every row of the others. Assets stand in a row, or are named by
    their path or as @name; options name what all rows have in common. A run that was stopped goes on when it is started again.
    """
    from innkeeper.data.run import STDOUT, RunOptions, run_batch
    from innkeeper.data.sources import open_rows
    from innkeeper.prompt import UsageError

    if output is None and options["sample"] is None:
        raise UsageError("there is nowhere to write to", hint="--out FILE, or --sample 100 to look first")
    source = open_rows(rows, roots=options["roots"])
    chosen = {name: options[name] for name in ("errors", "workers", "shard", "sample") if options[name] is not None}
    run_options, quiet = RunOptions(force=force, **chosen), as_json or output == STDOUT
    with (
        _engine(options) as (engine, settings),
        row_progress(source.total, quiet=quiet) as progress,
        TemporaryDirectory() as folder,  # of a sample, which is not kept
    ):
        target = Path(folder, "sample.arrow") if output is None else output
        report = run_batch(source, target, settings, run_options, engine=engine, progress=progress)
    if summary is not None:
        _write_summary(summary, report.summary, force=force)
    if as_json:
        print_json(report.to_dict(), err=output == STDOUT)
    elif output is None or options["sample"] is not None:
        from innkeeper.cli.app.render import print_tables
        from innkeeper.cli.app.screen import Screen

        print_tables(Screen(), report.summary.tables())
    else:
        bad = f", {report.errors:,} rows with errors" if report.errors else ""
        click.echo(f"{report.rows - report.errors:,} prompts in {output}{bad}", err=True)
    return int(bool(report.errors))


@contextmanager
def _engine(options: dict[str, Any]) -> Iterator[tuple[Any, BatchSettings]]:
    """The engine that was chosen, None for the processes of this machine, and what all rows have in common.

    A model on this machine makes its own rows to train on.
    """
    from innkeeper.cli.settings.model_choice import choose_model
    from innkeeper.cli.settings.settings import UserSettings

    user, name = UserSettings.read(), options["model"]
    if options["form"] == "training" and name and (choice := choose_model(user, name, need_address=False)).is_local:
        from innkeeper.cli.talk.answering import open_choice
        from innkeeper.data.model_rows import ModelRows

        with closing(open_choice(choice, user, options["context_window"])) as handle:
            engine = None if handle.local is None else ModelRows(handle.local, handle.request)
            yield engine, settings_for(handle, options)
    elif options["engine"] == "ray":
        from innkeeper.data.cluster import RayEngine

        with closing(RayEngine(options["address"])) as cluster:
            yield cluster, settings_of(options)
    else:
        yield None, settings_of(options)


def settings_for(handle: ModelHandle, options: dict[str, Any]) -> BatchSettings:
    """The settings that options give, with what a model settles: its name, its dialect, its window."""
    import msgspec

    from innkeeper.conversation.client_turn import settled_request
    from innkeeper.prompt import BuildRequest

    common = settings_of({**options, "model": handle.model})
    request, _ = settled_request(BuildRequest.of(common.request), handle.turn)
    return msgspec.structs.replace(common, request=request.to_dict())


def settings_of(options: dict[str, Any]) -> BatchSettings:
    """The settings that options give: the common fields are those of a request of the same options."""
    from innkeeper.cli.prompt.assets import AssetFiles, request_fields
    from innkeeper.data.batch import BatchSettings
    from innkeeper.prompt.data import parse_json

    assets = AssetFiles.of((), {**options, "chat": None})
    fields = request_fields(options)
    fields["model"] = options["model"]
    request = assets.request(fields, options["settings"])
    shared = (
        {} if options["shared"] is None else parse_json(Path(options["shared"]).read_bytes(), asset=options["shared"])
    )
    return BatchSettings(
        form=options.get("form") or "messages",
        dialect=options.get("dialect"),
        provider=options.get("provider"),
        request=request.to_dict(),
        shared=shared,
        keep=tuple(options["keep"]),
    )


@contextmanager
def row_progress(total: int | None, *, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Show rows, rate, time left and errors, as `progress_line` does."""
    with progress_line("rows", total, quiet=quiet) as line:
        yield None if line is None else lambda rows, errors: line.show(rows, f", {errors:,} errors" if errors else "")


def _write_summary(path: Path, summary: Summary, *, force: bool) -> None:
    from innkeeper.content import save_bytes
    from innkeeper.prompt.report import html_page

    text = summary.to_svg()
    if path.suffix.lower() != ".svg":
        text = html_page("batch", summary.tables()) + text
    save_bytes(path, text.encode("utf-8", "replace"), force=force)
    click.echo(f"wrote {path}", err=True)
