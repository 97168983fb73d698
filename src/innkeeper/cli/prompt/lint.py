"""``innkeeper lint`` and ``innkeeper lore``: check which parts of cards, lorebooks and presets have an effect.

Lint reports parts without effect, or with an unwanted one. Lore tests lorebooks against a chat, with the decision about every
entry.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from time import thread_time
from typing import TYPE_CHECKING, Any, Final

import click

from innkeeper.cli.app.commands import examples, json_option, print_json
from innkeeper.cli.app.paging import paged
from innkeeper.cli.app.progress import Step, counted, progress
from innkeeper.cli.prompt.assets import AssetFiles, command_limits
from innkeeper.prompt import InnkeeperError, UnknownNameError, deep_merge
from innkeeper.prompt.allowance import BuildLimits, allowed
from innkeeper.prompt.text import count_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from innkeeper.cli.app.screen import Grid
    from innkeeper.content.finding import Finding
    from innkeeper.lore import LoreResult, Verdict
    from innkeeper.prompt import BuildRequest
    from innkeeper.taverns.asset_fields import AssetFields


_LIMITS: Final = BuildLimits(seconds=1.75)
"""For one file; larger than a build's, mostly for patterns, which are tried on texts made to be hard for them."""

_SUFFIXES: Final = frozenset({".png", ".webp", ".json", ".jsonl", ".charx", ".byaf", ".risum", ".risup", ".risupreset"})


@click.command(epilog=examples("innkeeper lint wenna.png harbour.json", "innkeeper lint ."))
@click.argument("files", nargs=-1, required=True)
@click.option("--model", metavar="NAME", help="The model to count tokens for.")
@click.option("--tavern", default="silly", metavar="NAME", help="Whose macros and lore are checked: silly or risu.")
@click.option("--strict", is_flag=True, help="Exit with 1 for informational findings too.")
@json_option
@paged
def lint(files: tuple[str, ...], *, model: str | None, tavern: str, strict: bool, as_json: bool) -> int:
    """Report dead entries, unreachable or too short keys, shadowed groups, slow regular expressions and dead scripts.

    FILES are cards, lorebooks, presets, personas and chats, recognised by their content, or folders of them. Exits with 1 on
    a warning, with 65 if a file exceeds the work limits of a build.
    """
    names = list(_names(files))
    with progress("files read", len(names), quiet=as_json) as step:
        read = list(_read(counted(names, step)))
    with progress("files checked", len(read), quiet=as_json) as step:
        located = linted(read, model, step, tavern=tavern, limits=_LIMITS)
    if as_json:
        print_json([{"file": name, **finding.to_dict()} for name, finding in located])
    else:
        for name, finding in located:
            hint = f"; {finding.hint}" if finding.hint else ""
            click.echo(f"{name}: {finding.level}: {finding}{hint} ({finding.rule})")
        click.echo(f"{count_of(len(located), 'finding')} in {count_of(len(read), 'file')}")
    return int(any(strict or finding.level != "info" for _, finding in located))


def _names(files: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield the names of files, with whether each was given by its own name: in folders other files may lie."""
    for name in files:
        if Path(name).is_dir():
            paths = sorted(Path(name).rglob("*"))
            yield from ((str(path), False) for path in paths if path.suffix.lower() in _SUFFIXES and path.is_file())
        else:
            yield name, True


def _read(names: Iterable[tuple[str, bool]]) -> Iterator[tuple[str, AssetFields]]:
    from innkeeper.cli.settings.settings import UserSettings

    settings = UserSettings.read()
    for name, is_certain in names:
        assets = AssetFiles(settings=settings)
        try:
            with allowed(_LIMITS):
                assets.add(name)
        except InnkeeperError as error:
            if is_certain:
                raise
            click.echo(f"left out: {error}", err=True)
            continue
        yield name, assets


def linted(
    files: Iterable[tuple[str, AssetFields]],
    model: str | None,
    step: Step = lambda _: None,
    *,
    tavern: str = "silly",
    limits: BuildLimits | None = None,
) -> list[tuple[str, Finding]]:
    """Return the findings about files by name; lore is checked with the preset among them, if there is one.

    ``step`` is told of each file; ``limits`` hold for each.
    """
    from innkeeper.lore.lint import RESTATED
    from innkeeper.taverns import TAVERNS

    read, located = list(files), []
    preset = next((assets.fields["preset"] for _, assets in read if "preset" in assets.fields), None)
    for name, assets in counted(read, step):
        with nullcontext() if limits is None else allowed(limits):
            own = [finding for finding in assets.findings if finding.rule not in RESTATED]
            own += TAVERNS[tavern].lint(assets.fields, preset, model)
        located += [(name, finding) for finding in own]
    return located


NOBODY: Final = "Nobody"
"""The character of a scan without one."""


@click.group(epilog=examples('innkeeper lore test harbour.json --message "The bell reef?"'))
def lore() -> None:
    """Work with lorebooks."""


@lore.command(epilog=examples("innkeeper lore test harbour.json --chat evening.jsonl"))
@click.argument("books", nargs=-1, required=True)
@click.option("--chat", metavar="FILE", help="The chat to scan: JSON lines or JSON.")
@click.option("--message", metavar="TEXT", help="What the user says now; enough for a quick try.")
@click.option("--card", metavar="FILE", help="The character whose fields and lorebook are used.")
@click.option("--persona", metavar="FILE", help="The user's persona.")
@click.option("--preset", metavar="FILE", help="The preset; its window is the base of the budget.")
@click.option("--tavern", default="silly", metavar="NAME", help="By whose rules: silly or risu.")
@click.option("--depth", type=int, metavar="N", help="How many messages to look back.")
@click.option("--recursive/--not-recursive", default=None, help="Whether entries can trigger others.")
@click.option(
    "--budget", type=float, metavar="PERCENT", help="The lore budget, in percent of the context; for risu in tokens."
)
@click.option("--model", metavar="NAME", help="The model to count tokens for.")
@click.option("--seed", type=int, help="Random seed.")
@click.option("--fired", "only_fired", is_flag=True, help="Show only entries in the prompt.")
@json_option
@paged
def test(books: tuple[str, ...], *, only_fired: bool, as_json: bool, **options: Any) -> None:
    """Scan a chat; show which entries fired, and for every other entry the first rule that stopped it.

    BOOKS are lorebooks, or cards that contain one; "-" is standard input.
    """
    since = thread_time()
    request = lore_request(AssetFiles.of(books, options), options)
    with allowed(command_limits(request), since=since):
        result = lore_scan(request)
        verdicts = [verdict for verdict in result.verdicts if verdict.fired or not only_fired]
    if as_json:
        print_json({**result.to_dict(), "verdicts": [verdict.to_dict() for verdict in verdicts]})
        return
    _show(result, verdicts)


def lore_request(assets: AssetFiles, options: Mapping[str, Any]) -> BuildRequest:
    """Return the request of a scan of these assets, with ``depth``, ``budget`` and so on from the options.

    Raises `UnknownNameError` for a tavern that scans no lore.
    """
    from innkeeper.taverns import TAVERNS

    scanning = {name: tavern.lore_settings for name, tavern in TAVERNS.items() if tavern.lore_settings}
    name = options.get("tavern") or "silly"
    if name not in scanning:
        raise UnknownNameError("tavern", name, scanning)
    assets.fields.setdefault("character", {"name": NOBODY, "description": ""})
    settings = {"depth": options["depth"], "recursive": options["recursive"], "budget": options["budget"]}
    changed = {name: value for name, value in settings.items() if value is not None}
    fields = {name: options[name] for name in ("message", "model", "seed")}
    request = assets.request(fields).with_(tavern=name)
    own = scanning[name](changed) if changed else {}
    return request.with_(settings=deep_merge(request.settings, own))


def lore_scan(request: BuildRequest) -> LoreResult:
    """Return the decision about every entry of the request's lorebooks."""
    from innkeeper.taverns import TAVERNS

    plan = TAVERNS[request.tavern].build(request.with_(step_options={"trimming": {"on_overflow": "warn"}}))
    result: LoreResult = plan.lore
    return result


def _show(result: LoreResult, verdicts: list[Verdict]) -> None:
    from innkeeper.cli.app.render import MOST_ROWS, more_line
    from innkeeper.cli.app.screen import Screen

    out = Screen()
    verdicts = sorted(verdicts, key=lambda item: not item.fired)
    out.grid(_table(verdicts[:MOST_ROWS]))
    for line in more_line(verdicts):
        out.line(line)
    full = " (used up)" if result.overflowed else ""
    out.line(
        f"{len(result.activated)} fired in {count_of(result.loops, 'pass')}; lore budget {result.budget:,} tokens{full}"
    )


def _table(verdicts: list[Verdict]) -> Grid:
    from innkeeper.cli.app.screen import Grid, GridColumn
    from innkeeper.prompt.text import printable

    book, entry = GridColumn("book", wraps=False, most=20), GridColumn("entry", most=30)
    table = Grid(GridColumn("", wraps=False), book, entry, GridColumn("why", rest=True))
    for verdict in verdicts:
        cells = ("in" if verdict.fired else "out", verdict.book, f"{verdict.uid} {verdict.title}", str(verdict))
        table.add(*map(printable, cells), style="green" if verdict.fired else "dim")
    return table
