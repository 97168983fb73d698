"""``innkeeper card``: show, validate, extract, embed, convert and compare character cards."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
import msgspec

from innkeeper.cli.app.commands import examples, json_option, print_json
from innkeeper.cli.app.paging import paged
from innkeeper.cli.settings.completion import cards
from innkeeper.prompt.text import count_of, printable, shorten

if TYPE_CHECKING:
    from innkeeper.content import CardFile, Character, Difference


F = TypeVar("F", bound=Callable[..., Any])

SAME: Final = 0
DIFFERENT: Final = 1
"""Exit code of ``diff`` for cards that differ, as of the Unix tool."""

BROKEN: Final = 65
"""Exit code of ``validate`` for a readable card that violates its specification."""

SHOWN_CHARS: Final = 60
"""Characters of a text that the table shows."""

MAX_FULL_CHARS: Final = 100_000
"""Characters of all texts that the table shows with ``--full`` (no error: further ones are as short as without it)."""

MAX_FULL_LINES: Final = 2_000
"""Lines of all texts that the table shows with ``--full`` (no error: further ones are left out)."""

TEXTS: Final = (
    *("description", "personality", "scenario", "first_mes", "mes_example", "creator_notes", "system_prompt"),
    "post_history_instructions",
)

out_option = click.option("--out", "-o", type=click.Path(path_type=Path), help="The file to write.")
force_option = click.option("--force", is_flag=True, help="Overwrite files that exist.")
lenient_option = click.option(
    "--lenient", is_flag=True, help="Accept wrong checksums, truncated files and a missing spec, with a warning."
)


@click.group(
    epilog=examples(
        "innkeeper card show wenna.png",
        "innkeeper card check cards/*.png",
        "innkeeper card convert wenna.png --out wenna.json",
    )
)
def card() -> None:
    """Show, validate, convert and compare character cards (JSON, PNG, APNG, CHARX, BYAF).

    A FILE may be - for standard input, or an alias set by `innkeeper config set aliases.cards.NAME FILE`.
    """


@card.command(epilog=examples("innkeeper card show wenna.png --full"))
@click.argument("file", shell_complete=cards)
@click.option("--full", is_flag=True, help="Show texts in full, up to 100,000 characters.")
@lenient_option
@json_option
@paged
def show(file: str, *, full: bool, lenient: bool, as_json: bool) -> None:
    """Show the contents of a card."""
    opened = _open(file, lenient=lenient)
    if as_json:
        _print_json(card_facts(opened))
    else:
        _print_card(opened, full=full)


@card.command("check", epilog=examples("innkeeper card check wenna.png tobin.json"))
@click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=cards)
@click.option("--strict", is_flag=True, help="Count warnings as errors.")
@lenient_option
@json_option
def check_cards(files: tuple[str, ...], *, strict: bool, lenient: bool, as_json: bool) -> int:
    """Validate cards against their specification. Exits with 65 if one violates it or cannot be read."""
    reports = [_report(file, lenient=lenient, strict=strict) for file in files]
    if as_json:
        _print_json({"cards": reports})
    else:
        for report in reports:
            click.echo("\n".join(_report_lines(report)))
    return SAME if all(report["ok"] for report in reports) else BROKEN


@card.command(epilog=examples("innkeeper card extract wenna.png --out wenna.json"))
@click.argument("file", shell_complete=cards)
@out_option
@click.option(
    "--assets", "folder", type=click.Path(path_type=Path), help="A folder to extract the contained files into."
)
@force_option
@lenient_option
@json_option
def extract(file: str, out: Path | None, folder: Path | None, *, force: bool, lenient: bool, as_json: bool) -> None:
    """Write the JSON of a card to a file or standard output; with --assets also its other files."""
    from innkeeper.content import save_bytes

    opened = _open(file, lenient=lenient)
    written = _write_assets(opened, folder, force=force) if folder else []
    text = opened.character.to_json()
    if out is not None:
        save_bytes(out, text, force=force)
        written.insert(0, str(out))
    if as_json:
        _print_json({"written": written} | ({} if out else {"card": opened.character.to_dict()}))
    elif out is None:
        sys.stdout.buffer.write(text.rstrip() + b"\n")
    else:
        click.echo("\n".join(f"wrote {name}" for name in written))


@card.command(epilog=examples("innkeeper card embed wenna.json portrait.png --out wenna.png"))
@click.argument("file", shell_complete=cards)
@click.argument("image")
@click.option("--out", "-o", type=click.Path(path_type=Path), required=True, help="The PNG to write.")
@click.option(
    "--form", type=click.Choice(("both", "v2", "v3")), default="both", show_default=True, help="What to embed."
)
@force_option
@lenient_option
@json_option
def embed(file: str, image: str, out: Path, form: str, *, force: bool, lenient: bool, as_json: bool) -> None:
    """Embed a card in a PNG image, replacing one that is there."""
    from innkeeper.content import Reader, embed_in_png, save_bytes

    with Reader(_source(image)) as reader:
        picture = reader.all()
    save_bytes(out, embed_in_png(picture, _open(file, lenient=lenient).character, form), force=force)
    _say_written(out, as_json=as_json)


@card.command(epilog=examples("innkeeper card convert wenna.png --to v2 --out wenna.json"))
@click.argument("file", shell_complete=cards)
@click.option("--out", "-o", type=click.Path(path_type=Path), required=True, help="The .json, .png or .charx to write.")
@click.option("--to", "version", type=click.Choice(("v2", "v3")), help="The version of the specification.")
@force_option
@lenient_option
@json_option
def convert(file: str, out: Path, version: str | None, *, force: bool, lenient: bool, as_json: bool) -> None:
    """Write a card in another format, version, or both. Nothing is lost."""
    from innkeeper.content import save_card

    opened = _open(file, lenient=lenient)
    if version is not None:
        opened = opened.with_character(opened.character.to_version(version))
    save_card(out, opened, force=force)
    _say_written(out, as_json=as_json)


@card.command("diff", epilog=examples("innkeeper card diff wenna.png wenna-new.png"))
@click.argument("before", shell_complete=cards)
@click.argument("after", shell_complete=cards)
@lenient_option
@json_option
@paged
def diff_cards(before: str, after: str, *, lenient: bool, as_json: bool) -> int:
    """Show the differences between two cards. Exits with 1 if there are any."""
    from innkeeper.content import diff

    differences = diff(_open(before, lenient=lenient).character, _open(after, lenient=lenient).character)
    if as_json:
        _print_json({"differences": [item.to_dict() for item in differences]})
    else:
        click.echo("\n".join(_difference_lines(differences)) if differences else "no difference")
    return DIFFERENT if differences else SAME


def _source(file: str) -> str | bytes:
    if file != "-":
        return file
    from innkeeper.content import LIMITS

    return sys.stdin.buffer.read(LIMITS.archive_bytes + 1)


def _open(file: str, *, lenient: bool) -> CardFile:
    from innkeeper.cli.settings.settings import UserSettings
    from innkeeper.content import open_card

    return open_card(_source(file if file == "-" else UserSettings.read().card(file)), lenient=lenient)


def _print_json(value: Any) -> None:
    print_json(value, indent=2)


def _say_written(out: Path, *, as_json: bool) -> None:
    if as_json:
        _print_json({"written": [str(out)]})
    else:
        click.echo(f"wrote {out}")


def card_facts(opened: CardFile) -> dict[str, Any]:
    """Return the contents of a card as JSON-ready data."""
    character = opened.character
    return {
        "kind": opened.kind,
        "version": character.version.value,
        "name": character.name,
        "display_name": character.display_name,
        "creator": character.creator,
        "character_version": character.character_version,
        "tags": list(character.tags),
        "greetings": len(character.greetings(group=True)),
        "lore_entries": len(character.book.entries) if character.book else 0,
        "regex_scripts": [
            {**msgspec.to_builtins(script), "placement": sorted(script.placement)}
            for script in character.regex_scripts.scripts
        ],
        "assets": [{"type": a.type, "name": a.name, "uri": a.uri, "ext": a.ext} for a in character.assets],
        "files": list(opened.names),
        "digest": character.digest,
        "card": character.to_dict(),
        "findings": [finding.to_dict() for finding in opened.findings],
    }


def _print_card(opened: CardFile, *, full: bool) -> None:
    from innkeeper.cli.app.render import MOST_ROWS, more_line
    from innkeeper.cli.app.screen import Grid, GridColumn, Screen

    character = opened.character
    title = printable(f"{character.name} ({opened.kind}, {character.version.value.upper()})")
    table = Grid(GridColumn("field"), GridColumn("characters", right=True), GridColumn("text"), title=title)
    rows, left, lines = list(_rows(character, full=full)), MAX_FULL_CHARS, MAX_FULL_LINES
    for name, size, text in rows[:MOST_ROWS]:
        cell = _first_lines(shorten(text, max(left, SHOWN_CHARS)).expandtabs(), max(lines, 1))
        left, lines = left - len(cell), lines - cell.count("\n")
        table.add(name, size, "\n".join(map(printable, cell.split("\n"))))
    Screen().grid(table)
    for line in more_line(rows):
        click.echo(line)
    for finding in opened.findings:
        click.echo(printable(f"{finding.level.value}: {finding}"))


def _rows(character: Character, *, full: bool) -> Iterable[tuple[str, str, str]]:
    for name in TEXTS:
        text = getattr(character, name)
        if text:
            yield name, f"{len(text):,}", text if full else _short(text)
    for index, text in enumerate(character.alternate_greetings, 1):
        yield f"greeting {index}", f"{len(text):,}", text if full else _short(text)
    yield "tags", "", ", ".join(character.tags)
    yield "creator", "", f"{character.creator} {character.character_version}".strip()
    if character.book is not None:
        entries = character.book.entries
        yield (
            "lorebook",
            "",
            f"{count_of(len(entries), 'entry')}, {sum(entry.constant for entry in entries)} of them constant",
        )
    for script in character.regex_scripts.scripts:
        off = " (off)" if script.disabled else ""
        yield "regex script", "", f"{_short(script.title)}{off}: {_short(script.find)} -> {_short(script.replace)}"
    for asset in character.assets:
        yield f"asset {asset.type}", "", f"{asset.name} ({asset.ext}) {_short(asset.uri)}"


def _short(text: str) -> str:
    return shorten(" ".join(text.split()), SHOWN_CHARS)


def _first_lines(text: str, count: int) -> str:
    lines = text.split("\n", count)
    return text if len(lines) <= count else "\n".join([*lines[:count], "…"])


def _report(file: str, *, lenient: bool, strict: bool) -> dict[str, Any]:
    """Return the report about one card: how it was read, and its violations."""
    from innkeeper.content import validate as check
    from innkeeper.prompt.errors import InnkeeperError

    try:
        opened = _open(file, lenient=lenient)
    except InnkeeperError as error:
        return {"file": file, "ok": False, "error": error.to_dict(), "findings": []}
    findings = [finding.to_dict() for finding in (*opened.findings, *check(opened.character))]
    bad = {"error", "warning"} if strict else {"error"}
    ok = not any(finding["level"] in bad for finding in findings)
    return {"file": file, "ok": ok, "version": opened.character.version.value, "findings": findings}


def _report_lines(report: dict[str, Any]) -> list[str]:
    lines = [f"{report['file']}: {'ok' if report['ok'] else 'not ok'}"]
    if "error" in report:
        lines.append(f"  error: {report['error']['message']}")
    for finding in report["findings"]:
        prefix = f"{finding['path']}: " if finding.get("path") else ""
        lines.append(f"  {finding['level']}: {prefix}{finding['message']}")
    return [printable(line) for line in lines]


def _difference_lines(differences: Iterable[Difference]) -> list[str]:
    lines = []
    for item in differences:
        fields = item.to_dict()
        lines.append(f"{item.kind} {item.path}")
        lines += [f"  - {_short(json.dumps(fields['before'], ensure_ascii=False))}"] if "before" in fields else []
        lines += [f"  + {_short(json.dumps(fields['after'], ensure_ascii=False))}"] if "after" in fields else []
    return [printable(line) for line in lines]


def _write_assets(opened: CardFile, folder: Path, *, force: bool) -> list[str]:
    """Write the files inside a card below ``folder``. Their names are not trusted: none can leave the folder."""
    from innkeeper.content import save_bytes

    written: list[str] = []
    for name in opened.names:
        target = _free(folder.joinpath(*_safe_parts(name)), written)
        target.parent.mkdir(parents=True, exist_ok=True)
        save_bytes(target, opened.read(name), force=force)
        written.append(str(target))
    return written


def _free(target: Path, taken: list[str]) -> Path:
    """Return the path, or one with a number if an earlier file of the card has it."""
    number, path = 1, target
    while str(path) in taken:
        number, path = number + 1, target.with_stem(f"{target.stem}-{number + 1}")
    return path


def _safe_parts(name: str) -> list[str]:
    parts = ["".join(c if c.isalnum() or c in "-_. " else "_" for c in part) for part in name.split("/")]
    return [part for part in parts if part.strip(". ")] or ["unnamed"]
