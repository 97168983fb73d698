"""``innkeeper batch run``, ``submit`` and ``diff``: prompts of a dataset are answered, and two outputs are compared."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from innkeeper.cli.app.commands import examples, json_option, print_json, print_result
from innkeeper.cli.prompt.asset_options import asset_options
from innkeeper.cli.prompt.batch import F, row_options, row_progress, settings_for
from innkeeper.cli.settings import completion

if TYPE_CHECKING:
    from innkeeper.data.sending import Sender
    from innkeeper.data.submitting import Submitter
    from innkeeper.inference.client.model_handle import ModelHandle


def answer_options(command: F) -> F:
    """Add the rows, the file of answers and the budget."""
    for option in reversed(_ANSWER_OPTIONS):
        command = option(command)
    return command


_ANSWER_OPTIONS: Final = (
    click.argument("rows", nargs=-1, required=True, metavar="ROWS...", shell_complete=completion.files),
    click.option(
        "--out", "output", metavar="FILE", required=True, help="Where answers go: .parquet, .arrow, .jsonl or .csv."
    ),
    click.option("--budget", type=click.FloatRange(0), metavar="DOLLARS", help="The most that all answers may cost."),
)


@click.command(
    epilog=examples(
        "innkeeper batch run rows.jsonl --out answers.parquet --model openai:gpt-4o --budget 5",
        "innkeeper batch run rows.jsonl --out answers.jsonl --model local --at-once 1",
    )
)
@click.option("--at-once", type=click.IntRange(1), default=4, show_default=True, metavar="N", help="Calls at a time.")
@click.option("--a-minute", type=click.IntRange(1), metavar="N", help="The most calls in a minute.")
@answer_options
@row_options
@asset_options
@json_option
def run(rows: tuple[str, ...], *, output: str, force: bool, as_json: bool, **options: Any) -> int:
    """Build a prompt of every row, send it to --model, and keep the answer. Exits with 1 where rows have errors.

    ROWS are those of `innkeeper batch`. The output has prompt, answer, tokens and cost beside each row's id. A run that was
    stopped, or whose budget is spent, goes on when it is started again; rows whose call failed are asked again, and no answer is
    paid for twice.
    """
    from innkeeper.data.journal import ANSWERS
    from innkeeper.data.sending import Sender, SendOptions

    limits = SendOptions(at_once=options["at_once"], a_minute=options["a_minute"], budget=options["budget"])

    def engine(handle: ModelHandle, folder: Path) -> Sender:
        return Sender(lambda plan: handle.answer(plan, lambda _: None), folder / ANSWERS, limits)

    return _answer(rows, output, engine, options, force=force, as_json=as_json)


@click.command(
    epilog=examples(
        "innkeeper batch submit rows.jsonl --out answers.parquet --model openai:gpt-4o --budget 5",
        "innkeeper batch submit rows.jsonl --out answers.parquet --model anthropic:claude-sonnet-4-5 --no-wait",
    )
)
@click.option("--no-wait", is_flag=True, help="Do not wait for answers: exit with 75 while batches are under way.")
@answer_options
@row_options
@asset_options
@json_option
def submit(rows: tuple[str, ...], *, output: str, force: bool, as_json: bool, **options: Any) -> int:
    """Build a prompt of every row, and have --model answer them in batches. Exits with 1 where rows have errors.

    ROWS are those of `innkeeper batch`. OpenAI, Anthropic, Gemini and Groq answer batches within 24 hours, for half the price.
    The same command, given again, goes on where it was stopped, and submits nothing twice; with --no-wait it exits with 75 as
    long as batches are under way. Rows without an answer are submitted again.
    """
    from innkeeper.data.submitting import SubmitOptions, Submitter
    from innkeeper.inference.batches.wires import batches_of
    from innkeeper.inference.client.model_handle import plan_answer

    def show(done: int, total: int) -> None:
        if not as_json and sys.stderr.isatty():
            click.echo(f"\r\x1b[K{done:,} of {total:,} rows in batches are answered", nl=False, err=True)

    def engine(handle: ModelHandle, folder: Path) -> Submitter:
        wire = batches_of(handle.client, handle.route)
        limits = SubmitOptions(budget=options["budget"], waits=not options["no_wait"], progress=show)
        return Submitter(wire, lambda plan: handle.request(plan, stream=False), plan_answer, folder, limits)

    return _answer(rows, output, engine, options, force=force, as_json=as_json)


def _answer(
    rows: tuple[str, ...],
    output: str,
    engine_of: Callable[[ModelHandle, Path], Sender | Submitter],
    options: dict[str, Any],
    *,
    force: bool,
    as_json: bool,
) -> int:
    """Have the engine for a model answer all rows, and say what came of it."""
    from innkeeper.cli.settings.model_choice import choose_model
    from innkeeper.cli.settings.settings import UserSettings
    from innkeeper.cli.talk.answering import open_choice
    from innkeeper.data.run import RunOptions, parts_of, run_batch
    from innkeeper.data.sources import open_rows

    settings, source, target = UserSettings.read(), open_rows(rows, roots=options["roots"]), Path(output)
    chosen = {name: options[name] for name in ("errors", "shard") if options[name] is not None}
    with closing(open_choice(choose_model(settings, options["model"]), settings, options["context_window"])) as handle:
        common = settings_for(handle, options)
        engine, run_options = engine_of(handle, parts_of(target)), RunOptions(force=force, asks_again=True, **chosen)
        with row_progress(source.total, quiet=as_json) as progress:
            report = run_batch(source, target, common, run_options, engine=engine, progress=progress)
    facts = {**report.to_dict(), "paid": engine.spent}
    again = "; the same command asks those again that got no answer" if parts_of(target).exists() else ""
    bad = f", {report.errors:,} rows with errors{again}" if report.errors else ""
    cost = f", ${engine.spent:.4f}" if engine.spent else ""
    text = f"{report.rows - report.errors:,} answers in {output}{cost}{bad}"
    print_result(facts, text, as_json=as_json)
    return int(bool(report.errors))


@click.command(epilog=examples("innkeeper batch diff old.parquet new.parquet"))
@click.argument("before", metavar="A", shell_complete=completion.files)
@click.argument("after", metavar="B", shell_complete=completion.files)
@json_option
def diff(before: str, after: str, *, as_json: bool) -> int:
    """Compare two outputs row by row: prompts, tokens, cost, answers. Exits with 1 if any row differs.

    A and B are files that `innkeeper batch` wrote, of any kind; rows are joined by their ids.
    """
    from innkeeper.data.compare import compare_batches

    compared = compare_batches(before, after)
    if as_json:
        print_json(compared.to_dict())
    else:
        from innkeeper.cli.app.render import print_tables
        from innkeeper.cli.app.screen import Screen

        print_tables(Screen(), compared.tables())
    return int(bool(compared.changes))
